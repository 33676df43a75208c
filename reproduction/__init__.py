"""The paper's figures and statements, made anew: one function for each."""

from reproduction.artefact import Artefact, Statement
from reproduction.run import Reproduction, reproduce
from reproduction.subject import Subject, meter_subject, simulated_subject

__all__ = [
    "Artefact",
    "Reproduction",
    "Statement",
    "Subject",
    "meter_subject",
    "reproduce",
    "simulated_subject",
]

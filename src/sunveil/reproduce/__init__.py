"""The paper's figures and statements, made anew: one function for each."""

from sunveil.reproduce.artefact import Artefact, Statement
from sunveil.reproduce.run import Reproduction, reproduce
from sunveil.reproduce.subject import Subject, meter_subject, simulated_subject

__all__ = [
    "Artefact",
    "Reproduction",
    "Statement",
    "Subject",
    "meter_subject",
    "reproduce",
    "simulated_subject",
]

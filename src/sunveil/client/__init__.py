"""A client of the service: ask, wait and load a release in three lines.

>>> from sunveil.client import Client  # doctest: +SKIP
>>> client = Client("https://sunveil.example.org", "sv_...")  # doctest: +SKIP
>>> release = client.ask("demo-town", kind="totals", epsilon=0.1)  # doctest: +SKIP

It speaks to the JSON API alone. It imports nothing that infers, publishes or serves, so that it
works where none of that is installed or allowed.
"""

from __future__ import annotations

from sunveil.client.client import Client
from sunveil.client.errors import (
    AnswerRefused,
    NotAdmitted,
    ServiceError,
    ServiceUnreachable,
)
from sunveil.client.results import Plan, PlanAdvice, ServedRelease

__all__ = [
    "AnswerRefused",
    "Client",
    "NotAdmitted",
    "Plan",
    "PlanAdvice",
    "ServedRelease",
    "ServiceError",
    "ServiceUnreachable",
]

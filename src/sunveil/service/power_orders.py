"""Power from a release: what the analyst's side may order, and what it is answered: public types.

A run of power is made by a job, since what makes it reads weather and tables. It looks at the
release alone, charges nothing, and is the same for everybody who orders it.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from sunveil.errors import SunveilError

CLEAR_SKY = "clearsky"
LONGEST_DAYS = 366
# Intervals of all groups together: a year of quarter hours of 28 groups, or of hours of 114.
MOST_ROWS = 1_000_000
FIRST, LAST = datetime.date(1980, 1, 1), datetime.date(2100, 1, 1)
FILES = ("power.csv", "power.parquet", "power.json", "opendss.zip")
MEDIA = {
    "power.csv": "text/csv; charset=utf-8",
    "power.parquet": "application/vnd.apache.parquet",
    "power.json": "application/json",
    "opendss.zip": "application/zip",
}


class PowerOrder(BaseModel):
    """Where and when the power of a release is made."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    latitude: Annotated[float, Field(ge=-66.0, le=66.0, description="Of the fleet. [degrees]")]
    longitude: Annotated[float, Field(ge=-180.0, le=180.0, description="East. [degrees]")]
    start: Annotated[datetime.date, Field(description="First day, in UTC.")]
    end: Annotated[datetime.date, Field(description="The day after the last, in UTC.")]
    step_minutes: Annotated[Literal[15, 30, 60], Field(description="Of an interval.")] = 15
    whole: Annotated[bool, Field(description="Whether groups are added up to one sum.")] = False
    weather: Annotated[
        str,
        Field(
            max_length=100,
            description="clearsky, or the name of a file of weather that the service has.",
        ),
    ] = CLEAR_SKY
    zone: Annotated[
        str, Field(max_length=60, description="Time zone of days and seasons, such as Europe/Rome.")
    ] = "UTC"

    @field_validator("zone")
    @classmethod
    def _known_zone(cls, given: str) -> str:
        try:
            ZoneInfo(given)
        except (KeyError, ValueError, OSError):
            raise ValueError("it is no time zone; give one such as Europe/Rome, or UTC") from None
        return given

    @model_validator(mode="after")
    def _some_days(self) -> Self:
        if not FIRST <= self.start < self.end <= LAST:
            raise ValueError("the end is after the start, and both are from 1980 to 2099")
        if (self.end - self.start).days > LONGEST_DAYS:
            raise ValueError(f"power is made of {LONGEST_DAYS} days at most; give a shorter span")
        return self

    @property
    def intervals(self) -> int:
        """How many intervals the span has."""
        return (self.end - self.start).days * 1440 // self.step_minutes


@dataclass(frozen=True, slots=True)
class PowerRun:
    """A run of power, as it stands.

    Parameters
    ----------
    id, release
        What it is found by, and which release it is made of.
    order
        What was ordered.
    state
        ``running``, ``done`` or ``failed``.
    words
        How far it is, or why it failed.
    found
        What was found, once it is done: a summary, and figures and answers by group.
    """

    id: str
    release: str
    order: PowerOrder
    state: str
    words: str
    found: Mapping[str, Any] | None = field(default=None, repr=False)


class PowerRefused(SunveilError):
    """An order that is refused: it is too large, or too many are waiting.

    Parameters
    ----------
    message
        What is wrong and what to do, in a sentence.
    busy
        Whether the same may be ordered later.
    """

    def __init__(self, message: str, *, busy: bool = False) -> None:
        super().__init__(message)
        self.busy = busy


class PowerMaker(Protocol):
    """What makes power of releases."""

    def start(
        self, release: str, body: Mapping[str, Any], order: PowerOrder, *, analyst: str
    ) -> PowerRun:
        """Start a run, or return the one that was ordered before.

        Parameters
        ----------
        release, body
            The release's id, and all of it.
        order
            Where and when.
        analyst
            Whose queue it waits in.
        """

    def find(self, release: str, run: str) -> PowerRun | None:
        """Return a run of a release by its id."""

    def runs_of(self, release: str) -> list[PowerRun]:
        """Return the runs of a release, the newest first, without what was found."""

    def file(self, release: str, run: str, name: str) -> Path | None:
        """Return where a file of a run that is done lies.

        Parameters
        ----------
        release, run
            Which run, of which release.
        name
            The file's name.
        """

    def weathers(self) -> list[str]:
        """Return the names of the weather files that the service has."""


def groups_in(body: Mapping[str, Any]) -> int:
    """Return how many groups a release divides its fleet into."""
    key = body["asked"].get("group_by")
    for table in body["tables"]:
        if key is not None and table["columns"][0][0] == key:
            return len({row[0] for row in table["rows"]})
    return 1

"""Power from a release, as the service made it."""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from sunveil.arguments import check_fields
from sunveil.checked import checked
from sunveil.client.errors import AnswerRefused
from sunveil.errors import ParameterError

# How often it is looked whether a run is done, at first and at last. [s]
FIRST_PAUSE, LAST_PAUSE = 0.5, 5.0


@dataclass(frozen=True, slots=True, eq=False)
class ServedPower:
    """A run of power that is done.

    Parameters
    ----------
    fields
        All of it, as the API sends it.
    fetch
        What returns the bytes at an address of the API.
    """

    fields: dict[str, Any] = field(repr=False)
    fetch: Callable[[str], bytes] = field(repr=False)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def id(self) -> str:
        """What it is found by."""
        return str(self.fields["id"])

    @property
    def summary(self) -> dict[str, Any]:
        """What was made, of what, and what the band holds."""
        return dict(self.fields["summary"])

    @property
    def files(self) -> list[str]:
        """The names of its files."""
        return [str(each).rpartition("/")[2] for each in self.fields["files"]]

    def answers(self) -> pd.DataFrame:
        """Return planners' answers: group, name, value, low, high, unit, about."""
        return pd.DataFrame(self.fields["answers"])

    def frame(self) -> pd.DataFrame:
        """Return the power: time, group, power_kw, low, high. [kW]"""
        frame = pd.read_csv(io.BytesIO(self.file("power.csv")), dtype={"group": "string"})
        frame["time"] = pd.to_datetime(frame["time"], utc=True)
        return frame

    @checked
    def file(self, name: str) -> bytes:
        """Return one of its files, such as ``opendss.zip``."""
        if name not in self.files:
            raise ParameterError(f"the run has no file {name!r}; it has {', '.join(self.files)}")
        return self.fetch(f"/releases/{self.fields['release']}/power/{self.id}/files/{name}")

    @checked
    def save(self, folder: Path | str) -> list[Path]:
        """Write all of its files into a folder, and return them."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name in self.files:
            (place / name).write_bytes(self.file(name))
        return [place / name for name in self.files]


def when_done(
    run: dict[str, Any],
    look: Callable[[], dict[str, Any]],
    *,
    seconds: float,
    pause: Callable[[float], None] = time.sleep,
) -> dict[str, Any]:
    """Return a run once it is done, or say why it will not be.

    Parameters
    ----------
    run
        As it was answered first.
    look
        Returns it as it stands.
    seconds
        How long to wait. [s]
    pause
        Waits between two looks.
    """
    until, wait = time.monotonic() + seconds, FIRST_PAUSE
    while run["state"] == "running":
        if time.monotonic() > until:
            raise AnswerRefused(
                f"the power is not made after {seconds:g} seconds ({run['words']}); ask for the"
                " same later, or give a larger timeout"
            )
        pause(wait)
        wait = min(1.5 * wait, LAST_PAUSE)
        run = look()
    if run["state"] != "done":
        raise AnswerRefused(f"the power could not be made: {run['words']}")
    return run

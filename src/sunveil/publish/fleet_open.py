"""Holding a whole fleet open for private releases."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sunveil.checked import checked
from sunveil.errors import ParameterError, SourceError
from sunveil.fleet.folder import held
from sunveil.fleet.settings import FleetSettings
from sunveil.fleet.systems import RefusedSystem
from sunveil.publish.fleet_frames import (
    FleetWeather,
    FrameCache,
    check_frames,
    expected_errors,
)
from sunveil.publish.fleet_records import FleetRecords, open_records
from sunveil.publish.fleet_roster import ReleaseRoster, make_roster
from sunveil.publish.fleet_scores import score_part
from sunveil.publish.system_rows import about_system
from sunveil.publish.terms import OnProgress, ReleaseTerms, SystemsPart, ignore_progress
from sunveil.releases.answer import ExpectedErrors
from sunveil.weather import WeatherCache

# Says that a folder is a run's own, which may be removed.
_MARKER = ".sunveil-work"


@dataclass(frozen=True, slots=True, eq=False)
class OpenFleet:
    """A fleet that has been looked through, with everything that is public of its releases.

    Parameters
    ----------
    records
        The readings, to be read part by part: private.
    roster
        Who is released, and who is not.
    weather
        The public weather.
    workers
        How many scores are made at a time.
    """

    records: FleetRecords
    roster: ReleaseRoster
    weather: FleetWeather
    workers: int

    def __len__(self) -> int:
        return len(self.roster)

    def __repr__(self) -> str:
        return f"OpenFleet({len(self.roster)} systems, private)"

    @property
    def draws_folder(self) -> Path:
        """A private folder for draws that are not kept yet, of its own for these very readings."""
        return self.records.context.job.folder

    @property
    def refused(self) -> tuple[RefusedSystem, ...]:
        """Who is not released, and why, for the curator."""
        return self.roster.refused

    @property
    def net(self) -> int:
        """How many of the systems have meters that are declared net: public."""
        return sum(member.frame.net for member in self.roster.members.values())

    def listed(self) -> Collection[str]:
        """Return the names in the table of systems, with readings or without."""
        return self.records.context.names

    def only(self, names: Collection[str]) -> OpenFleet:
        """Return some of the systems, by name; readings of parts without any are not read again."""
        return replace(self, roster=self.roster.only(names))

    def about(self) -> dict[str, str]:
        """Return what is public of each system by its name."""
        cells, weather = self.weather.cells, self.weather.weather
        return {
            name: about_system(
                name,
                cells[member.frame.cell].site,
                weather,
                member.time_grid,
                net=member.frame.net,
            )
            for name, member in self.roster.members.items()
        }

    def check(self) -> None:
        """Refuse places where nothing can be released."""
        check_frames(self.roster, self.weather)

    def expected(self, terms: ReleaseTerms) -> ExpectedErrors:
        """Return the errors to expect, averaged over the systems."""
        return expected_errors(self.roster, self.weather, terms)

    def parts(self, terms: ReleaseTerms) -> Iterator[SystemsPart]:
        """Yield the parts of the fleet, each read when its scores are asked for."""
        frames = FrameCache(self.roster, self.weather, terms)
        for part in self.records.plan.parts:
            if not self.roster.sizes.get(part.number, 0):
                continue
            scores = partial(
                score_part,
                self.records,
                self.roster,
                part,
                frames=frames,
                terms=terms,
                workers=self.workers,
            )
            yield SystemsPart(part.number, self.roster.sizes.get(part.number, 0), scores)


@contextmanager
@checked
def open_fleet(
    fleet: Path | str,
    systems: Path | str,
    *,
    settings: FleetSettings | None = None,
    server: Mapping[str, Any] | None = None,
    work: Path | str | None = None,
    workers: int | None = None,
    cache: WeatherCache | None = None,
    on_progress: OnProgress = ignore_progress,
) -> Iterator[OpenFleet]:
    """Look through a fleet, and hold it open for releases.

    Parameters
    ----------
    fleet
        Parquet, long or with lists, or a folder of files.
    systems
        Where the systems are; see :func:`~sunveil.fleet.systems.read_systems`.
    settings
        How to read the meters, and which weather to take; every reading is taken alone.
    server
        What a server of weather must be told: ``api_key``, ``email``.
    work
        A private folder for what is needed on the way, new or empty. It stays when a run is
        stopped, and is removed at the end; of its own, and gone in any case, when left out.
    workers
        How many scores are made at a time; as many as there are processors when left out.
    cache
        Where weather is kept.
    on_progress
        Called with how many systems have been looked at, and of how many.

    Privacy
    -------
    None: readings are held open. Who is refused depends on rows, stamps and places alone.
    """
    count = (os.cpu_count() or 1) if workers is None else workers
    if not 1 <= count <= 1024:
        raise ParameterError(f"workers must be between 1 and 1024, and {workers} is not")
    with _folder(None if work is None else Path(os.path.realpath(work))) as folder:
        settings = settings or FleetSettings()
        records = open_records(Path(fleet), Path(systems), folder, settings=settings, workers=count)
        roster = make_roster(records, on_progress)
        if not len(roster):
            reasons = sorted({each.reason for each in roster.refused})
            raise SourceError(
                f"no system of the fleet can be released; the first reason: {reasons[0]}"
            )
        weather = FleetWeather(
            records.context.cells.cells, settings.weather, dict(server or {}), cache
        )
        yield OpenFleet(records, roster, weather, count)


def _check_own(work: Path) -> None:
    """Refuse a folder with anything in it that no run has left there: it is removed at the end."""
    left = (work / _MARKER).is_file() or any(work.glob("*/drawn-*/part-*.json"))
    if not left and any(each.name != ".lock" for each in work.iterdir()):
        raise ParameterError(
            "work must be a new or an empty folder, since it is removed at the end; name another"
        )


@contextmanager
def _folder(work: Path | None) -> Iterator[Path]:
    if work is None:
        with tempfile.TemporaryDirectory(prefix="sunveil-") as name:
            yield Path(name)
        return
    try:
        work.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        raise ParameterError(
            f"{work} cannot be made, which a fleet needs on the way; check the folder above it"
        ) from None
    _check_own(work)
    with held(work):
        (work / _MARKER).touch(mode=0o600)
        needed = False
        try:
            yield work
        except BaseException:
            # what was drawn on a charge is worth keeping; nothing else is
            needed = any(work.glob("*/drawn-*/part-*.json"))
            raise
        finally:
            if not needed:
                shutil.rmtree(work, ignore_errors=True)

"""Private releases of a fleet's systems: roster, frames, scores computed ahead by threads."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError, SourceError, SunveilError
from sunveil.fleet.blocks import MARGIN, power_on, record_span, time_grid_of
from sunveil.fleet.open import Fleet, FleetInMemory, FleetOfFiles, HeldRecord
from sunveil.fleet.run_plan import Part
from sunveil.ledger.promises import Promise
from sunveil.meters.record import UNREAD, Cleaning, Record, RefusedSystem, prepared
from sunveil.privacy.guarantees import Guarantee, System, Unit, check_release_epsilon
from sunveil.releases.candidate_frame import ReleaseFrame, check_clock, check_daylight, make_frame
from sunveil.releases.expected_errors import mean_errors, typical_errors
from sunveil.releases.release import Mechanism, Scored, draw_release, score_record
from sunveil.releases.release_answer import ExpectedErrors, Release
from sunveil.releases.release_choices import Choices
from sunveil.site import Site, TimeGrid
from sunveil.weather.cache import WeatherCache
from sunveil.weather.sources import SiteWeather, get_weather
from sunveil.weather.weather_data import Weather

PROOFS = {
    "window": "docs/proofs/window.md",
    "permute-and-flip": "docs/proofs/permute-and-flip.md",
    "exponential": "docs/proofs/exponential.md",
}

# Called with how many systems are done, and of how many.
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ReleaseTerms:
    """What is asked of every system; :meth:`of` refuses what cannot be asked."""

    unit: Unit  # what each release protects, and what it costs
    epsilon: float
    mechanism: str  # the name under which the mechanism is charged
    choices: Choices  # the public choices

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    @checked
    def of(
        cls,
        unit: Unit,  # what each release protects, and what it costs
        epsilon: float,
        *,
        # ``default``, ``exponential`` or ``permute-and-flip``
        mechanism: Mechanism | str = Mechanism.DEFAULT,
        choices: Choices | None = None,  # the public choices; the defaults if None
        # what the releases are charged to. Under one with a δ the default is the exponential
        # mechanism, which costs a quarter of permute-and-flip there.
        promise: Promise | None = None,
    ) -> ReleaseTerms:
        """Return the terms of releases."""
        check_release_epsilon(epsilon)
        concentrated = promise is not None and promise.delta > 0.0
        if mechanism == Mechanism.DEFAULT and concentrated and not isinstance(unit, System):
            mechanism = Mechanism.EXPONENTIAL
        return cls(unit, epsilon, mechanism_name(mechanism, unit), choices or Choices())

    def choices_for(self, *, net: bool) -> Choices:
        """Return the public choices for meters of generation, or for those that are declared net.

        Frames that are made with them resolve how days vote.
        """
        return self.choices.for_meter(net=net)

    @property
    def net_choices(self) -> dict[str, Any]:
        """What is chosen otherwise for net meters, as plain JSON types."""
        usual, net = (self.choices_for(net=each).to_dict() for each in (False, True))
        return {name: value for name, value in net.items() if usual.get(name) != value}

    @property
    def guarantee(self) -> Guarantee:
        """What every release promises."""
        return Guarantee(self.unit, self.epsilon, 0.0, PROOFS[self.mechanism])


@dataclass(frozen=True, slots=True, eq=False)
class SystemsPart:
    """Some of the systems; their draws are put aside together."""

    number: int  # which part it is, and how many systems it has
    size: int  # which part it is, and how many systems it has
    scores: Callable[[], Iterator[tuple[str, ReleaseFrame, Scored]]]


def mechanism_name(mechanism: Mechanism | str, unit: Unit) -> str:
    """Return the name under which a mechanism is charged; the paper's is none of them."""
    if mechanism not in (Mechanism.DEFAULT, Mechanism.EXPONENTIAL, "permute-and-flip"):
        raise ParameterError(
            "systems are published by the default mechanism, the exponential one or"
            " permute-and-flip; the paper's is for single releases"
        )
    if isinstance(unit, System):
        if mechanism != Mechanism.DEFAULT:
            raise ParameterError(
                "a whole system is released by the window, which is the default mechanism"
            )
        return "window"
    return "exponential" if mechanism == Mechanism.EXPONENTIAL else "permute-and-flip"


def ignore_progress(done: int, total: int) -> None:
    """Tell nobody how many systems are done."""
    del done, total


@dataclass(frozen=True, slots=True)
class FrameKey:
    """What the systems of a frame have in common."""

    cell: int  # number of the weather cell
    step: int  # [s] length of an interval, and how far after whole multiples of it they begin
    phase: int  # [s] length of an interval, and how far after whole multiples of it they begin
    first: int  # calendar years that the records begin and end in; in memory first and count
    last: int  # of their own times
    net: bool = False  # whether their meters are declared net, which their frame is made for


@dataclass(frozen=True, slots=True)
class Member:
    """A system that is released."""

    number: int
    part: int
    frame: FrameKey  # the frame that it is scored in, and the times of its own record
    time_grid: TimeGrid  # the frame that it is scored in, and the times of its own record
    differenced: bool  # whether its record holds differences of a register
    shifts: tuple[float, ...]  # [minutes]


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseRoster:
    """The systems of a fleet that are released, and those that are not."""

    members: Mapping[str, Member]  # by the system's name
    time_grids: Mapping[FrameKey, TimeGrid]
    refused: tuple[RefusedSystem, ...]
    sizes: Mapping[int, int]  # how many members each part has

    def __len__(self) -> int:
        return len(self.members)

    def only(self, names: Collection[str]) -> ReleaseRoster:
        """Return the roster of some of the members, by name, in frames that hold their days."""
        chosen = set(names)
        members = {name: each for name, each in self.members.items() if name in chosen}
        sizes = Counter(member.part for member in members.values())
        return replace(self, members=members, time_grids=_time_grids(members), sizes=sizes)


def make_roster(fleet: Fleet, sites: Sequence[Site], on_progress: OnProgress) -> ReleaseRoster:
    """Read a fleet once, and return who can be released."""
    # The roster depends on rows, stamps and places: on no reading, nor on which are missing.
    _refuse_whole_records(fleet)
    members: dict[str, Member] = {}
    before = fleet.refused()
    refused = {each.system_id: each for each in before if each.kind != UNREAD}
    unread = {each.reason: each for each in before if each.kind == UNREAD}
    for part in fleet.parts:
        for each in fleet.records(part):
            name = fleet.names[each.number] if isinstance(each, HeldRecord) else each.system_id
            if isinstance(each, RefusedSystem) and each.kind == UNREAD:
                unread[each.reason] = each
            elif name in members:
                del members[name]
                reason = f"system {name} is in several files; join its readings into one"
                refused[name] = RefusedSystem(name, "meter", reason)
            elif isinstance(each, RefusedSystem):
                refused.setdefault(name, each)
            elif name not in refused:
                members[name] = _member(each, part.number, fleet, sites)
        on_progress(len(members) + len(refused), len(fleet.names))
    # a file that is named after a system is that system's own, and says nothing of others
    files = {each.system_id for each in unread.values()}
    common = not files <= set(fleet.names)
    for name in fleet.names:
        if name not in members and name not in refused:
            refused[name] = _unseen(name, name in files or common)
    listed = sorted((*refused.values(), *unread.values()), key=lambda r: (r.system_id, r.reason))
    sizes = Counter(member.part for member in members.values())
    return ReleaseRoster(dict(sorted(members.items())), _time_grids(members), tuple(listed), sizes)


def _refuse_whole_records(fleet: Fleet) -> None:
    """Refuse a fleet with records cleaned by rules that look at a whole record."""
    # With such rules one reading changes others, which the sensitivity of a score does not count.
    if fleet.cleaning is not Cleaning.EACH:
        raise ParameterError(
            "a release reads every reading by itself; open the fleet with cleaning each"
        )


def _member(held: HeldRecord, part: int, fleet: Fleet, sites: Sequence[Site]) -> Member:
    cell, record = int(fleet.cells[held.number]), held.record
    longitude = sites[cell].longitude
    grid = time_grid_of(prepared(record), longitude=longitude)
    if isinstance(fleet, FleetInMemory):
        # each over its own span; what cannot be put on it is refused before anything is charged
        check_clock(record, longitude)
        power_on(grid, record)
        first, last = grid.first, grid.count
    else:
        first, last = (int(end.astype("M8[Y]").astype(np.int64)) + 1970 for end in record.extent)
    key = FrameKey(cell, grid.step, grid.first % grid.step, first, last, record.net)
    return Member(held.number, part, key, grid, record.differenced, record.label_shifts)


def _unseen(name: str, unread: bool) -> RefusedSystem:
    if unread:
        reason = f"system {name} has no readings in the files that can be read"
        return RefusedSystem(name, "unreadable", reason)
    end = "has no readings in the fleet; check its name in both"
    return RefusedSystem(name, "no readings", f"system {name} {end}")


def _time_grids(members: Mapping[str, Member]) -> dict[FrameKey, TimeGrid]:
    """Return the times of every frame, which hold those of all its members."""
    ends: dict[FrameKey, tuple[int, int]] = {}
    for member in members.values():
        own = member.time_grid
        start, end = own.first, own.first + own.count * own.step
        low, high = ends.get(member.frame, (start, end))
        ends[member.frame] = min(low, start), max(high, end)
    return {
        key: TimeGrid(low, key.step, (high - low) // key.step) for key, (low, high) in ends.items()
    }


def refusals_csv(refused: tuple[RefusedSystem, ...]) -> str:
    """Return who is refused and why as CSV text, with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("system_id", "kind", "reason"))
    writer.writerows((each.system_id, each.kind, each.reason) for each in refused)
    return out.getvalue()


def about_system(
    name: str, site: Site, weather: bool | str, time_grid: TimeGrid, *, net: bool = False
) -> str:
    """Return what is public of a system, as text: its name, its place, its weather and its days."""
    # Ledgers hold digests of these texts: another wording is another question.
    where = (site.latitude, site.longitude, site.altitude, weather)
    minutes = time_grid.step / 60.0
    days = f"start={time_grid.first}, interval_minutes={minutes!r}, count={time_grid.count}"
    return f"({name!r}, {where!r}, Calendar({days}){', net' * net})"


# Frames are kept up to so much; the latest one is kept however large it is. [bytes]
KEPT = 256 * 2**20


class ReleaseWeather:
    """The public weather of a fleet's weather cells."""

    def __init__(self, fleet: Fleet, cache: WeatherCache | None = None) -> None:
        self.sites = fleet.sites  # the places of the weather cells
        self.shared = not isinstance(fleet, FleetInMemory)  # whether frames are of whole years
        self.clear = fleet.weather == "clearsky"  # whether it is the embedded clear sky
        self._what, self._options = fleet.weather, {**fleet.server, "cache": cache}
        self._cache = cache
        self._one: SiteWeather | None = None
        if not self.shared and not self.clear and len(self.sites) == 1:
            # read once for all spans; a file may say more closely where it is
            spans = [record_span(record) for record in fleet.all_records()]
            self._one = SiteWeather(self._what, self.sites[0], spans, **self._options)
            found = self._one.over(spans[0])
            self.sites, self.clear = [found.site], found.clear

    @property
    def name(self) -> str | bool:
        """What the public texts of systems say of it."""
        return str(self._what) if self.shared else self.clear

    def latitude(self, cell: int) -> float:
        """Return the latitude that errors are stated for: in a fleet many cells share one."""
        latitude = self.sites[cell].latitude
        return round(latitude) if self.shared else latitude

    def over(self, cell: int, time_grid: TimeGrid) -> Weather:
        """Return the weather of a cell over a grid of times."""
        first, last = (pd.Timestamp(end, tz="UTC") for end in time_grid.times[[0, -1]])
        span = first - MARGIN, last + MARGIN
        if self._one is not None:
            return self._one.over(span)
        return get_weather(self._what, self.sites[cell], *span, **self._options)

    def check(self, key: FrameKey, time_grid: TimeGrid) -> None:
        """Refuse a frame that cannot be made."""
        with self._named(key):
            check_daylight(self.over(key.cell, time_grid), time_grid, cache=self._cache)

    def frame(self, key: FrameKey, time_grid: TimeGrid, choices: Choices) -> ReleaseFrame:
        """Return a frame, or say in one sentence where none can be had."""
        with self._named(key):
            weather = self.over(key.cell, time_grid)
            return make_frame(weather, time_grid, choices, cache=self._cache)

    @contextmanager
    def _named(self, key: FrameKey) -> Iterator[None]:
        """Say of which systems of a fleet it is that a frame cannot be had."""
        try:
            yield
        except SunveilError as error:
            if not self.shared:
                raise
            site = self.sites[key.cell]
            raise SourceError(
                f"systems near {site.latitude:g}, {site.longitude:g} cannot be released: {error};"
                " leave them out of the table of systems, or try again"
            ) from None


class FrameCache:
    """The frames of a roster, made when they are asked for; the latest used ones are kept."""

    def __init__(
        self,
        roster: ReleaseRoster,
        weather: ReleaseWeather,
        terms: ReleaseTerms,
        *,
        kept: int = KEPT,
    ) -> None:
        self._roster, self._weather, self._terms, self._most = roster, weather, terms, kept
        self._kept: OrderedDict[FrameKey, ReleaseFrame] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, key: FrameKey) -> ReleaseFrame:
        """Return the frame of some systems."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        # room is made first, so that the new frame does not come on top of all that is kept
        while self._kept and self._size() > self._most // 2:
            self._kept.popitem(last=False)
        time_grid, terms = self._roster.time_grids[key], self._terms
        choices = terms.choices_for(net=key.net)
        choices = choices.affordable(terms.unit, terms.epsilon, time_grid)
        frame = self._weather.frame(key, time_grid, choices)
        self._kept[key] = frame
        while len(self._kept) > 1 and self._size() > self._most:
            self._kept.popitem(last=False)
        return frame

    def _size(self) -> int:
        return sum(frame.nbytes for frame in self._kept.values())


def expected_errors(
    roster: ReleaseRoster, weather: ReleaseWeather, terms: ReleaseTerms
) -> ExpectedErrors:
    """Return the errors to expect, averaged over the systems."""
    # they depend on a record's days, on the length of its intervals, on whether it is a
    # register's or a net meter's, and on what its stamps name
    alike = Counter(
        (
            each.time_grid,
            each.differenced,
            each.frame.net,
            each.shifts,
            weather.latitude(each.frame.cell),
        )
        for each in roster.members.values()
    )
    found: Counter[ExpectedErrors] = Counter()
    for (time_grid, differenced, net, shifts, latitude), count in alike.items():
        errors = typical_errors(
            time_grid,
            terms.choices_for(net=net),
            clear=weather.clear,
            protect=terms.unit,
            epsilon=terms.epsilon,
            differenced=differenced,
            shifts=shifts,
            latitude=latitude,
        )
        found[errors] += count
    return mean_errors(found)


ScoredSystem = tuple[str, ReleaseFrame, Scored]


def score_part(
    fleet: Fleet,
    roster: ReleaseRoster,
    part: Part,
    *,
    frames: FrameCache,
    terms: ReleaseTerms,
    workers: int,
) -> Iterator[ScoredSystem]:
    """Yield the scores of a part, systems that share a frame one after another."""
    # Scores are as private as the readings. Nothing is drawn here, so a score may be made by any
    # thread, and made again.
    _refuse_whole_records(fleet)
    members, names = roster.members, fleet.names
    cases = [
        (names[each.number], member, each)
        for each in fleet.records(part)
        if isinstance(each, HeldRecord)
        and (member := members.get(names[each.number])) is not None
        and member.part == part.number
    ]
    if len(cases) != roster.sizes.get(part.number, 0):
        raise SourceError("the fleet was changed while it was being read; start again")
    cases.sort(key=lambda case: (repr(case[1].frame), case[1].number))

    def one(name: str, frame: ReleaseFrame, member: Member, record: Record) -> ScoredSystem:
        # by the member's own days, so that no other system's change how its days vote
        own = frame.resolved(
            terms.unit, terms.epsilon, differenced=member.differenced, time_grid=member.time_grid
        )
        return name, own, score_record(own, record, terms.unit)

    jobs = (
        partial(one, name, frames.of(member.frame), member, each.record)
        for name, member, each in cases
    )
    yield from _in_order(jobs, workers)


def _in_order(jobs: Iterable[Callable[[], ScoredSystem]], workers: int) -> Iterator[ScoredSystem]:
    """Yield what jobs return, in their order, some of them worked on ahead in threads."""
    running: deque[Future[ScoredSystem]] = deque()
    with ThreadPoolExecutor(workers, thread_name_prefix="sunveil-score") as pool:
        try:
            for job in jobs:
                running.append(pool.submit(job))
                if len(running) > workers:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@dataclass(frozen=True, slots=True, eq=False)
class SystemsToRelease:
    """The systems of a fleet that can be released, with all that is public of their releases."""

    fleet: Fleet  # the readings, to be read part by part: private
    roster: ReleaseRoster  # who is released, and who is not
    weather: ReleaseWeather  # the public weather
    workers: int = 1  # how many scores are made at a time

    @classmethod
    @checked
    def of(
        cls,
        fleet: Fleet,
        *,
        workers: int | None = None,  # scores made at a time; the number of processors if None
        cache: WeatherCache | None = None,
        on_progress: OnProgress = ignore_progress,  # called with how many systems are looked at
    ) -> SystemsToRelease:
        """Look through a fleet that was opened with ``cleaning="each"``.

        Privacy
        -------
        Who is refused depends on rows, stamps and places alone.
        """
        if not fleet.names:
            raise ParameterError("there are no systems to publish; name at least one")
        weather = ReleaseWeather(fleet, cache)
        roster = make_roster(fleet, weather.sites, on_progress)
        if not len(roster):
            reasons = sorted({each.reason for each in roster.refused})
            raise SourceError(
                f"no system of the fleet can be released; the first reason: {reasons[0]}"
            )
        return cls(fleet, roster, weather, (os.cpu_count() or 1) if workers is None else workers)

    def __len__(self) -> int:
        return len(self.roster)

    def __repr__(self) -> str:
        return f"SystemsToRelease({len(self.roster)} systems, private)"

    @property
    def draws_folder(self) -> Path | None:
        """A private folder for draws that are not kept yet, of its own for these very readings."""
        fleet = self.fleet
        return fleet.context.job.folder if isinstance(fleet, FleetOfFiles) else None

    @property
    def refused(self) -> tuple[RefusedSystem, ...]:
        """Who is not released, and why, for the curator."""
        return self.roster.refused

    @property
    def net(self) -> int:
        """How many of the systems have meters that are declared net: public."""
        return sum(member.frame.net for member in self.roster.members.values())

    def listed(self) -> Collection[str]:
        """Return the names of all systems that are said to be there, with readings or without."""
        return self.fleet.names

    def only(self, names: Collection[str]) -> SystemsToRelease:
        """Return some of the systems, by name; readings of parts without any are not read again."""
        return replace(self, roster=self.roster.only(names))

    def about(self) -> dict[str, str]:
        """Return what is public of each system by its name: another text is another question."""
        sites, weather = self.weather.sites, self.weather.name
        return {
            name: about_system(
                name, sites[member.frame.cell], weather, member.time_grid, net=member.frame.net
            )
            for name, member in self.roster.members.items()
        }

    def check(self) -> None:
        """Refuse places where nothing can be released."""
        for key, time_grid in self.roster.time_grids.items():
            self.weather.check(key, time_grid)

    def expected(self, terms: ReleaseTerms) -> ExpectedErrors:
        """Return the errors to expect, averaged over the systems, from what is public of them."""
        return expected_errors(self.roster, self.weather, terms)

    def parts(self, terms: ReleaseTerms) -> Iterator[SystemsPart]:
        """Yield the systems part by part, each part read when its scores are asked for."""
        frames = FrameCache(self.roster, self.weather, terms)
        for part in self.fleet.parts:
            size = self.roster.sizes.get(part.number, 0)
            if not size:
                continue
            scores = partial(
                score_part,
                self.fleet,
                self.roster,
                part,
                frames=frames,
                terms=terms,
                workers=self.workers,
            )
            yield SystemsPart(part.number, size, scores)


@checked
def release_systems(
    systems: SystemsToRelease, *, terms: ReleaseTerms, on_progress: OnProgress = ignore_progress
) -> list[Release]:
    """Release every system once, in an order that says nothing about them.

    Nothing is recorded: each call is a release of its own, and releases of one system add up.

    Privacy
    -------
    ``ε``-DP for the unit of every system. Draws are made in the thread that calls.
    """
    systems.check()
    expected = systems.expected(terms)
    # the same for all: each record's own days choose how they vote, by this rule
    public = terms.choices.to_dict()
    if terms.mechanism == "window":
        public["window_candidates"] = terms.choices.window(terms.epsilon).inside
    drawn: list[Release] = []
    for part in systems.parts(terms):
        for _, frame, scored in part.scores():
            one = draw_row(scored, frame, terms)
            drawn.append(replace(one, public=public, expected=expected))
            on_progress(len(drawn), len(systems))
    return sorted(drawn, key=lambda each: each.release_id)


def draw_row(scored: Scored, frame: ReleaseFrame, terms: ReleaseTerms) -> Release:
    """Draw the release of one system."""
    exponential = terms.mechanism == "exponential"
    return draw_release(scored, frame, epsilon=terms.epsilon, exponential=exponential)

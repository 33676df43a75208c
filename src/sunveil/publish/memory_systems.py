"""Systems whose records are in memory, as they are published: those of a file or a folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial

from sunveil.arguments import instance
from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.keys import key_of
from sunveil.meters.record import Record
from sunveil.publish.system_rows import about_system, mean_errors
from sunveil.publish.terms import ReleaseTerms, SystemsPart
from sunveil.releases.answer import ExpectedErrors
from sunveil.releases.drawing import Scored, score_record
from sunveil.releases.frame import (
    Frame,
    check_clock,
    check_daylight,
    make_frame,
    power_on,
    prepared,
    time_grid_of,
)
from sunveil.releases.typical import typical_errors
from sunveil.timegrid import TimeGrid
from sunveil.weather import Weather, WeatherCache

WeatherOf = Callable[[Record], Weather]


@dataclass(frozen=True, slots=True, eq=False)
class _SameFrame:
    """Records that share one frame, since frames are large and made one by one."""

    weather: Weather
    time_grid: TimeGrid
    net: bool
    records: list[Record] = field(default_factory=list)


class MemorySystems:
    """Records in memory, each with its public weather: private.

    Parameters
    ----------
    records
        The systems, read with ``cleaning="each"``.
    weather_of
        The public weather of a record. Give the same object for records of one place, so that
        their profiles are computed once.
    cache
        Where clear skies are kept.
    """

    # what is drawn stays in memory until it is kept
    draws_folder = None

    @checked
    def __init__(
        self,
        records: Iterable[Record],
        weather_of: WeatherOf,
        *,
        cache: WeatherCache | None = None,
    ) -> None:
        self.records = tuple(records)
        for record in self.records:
            instance("records", record, Record, give="records, as a reader of meters returns them")
        self._cache = cache
        self._checked = False
        if not self.records:
            raise ParameterError("there are no systems to publish; name at least one")
        if len({key_of(record.system_id) for record in self.records}) != len(self.records):
            raise ParameterError("a system is named twice; each system is one row of a publication")
        groups: dict[tuple[int, TimeGrid, bool], _SameFrame] = {}
        for record in self.records:
            weather = weather_of(record)
            check_clock(record, weather.site.longitude)
            time_grid = time_grid_of(prepared(record), longitude=weather.site.longitude)
            key = id(weather), time_grid, record.net
            made = _SameFrame(weather, time_grid, record.net)
            groups.setdefault(key, made).records.append(record)
        self._groups = list(groups.values())

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"MemorySystems({len(self.records)} systems, private)"

    @property
    def net(self) -> int:
        """How many of the systems have meters that are declared net: public."""
        return sum(record.net for record in self.records)

    def listed(self) -> list[str]:
        """Return the names of the systems."""
        return [record.system_id for record in self.records]

    def only(self, names: Collection[str]) -> MemorySystems:
        """Return some of the systems, by name."""
        found, chosen = copy(self), set(names)
        found.records = tuple(each for each in self.records if each.system_id in chosen)
        groups = (
            replace(group, records=[each for each in group.records if each.system_id in chosen])
            for group in self._groups
        )
        found._groups = [group for group in groups if group.records]
        return found

    def about(self) -> dict[str, str]:
        """Return what is public of each system by its name."""
        return {
            record.system_id: about_system(
                record.system_id,
                group.weather.site,
                group.weather.clear,
                group.time_grid,
                net=group.net,
            )
            for group in self._groups
            for record in group.records
        }

    def check(self) -> None:
        """Refuse records that could not be released."""
        if self._checked:
            return
        for group in self._groups:
            check_daylight(group.weather, group.time_grid, cache=self._cache)
            for record in group.records:
                power_on(group.time_grid, record)
        self._checked = True

    def expected(self, terms: ReleaseTerms) -> ExpectedErrors:
        """Return the errors to expect, averaged over the records."""
        found: Counter[ExpectedErrors] = Counter()
        for group in self._groups:
            kinds = Counter((each.differenced, each.label_shifts) for each in group.records)
            for (differenced, shifts), count in kinds.items():
                errors = typical_errors(
                    group.time_grid,
                    terms.choices_for(net=group.net),
                    clear=group.weather.clear,
                    protect=terms.unit,
                    epsilon=terms.epsilon,
                    differenced=differenced,
                    shifts=shifts,
                    latitude=group.weather.site.latitude,
                )
                found[errors] += count
        return mean_errors(found)

    def parts(self, terms: ReleaseTerms) -> Iterator[SystemsPart]:
        """Yield the systems that share a frame as one part."""
        for number, group in enumerate(self._groups):
            yield SystemsPart(number, len(group.records), partial(self._scores, group, terms))

    def _scores(
        self, group: _SameFrame, terms: ReleaseTerms
    ) -> Iterator[tuple[str, Frame, Scored]]:
        choices = terms.choices_for(net=group.net)
        choices = choices.affordable(terms.unit, terms.epsilon, group.time_grid)
        frame = make_frame(group.weather, group.time_grid, choices, cache=self._cache)
        for record in group.records:
            own = frame.settled(terms.unit, terms.epsilon, differenced=record.differenced)
            yield record.system_id, own, score_record(own, record, terms.unit)

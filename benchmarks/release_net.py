"""What private releases of net meters are worth: ``python -m benchmarks.releases --only net``.

Homes of Fontana with their own loads and with those of other homes, against what is inferred of
their generation alone; and simulated systems of other physics than the inference's
(:mod:`benchmarks.independent`) less real loads, by the clock of their place. Every distribution is
exact. ``python -m benchmarks.release_net`` writes ``src/sunveil/releases/typical_net.json``, the
errors to expect of releases of net meters, from the same cases, in some minutes.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks import expected, labelled, real
from benchmarks.independent import independent_fleet
from benchmarks.labelled import LabelledSeries
from sunveil.fleet.blocks import record_span
from sunveil.inference.infer import infer_record
from sunveil.meters import from_pandas
from sunveil.meters.record import Record
from sunveil.privacy.guarantees import Days, Readings
from sunveil.releases.candidate_frame import ReleaseFrame, frame_of
from sunveil.releases.expected_errors import ErrorLaws, Law, release_laws
from sunveil.releases.release_choices import Choices
from sunveil.site import Plane, Site
from sunveil.weather import Weather, get_weather

PATH = Path(__file__).parent.parent / "src" / "sunveil" / "releases" / "typical_net.json"
ROWS: tuple[tuple[Days | Readings, tuple[float, ...]], ...] = (
    (Days(1), (1.0, 4.0)),
    (Readings(1), (0.1,)),
)
# Whose load is taken beside a home's own: those so many places further in the list.
OTHERS = (2, 5)
# From so much export on a home's generation can be told. [share of daylight]
ENOUGH_EXPORT = 0.35
SYSTEMS, SEED = 12, 81_818
# Longitude of the homes. [degrees]
FONTANA = -117.44
# Mean load of a Fontana home stands beside so much capacity. [kW]
USUAL_KW, SCALES = 4.1, 0.25
QUANTITIES = labelled.QUANTITIES
NOTE = f"""\
Net meters, hourly, a year, under a clear sky: median / 95th percentile of all draws. Real homes:
Fontana's, with export in at least {ENOUGH_EXPORT:.0%} of daylight or with less; crossed: the
generation of one less the load of another. Simulated: systems of other physics than the
inference's, less Fontana's loads by the clock of the place, scaled with the capacity."""


@dataclass(frozen=True, slots=True, eq=False)
class NetCase:
    """A net meter of which it is known what stands behind it.

    Parameters
    ----------
    kind, home
        What it is, as the table says, and whose generation it is.
    record, site
        Its readings, and where they were taken.
    plane, dc_capacity_kw
        What errors are measured against. [kW]
    export
        Share of daylight in which more is generated than used.
    weather
        Measured weather, where there is some.
    """

    kind: str
    home: str
    record: Record
    site: Site
    plane: Plane
    dc_capacity_kw: float
    export: float
    weather: Weather | None = None


def homes() -> Iterator[NetCase]:
    """Yield the homes of Fontana with their own loads, and with some of the others'."""
    names = [name for name in real.LOADERS if name.startswith("fontana")]
    found, _ = real.load_all(names=names)
    loads = [fontana_load(each.name) for each in found]
    for number, home in enumerate(found):
        gross = from_pandas(home.power, system_id=home.name, label=home.label, power_unit="kW")
        weather = get_weather("clearsky", home.site, *record_span(gross))
        told = infer_record(gross, weather)
        for turn in (0, *OTHERS):
            net = home.power - loads[(number + turn) % len(loads)]
            yield NetCase(
                "crossed" if turn else "own load",
                home.name,
                net_record(net),
                home.site,
                told.plane,
                told.dc_capacity_kw,
                _export(net, home.power),
            )


def fontana_load(name: str) -> pd.Series:
    """Return the load of a home, by the UTC start of each hour. [kW]"""
    path = real.data_folder(None) / "fontana" / f"home_{name.removeprefix('fontana_')}.csv"
    return pd.read_csv(path, index_col="time", parse_dates=True)["load_kw"]


def simulated() -> Iterator[NetCase]:
    """Yield systems of other physics less real loads, by the clock of their place."""
    names = [name for name in real.LOADERS if name.startswith("fontana")]
    rng = np.random.default_rng(SEED)
    for one, name in zip(
        independent_fleet(SYSTEMS, seed=SEED), itertools.cycle(names), strict=False
    ):
        site = one.satellite.site
        scale = one.dc_capacity_kw / USUAL_KW * np.exp(rng.normal(0.0, SCALES))
        load = scale * _by_clock(fontana_load(name), one.power.index, site.longitude)
        net = one.power - load
        yield NetCase(
            "simulated",
            one.name,
            net_record(net),
            site,
            one.plane,
            one.dc_capacity_kw,
            _export(net, one.power),
            one.satellite,
        )


def _by_clock(load: pd.Series, times: pd.DatetimeIndex, longitude: float) -> np.ndarray:
    """Return a home's load at the same day of the year and hour of its place's clock."""
    there = load.index + pd.Timedelta(hours=round(FONTANA / 15.0))
    by_hour = pd.Series(load.to_numpy(), [there.month, there.day, there.hour])
    here = times + pd.Timedelta(hours=round(longitude / 15.0))
    wanted = pd.MultiIndex.from_arrays([here.month, here.day, here.hour])
    return by_hour.reindex(wanted).to_numpy()


def net_record(net: pd.Series) -> Record:
    """Return the record of a net meter as releases read it."""
    return from_pandas(
        net, system_id="case", label="start", net=True, cleaning="each", power_unit="kW"
    )


def _export(net: pd.Series, generation: pd.Series) -> float:
    lit = generation > 0.005 * generation.max()
    return float((net[lit] > 0.0).mean())


def framed(cases: Iterable[NetCase], *, measured: bool = False) -> Iterator[LabelledSeries]:
    """Yield cases in the frames of their releases, made once for neighbours in the list.

    Parameters
    ----------
    cases
        The cases.
    measured
        Whether candidates stand under measured weather, where a case has some, and not a clear sky.
    """
    choices = Choices().for_meter(net=True)
    made: tuple[object, ReleaseFrame] | None = None
    for case in cases:
        weather = case.weather if measured else None
        key = case.site, id(weather), case.record.extent
        if made is None or made[0] != key:
            sky = weather or get_weather("clearsky", case.site, *record_span(case.record))
            made = key, frame_of(case.record, sky, choices)
        yield LabelledSeries(
            system=case.home,
            name=case.kind,
            frame=made[1],
            record=case.record,
            plane=case.plane,
            dc_capacity_kw=case.dc_capacity_kw,
            counts=frozenset(QUANTITIES),
            real=case.weather is None,
        )


def table() -> Iterator[str]:
    """Yield the table of what releases of net meters are worth."""
    found: dict[tuple[str, bool], list[list[ErrorLaws]]] = {}
    cases = [*homes(), *simulated()]
    for case, one in zip(cases, framed(cases), strict=True):
        laws = [law for unit, epsilons in ROWS for law in _laws(one, unit, epsilons)]
        found.setdefault((case.kind, case.export >= ENOUGH_EXPORT), []).append(laws)
    yield from (*NOTE.splitlines(), "")
    yield "| net meters | export | number | unit | ε | azimuth | tilt | capacity |"
    yield "|---|---|---|---|---|---|---|---|"
    asked = [(unit, epsilon) for unit, epsilons in ROWS for epsilon in epsilons]
    for (kind, enough), laws in sorted(found.items(), key=lambda each: (not each[0][1], each[0])):
        export = f"{ENOUGH_EXPORT:.0%} or more" if enough else "less"
        for (unit, epsilon), each in zip(asked, zip(*laws, strict=True), strict=True):
            told = " | ".join(_quantiles(each, quantity) for quantity in QUANTITIES)
            yield f"| {kind} | {export} | {len(laws)} | {unit} | {epsilon:g} | {told} |"


def _laws(one: LabelledSeries, unit: Days | Readings, epsilons: Sequence[float]) -> list[ErrorLaws]:
    return release_laws(
        one.frame, one.record, one.plane, one.dc_capacity_kw, protect=unit, epsilons=epsilons
    )


def _quantiles(laws: Sequence[ErrorLaws], quantity: str) -> str:
    """Return the median and the 95th percentile of draws, each case counted alike."""
    law = Law.pooled([getattr(each, quantity) for each in laws])
    order = np.argsort(law.errors)
    total = np.cumsum(law.probabilities[order])
    places = np.searchsorted(total, np.array([0.5, 0.95]) * total[-1])
    unit = "%" if quantity == "capacity" else "°"
    return " / ".join(f"{law.errors[order][place]:.0f}{unit}" for place in places)


def main() -> None:
    """Compute the errors to expect of releases of net meters, and write them."""
    cases = list(simulated())
    found = [
        *labelled.measured(framed(homes()), worths=expected.WORTHS),
        *labelled.measured(framed(cases), worths=expected.WORTHS),
        *labelled.measured(framed(cases, measured=True), worths=expected.WORTHS),
    ]
    made = expected.make_table(found)
    behind = "real homes with their own and others' loads, and "
    for kind, real_homes in (("clear", behind), ("measured", "")):
        made[kind]["basis"] = (
            f"net meters: {real_homes}{SYSTEMS} systems simulated by other physics less real loads;"
            " each mechanism's distribution exact"
        )
    PATH.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    print(PATH)


if __name__ == "__main__":
    main()

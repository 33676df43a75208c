"""Net meters: ``python -m benchmarks.net --write --cache DIR``.

Measures how well azimuth, tilt and capacity are told from net meters under the embedded clear sky,
and whether what cannot be told says so: on real homes, on real loads less neighbours' real PV, on
simulated PV less real loads, and on households with batteries, cars, cooling and heavy loads; what
it costs; and what others make of the same homes. Real series are read from the folder that
``SUNVEIL_DATA`` names; without it there is nothing to measure. ``--only`` measures parts anew.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

# one thread for every tool: CPU seconds are compared, and two processes share two cores
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from benchmarks import net_beside, net_elsewhere, net_simulated  # noqa: E402
from benchmarks.csv_tables import save  # noqa: E402
from benchmarks.net_answers import NetAnswer, Told, answers, turned_series  # noqa: E402
from benchmarks.net_scores import (  # noqa: E402
    HEAD,
    Honesty,
    by_export,
    net_errors,
    score_row,
    spread,
    undoubted,
)
from benchmarks.net_systems import (  # noqa: E402
    ENOUGH_EXPORT,
    KnownNet,
    Truths,
    crossed,
    generators,
    homes,
    own,
)
from benchmarks.planes_scores import half_and_tail  # noqa: E402
from sunveil.estimates.flags_and_quality import (  # noqa: E402
    POOR_FLAGS,
    Flag,
)

NO_DATA = "Real homes are left out: their folder is not here, and nothing can be measured."
ENOUGH = f"export in {ENOUGH_EXPORT:.0%} of daylight or more"
LESS = "less export"
# What of azimuth [°], tilt [°] and capacity [%] is to be reached: median and 95th percentile.
BARS = {
    "real homes": ((6, 25), (3, 6), (8, 18)),
    "crossed": ((6, 25), (3, 8), (8, 20)),
    "simulated": ((4.5, 20), (3, 10), (8, 18)),
}
MOST_CRIED, LEAST_SAID = 15.0, 80.0
_asked: dict[str, Path | None] = {"cache": None}


@cache
def truths() -> Truths:
    """Return the plane and the capacity that each home's PV tells alone."""
    return _truths_of(generators())


def _truths_of(meters: Iterable[KnownNet]) -> Truths:
    alone = answers(meters, folder=_asked["cache"], net=False)
    return {one.name: (answer.plane, answer.capacity) for one, answer in alone}


SETS: dict[str, Callable[[], Iterable[KnownNet]]] = {
    "own": lambda: own(truths()),
    "crossed": lambda: crossed(truths()),
    "elsewhere": lambda: net_elsewhere.behind_homes(_truths_of(net_elsewhere.alone())),
    "simulated": net_simulated.own_physics,
    "another physics": net_simulated.other_physics,
    "30 minutes": lambda: net_simulated.own_physics(step_minutes=30, each=1),
    "15 minutes": lambda: net_simulated.own_physics(step_minutes=15, each=1),
    "hard": lambda: net_simulated.hard(own(truths())),
    "fleet": net_simulated.fleet,
}


@cache
def systems(name: str) -> list[KnownNet]:
    """Return the meters of one of ``SETS``, all of them under the embedded clear sky."""
    return [replace(one, weather=None) for one in weathered(name)]


@cache
def weathered(name: str) -> list[KnownNet]:
    """Return the meters of one of ``SETS`` with the weather that they come with."""
    return list(SETS[name]())


@cache
def told(name: str) -> list[Told]:
    """Return the meters of one of ``SETS`` with what is told of them; the same for every part."""
    return answers(systems(name), folder=_asked["cache"])


@cache
def forced(name: str) -> list[NetAnswer]:
    """Return what would have been told of each, had it not been refused."""
    refused = [one for one, answer in told(name) if answer.refused]
    must = iter(answers(refused, folder=_asked["cache"], force=True))
    return [next(must)[1] if answer.refused else answer for _, answer in told(name)]


def homes_part() -> Iterator[str]:
    """Yield the tables of real homes."""
    yield HEAD
    yield "| bar, own load | | | 6 / 25 | 3 / 6 | 8 / 18 | | |"
    yield "| bar, crossed | | | 6 / 25 | 3 / 8 | 8 / 20 | | |"
    for title, name in (("own load", "own"), ("a neighbour's load", "crossed")):
        enough, less = by_export(told(name))
        yield score_row(f"{title}, {ENOUGH}", enough)
        yield score_row("of these not doubted", undoubted(enough))
        yield score_row(f"{title}, {LESS}", less)
    yield score_row("real systems elsewhere, these homes' loads", told("elsewhere"))
    yield score_row("of these not doubted", undoubted(told("elsewhere")))
    yield ""
    yield "| home | exports | azimuth [°] | tilt [°] | capacity [%] | quality | flags |"
    yield "|---|---|---|---|---|---|---|"
    for one, answer in told("own"):
        yield _home_row(one, answer)
    yield ""
    every = by_export([*told("own"), *told("crossed")])[0]
    errors = [each for one in every if (each := net_errors(*one)) is not None]
    yield (
        f"Of homes with {ENOUGH}, the mean load is told with an error of"
        f" {half_and_tail([each.load for each in errors], 1)}%, and the share of the generation"
        f" that a household uses itself with one of"
        f" {half_and_tail([each.self_consumption for each in errors], 3)}."
    )


def _home_row(system: KnownNet, answer: NetAnswer) -> str:
    errors = net_errors(system, answer)
    exports = f"{100.0 * system.exporting:.0f}%"
    if errors is None:
        return f"| {system.name} | {exports} | | | | refused | |"
    flags = ", ".join(flag.value for flag in answer.flags if flag is not Flag.NET_METER)
    return (
        f"| {system.name} | {exports} | {errors.azimuth:.1f} | {errors.tilt:.1f} |"
        f" {errors.capacity:.1f} | {answer.quality} | {flags} |"
    )


def simulated_part() -> Iterator[str]:
    """Yield the table of simulated PV less real loads."""
    yield HEAD
    yield "| bar | | | 4.5 / 20 | 3 / 10 | 8 / 18 | | |"
    both = [*told("simulated"), *told("another physics")]
    yield score_row("both physics", both)
    yield score_row("of these not doubted", undoubted(both))
    yield score_row("Sunveil's simulator", told("simulated"))
    yield score_row("another physics", told("another physics"))
    yield score_row("Sunveil's simulator, simulated loads, 30 minutes", told("30 minutes"))
    yield score_row("Sunveil's simulator, simulated loads, 15 minutes", told("15 minutes"))
    plain = [one for one in told("fleet") if one[0].kind == net_simulated.NEITHER]
    yield score_row("a simulated fleet without batteries and cars", plain)
    measured = answers(weathered("simulated"), folder=_asked["cache"])
    yield score_row("Sunveil's simulator, a satellite's weather", measured)


def meters_part() -> Iterator[str]:
    """Yield what meters of other kinds tell of the same homes."""
    few = [*told("own"), *told("crossed")[::3]]
    enough = [one for one, _ in by_export(few)[0]]
    exported = [replace(one, export_only=True) for one in enough]
    ask = partial(answers, folder=_asked["cache"])
    yield HEAD
    yield score_row("one signed column", by_export(few)[0])
    yield score_row("counted the other way round", ask(enough, series=turned_series, negate=True))
    yield score_row("counted the other way round, sign not said", ask(enough, series=turned_series))
    yield score_row("export only", ask(exported))
    unsaid = ask(systems("own"), net=False)
    yield ""
    seen = sum(Flag.NET_METER in answer.flags for _, answer in unsaid)
    yield f"Not said to be net, {seen} of {len(unsaid)} homes are seen to be."


def doubts_part() -> Iterator[str]:
    """Yield what doubts are worth, and which flags hard cases carry."""
    yield ("| meters | n | refused | wrong | of these doubted | right | of these doubted | flags |")
    yield "|---|---|---|---|---|---|---|---|"
    yield f"| bar | | | | {LEAST_SAID:.0f}% | | at most {MOST_CRIED:.0f}% | |"
    for name in ("own", "crossed", "elsewhere", "simulated", "another physics"):
        yield _doubt_row(name, told(name), forced(name))
    for name in ("hard", "fleet"):
        for kind in dict.fromkeys(one.kind for one, _ in told(name)):
            some = [one.kind == kind for one, _ in told(name)]
            title = f"{'own' if name == 'hard' else 'simulated fleet'}, {kind}"
            yield _doubt_row(title, _where(told(name), some), _where(forced(name), some))
    yield _doubt_row("all of them", *_everyone())


def _where(values: Sequence, chosen: Sequence[bool]) -> list:
    return [value for value, one in zip(values, chosen, strict=True) if one]


def _everyone() -> tuple[list[Told], list[NetAnswer]]:
    names = ("own", "crossed", "elsewhere", "simulated", "another physics", "hard", "fleet")
    every = [one for name in names for one in told(name)]
    return every, [one for name in names for one in forced(name)]


def _doubt_row(name: str, some: Sequence[Told], must: Sequence[NetAnswer]) -> str:
    counts = Counter(flag for _, each in some for flag in each.flags if flag in POOR_FLAGS)
    flags = ", ".join(f"{flag.value} {count}" for flag, count in counts.most_common(4))
    refused = sum(answer.refused for _, answer in some)
    return f"| {name} | {len(some)} | {refused} | {Honesty.of(some, must).cells} | {flags} |"


def bars_part() -> Iterator[str]:
    """Yield each bar beside what is reached."""
    sets = {
        "real homes": by_export(told("own"))[0],
        "crossed": by_export(told("crossed"))[0],
        "simulated": [*told("simulated"), *told("another physics")],
    }
    yield "| what | azimuth [°] | bar | tilt [°] | bar | capacity [%] | bar |"
    yield "|---|---|---|---|---|---|---|"
    for name, bars in BARS.items():
        cells = []
        for quantity, bar in zip(("azimuth", "tilt", "capacity"), bars, strict=True):
            reached = spread(sets[name], quantity)
            cells += ["{:.1f} / {:.1f}".format(*reached), "{:g} / {:g}".format(*bar)]
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield "| what | reached | bar |"
    yield "|---|---|---|"
    honest = Honesty.of(*_everyone())
    yield f"| wrong answers refused or flagged | {honest.said_percent:.0f}% | {LEAST_SAID:.0f}% |"
    yield (
        f"| right answers refused or flagged | {honest.cried_percent:.0f}% |"
        f" at most {MOST_CRIED:.0f}% |"
    )
    yield f"| CPU a system in the fleet | {_cost():.0f} ms | {net_beside.COST_BAR:.0f} ms |"


@cache
def _cost() -> float:
    return net_beside.cost()


def _apart() -> Iterator[str]:
    return net_beside.apart_part([one for one, _ in by_export(told("own"))[0]])


def _beside() -> Iterator[str]:
    every = [*told("own"), *told("crossed")[::3]]
    return net_beside.beside_part(every, folder=_asked["cache"])


PARTS: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "bars": ("What it reaches", bars_part),
    "homes": ("Real homes", homes_part),
    "simulated": ("Simulated PV less real loads", simulated_part),
    "meters": ("Meters of other kinds", meters_part),
    "doubts": ("Flags and refusals", doubts_part),
    "apart": ("Separation", _apart),
    "cost": ("Cost", lambda: net_beside.cost_part(_cost())),
    "beside": ("Beside others", _beside),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--cache", type=Path, help="folder to keep answers in")
    given = parser.parse_args(arguments)
    _asked["cache"] = given.cache
    if not homes():
        print(NO_DATA)
        return
    for name in given.only:
        title, rows = PARTS[name]
        lines = [f"## {title}\n"]
        print(lines[0], flush=True)
        for row in rows():
            print(row, flush=True)
            lines.append(row)
        if given.write:
            save(lines, "net")


if __name__ == "__main__":
    main()

"""Two planes and trackers: ``python -m benchmarks.planes --write``.

Measures how often and how well two planes and trackers are told under the embedded clear sky: on
simulated systems, on systems of another physics, on sums of real homes, on real single roofs; what
it costs; and what two peers' one plane is worth there. Real series are read from the folder that
``SUNVEIL_DATA`` names; without it their rows are left out. ``--only`` measures parts anew.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

# one thread for every tool: CPU seconds are compared, and two processes share two cores
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

from benchmarks import planes_beside, planes_systems  # noqa: E402
from benchmarks.csv_tables import save  # noqa: E402
from benchmarks.planes_scores import (  # noqa: E402
    called,
    gain_of_two,
    half_and_tail,
    is_tracker,
    pair_errors,
    percentage,
    tracker_errors,
    two_planes,
)
from benchmarks.planes_systems import (  # noqa: E402
    HOMES,
    SEED,
    Answer,
    answered,
    real_systems,
    sums_of_homes,
)
from benchmarks.stressed_systems import mean_plane  # noqa: E402
from sunveil.estimates.estimates_table import Estimate  # noqa: E402
from sunveil.estimates.flags_and_quality import Flag  # noqa: E402

# Homes of one street face alike: closer azimuths are one plane for all purposes, and planes whose
# normals are closer are lit together nearly all day. [degrees]
SAME_AZIMUTH, LIT_TOGETHER = 25.0, 20.0
# Real systems whose planes are more than one, whatever can be told of them.
NOT_SINGLE = ("nist_canopy",)
NO_DATA = "Real series are left out: their folder is not here."
SETS: dict[str, Callable[[int], Iterator[planes_systems.KnownMounts]]] = {
    "pairs": lambda n: planes_systems.simulated(n, seed=SEED, change=planes_systems.pairs(seed=1)),
    "other physics, pairs": lambda n: planes_systems.independent(
        n, seed=SEED + 1, change=planes_systems.pairs(seed=2)
    ),
    "low pairs": lambda n: planes_systems.simulated(
        n, seed=SEED + 2, change=planes_systems.pairs(seed=3, low=True)
    ),
    "singles": lambda n: planes_systems.simulated(n, seed=SEED + 3),
    "other physics, singles": lambda n: planes_systems.independent(n, seed=SEED + 4),
    "shaded singles": lambda n: planes_systems.shaded(n, seed=SEED + 5),
    "trackers": lambda n: planes_systems.simulated(
        n, seed=SEED + 6, change=planes_systems.trackers(seed=4)
    ),
    "other physics, trackers": lambda n: planes_systems.independent(
        n, seed=SEED + 7, change=planes_systems.trackers(seed=5)
    ),
}
# How many of each, in hundredths of --systems.
COUNTS = {
    "pairs": 100,
    "other physics, pairs": 60,
    "low pairs": 30,
    "singles": 500,
    "other physics, singles": 100,
    "shaded singles": 60,
    "trackers": 60,
    "other physics, trackers": 30,
}
SYSTEMS = 100
_asked = {"systems": SYSTEMS}


@cache
def answers(name: str) -> list[Answer]:
    """Return the systems of one of ``SETS`` with their estimates; the same for every part."""
    return answered(SETS[name](max(1, COUNTS[name] * _asked["systems"] // SYSTEMS)))


@cache
def real_answers() -> list[Answer]:
    """Return the real systems that are here with their estimates."""
    return answered(real_systems())


@cache
def sum_answers() -> list[Answer]:
    """Return the sums of any two homes with their estimates."""
    homes = [each for each in real_answers() if each[0].name in HOMES]
    return answered(sums_of_homes(homes))


PAIR_HEAD = (
    "| systems | n | told as two | azimuth [°] | worse azimuth [°] | tilt [°] | worse plane [°]"
    " | share | capacity [%] | 90% hold [%] |\n|---|---|---|---|---|---|---|---|---|---|"
)


def pair_row(name: str, found: Sequence[Answer]) -> str:
    """Return the row of some pairs."""
    errors = [each for one in found if (each := pair_errors(*one)) is not None]
    held = ", ".join(percentage([each.held[place] for each in errors]) for place in range(4))
    cells = [
        half_and_tail([value for each in errors for value in each.azimuth], 1),
        half_and_tail([max(each.azimuth) for each in errors], 1),
        half_and_tail([value for each in errors for value in each.tilt], 1),
        half_and_tail([max(each.angle) for each in errors], 1),
        half_and_tail([each.share for each in errors], 3),
        half_and_tail([each.capacity for each in errors], 1),
        held,
    ]
    return f"| {name} | {len(found)} | {len(errors)} | {' | '.join(cells)} |"


def pairs_part() -> Iterator[str]:
    """Yield the table of simulated pairs."""
    yield PAIR_HEAD
    yield "| bar, tilt from 15° | | | 3 / 10 | | 2 / 5 | | .03 / .10 | 5 / 12 | |"
    found = answers("pairs")
    yield pair_row("simulated, tilt from 15°", found)
    kinds = {"corners": [], "ridges with a side to the pole": [], "other ridges": []}
    for one in found:
        kinds[_kind(one)].append(one)
    for name, some in kinds.items():
        yield pair_row(f"of these {name}", some)
    yield pair_row("another physics, tilt from 15°", answers("other physics, pairs"))
    yield pair_row("simulated, tilt 4 to 15°", answers("low pairs"))
    yield ""
    rest = [one for one in found if pair_errors(*one) is None]
    flagged = sum(each is not None and Flag.NOT_ONE_PLANE in each.flags for _, each in rest)
    off = [each.plane.angle_to(mean_plane(one.planes)) for one, each in rest if each is not None]
    yield (
        f"Of the {len(rest)} simulated pairs that are not told as two, {flagged} are flagged, and"
        f" the effective plane is {half_and_tail(off, 1)}° from that of the summed normal."
    )


def _kind(answer: Answer) -> str:
    """Return what roof a pair stands on."""
    if _turn(answer) < 135.0:
        return "corners"
    faces = abs(math.cos(math.radians(answer[0].planes[0][0].surface_azimuth)))
    return "ridges with a side to the pole" if faces > math.sqrt(0.5) else "other ridges"


def _turn(answer: Answer) -> float:
    first, second = (plane.surface_azimuth for plane, _ in answer[0].planes)
    return abs((first - second + 180.0) % 360.0 - 180.0)


def fontana_part() -> Iterator[str]:
    """Yield the table of sums of two real homes."""
    found = sum_answers()
    if not found:
        yield NO_DATA
        return
    apart = [one for one in found if _turn(one) >= SAME_AZIMUTH]
    wide = [one for one in apart if one[0].apart >= LIT_TOGETHER]
    yield PAIR_HEAD
    yield "| bar | | | 5 / 20 | | 2 / 5 | | .04 / .20 | 3 | |"
    yield pair_row("azimuths 25° apart or more", apart)
    yield pair_row("of these normals 20° apart or more", wide)
    yield pair_row("of these normals closer", [one for one in apart if one not in wide])
    yield pair_row("azimuths closer than 25°: one plane", [o for o in found if o not in apart])


def singles_part() -> Iterator[str]:
    """Yield how often single planes are called two, and each real one by name."""
    yield "| systems | n | called two | [%] | bar |"
    yield "|---|---|---|---|---|"
    bars = {"singles": "at most 2%"}
    for name in ("singles", "other physics, singles", "shaded singles"):
        yield _called_row(f"simulated, {name}", answers(name), bars.get(name, ""))
    real = [one for one in real_answers() if one[0].name not in NOT_SINGLE]
    yield _called_row("real homes", [one for one in real if one[0].name in HOMES], "at most 2 of 9")
    yield _called_row("other real systems", [one for one in real if one[0].name not in HOMES], "")
    yield ""
    yield "| real system | told | gain of two | flags |"
    yield "|---|---|---|---|"
    for system, found in real_answers():
        if system.name in (*HOMES, *NOT_SINGLE) or (found is not None and two_planes(found)):
            yield _told_row(system, found)
    gains = [gain_of_two(*one) for one in sum_answers() if one[1] and two_planes(one[1])]
    if gains:
        yield ""
        yield f"Sums of two homes gain {half_and_tail(gains, 2)}, and {min(gains):.2f} at least."


def _called_row(name: str, found: Sequence[Answer], bar: str) -> str:
    two = called(found, two_planes)
    share = percentage([each in two for each in (system.name for system, _ in found)])
    return f"| {name} | {len(found)} | {len(two)} | {share} | {bar} |"


def _told_row(system: planes_systems.KnownMounts, found: Estimate | None) -> str:
    if found is None:
        return f"| {system.name} | refused | | |"
    planes = " and ".join(
        f"{each.surface_azimuth:.0f}°/{each.surface_tilt:.0f}° ({each.share:.0%})"
        for each in found.planes
    )
    gain = f"{gain_of_two(system, found):.2f}" if two_planes(found) else ""
    flags = ", ".join(flag.value for flag in found.flags)
    return f"| {system.name} | {planes or 'a tracker'} | {gain} | {flags} |"


def trackers_part() -> Iterator[str]:
    """Yield the table of trackers."""
    yield (
        "| systems | n | called fixed | axis [°] | backtracking right [%] | coverage"
        " | greatest angle [°] | capacity [%] | 90% hold [%] |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    yield "| bar | | at most 3% | 1 / 3 | 90 | .04 / .10 | | 6 / 12 | |"
    for title, name in (
        ("simulated", "trackers"),
        ("another physics", "other physics, trackers"),
    ):
        found = answers(name)
        errors = [each for one in found if (each := tracker_errors(*one)) is not None]
        held = [[each.held[place] for each in errors] for place in range(4)]
        cells = [
            half_and_tail([each.axis for each in errors], 1),
            percentage([each.backtrack for each in errors]),
            half_and_tail([each.gcr for each in errors], 3),
            half_and_tail([each.max_angle for each in errors], 1),
            half_and_tail([each.capacity for each in errors], 1),
            ", ".join(percentage([each for each in one if each is not None]) for one in held),
        ]
        yield f"| {title} | {len(found)} | {len(found) - len(errors)} | {' | '.join(cells)} |"


def fixed_part() -> Iterator[str]:
    """Yield how many fixed systems are called trackers."""
    yield "| fixed systems | n | called trackers | bar |"
    yield "|---|---|---|---|"
    names = [name for name in SETS if "trackers" not in name]
    for name in names:
        yield _tracker_row(name, answers(name))
    yield _tracker_row("sums of two real homes", sum_answers())
    yield _tracker_row("real systems", real_answers())
    everyone = [one for name in names for one in answers(name)]
    yield _tracker_row("all of them", [*everyone, *sum_answers(), *real_answers()], "0 of 500")


def _tracker_row(name: str, found: Sequence[Answer], bar: str = "") -> str:
    return f"| {name} | {len(found)} | {len(called(found, is_tracker))} | {bar} |"


PARTS: dict[str, tuple[str, Callable[[], Iterator[str]]]] = {
    "pairs": ("Simulated pairs", pairs_part),
    "fontana": ("Sums of two real homes", fontana_part),
    "singles": ("One plane called two", singles_part),
    "trackers": ("Trackers", trackers_part),
    "fixed": ("Fixed systems called trackers", fixed_part),
    "cost": ("Cost", planes_beside.cost_part),
    "peers": ("Beside the peers", planes_beside.peers_part),
    "private": ("Private releases", planes_beside.private_part),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument(
        "--systems", type=int, default=SYSTEMS, help="pairs; the rest in proportion"
    )
    parser.add_argument("--peers", type=int, default=8, help="pairs that the peers run too")
    parser.add_argument("--cache", type=Path, help="folder to keep the peers' answers in")
    given = parser.parse_args(arguments)
    _asked["systems"] = given.systems
    beside = {
        "peers": partial(
            planes_beside.peers_part, answers, sum_answers, count=given.peers, cache=given.cache
        ),
        "private": partial(planes_beside.private_part, answers, count=given.systems // 4),
    }
    for name in given.only:
        title, rows = PARTS[name]
        lines = [f"## {title}\n"]
        print(lines[0], flush=True)
        for row in beside.get(name, rows)():
            print(row, flush=True)
            lines.append(row)
        if given.write:
            save(lines, "planes")


if __name__ == "__main__":
    main()

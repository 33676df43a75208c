"""Sums of two real homes at many angles, and flat systems: two parts of the page of real systems.

The homes of Fontana face three ways. A home is mirrored about solar noon of each day to face a
fourth and a fifth, so that every reading of a sum was metered; its morning's clouds are then the
other's evening's, and clear days tell the planes. The truth of a sum is what Sunveil itself says of
each home's generation alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pvlib
from scipy.interpolate import PchipInterpolator

from benchmarks.planes_scores import half_and_tail, pair_errors
from benchmarks.planes_systems import (
    HOMES,
    Answer,
    Change,
    KnownMounts,
    answered,
    independent,
    of_case,
    simulated,
    sums_of_homes,
)
from benchmarks.real_case import RealCase
from benchmarks.real_tables import table
from sunveil.estimates.flags_and_quality import Flag
from sunveil.simulate import SystemTruth
from sunveil.site import Plane

MIRRORED = ", mirrored"
# Closer azimuths are one plane for most purposes; sums within so much are one row. [degrees]
APART, ROW = 60.0, 5.0
# Flat systems by either physics, and how steep they are at most. [1, degrees]
FLAT, FLATTEST, SEED = 30, 4.0, 34_034
UNTOLD = (Flag.NOT_ONE_PLANE, Flag.PLANES_UNRESOLVED)


def mirrored(home: KnownMounts) -> KnownMounts:
    """Return a home whose days run backwards about solar noon: its plane faces the other way."""
    power = home.power.tz_convert("UTC").asfreq("h")
    step, begin = 3600.0, power.index.as_unit("s").asi8.astype(float)
    east = 240.0 * home.site.longitude
    late = 60.0 * pvlib.solarposition.equation_of_time_pvcdrom(power.index.day_of_year)
    day = np.floor((begin + step / 2.0 + east) / 86400.0)
    twice = 2.0 * (86400.0 * day + 43200.0 - east - np.asarray(late))
    edges = np.append(begin, begin[-1] + step)
    ends = [np.clip(twice - each, edges[0], edges[-1]) for each in (begin + step, begin)]

    def between(values: np.ndarray) -> np.ndarray:
        total = PchipInterpolator(edges, np.append(0.0, np.cumsum(values)))
        return np.asarray(total(ends[1]) - total(ends[0]))

    seen = between(power.isna().to_numpy(float)) < 1e-6
    found = np.maximum(between(power.fillna(0.0).to_numpy()), 0.0)
    turned = pd.Series(np.where(seen, found, np.nan), power.index).dropna()
    return replace(home, name=home.name + MIRRORED, power=turned)


def sum_answers(homes: Sequence[KnownMounts]) -> list[Answer]:
    """Return sums of two homes, at most one of them mirrored, with their estimates."""
    known = answered([*homes, *map(mirrored, homes)])
    names = {one.name: one.name.removesuffix(MIRRORED) for one, _ in known}
    sums: list[KnownMounts] = []
    for pair in combinations(known, 2):
        first, second = (one.name for one, _ in pair)
        both = first != names[first] and second != names[second]
        if not both and names[first] != names[second]:
            sums += sums_of_homes(pair)
    return answered(sums)


def apart(answer: Answer) -> float:
    """Return the angle between the azimuths of both planes. [degrees]"""
    first, second = (plane.surface_azimuth for plane, _ in answer[0].planes)
    return abs((first - second + 180.0) % 360.0 - 180.0)


def pair_lines(found: Sequence[Answer]) -> list[str]:
    """Return the table of sums of homes by the angle between them, the angles far apart together.

    Parameters
    ----------
    found
        Sums with their estimates.
    """
    wide = [one for one in found if apart(one) >= APART]
    metered = [one for one in wide if MIRRORED not in one[0].name]
    rows = [_pair_row(f"all from {APART:.0f}°", wide)] if wide else []
    rows += [_pair_row(f"from {APART:.0f}°, none mirrored", metered)] if metered else []
    angles = sorted({ROW * round(apart(one) / ROW) for one in found})
    for angle in angles:
        some = [one for one in found if ROW * round(apart(one) / ROW) == angle]
        rows.append(_pair_row(f"{angle:.0f}°", some))
    head = ["azimuths apart", "sums", "found as two", "worse plane [°]", "worse azimuth [°]"]
    return table([*head, "not found: flagged"], rows)


def _pair_row(name: str, found: Sequence[Answer]) -> list[str]:
    errors = [each for one in found if (each := pair_errors(*one)) is not None]
    rest = [estimate for _, estimate in found if estimate is not None and len(estimate.planes) != 2]
    flagged = sum(bool({*UNTOLD} & {*each.flags}) for each in rest)
    worse = (half_and_tail([max(v) for v in values], 1) for values in _worse(errors))
    return [name, f"{len(found)}", f"{len(errors)}", *worse, f"{flagged} of {len(rest)}"]


def _worse(errors: Sequence) -> Iterator[list[tuple[float, float]]]:
    yield [each.angle for each in errors]
    yield [each.azimuth for each in errors]


def flat(seed: int) -> Change:
    """Return what lays systems flat; the seed is of what is drawn, in the order of the systems."""
    rng = np.random.default_rng([SEED, seed])

    def change(truth: SystemTruth) -> SystemTruth:
        plane = Plane(truth.plane.surface_azimuth, float(rng.uniform(0.0, FLATTEST)))
        return replace(truth, planes=((plane, 1.0),))

    return change


FLAT_SETS: dict[str, Callable[[], Iterator[KnownMounts]]] = {
    "simulated": lambda: simulated(FLAT, seed=SEED, change=flat(1)),
    "another physics": lambda: independent(FLAT, seed=SEED + 1, change=flat(2)),
}


def flat_lines(sets: dict[str, list[Answer]]) -> list[str]:
    """Return how often the tilt intervals of flat systems hold the truth.

    Parameters
    ----------
    sets
        Systems with their estimates, by what they are called together.
    """
    rows = []
    for name, found in sets.items():
        told = [(one.planes[0][0], each) for one, each in found if each is not None]
        holds = [
            each.tilt_interval.low <= plane.surface_tilt <= each.tilt_interval.high
            for plane, each in told
        ]
        errors = [abs(each.surface_tilt - plane.surface_tilt) for plane, each in told]
        share = f"{sum(holds)} ({sum(holds) / max(len(holds), 1):.0%})"
        rows.append([name, f"{len(found)}", half_and_tail(errors, 1), share])
    return table(["flat systems", "n", "tilt [°]", "90% intervals of tilt hold"], rows)


def plane_lines(cases: Sequence[RealCase]) -> list[str]:
    """Return the sections on sums of homes and on flat systems.

    Parameters
    ----------
    cases
        Real systems, the homes of Fontana and the canopy among them.
    """
    known = [of_case(case) for case in cases]
    sums = sum_answers([one for one in known if one.name in HOMES])
    flat_plane = ((Plane(180.0, 0.0), 1.0),)
    canopy = [replace(one, planes=flat_plane) for one in known if one.name == "nist_canopy"]
    sets = {"nist_canopy, as one plane of 0°": canopy}
    sets |= {name: list(make()) for name, make in FLAT_SETS.items()}
    flats = {name: answered(made) for name, made in sets.items() if made}
    lines = ["## Two planes", "", *SUMS_NOTE, "", *pair_lines(sums), ""]
    return [*lines, "## Flat systems", "", *FLAT_NOTE, "", *flat_lines(flats), ""]


SUMS_NOTE = [
    "Sums of the generation of two of nine homes in Fontana, of about 20° of tilt. They face three",
    "ways; one home of a sum may be mirrored about solar noon, so that it faces another way and",
    "every reading is still metered. The truth is our own estimate of each home alone: what the",
    "model errs by alike in both does not show. Errors are median / 95th percentile over sums that",
    "were found.",
]
FLAT_NOTE = [
    f"The canopy's two sides of 5° are one flat plane to any meter. {FLAT} systems of each physics"
    f" have tilts of 0° to {FLATTEST:.0f}°.",
]

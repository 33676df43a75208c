"""What privacy costs, in power: ``python -m benchmarks.power``.

Simulated fleets of homes are published every way there is, over ε, and the power that is made of
each is held against the true sum under the same weather. ``--write`` writes the tables to
``docs/measured``, and the figure to ``docs``.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.csv_tables import save
from benchmarks.power_fleets import Home, draw_home, group_sky, measures, sampled_light
from benchmarks.power_other import other_profiles
from benchmarks.power_tables import draw_figure, page_tables
from benchmarks.power_ways import NO_EPSILON, WAYS
from sunveil.errors import ParameterError
from sunveil.power.plane_power import COMMON_ERROR, DaylightSky, Unknowns
from sunveil.power.power_result import GroupSky, band_of, daylight_draws

FIGURE = Path(__file__).parents[1] / "docs" / "power-errors.png"
SIZES = (30, 300, 3000, 30_000)
EPSILONS = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
# So many fleets of each size, over which draws go round; fewer of the largest, which take seconds.
FLEETS, LARGE, LARGE_FLEETS = 50, 10_000, 10
# Fleets and weather of seeds from here on are for reports alone: methods were made, and every
# constant was chosen, on those below (``--development``).
REPORTED = 3000
# Draws of the fleet within one publication's band.
BAND_DRAWS = 100


@dataclass(frozen=True, slots=True)
class PowerCost:
    """What one way of publishing costs at one ε and size.

    Parameters
    ----------
    way, systems, epsilon, draws
        Which way, how many systems, at which ε, and over how many draws.
    energy, evening, ramp
        Median errors of yearly energy, of the power of summer evenings, and of the ramp that 99% of
        quarter hours are below. [%]
    energy_kw
        The first as mean power. [kW]
    covered
        Share of daylight instants at which the band holds the truth.
    suppressed
        Share of draws in which nothing was published.
    other_energy, other_covered
        Error of energy, and share in the band, where the truth is made by other physics. [%, 1]
    """

    way: str
    systems: int
    epsilon: float
    draws: int
    energy: float
    evening: float
    ramp: float
    energy_kw: float
    covered: float
    suppressed: float
    other_energy: float = float("nan")
    other_covered: float = float("nan")


def cost_of(
    way: str,
    homes: Sequence[Home],
    light: DaylightSky,
    *,
    epsilon: float,
    draws: int,
    seed: int = 5,
) -> PowerCost:
    """Return what a way of publishing costs, over draws.

    Parameters
    ----------
    way
        Which of the ways.
    homes
        Fleets of one size, taken in turn.
    light
        The weather that all power is made under.
    epsilon, draws
        At which ε, and how often.
    seed
        Of the randomness of fleets and bands; draws of a publication are OpenDP's own.
    """
    rng = np.random.default_rng([seed, len(homes[0].rows), round(1000 * epsilon)])
    skies: dict[bytes, GroupSky] = {}
    errors, inside, size_kw, kept_back = [], [], [], 0
    beside: list[tuple[float, float]] = []
    for number in range(draws):
        home = homes[number % len(homes)]
        try:
            mixture = WAYS[way](home, epsilon, BAND_DRAWS, rng)
        except ParameterError:  # the rule keeps it back: nothing is known
            kept_back += 1
            errors.append(np.full(3, 100.0))
            continue
        shape = mixture.surface_azimuth.tobytes() + mixture.surface_tilt.tobytes()
        if shape not in skies:
            skies[shape] = group_sky(light, mixture.surface_azimuth, mixture.surface_tilt)
        model = Unknowns().model_factors(mixture.draws, mixture.systems, rng)
        mean, low, high = band_of(daylight_draws(mixture, 0, skies[shape], model))
        true = measures(light, home.power)
        errors.append(100.0 * np.abs(measures(light, mean) / true - 1.0))
        size_kw.append(true[0] / 8760.0)
        # what the model is off by for all systems alike is part of the truth that a band must hold
        given = home.power * np.exp(COMMON_ERROR * rng.standard_normal())
        inside.append(((low <= given) & (given <= high)).mean())
        if home.other is not None:
            held = ((low <= home.other) & (home.other <= high)).mean()
            beside.append((100.0 * abs(mean.sum() / home.other.sum() - 1.0), float(held)))
    energy, evening, ramp = np.median(errors, axis=0)
    return PowerCost(
        way=way,
        systems=len(homes[0].rows),
        epsilon=epsilon,
        draws=draws,
        energy=float(energy),
        evening=float(evening),
        ramp=float(ramp),
        energy_kw=float(energy / 100.0 * np.mean(size_kw)) if size_kw else float("nan"),
        covered=float(np.mean(inside)) if inside else float("nan"),
        suppressed=kept_back / draws,
        other_energy=float(np.median([each for each, _ in beside])) if beside else float("nan"),
        other_covered=float(np.mean([each for _, each in beside])) if beside else float("nan"),
    )


def costs(
    *,
    sizes: Sequence[int],
    epsilons: Sequence[float],
    draws: int,
    ways: Sequence[str],
    first: int = REPORTED,
) -> Iterator[PowerCost]:
    """Yield what every way costs, at every size and ε.

    Parameters
    ----------
    sizes, epsilons
        How many systems, and at which ε.
    draws
        How many draws of each.
    ways
        Which ways.
    first
        The first fleet's seed, and the weather's.
    """
    light = sampled_light(first + 7)
    other = other_profiles(light.sky)
    for systems in sizes:
        many = min(LARGE_FLEETS if systems > LARGE else FLEETS, draws)
        # other physics are looked at where a fleet takes no minutes
        beside = None if systems > LARGE else other
        homes = [draw_home(systems, light, seed=first + n, other=beside) for n in range(many)]
        for way in ways:
            for epsilon in epsilons[-1:] if way in NO_EPSILON else epsilons:
                yield cost_of(way, homes, light, epsilon=epsilon, draws=draws, seed=first + 5)


def merged(paths: Sequence[Path]) -> list[PowerCost]:
    """Return what several runs found; of what was measured twice, that of more draws."""
    kept: dict[tuple[int, int, float], PowerCost] = {}
    order = list(WAYS)
    for path in paths:
        for row in json.loads(path.read_text(encoding="utf-8")):
            each = PowerCost(**row)
            place = each.systems, order.index(each.way), each.epsilon
            known = kept.get(place)
            if known is None or known.draws <= each.draws:
                kept[place] = each
    return [kept[place] for place in sorted(kept)]


def main() -> None:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--epsilons", type=float, nargs="+", default=EPSILONS)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--development", action="store_true", help="on fleets made for that")
    parser.add_argument("--json", type=Path, help="write all numbers there")
    parser.add_argument("--from-json", type=Path, nargs="+", help="measure nothing: take these")
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    given = parser.parse_args()
    found: list[PowerCost] = []
    if given.from_json:
        found = merged(given.from_json)
    else:
        asked = {"sizes": given.sizes, "epsilons": given.epsilons, "draws": given.draws}
        first = 0 if given.development else REPORTED
        for each in costs(**asked, ways=given.ways, first=first):
            print(
                f"{each.way:34} {each.systems:>6} ε {each.epsilon:<5g} energy {each.energy:6.2f}%"
                f" evening {each.evening:6.2f}% ramp {each.ramp:6.2f}% in band"
                f" {100 * each.covered:5.1f}%; other physics {each.other_energy:.2f}%"
                f" {100 * each.other_covered:5.1f}%",
                flush=True,
            )
            found.append(each)
            if given.json:
                text = json.dumps([asdict(row) for row in found], indent=1)
                given.json.write_text(text + "\n", encoding="utf-8")
    if given.write:
        draw_figure(found, FIGURE)
        save(page_tables(found).splitlines(), "power")


if __name__ == "__main__":
    main()

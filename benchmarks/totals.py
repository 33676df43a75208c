"""What totals with a privately chosen clip are worth, over public mixes of systems.

``python -m benchmarks.totals`` prints the tables, exact but for the fleets, which are made up from
fixed seeds; with ``--write`` they go to ``docs/measured``. ``--tune`` compares the constants of
the rule with others.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks.csv_tables import save
from sunveil.privacy.discrete_noise import Spending
from sunveil.publication import published_tables
from sunveil.publish import capacity_cap
from sunveil.publish.capacity_cap import ClipRule, ladder, make_mix, mix_error, mixes, stated_errors

Array = NDArray[np.float64]

SIZES, FLEETS, SEED = (100, 300, 1000, 5000), 20, 1818
TUNED, TUNING_SEED = 8, 99
MIXED = "homes, 8% of 50 to 500 kW"


def fleets(name: str, systems: int, *, count: int = FLEETS, seed: int = SEED) -> list[Array]:
    """Return made-up fleets of a mix. [kW]"""
    return [
        make_mix(name, systems, np.random.default_rng((seed, systems, each)))
        for each in range(count)
    ]


def rule_of(epsilon: float, systems: int, *, concentrated: bool) -> ClipRule:
    """Return the rule by which totals choose their clip when all of ε is theirs."""
    whole = Spending.asked(epsilon, concentrated=concentrated)
    return ClipRule(ladder(published_tables.LARGEST_KW), whole, systems)


def known_error(capacities_kw: Array, clip_kw: float | None, epsilon: float) -> float:
    """Return the error with a given clip, or with the best rung, at the whole of ε."""
    rungs = np.array(ladder(published_tables.LARGEST_KW) if clip_kw is None else (clip_kw,))
    cuts = np.array([np.maximum(capacities_kw - rung, 0.0).sum() for rung in rungs])
    scale = rungs / epsilon
    return float((cuts + scale * np.exp(-cuts / scale)).min() / capacities_kw.sum())


def errors(epsilon: float) -> Iterator[str]:
    """Yield the errors of every mix and size at an ε."""
    yield (
        "| mix | systems | lost above 25 kW | fixed | known | chosen, Laplace |"
        " chosen, Gaussian (promise with δ) |"
    )
    yield "|---|---|---|---|---|---|---|"
    for name, systems in itertools.product(mixes(), SIZES):
        found = fleets(name, systems)
        lost = np.mean([np.maximum(each - 25.0, 0.0).sum() / each.sum() for each in found])
        fixed = np.mean([known_error(each, 25.0, epsilon) for each in found])
        known = np.mean([known_error(each, None, epsilon) for each in found])
        chosen = [
            np.mean([mix_error(rule_of(epsilon, systems, concentrated=c), each) for each in found])
            for c in (False, True)
        ]
        shares = (f"{100.0 * each:.1f}%" for each in (lost, fixed, known, *chosen))
        yield f"| {name} | {systems:,} | {' | '.join(shares)} |"


def mixed_homes() -> Iterator[str]:
    """Yield the errors of 300 mixed homes by ε."""
    yield "| ε | fixed at 25 kW | known | chosen, Laplace | chosen, Gaussian (promise with δ) |"
    yield "|---|---|---|---|---|"
    found = fleets(MIXED, 300, count=100)
    for epsilon in (0.25, 0.5, 1.0, 2.0, 4.0):
        rules = [rule_of(epsilon, 300, concentrated=each) for each in (False, True)]
        numbers = [
            np.mean([known_error(each, 25.0, epsilon) for each in found]),
            np.mean([known_error(each, None, epsilon) for each in found]),
            *(np.mean([mix_error(rule, each) for each in found]) for rule in rules),
        ]
        yield f"| {epsilon:g} | {' | '.join(f'{100.0 * each:.1f}%' for each in numbers)} |"


def coverage() -> Iterator[str]:
    """Yield how often drawn totals are within what nine in ten are said to be."""
    yield "| noise | 100 systems | 300 | 1,000 | 5,000 |"
    yield "|---|---|---|---|---|"
    for concentrated in (False, True):
        shares = [within(systems, concentrated=concentrated) for systems in SIZES]
        word = "Gaussian" if concentrated else "Laplace"
        yield f"| {word} | {' | '.join(f'{100.0 * each:.0f}%' for each in shares)} |"


def within(systems: int, *, concentrated: bool) -> float:
    """Return how many simulated totals over all mixes are within the stated nine in ten."""
    rule = rule_of(1.0, systems, concentrated=concentrated)
    stated = [stated_errors(rule, rung)["nine"] for rung in rule.rungs]
    rng = np.random.default_rng((SEED, systems))
    inside = []
    for name in mixes():
        for fleet in fleets(name, systems):
            law = rule.probabilities(rule.above(fleet))
            cuts = [np.maximum(fleet - rung, 0.0).sum() for rung in rule.rungs]
            for place in rng.choice(len(law), size=20, p=law / law.sum()):
                deviation = rule.deviations()[place]
                noise = (
                    rng.normal(0.0, deviation)
                    if concentrated
                    else rng.laplace(0.0, deviation / np.sqrt(2.0))
                )
                inside.append(abs(noise - cuts[place]) <= stated[place])
    return float(np.mean(inside))


def tuned() -> Iterator[str]:
    """Yield the mean error over all mixes and sizes, by the constants of the rule."""
    names = ("_FLAT", "_STEEPER", "_NOISE")
    own = tuple(getattr(capacity_cap, name) for name in names)
    yield f"| {' | '.join(names)} | mean error | 300 mixed homes |"
    yield "|---|---|---|---|---|"
    sets = [own, *itertools.product((-0.5, 0.0, 0.5), (0.5, 1.0), (1.0, 2.0, 3.0))]
    made = {
        (name, systems): fleets(name, systems, count=TUNED, seed=TUNING_SEED)
        for name, systems in itertools.product(mixes(), SIZES)
    }
    for values in sets:
        for name, value in zip(names, values, strict=True):
            setattr(capacity_cap, name, value)
        found = {
            key: np.mean([mix_error(rule_of(1.0, key[1], concentrated=False), e) for e in each])
            for key, each in made.items()
        }
        mean = np.mean(list(found.values()))
        words = " | ".join(f"{value:g}" for value in values)
        yield f"| {words} | {100.0 * mean:.2f}% | {100.0 * found[MIXED, 300]:.1f}% |"
    for name, value in zip(names, own, strict=True):
        setattr(capacity_cap, name, value)


def collect(title: str, rows: Iterator[str]) -> list[str]:
    """Print the rows of a table, and return them under a heading."""
    lines = [f"## {title}", "", *rows]
    print("\n".join(lines), flush=True)
    return [*lines, ""]


def main() -> None:
    """Print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    parser.add_argument("--tune", action="store_true")
    given = parser.parse_args()
    if given.tune:
        collect("Constants of the rule, at ε = 1", tuned())
        return
    lines = collect(f"300 mixed homes ({MIXED})", mixed_homes())
    lines += collect("All mixes at ε = 1", errors(1.0))
    lines += collect("Totals within what nine in ten are said to be, at ε = 1", coverage())
    if given.write:
        save(lines, "totals")


if __name__ == "__main__":
    main()

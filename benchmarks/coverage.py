"""How often stated errors hold: ``python -m benchmarks.coverage``.

For every labelled real series, with its own system left out of the table, and for 300 simulated
systems that the table does not know: how likely a release is to stay within what is stated to hold
for nine in ten, by the mechanism's exact distribution. With ``--write`` the tables go to
``docs/measured``. It takes six minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchmarks.csv_tables import save
from benchmarks.expected import SEED, SYSTEMS, WORTHS, make_table, weights
from benchmarks.labelled import (
    EDGES,
    QUANTITIES,
    UNITS,
    SeriesErrors,
    measured,
    real_series,
    simulated_series,
)
from sunveil.releases.expected_errors import ErrorTable, typical_errors
from sunveil.releases.release_choices import Choices
from sunveil.site import DAY, Array, TimeGrid

# Systems that are in no table.
UNKNOWN, UNKNOWN_SEED = 300, 81_818
EPSILONS = {
    "readings": (0.03, 0.1, 0.3, 1.0),
    "days": (0.2, 0.5, 1.0, 3.0),
    "system": (2.0, 4.0, 8.0),
}
TITLE = "## How often stated errors hold"


def main() -> None:
    """Print the tables, and write them where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    given = parser.parse_args()
    real = list(measured(real_series(), epsilons=EPSILONS, worths=WORTHS))
    known = list(measured(simulated_series(SYSTEMS, seed=SEED), worths=WORTHS))
    fresh = list(measured(simulated_series(UNKNOWN, seed=UNKNOWN_SEED), epsilons=EPSILONS))
    lines = list(section(real, known, fresh))
    print("\n".join(lines))
    if given.write:
        save(lines, "releases")


def section(
    real: Sequence[SeriesErrors], known: Sequence[SeriesErrors], fresh: Sequence[SeriesErrors]
) -> Iterator[str]:
    """Yield the tables.

    Parameters
    ----------
    real, known
        What the table is made of.
    fresh
        Simulated systems that are not in it.
    """
    whole = make_table([*real, *known])
    names = {one.system for one in real}
    left_out = {name: make_table([*real, *known], without=name) for name in names}
    yield from (TITLE, "")
    yield "| weather | unit | ε | stated for a year | real systems | simulated |"
    yield "|---|---|---|---|---|---|"
    for kind in ("clear", "measured"):
        of_kind = [one for one in real if one.kind == kind]
        others = [one for one in fresh if one.kind == kind]
        for unit, epsilons in EPSILONS.items():
            for epsilon in epsilons:
                said = stated(whole, kind, unit, epsilon)
                held = [
                    share_held(of_kind, left_out, unit, epsilon),
                    share_held(others, {one.system: whole for one in others}, unit, epsilon),
                ]
                cells = [" / ".join(f"{100.0 * each:.0f}%" for each in one) for one in held]
                told = f"{said[0]:.3g}° / {said[1]:.3g}° / {said[2]:.3g}%"
                yield f"| {kind} | {UNITS[unit]} | {epsilon:g} | {told} | {' | '.join(cells)} |"
    yield ""
    yield from _sources([*real, *known])


def stated(
    table: ErrorTable, kind: str, unit: str, epsilon: float, *, days: int = 365
) -> tuple[float, ...]:
    """Return what is stated to hold for nine in ten releases of so many days of hours.

    Parameters
    ----------
    table
        Where to look.
    kind, unit, epsilon
        Of the release.
    days
        How long the record is.
    """
    grid = TimeGrid(0, 3600, days * DAY // 3600)
    said = typical_errors(
        grid,
        Choices(),
        clear=kind == "clear",
        protect=UNITS[unit],
        epsilon=epsilon,
        table=table,
    )
    return said.azimuth.within, said.tilt.within, said.capacity.within


def share_held(
    series: Sequence[SeriesErrors], tables: dict[str, ErrorTable], unit: str, epsilon: float
) -> list[float]:
    """Return how likely releases are to stay within what is stated: azimuth, tilt, capacity.

    Parameters
    ----------
    series
        The series of one kind of weather.
    tables
        The table that each system is judged by.
    unit, epsilon
        Of the release.
    """
    out = []
    for number, quantity in enumerate(QUANTITIES):
        labelled = [one for one in series if quantity in one.counts]
        held = []
        for one in labelled:
            said = stated(tables[one.system], one.kind, unit, epsilon, days=one.days)[number]
            held.append(below(one.shares[unit, epsilon, quantity], EDGES[quantity], said))
        weight = weights(labelled)
        out.append(float(weight @ held / weight.sum()) if labelled else np.nan)
    return out


def below(shares: Array, edges: Array, most: float) -> float:
    """Return how likely an error of at most so much is."""
    return float(np.interp(most, edges, np.append(0.0, np.cumsum(shares))))


def _sources(series: Sequence[SeriesErrors]) -> Iterator[str]:
    """Yield how far real and simulated errors lie apart where ε is large."""
    yield "Errors where ε is large (10 for a year of hours), which are the model's own: mean,"
    yield "median and what nine in ten stay within."
    yield ""
    yield "| weather | unit | systems | azimuth [°] | tilt [°] | capacity [%] |"
    yield "|---|---|---|---|---|---|"
    for kind in ("clear", "measured"):
        for unit in ("readings", "days"):
            for real in (True, False):
                own = [one for one in series if one.kind == kind and one.real is real]
                cells = [_cell(own, unit, quantity) for quantity in QUANTITIES]
                count = len({one.system for one in own})
                who = f"{count} {'real' if real else 'simulated'}"
                yield f"| {kind} | {UNITS[unit]} | {who} | {' | '.join(cells)} |"


def _cell(series: Iterable[SeriesErrors], unit: str, quantity: str) -> str:
    labelled = [one for one in series if quantity in one.counts]
    weight = weights(labelled) / weights(labelled).sum()
    key = unit, -WORTHS[-1], quantity
    total = np.append(0.0, np.cumsum(weight @ np.array([one.shares[key] for one in labelled])))
    mean = float(weight @ [one.means[key] for one in labelled])
    middle, most = (float(np.interp(each, total, EDGES[quantity])) for each in (0.5, 0.9))
    return f"{mean:.1f} / {middle:.1f} / {most:.1f}"


if __name__ == "__main__":
    main()

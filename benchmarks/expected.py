"""The table of errors to expect of releases: ``python -m benchmarks.expected``.

Writes ``src/sunveil/releases/typical.json`` from single years of the labelled real systems and from
simulated systems of other physics than the inference's (:mod:`benchmarks.independent`): the exact
error distribution of every release, pooled so that each source has half of the weight. Real series
are read from the folder that ``SUNVEIL_DATA`` names. It takes three minutes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.labelled import (
    EDGES,
    QUANTITIES,
    SeriesErrors,
    measured,
    real_series,
    simulated_series,
)
from sunveil.releases.expected_errors import ErrorTable
from sunveil.site import Array

PATH = Path(__file__).parent.parent / "src" / "sunveil" / "releases" / "typical.json"
SYSTEMS, SEED = 124, 70_707
WORTHS = (0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0)
# Real systems have half of the weight where there are ten of them, and less where there are fewer.
REAL_SHARE, REAL_SYSTEMS = 0.5, 10
# As many signed errors of the model stand for all of them.
SIGNED = 40


def main() -> None:
    """Compute the table and write it."""
    found = list(measured(real_series(), worths=WORTHS))
    if not found:
        raise SystemExit("the table needs the real series: set SUNVEIL_DATA")
    found += measured(simulated_series(SYSTEMS, seed=SEED), worths=WORTHS)
    PATH.write_text(json.dumps(make_table(found), indent=1) + "\n", encoding="utf-8")
    print(PATH)


def make_table(series: Sequence[SeriesErrors], *, without: str = "") -> ErrorTable:
    """Return the table of errors over series, as the package holds it.

    Parameters
    ----------
    series
        What was measured, at ``WORTHS``.
    without
        A system whose series are left out.
    """
    kept = [one for one in series if one.system != without or not one.real]
    return {
        kind: _of_kind([one for one in kept if one.kind == kind]) for kind in ("clear", "measured")
    }


def _of_kind(series: Sequence[SeriesErrors]) -> ErrorTable:
    real, simulated = (
        len({one.system for one in series if one.real is each}) for each in (True, False)
    )
    share = real_share(real)
    units = {
        unit: {quantity: _columns(series, unit, quantity) for quantity in QUANTITIES}
        for unit in ("readings", "days")
    }
    model = {quantity: _signed(series, quantity) for quantity in QUANTITIES}
    basis = (
        f"{real} labelled real systems and {simulated} simulated by other physics, weighing"
        f" {share:.0%} and {1.0 - share:.0%}; each mechanism's distribution exact"
    )
    return {"basis": basis, "worth": list(WORTHS), **units, "model": model}


def real_share(systems: int) -> float:
    """Return the weight that so many real systems have beside simulated ones."""
    return REAL_SHARE * min(1.0, systems / REAL_SYSTEMS)


def weights(series: Sequence[SeriesErrors]) -> Array:
    """Return the weight of each series: systems of a source alike, and series of a system alike."""
    names = [(one.real, one.system) for one in series]
    real, simulated = (len({n for n in names if n[0] is each}) for each in (True, False))
    share = real_share(real) if simulated else 1.0
    each = {True: share / max(real, 1), False: (1.0 - share) / max(simulated, 1)}
    return np.array([each[name[0]] / names.count(name) for name in names])


def _columns(series: Sequence[SeriesErrors], unit: str, quantity: str) -> dict[str, list[float]]:
    labelled = [one for one in series if quantity in one.counts]
    weight = weights(labelled)
    mean, within = [], []
    for worth in WORTHS:
        laws = np.array([one.shares[unit, -worth, quantity] for one in labelled])
        total = np.cumsum(weight @ laws)
        within.append(float(EDGES[quantity][1 + np.searchsorted(total, 0.9 * total[-1])]))
        mean.append(float(weight @ [one.means[unit, -worth, quantity] for one in labelled]))
    return {"mean": falling(mean), "within": falling(within)}


def _signed(series: Sequence[SeriesErrors], quantity: str) -> list[float]:
    """Return even quantiles of the signed errors of best candidates."""
    labelled = [one for one in series if quantity in one.counts]
    errors = np.array([one.placed[quantity] for one in labelled])
    order = np.argsort(errors)
    total = np.cumsum(weights(labelled)[order])
    places = np.searchsorted(total, total[-1] * (np.arange(SIGNED) + 0.5) / SIGNED)
    return [round(float(error), 3) for error in errors[order][places]]


def falling(errors: Sequence[float]) -> list[float]:
    """Return errors that never rise with ε: each at least as large as all that follow.

    Where the model's own error is all that is left, it wanders by per mille; the larger is stated.
    """
    return [round(max(errors[place:]), 3) for place in range(len(errors))]


if __name__ == "__main__":
    main()

"""Expected errors of each kind of question, for plans and verdicts."""

from __future__ import annotations

import math

from sunveil.estimates.read_write import MOUNTS
from sunveil.privacy.discrete_noise import Spending
from sunveil.publication.published_tables import MARGINS, Bins
from sunveil.publish.capacity_cap import ClipRule, expected_cut, ladder
from sunveil.publish.fleet_tables import Expected, TableChoices
from sunveil.releases.release_answer import ExpectedErrors
from sunveil.service.questions import ExpectedError

MOVED = "share of systems that the noise moves to another bin"
OFF = "mean absolute error per system"

CUT_OFF = (
    "mean share of capacity above the cap, for typical fleets; totals are too low by about this"
)

# Of single systems: the unit of each column, and how far off a blind guess is. [unit]
COLUMNS = {
    "surface_azimuth": ("°", 90.0),
    "surface_tilt": ("°", 25.0),
    "dc_capacity_kw": ("%", 100.0),
}

# What an average home is taken to have, where a limit on capacities is given. [kW]
HOME_KW = 5.0


def table_errors(
    found: tuple[Expected, ...],
    choices: TableChoices,
    *,
    systems: int | None,
    concentrated: bool,
) -> tuple[ExpectedError, ...]:
    """Return the errors of a fleet's tables with what each is judged by."""
    group = None if systems is None else systems / len(choices.keys or ("all",))
    expected = []
    for each in found:
        expected.append(_table_error(each, choices, group))
        if each.table == "totals" and choices.clip_kw is None and systems:
            rule = ClipRule(ladder(choices.largest_kw), Spending(each.cost, concentrated), systems)
            cut = 100.0 * expected_cut(rule)
            expected.append(ExpectedError("totals", "cut_kw", cut, "%", CUT_OFF, 0.0))
    return tuple(expected)


def _table_error(each: Expected, choices: TableChoices, group: float | None) -> ExpectedError:
    if each.unit != "ranks":
        of = _compared(each, choices, group)
        return ExpectedError(
            each.table, each.value, each.error, each.unit, each.meaning, each.cost, of
        )
    # nothing is further off than the whole list is long
    error = each.error if group is None else min(each.error, group)
    return ExpectedError(each.table, each.value, error, "places", each.meaning, each.cost, group)


def _compared(each: Expected, choices: TableChoices, group: float | None) -> float | None:
    """Return what an error is judged by: what a cell holds on average, or the whole in percent."""
    if each.unit == "%":
        return 100.0
    if group is None:
        return None
    if each.unit == "kW":
        assert choices.clip_kw is not None
        return group * min(HOME_KW, choices.clip_kw[1])
    return group / cells_of(each.table, choices.bins)


def cells_of(table: str, bins: Bins) -> int:
    """Return into how many cells a table of counts divides a group, but for the unknown one."""
    if table == "mounts":
        return len(MOUNTS)
    return math.prod(bins.shape[axis] for axis in MARGINS[table])


def synthetic_errors(noise: dict[str, float]) -> tuple[ExpectedError, ...]:
    """Return the errors of a synthetic table, from how far noise moves its counts."""
    return tuple(
        ExpectedError(
            "synthetic-systems", name, min(100.0 * each, 100.0), "% of systems", MOVED, of=100.0
        )
        for name, each in noise.items()
    )


def system_errors(errors: ExpectedErrors) -> tuple[ExpectedError, ...]:
    """Return the errors of one row of a release of single systems."""
    assert errors.capacity is not None
    means = (errors.azimuth.mean, errors.tilt.mean, errors.capacity.mean)
    return tuple(
        ExpectedError("systems", column, mean, sign, OFF, of=guess)
        for (column, (sign, guess)), mean in zip(COLUMNS.items(), means, strict=True)
    )

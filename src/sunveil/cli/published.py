"""What ``sunveil publish`` says of a publication, and the figures of a fleet's tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sunveil.publish.fleet import Expected
    from sunveil.publish.publication import Publication
    from sunveil.publish.system_rows import SystemsPlan
    from sunveil.releases.answer import ExpectedErrors


def say_plan(cost: float, remaining: float, *, kept: bool) -> None:
    """Say what a publication would cost, and what is left.

    Parameters
    ----------
    cost, remaining
        In the promise's measure.
    kept
        Whether it was drawn before.
    """
    if kept:
        click.echo(f"Drawn before: it costs nothing. {remaining:g} is left.")
    elif cost == 0.0:
        click.echo(f"Charged before, not finished: it costs nothing more. {remaining:g} is left.")
    else:
        click.echo(f"It would cost {cost:g}; {remaining:g} is left before it.")


def say_systems(plan: SystemsPlan) -> None:
    """Say what a publication of systems would cost and give."""
    if plan.again is None:
        say_plan(plan.cost, plan.remaining, kept=plan.kept)
    else:
        click.echo(
            f"{plan.again:,} rows are given again at no cost; {plan.new:,} are drawn,"
            f" each at a cost of {plan.cost:g} to its own household."
        )
    click.echo(f"{plan.systems} systems. {errors_line(plan.expected)}")


def errors_line(expected: ExpectedErrors) -> str:
    """Return the errors to expect of single systems as a sentence."""
    from sunveil.releases.typical import UNKNOWN_LABEL

    parts = [
        f"azimuth {expected.azimuth.mean:.1f}° ({expected.azimuth.within:.0f}°)",
        f"tilt {expected.tilt.mean:.1f}° ({expected.tilt.within:.0f}°)",
    ]
    if expected.capacity is not None:
        parts.append(f"capacity {expected.capacity.mean:.0f}% ({expected.capacity.within:.0f}%)")
    said = f"Errors to expect, mean (nine in ten within): {', '.join(parts)}; {expected.basis}."
    return f"{said} Set it with --label." if UNKNOWN_LABEL in expected.basis else said


def expected_table(expected: Sequence[Expected]) -> str:
    """Return the errors to expect of a fleet's tables, as a table."""
    from sunveil.cli.show import aligned

    head = ("table", "column", "cost", "error")
    rows = [
        (each.table, each.value, f"{each.cost:g}", f"{each.error:.3g} {each.unit}")
        for each in expected
    ]
    meanings = dict.fromkeys(f"Error in {each.unit}: {each.meaning}." for each in expected)
    return "\n".join([aligned([head, *rows]), *meanings])


def fleet_figures(publication: Publication) -> Mapping[str, Callable[[Any], None]]:
    """Return the figures of a fleet that is not divided: a map of its planes."""
    table = next((each for each in publication.tables if each.name == "planes"), None)
    if table is None or table.columns[0].name != "sector":
        return {}

    def planes(figure: Any) -> None:
        from sunveil.plots.fleet_tables import plot_planes

        rows = [row for row in table.rows if row[0] != "unknown"]
        sectors = list(dict.fromkeys(row[0] for row in rows))
        bands = list(dict.fromkeys(row[1] for row in rows))
        counts = {(row[0], row[1]): row[2] for row in rows}
        plot_planes(
            [[counts[sector, band] for band in bands] for sector in sectors],
            sectors=sectors,
            bands=bands,
            sd=rows[0][4],
            ax=figure.add_subplot(),
        )

    return {"map-of-planes": planes}

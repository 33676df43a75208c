"""Every labelled real system, Sunveil and its peers: ``python -m benchmarks.real_systems``.

Writes tables to ``docs/measured``, a figure, and a paragraph of the front pages. The
peers' answers are kept in the folder of ``--cache``, so that a run with another Sunveil takes one
or two minutes. With ``--alone`` the peers are left out and the tables are printed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks import real
from benchmarks.calibrate import left_out_coverage
from benchmarks.csv_tables import save
from benchmarks.real_bars import bar_lines
from benchmarks.real_clocks import clock_faults, clock_lines
from benchmarks.real_figure import draw
from benchmarks.real_planes import plane_lines
from benchmarks.real_scores import (
    DECLARED,
    DOUBTFUL_LABELS,
    PEERS,
    REPAIRED,
    SEEN,
    SMOG,
    SUNVEIL,
    RealAnswer,
    answers,
    counted,
    coverage,
)
from benchmarks.real_tables import interval_lines, summary_lines, system_lines
from benchmarks.real_weather import weather_lines

DOCS = Path(__file__).parents[1] / "docs"
FIGURE = DOCS / "real-systems.svg"
FRONT = (DOCS / "index.md", DOCS.parent / "README.md")
MARKS = ("<!-- written by benchmarks.real_systems -->", "<!-- end -->")
Answers = dict[str, RealAnswer]


def say(text: str) -> None:
    """Tell the person who waits how far the run is."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def gather(cases: Iterable[real.RealCase], peers: Sequence[str], cache: Path | None) -> Answers:
    """Run the tools over cases, and say how far they are.

    Parameters
    ----------
    cases
        The systems.
    peers
        Which peers to ask.
    cache
        A folder to keep their answers in.
    """
    found = {}
    for one in answers(cases, peers, cache=cache):
        say(f"{one.case.name}: {one.refusal or 'inferred'}")
        found[one.case.name] = one
    return found


def table_lines(
    found: Answers, years: Sequence[RealAnswer], faults: Sequence[RealAnswer]
) -> list[str]:
    """Return the sections with tables.

    Parameters
    ----------
    found
        What was said of every system.
    years
        What was said of single years of them; none if they were not tried.
    faults
        What was said of series with clock faults.
    """
    seen, smog = ([found[name] for name in names if name in found] for names in (SEEN, SMOG))
    rest = [one for name, one in found.items() if name not in SEEN + SMOG]
    sets = {"the twelve below": seen}
    sets["without SERF East"] = [one for one in seen if one.case.name not in DOUBTFUL_LABELS]
    sets |= {"single years of them": years} if years else {}
    held = coverage([one.estimate for one in seen], [one.case for one in seen])
    lines = ["## Errors", "", "Absolute errors over systems.", "", *summary_lines(sets), ""]
    lines += ["## Bars", "", *bar_lines(seen, smog), ""]
    columns = {"as stated": held, "each left out in turn": left_out_coverage(seen)}
    lines += ["## 90% intervals", "", *interval_lines(columns), ""]
    lines += clock_lines(faults) if faults else []
    lines += ["## System by system", "", *system_lines(seen), ""]
    lines += ["## Under smog", "", "Three plants in Hebei, whose winters no clear sky has.", ""]
    lines += [*system_lines(smog), "", "## Others", ""]
    lines += ["A summer of serf_east, all months of turin, two planes so flat that they look like"]
    lines += ["one, and homes whose planes nobody wrote down.", "", *system_lines(rest), ""]
    refused = [one for one in found.values() if one.estimate is None]
    return lines + [f"- {one.case.name} is refused: {one.refusal}." for one in refused]


def front_lines(found: Answers) -> list[str]:
    """Return what the front pages say: one paragraph."""
    seen = [found[name] for name in SEEN if name in found]
    held = coverage([one.estimate for one in seen], [one.case for one in seen])
    mine, its = (
        [counted(seen, tool, name).mean() for name in ("azimuth", "tilt")]
        for tool in (SUNVEIL, REPAIRED)
    )
    capacity = np.median(counted(seen, SUNVEIL, "capacity"))
    refused = sum(one.estimate is None for one in seen)
    apart = f", {refused} of them refused" if refused else ""
    parts = [f"{one.held} of {one.count} labels of {name}" for name, one in held.items()]
    return [
        f"On {len(seen)} real systems with labels{apart},"
        " under a clear sky alone, Sunveil errs by"
        f" {mine[0]:.1f}° of azimuth and {mine[1]:.1f}° of tilt in the mean and by"
        f" {capacity:.0f}% of capacity in the median; pvanalytics, on clear"
        f" days and on the clock that Sunveil found, by {its[0]:.1f}° and {its[1]:.1f}°. The 90%"
        f" intervals hold {parts[0]}, {parts[1]} and {parts[2]}."
    ]


def write(found: Answers, tables: Sequence[str], weather: Sequence[str]) -> None:
    """Write the tables, the figure, and the paragraph of the front pages."""
    seen, smog = ([found[name] for name in names if name in found] for names in (SEEN, SMOG))
    draw(seen, smog, FIGURE)
    save([*tables, "## With measured weather", "", *weather], "real")
    part = "\n".join((MARKS[0], "", *front_lines(found), "", MARKS[1]))
    for page in FRONT:
        text = page.read_text(encoding="utf-8")
        before, after = text.split(MARKS[0])[0], text.split(MARKS[1])[1]
        page.write_text(before + part + after, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the tools over the real systems, and write their tables or print them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of real data; SUNVEIL_DATA otherwise")
    parser.add_argument("--cache", type=Path, help="folder to keep the peers' answers in")
    parser.add_argument("--years", action="store_true", help="single years of each system too")
    parser.add_argument("--alone", action="store_true", help="without peers; print, write nothing")
    options = parser.parse_args(arguments)
    cases, missing = real.load_all(options.data)
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")
    found = gather(cases, () if options.alone else PEERS, options.cache)
    judged = [case for case in cases if case.name in SEEN] if options.years else []
    single = (year for case in judged for year in real.single_years(case))
    # the slow peer is left out of years
    years = gather(single, () if options.alone else (DECLARED, REPAIRED), options.cache)
    try:
        faults = gather(clock_faults(options.data), (), None)
    except real.MissingDataError as error:
        faults = {}
        say(f"clock faults are left out: {error}")
    tables = [
        *table_lines(found, list(years.values()), list(faults.values())),
        *plane_lines(cases),
    ]
    if options.alone:
        print("\n".join(tables))
    else:
        write(found, tables, weather_lines(cases))


if __name__ == "__main__":
    main()

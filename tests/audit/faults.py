"""Faults that the audit must catch, each planted for the audit alone.

Most are played by a faulty reader, which hands on the file that it would have made of the one
given, or refuses it; others are patched into the code. That the audit catches each of them shows
that it would have noticed; an audit that lets one pass is no evidence for anything. Numbers in
names are those of holes that were once there.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from audit.cases import (
    COMMAND,
    PYTHON,
    SHORT_DAYS,
    data_for,
    neighbours_for,
    reading_case,
    rule_of_estimates,
    sector_draws,
    stamp_cases,
    window_draws,
)
from audit.comparing import AuditCase
from audit.datasets import (
    DAY,
    READING,
    SYSTEM,
    THREE,
    THREE_READINGS,
    UNITS,
    VALUES,
    PrivateCells,
    estimate_cells,
    meter_cells,
    neighbours,
)
from audit.entries import EPSILON, Entry, Workplace, command_release, python_tables, run_command
from audit.formats import METER_SOURCES, estimates_regions, estimates_text, text_table
from audit.outcomes import Outcome, anything, each_near
from sunveil.publication.published_tables import PARTS

# How many of the first cells a reader looks at that guesses.
HEAD = 100
# How often what is drawn with too little noise is drawn: more than one that always shows needs,
# and for one that shows nearly always.
FAULTY_DRAWS, MORE_DRAWS = 90, 100
# So many estimates that rounding most of them moves a total that is drawn alone beyond its noise.
ROWS, WHOLE_ROWS, TOTAL_REACH = 900, 110, 170.0

Lines = list[list[bytes]]
Plant = Callable[[Entry], Entry]


def planted_faults() -> Iterator[tuple[str, AuditCase]]:
    """Yield every fault by its name: a case with the fault in it, where the code itself holds."""
    yield from _in_readers()
    yield from _in_estimates()
    yield "a batch aborted by one system", _command(SYSTEM, reading_as(aborted), "blank")

    def told_net(run: Entry) -> Entry:
        """Take a file for one of net meters if any reading is below zero."""
        net = _released(DAY, net=True)
        return lambda path: (net if b",-" in path.read_bytes() else run)(path)

    net = _command(READING, told_net, "-1e30", asked=DAY)
    yield "net meters told by readings below zero", net
    yield "a note that counts what cannot be read", _command(READING, noting, "nan")
    drawn = window_draws(runs=FAULTY_DRAWS, drawn_at=20.0 * EPSILON)
    yield "drawn at twenty times the ε that is claimed", drawn
    parts = sector_draws(runs=MORE_DRAWS, drawn_at=PARTS * EPSILON)
    yield "parts of systems drawn with the noise of as many systems", parts


def _in_readers() -> Iterator[tuple[str, AuditCase]]:
    quotes, names = ("quotes around one line",), ("names of columns in quotes",)
    later = ("quotes around eighteen lines",)
    for name, source, unit, kinds, plant in (
        ("1: quotes join lines", "CSV by time", THREE_READINGS, quotes, text_as(joined)),
        ("1: quotes join lines, far apart", "CSV", THREE_READINGS, later, text_as(joined)),
        ("1: quotes join lines, tabs", "TSV by time", THREE_READINGS, quotes, text_as(joined)),
        ("2: the header is the last line of names", "CSV by time", READING, names, text_as(headed)),
        ("2: the header of a row for each day", "CSV of days", DAY, names, text_as(headed)),
        ("8: JSON is read whole", "JSON", READING, ("half a surrogate",), refusing(json_refused)),
        ("8: JSON is read whole, two cells", "JSON", THREE_READINGS, ("two open quotes",),
         refusing(json_refused)),
        ("8: one object's unit is all objects'", "JSON", READING, ("its own unit",),
         text_as(unit_of_one)),
        ("9: one cell refuses a workbook", "workbook", READING, ("infinity",),
         refusing(sheet_refused)),
        ("9: two cells refuse a workbook", "workbook", THREE_READINGS, ("no numbers",),
         refusing(sheet_refused)),
        ("10: one member refuses an archive", "zipped folder", SYSTEM, ("checksum",),
         refusing(zip_refused)),
        ("10: a nested member refuses an archive", "zipped folder", SYSTEM, ("nested",),
         refusing(zip_refused)),
        ("11: an odd byte shifts all others", "UTF-16", READING, ("an odd byte",),
         text_as(shifted)),
        ("one decimal mark for all", "CSV", READING, ("decimal comma",), reading_as(one_mark)),
    ):  # fmt: skip
        form, data = METER_SOURCES[source], data_for(source, "short")
        made = [each for each in neighbours_for(source, data, unit) if each.kind in kinds]
        case = reading_case(source, form, unit, data, made)
        yield name, replace(case, run=plant(case.run))
    stamped = {case.source: case for case in stamp_cases()}
    for name, source, kind, plant in (
        ("12: one stamp's range is all stamps'", "CSV, days first", "a range", text_as(labelled)),
        ("12: one stamp's order is all stamps'", "CSV, days first", "another order",
         text_as(month_first)),
        ("12: one stamp's order, by time", "CSV, days first, by time", "another order",
         text_as(month_first)),
    ):  # fmt: skip
        case = stamped[source]
        some = tuple(each for each in case.neighbours if each.kind == kind)
        yield name, replace(case, run=plant(case.run), neighbours=some)


def _in_estimates() -> Iterator[tuple[str, AuditCase]]:
    rows, few = estimate_cells(ROWS, whole=WHOLE_ROWS), estimate_cells(40, whole=40)
    total = rule_of_estimates(rows, TOTAL_REACH)
    for name, source, data, unit, kind, spots, write, plant, rule in (
        ("types told from the first rows", "estimates, CSV", rows, READING, "5.25", 2,
         estimates_text(), reading_as(sniffed), total),
        ("11: quotes take a row's public key along", "estimates, CSV with regions", few, SYSTEM,
         "quotes around one line", 1, estimates_regions, text_as(quoted_rows), anything),
    ):  # fmt: skip
        made = tuple(neighbours(data, unit, kinds=[kind], spots=spots))
        asked = python_tables(epsilon=EPSILON, tables=("totals",), regions=data is few)
        yield (
            name,
            AuditCase(PYTHON, source, SYSTEM, EPSILON, data, made, write, plant(asked), rule),
        )


# Faulty readers


def text_as(change: Callable[[bytes], bytes]) -> Plant:
    """Return a fault that makes another file of the one given."""

    def plant(run: Entry) -> Entry:
        def spoilt(path: Path) -> Outcome:
            made = path.parent / "read" / path.name
            made.parent.mkdir(exist_ok=True)
            made.write_bytes(change(path.read_bytes()))
            return run(made)

        return spoilt

    return plant


def reading_as(change: Callable[[Lines], Lines]) -> Plant:
    """Return a fault that makes another CSV file of the one given, cell by cell."""

    def changed(content: bytes) -> bytes:
        lines = [line.split(b",") for line in content.split(b"\n")[:-1]]
        return b"".join(b",".join(line) + b"\n" for line in change(lines))

    return text_as(changed)


def refusing(is_refused: Callable[[Path], bool]) -> Plant:
    """Return a fault that refuses a whole file."""

    def plant(run: Entry) -> Entry:
        return lambda path: Outcome({"refusal": "all"}) if is_refused(path) else run(path)

    return plant


def joined(content: bytes) -> bytes:
    """Join lines while a quote is open, up to 20 of them."""
    lines, made = content.split(b"\n"), []
    while lines:
        line = lines.pop(0)
        if line.count(b'"') % 2:
            end = next((at for at, each in enumerate(lines[:20]) if each.count(b'"') % 2), None)
            if end is not None:
                line, lines = b" ".join([line, *lines[: end + 1]]), lines[end + 1 :]
        made.append(line)
    return b"\n".join(made)


def headed(content: bytes) -> bytes:
    """Take the last of the first 200 lines that name a column of times for the header."""
    lines = content.split(b"\n")
    named = [at for at, line in enumerate(lines[:200]) if b"time" in line.split(b",") or
             b"timestamp" in line.split(b",")]  # fmt: skip
    return b"\n".join(lines[max(named) :]) if named else content


def shifted(content: bytes) -> bytes:
    """Decode UTF-16 from end to end."""
    return content.decode("utf-16", errors="replace").encode()


def quoted_rows(content: bytes) -> bytes:
    """Let quotes hold line breaks together, as most readers of CSV do."""
    rows = csv.reader(io.StringIO(content.decode(), newline=""))
    texts = (",".join(cell.replace(",", " ").replace("\n", " ") for cell in row) for row in rows)
    return b"".join(text.encode() + b"\n" for text in texts)


def unit_of_one(content: bytes) -> bytes:
    """Give all objects the unit of one."""
    return content.replace(b'"power_kw"', b'"power_w"') if b'"unit": "W"' in content else content


def labelled(content: bytes) -> bytes:
    """Take all stamps for the ends of their intervals if one is a range."""
    if b" - " not in content:
        return content
    lines = content.split(b"\n")
    return b"\n".join([lines[0].replace(b"time", b"interval_end"), *lines[1:]])


def month_first(content: bytes) -> bytes:
    """Read all dates with the month first if one has no day there."""
    dates = re.compile(rb",(\d\d)/(\d\d)/")
    if not any(int(day) <= 12 < int(month) for day, month in dates.findall(content)):
        return content
    return re.sub(rb",(\d\d)/(\d\d)/(\d{4})", rb",\3-\1-\2", content)


def json_refused(path: Path) -> bool:
    """Whether a file is not JSON from end to end, in sound text."""
    try:
        json.dumps(json.loads(path.read_bytes()), ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return True
    return False


def sheet_refused(path: Path) -> bool:
    """Whether a cell of a workbook's first sheet is no number and no text."""
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
    return any(
        not re.fullmatch(r"-?[\d.]+", value) for value in re.findall("<v>([^<]*)</v>", sheet)
    )


def zip_refused(path: Path) -> bool:
    """Whether a member of an archive cannot be read, or is an archive itself."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [archive.read(name) for name in archive.namelist()]
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError):
        return True
    return any(each.startswith(b"PK") for each in members)


def sniffed(lines: Lines) -> Lines:
    """Round the last column if its head is whole numbers, as a reader does that tells types."""
    head, *rows = lines
    if not all(re.fullmatch(rb"\d+(\.0+)?", row[-1]) for row in rows[:HEAD]):
        return lines
    return [head, *([*row[:-1], b"%.0f" % float(row[-1])] for row in rows)]


def one_mark(lines: Lines) -> Lines:
    """Leave out readings with a point if one of the first has a comma."""
    head, *rows = lines
    # a decimal comma has made one cell more of its line
    if all(len(row) == len(head) for row in rows[:HEAD]):
        return lines
    return [head, *([*row[: len(head) - 1], b""] for row in rows)]


def aborted(lines: Lines) -> Lines:
    """End the file at a system that has no reading."""
    head, *rows = lines
    known = {row[0] for row in rows if row[-1]}
    place = next((at for at, row in enumerate(rows) if row[0] not in known), len(rows))
    return [head, *rows[:place]]


def noting(run: Entry) -> Entry:
    """Return a command that says on stderr how many cells are no finite numbers."""

    def noted(path: Path) -> Outcome:
        found = run(path)
        count = path.read_bytes().count(b",nan\n")
        said = f"{found.public['stderr']}{count} readings were left out" if count else None
        return found if said is None else replace(found, public={**found.public, "stderr": said})

    return noted


def _released(unit: str, *, net: bool = False) -> Entry:
    """Return the command that releases systems of one file; a small ε is exceeded in few runs."""
    options = {"net": True} if net else {}
    return command_release(unit=UNITS[unit], epsilon=EPSILON / 10.0, options=options)


def _command(unit: str, plant: Plant, kind: str, *, asked: str = READING) -> AuditCase:
    """Return the command over a CSV file, with a fault planted around it.

    What must not change shows the same beside a small ε. Releases are those of readings, whatever
    the neighbours differ in, so that the fault is what shows; of days where these are quicker.
    """
    data, claim = meter_cells(THREE[:2], days=SHORT_DAYS), EPSILON / 10.0
    made = tuple(neighbours(data, unit, kinds=[kind], spots=1))
    run, rule = plant(_released(asked)), each_near(data.truths)
    return AuditCase(COMMAND, "CSV", unit, claim, data, made, text_table(), run, rule)


# Accounts of households: a promise of one is spent once, whatever the key's file type


def audit_accounts(place: Workplace) -> float:
    """Return what a household spends of ``EPSILON`` promised, over three datasets of one ledger.

    Its key is in files of three types.
    """
    ledger = ("--ledger", str(place.ledger_of(place.new_name())))
    spent = 0.0
    for key in (b"40031", 40031.0, b" 40031.0 "):
        folder, name = place.new_folder(), place.new_name()
        ids, table = (f"home-{name}", f"other-{name}"), folder / "households.csv"
        home, other = (each.encode() for each in ids)
        if isinstance(key, bytes):
            table.write_bytes(b"system_id,household\n%s,%s\n%s,\n" % (home, key, other))
        else:  # a gap makes floats of whole numbers in many programs
            table = table.with_suffix(".parquet")
            keys = pa.array([key, None], pa.float64())
            pq.write_table(pa.table({"system_id": ids, "household": keys}), table)
        rows = PrivateCells(dict.fromkeys(ids, (b"180", b"30", b"5")), VALUES)
        estimates = estimates_text()(folder, rows)
        asked = ("--dataset", name, "--epsilon", "1", "--clip", "0", "25")
        codes = [
            run_command(list(line)).code
            for line in (
                ("dataset", "create", name, "--protect", "system", "--epsilon", "1", *ledger),
                ("dataset", "households", name, "--table", str(table), *ledger),
                ("publish", "fleet", str(estimates), *ledger, *asked, "--out", str(folder / "out")),
            )
        ]
        assert codes[:2] == [0, 0]
        spent += EPSILON * (codes[2] == 0)
    return spent


@contextlib.contextmanager
def keys_as_written() -> Iterator[None]:
    """Patch the code: 4, keys are whatever their file type makes of them."""
    with (
        mock.patch("sunveil.household_keys._of_number", lambda cell, exact: str(cell)),
        mock.patch("sunveil.household_keys._of_text", lambda text: text or None),
    ):
        yield

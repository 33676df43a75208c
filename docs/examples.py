"""The examples of the pages that a newcomer follows: run them, and compare or renew their output.

In these pages a ``python`` block is code, and a ``text`` block right after it is what the code
prints; a ``console`` block is a command after ``$`` and what it prints. A ``bash`` block has
commands, one a line, that must work; what they print differs from run to run and is not shown. The
blocks of a page run in order, share their names, and run in a folder of their own with the
``demo/meters.csv`` that ``sunveil demo`` writes, and with its first system as other programs write
it. Other blocks are not run.

``tests/test_docs.py`` fails when a page says something else than the code, and ``.ci/package.sh``
compares the pages with what the wheel alone does in an empty folder (``--check``). To renew all
pages, or some::

    .venv/bin/python docs/examples.py
    .venv/bin/python docs/examples.py tutorial publication
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from sunveil.cli import main as run_command

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "tutorial",
            "meters",
            "publication",
            "power",
            "privacy",
        )
    ),
)
BLOCK = re.compile(
    r"```python\n(?P<code>.*?)```\n(?:\n?```text\n(?P<printed>.*?)```\n)?"
    r"|```console\n\$ (?P<command>[^\n]*)\n(?P<said>.*?)```\n"
    r"|```bash\n(?P<quiet>.*?)```\n",
    re.DOTALL,
)
NUMBER = re.compile(r"\d+(?:\.(\d+))?")


def write_fleet(folder: Path) -> None:
    """Write the meter file of ``sunveil demo`` with its defaults, without inferring it."""
    from sunveil.cli.simulate import _city, _simulate, demo_command

    defaults = {option.name: option.default for option in demo_command.params}
    target = folder / "demo" / "meters.csv"
    target.parent.mkdir()
    _simulate(_city(), defaults["systems"], defaults["seed"], path=target)
    write_exports(target, folder)


def write_exports(meters: Path, folder: Path) -> None:
    """Write the first system again as other programs do: ``logger.csv`` and ``counter.csv``."""
    rows = [line.split(",") for line in meters.read_text(encoding="utf-8").splitlines()]
    name = rows[1][0]
    times, powers = zip(*(row[1:] for row in rows if row[0] == name), strict=True)
    logger = ["Datenlogger;SN 4711", "Anlage;Dach", "", "Zeit;Leistung [W]"]
    counter, total = ["time,meter_kwh"], 0.0
    for time, power in zip(times, powers, strict=True):
        when = datetime.strptime(time, "%Y-%m-%dT%H:%MZ")
        watts = f"{1000.0 * float(power):.1f}".replace(".", ",")
        logger.append(f"{when:%d.%m.%Y %H:%M};{watts}")
        counter.append(f"{time},{total:.3f}")
        total += float(power)
    for path, lines in (("logger.csv", logger), ("counter.csv", counter)):
        (folder / path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def renewed(page: str, folder: Path) -> str:
    """Return a page with its examples run in a copy of a folder, and their output in place."""
    names: dict[str, Any] = {}

    def run(block: re.Match[str]) -> str:
        if block["command"] is not None:
            return f"```console\n$ {block['command']}\n{_said(block['command'])[1]}```\n"
        if block["quiet"] is not None:
            _must_work(block["quiet"].splitlines())
            return block[0]
        printed = _printed(block["code"], names)
        shown = f"\n```text\n{printed}```\n" if printed else ""
        return f"```python\n{block['code']}```\n{shown}"

    with tempfile.TemporaryDirectory() as own:
        shutil.copytree(folder, own, dirs_exist_ok=True)
        with contextlib.chdir(own):
            return BLOCK.sub(run, page)


def _printed(code: str, names: dict[str, Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "<example>", "exec"), names)  # noqa: S102 - our own pages
    return out.getvalue()


def _must_work(commands: list[str]) -> None:
    for command in commands:
        code, said = _said(command)
        if code:
            raise RuntimeError(f"{command} ends with {code}: {said}")


def _said(command: str) -> tuple[int, str]:
    """Return the exit code of a command of ours, and what it prints."""
    program, *arguments = shlex.split(command)
    if program != "sunveil":
        raise ValueError(f"console blocks run sunveil, not {program}; use an sh block")
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = run_command(arguments)
    # said on a machine that has never inferred, and on no other
    return code, re.sub(r"^Compiling the engine.*\n", "", out.getvalue(), flags=re.MULTILINE)


def alike(told: str, found: str) -> bool:
    """Tell whether two texts have the same words, and numbers that round to about the same.

    Numbers may differ by ten of their last decimals or 3%, so that another machine's arithmetic
    is no difference; how columns are aligned is none either.
    """
    if _words(told) != _words(found):
        return False
    pairs = zip(NUMBER.finditer(told), NUMBER.finditer(found), strict=True)
    return all(_close(one, other) for one, other in pairs)


def _words(text: str) -> str:
    plain = re.sub(r"-{3,}", "---", NUMBER.sub("0", text))
    return " ".join(plain.split())


def _close(one: re.Match[str], other: re.Match[str]) -> bool:
    ours, theirs = float(one[0]), float(other[0])
    places = len(one[1] or "")
    slack = 10.0 ** (1 - places) if places else 1.0
    return abs(ours - theirs) <= max(slack, 0.03 * abs(ours))


def main(arguments: list[str]) -> None:
    """Renew the output in every page, or in those that are named; with ``--check``, compare it.

    Parameters
    ----------
    arguments
        Names of pages without their ending, such as ``tutorial``; all when there are none.
    """
    names = [each for each in arguments if each != "--check"]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = str(Path(folder, "state"))
        write_fleet(Path(folder))
        for path in PAGES:
            if names and path.stem not in names:
                continue
            page = path.read_text(encoding="utf-8")
            found = renewed(page, Path(folder))
            if "--check" not in arguments:
                path.write_text(found, encoding="utf-8")
            elif not alike(page, found):
                sys.exit(f"{path.name} shows something else than this:\n{found}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Make the figures and tables of the reproduction page anew: ``python docs/figures.py``.

With a folder that ``make reproduce`` has written, it takes what stands there instead.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from reproduction.run import reproduce

HERE = Path(__file__).parent / "reproduction"
# What is told of a real system, and where it stands among its statements.
REAL = HERE / "real-subjects.json"


def main() -> None:
    """Reproduce the paper and keep its figures, small enough for a page, and its tables."""
    HERE.mkdir(exist_ok=True)
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        reproduce(Path(folder), progress=lambda doing: print(doing, file=sys.stderr))
        keep(Path(folder))


def keep(folder: Path) -> None:
    """Keep the figures, the statements and the tables of a reproduction."""
    for path in folder.glob("*.png"):
        picture = Image.open(path).convert("RGB")
        picture.thumbnail((1100, 1100))
        picture.quantize(128).save(HERE / path.name, optimize=True)
    statements = load(folder / "statements.json")
    text = (folder / "statements.json").read_text(encoding="utf-8")
    (HERE / "statements.json").write_text(text, encoding="utf-8")
    tables = {
        "readings": readings(load(folder / "5c-readings.json")["data"]["readings"]),
        "steps": steps(load(folder / "steps-to-a-useful-mechanism.json")["data"]["steps"]),
        "statements": told(statements["statements"]),
    }
    if REAL.exists():
        tables["real"] = real(load(REAL))
    for name, rows in tables.items():
        (HERE / f"{name}.inc").write_text("\n".join(rows) + "\n", encoding="utf-8")


def load(path: Path) -> Any:
    """Return a JSON file's content."""
    return json.loads(path.read_text(encoding="utf-8"))


def readings(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of the readings of figure 5c."""
    yield "| reading | azimuth error | near | ε for any day | privacy | as printed |"
    yield "|---|---|---|---|---|---|"
    for each in found:
        day = each["epsilon_for_any_day"]
        yield (
            f"| {each['reading']} | {each['mean_azimuth_error']:.2f}° | {each['near_share']:.1%} |"
            f" {'-' if day is None else f'{day:.3g}'} | {each['privacy']} |"
            f" {'yes' if each['could_look_as_printed'] else 'no'} |"
        )


def steps(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of the way to a useful mechanism."""
    yield "| step | holds for | azimuth, ε = 0.1 | azimuth, ε = 1 | tilt, ε = 0.1 | tilt, ε = 1 |"
    yield "|---|---|---|---|---|---|"
    for number, each in enumerate(found, start=1):
        cells = [
            f"{each[f'mean_{name}_error'][epsilon]:.1f}°"
            for name in ("azimuth", "tilt")
            for epsilon in ("0.1", "1")
        ]
        yield f"| {number}. {each['step']} | {each['guarantee']} | {' | '.join(cells)} |"


def told(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of statements, with a verdict for each subject."""
    yield "| section | statement | verdict | measured |"
    yield "|---|---|---|---|"
    for each in found:
        measured = each["measured"].replace("\n", "<br>").replace("|", "\\|")
        paper = each["paper"].replace("|", "\\|")
        yield f"| {each['section']} | {paper} | {each['verdict']} | {measured} |"


def real(found: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table of real systems."""
    yield (
        "| subject | maximiser | reported | misfit | picked days rank | error at ε = 0.1 |"
        " RMSE falls with ε | with δ | lemma 1, share of the bound |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for subject in found:
        by_name = {name: each for each in subject["statements"] for name in each["numbers"]}
        best = by_name["best_looked_at"]["numbers"] if "best_looked_at" in by_name else {}
        ranks = by_name["ranks"]["numbers"]["ranks"]
        yield (
            f"| {subject['subject']} | {plane(best.get('maximiser'))} |"
            f" {plane(best.get('reported'))} | {by_name['misfit']['numbers']['misfit']:.1%} |"
            f" {min(ranks)} to {max(ranks)} |"
            f" {by_name['near_share_of_draws']['numbers']['mean_azimuth_error']:.2f}° |"
            f" {by_name['rmse_first']['verdict']} | {by_name['noise_of_draws']['verdict']} |"
            f" {by_name['largest_share_of_the_bound']['numbers']['largest_share_of_the_bound']:.2f}"
            " |"
        )


def plane(found: dict[str, float] | None) -> str:
    """Return a plane as the paper writes it."""
    if found is None:
        return "-"
    return f"({found['surface_azimuth']:.0f}°, {found['surface_tilt']:.0f}°)"


if __name__ == "__main__":
    main()

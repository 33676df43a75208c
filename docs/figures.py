"""Make the figures of the reproduction page anew: ``python docs/figures.py``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

from sunveil.reproduce.run import reproduce

HERE = Path(__file__).parent / "reproduction"


def main() -> None:
    """Reproduce the paper and keep its figures, small enough for a page."""
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        found = reproduce(Path(folder), progress=lambda doing: print(doing, file=sys.stderr))
        for path in found.files:
            if path.suffix == ".png":
                picture = Image.open(path).convert("RGB")
                picture.thumbnail((1100, 1100))
                picture.quantize(128).save(HERE / path.name, optimize=True)
        text = (Path(folder) / "statements.json").read_text(encoding="utf-8")
        (HERE / "statements.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Make the pictures of the pages anew: ``python docs/pictures/make.py``, or some of them by name.

All are of real runs of the code over the meters that ``sunveil demo`` simulates, from its seed, so
that the same code makes the same pictures.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt
from angles import draw_angles
from front import draw_front
from inference import draw_clear_days, draw_clock, draw_envelope, draw_map, draw_meters

from privacy import draw_budget, draw_errors, draw_units

HERE = Path(__file__).parent
PICTURES = {
    "front": draw_front,
    "clear-days": draw_clear_days,
    "agreement": draw_map,
    "envelope": draw_envelope,
    "meters": draw_meters,
    "clock": draw_clock,
    "units": draw_units,
    "units-errors": draw_errors,
    "budget": draw_budget,
    "angles": draw_angles,
}


def main(names: list[str]) -> None:
    """Write the named pictures, or all of them, as SVG beside this file."""
    settings = {"svg.hashsalt": "sunveil", "svg.fonttype": "path", "font.family": "DejaVu Sans"}
    with mpl.rc_context(settings), tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state  # where a ledger keeps its marks
        for name in names or PICTURES:
            figure = PICTURES[name]()
            figure.savefig(
                HERE / f"{name}.svg", dpi=140, facecolor="white", metadata={"Date": None}
            )
            plt.close(figure)


if __name__ == "__main__":
    main(sys.argv[1:])

"""The picture of the front page: readings in, a plane on a compass, a private answer."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from scenes import Scene, draw_carpet, draw_interval, draw_truth, dress_compass, scene, weather

from sunveil.fleet.blocks import time_grid_of
from sunveil.meters import from_pandas
from sunveil.meters.record import prepared
from sunveil.plots.style import ACCENT, CONTRAST, INK, QUIET, SMALL, USUAL, as_polar
from sunveil.privacy.guarantees import Days
from sunveil.privacy.mechanisms import PermuteAndFlip
from sunveil.releases.candidate_frame import make_frame
from sunveil.releases.release_choices import Choices
from sunveil.releases.scores import unit_score

UNIT, EPSILON = Days(1), 0.2
# Answers that are rarer than this are too small to see.
RAREST = 2e-4
GREEN = "#007A5A"


def chances(shown: Scene) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return azimuths, tilts and probabilities of the planes that a release may answer."""
    record = from_pandas(
        shown.power, system_id="shown", label="start", cleaning="each", power_unit="kW"
    )
    times = time_grid_of(prepared(record), longitude=weather().site.longitude)
    choices = Choices().for_meter(net=False).affordable(UNIT, EPSILON, times)
    frame = make_frame(weather(), times, choices).resolved(UNIT, EPSILON, differenced=False)
    score = unit_score(frame, record, UNIT)
    each = PermuteAndFlip(EPSILON).probabilities(score).reshape(frame.shape).sum(axis=(0, 2))
    planes = np.column_stack([frame.grid.surface_azimuth, frame.grid.surface_tilt]).round(1)
    places, which = np.unique(planes, axis=0, return_inverse=True)
    likely = np.bincount(which.ravel(), weights=each)
    seen = likely > RAREST
    return places[seen, 0], places[seen, 1], likely[seen]


def draw_front() -> Figure:
    """Return the picture, of the demo's third meter."""
    shown = scene(3)
    figure = plt.figure(figsize=(11.0, 4.5))
    _backgrounds(figure)
    left = figure.add_axes((0.055, 0.19, 0.235, 0.50))
    draw_carpet(left, shown.day)
    left.set_ylabel("hour of the day", fontsize=SMALL, color=INK)
    middle = as_polar(figure.add_axes((0.370, 0.155, 0.225, 0.55), projection="polar"))
    draw_interval(middle, shown.found)
    draw_truth(middle, shown.truth.plane)
    right = as_polar(figure.add_axes((0.748, 0.155, 0.215, 0.55), projection="polar"))
    dress_compass(right)
    azimuths, tilts, likely = chances(shown)
    right.scatter(
        np.radians(azimuths), tilts, s=4.0 + 600.0 * likely, color=GREEN, alpha=0.55, lw=0
    )
    draw_truth(right, shown.truth.plane)
    _words(figure, shown)
    return figure


def _backgrounds(figure: Figure) -> None:
    for left, width, colour in ((0.008, 0.642, "#F3F1EC"), (0.69, 0.302, "#EAF4EF")):
        figure.add_artist(
            FancyBboxPatch(
                (left, 0.02), width, 0.96, boxstyle="round,pad=0,rounding_size=0.015",
                facecolor=colour, edgecolor="none", transform=figure.transFigure, zorder=-2,
                mutation_aspect=2.4,
            )
        )  # fmt: skip
    for start, end in ((0.297, 0.340), (0.632, 0.712)):
        figure.add_artist(
            FancyArrowPatch(
                (start, 0.43), (end, 0.43), arrowstyle="-|>", mutation_scale=16, lw=1.6,
                color=INK, transform=figure.transFigure,
            )
        )  # fmt: skip


def _words(figure: Figure, shown: Scene) -> None:
    found = shown.found
    azimuth, tilt = found.azimuth_interval, found.tilt_interval
    heads = (
        (0.030, "A year of readings", "one meter, 8,760 hours, changing sky"),
        (
            0.352,
            "Its plane, with a 90% interval",
            f"{found.surface_azimuth:.0f}° ({azimuth.low:.0f} to {azimuth.high:.0f}),"
            f" tilt {found.surface_tilt:.0f}° ({tilt.low:.0f} to {tilt.high:.0f}),"
            f" {found.dc_capacity_kw:.1f} kW",
        ),
        (0.712, "A private answer", f"one draw of these: ε = {EPSILON:g} for any one day"),
    )
    for left, head, below in heads:
        figure.text(left, 0.905, head, fontsize=12, color=INK, weight="bold")
        figure.text(left, 0.848, below, fontsize=SMALL, color=INK)
    figure.text(0.030, 0.045, "stays with the curator", fontsize=USUAL, color=QUIET, style="italic")
    figure.text(0.712, 0.045, "may be published", fontsize=USUAL, color=GREEN, style="italic")
    marks = [
        Line2D([], [], ls="", marker="o", color=ACCENT, ms=5.5, label="inferred"),
        Line2D([], [], ls="", marker="o", mfc="none", mec=CONTRAST, ms=9, mew=1.6, label="truth"),
    ]
    figure.legend(
        handles=marks, loc="lower right", bbox_to_anchor=(0.648, 0.02), ncols=2, frameon=False,
        fontsize=SMALL, handletextpad=0.3, columnspacing=1.0,
    )  # fmt: skip

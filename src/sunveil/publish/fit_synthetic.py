"""Fit the model of a synthetic table with mbi, in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sunveil._extras import require_extras
from sunveil.errors import SunveilError
from sunveil.publication.published_tables import NOISY_COUNTS, Bins, Column, PublishedTable

if TYPE_CHECKING:
    from sunveil.publish.synthetic_table import Array

NAMES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")


@dataclass(frozen=True, slots=True, eq=False)
class Marginal:
    """Noisy counts of systems along one or two axes: public."""

    axes: tuple[int, ...]  # which of azimuth, tilt and capacity
    counts: Array  # in the shape of the axes' bins
    deviation: float  # standard deviation of the noise of one count

    @property
    def name(self) -> str:
        """The names of its columns."""
        return " x ".join(NAMES[axis] for axis in self.axes)


Whole = NDArray[np.int64]

_STEPS = 1000


def check_mbi() -> None:
    """Refuse, before anything is charged, to make a synthetic table without mbi."""
    require_extras("synthetic", purpose="a synthetic table")


def sample_model(marginals: Sequence[Marginal], systems: int, *, shape: tuple[int, ...]) -> Whole:
    """Return the bins of sampled rows along each axis, from a model of noisy counts."""
    asked = {
        "shape": list(shape),
        "systems": systems,
        "marginals": [[list(m.axes), m.counts.ravel().tolist(), m.deviation] for m in marginals],
    }
    done = subprocess.run(
        [sys.executable, "-m", "sunveil.publish.fit_synthetic"],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["it was stopped"]
        raise SunveilError(f"the model of the synthetic table could not be fitted: {lines[-1]}")
    return np.array(json.loads(done.stdout), dtype=np.int64)


def _fit(asked: dict[str, Any]) -> list[list[int]]:
    jax: Any = import_module("jax")
    # mbi warns of anything else
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_enable_compilation_cache", False)
    mbi: Any = import_module("mbi")
    measured = [
        mbi.LinearMeasurement(np.array(counts), tuple(NAMES[a] for a in axes), stddev=deviation)
        for axes, counts, deviation in asked["marginals"]
    ]
    model = mbi.estimation.MirrorDescent().estimate(
        mbi.Domain(NAMES, tuple(asked["shape"])),
        measured,
        known_total=float(asked["systems"]),
        iters=_STEPS,
    )
    # rounding the model's counts instead would make correlations that it does not have
    made = model.synthetic_data(rows=asked["systems"], method="sample").to_dict()
    return [np.asarray(made[name]).tolist() for name in NAMES]


if __name__ == "__main__":
    json.dump(_fit(json.load(sys.stdin)), sys.stdout)


_COLUMNS = (
    Column("sector", "string", "Sector of azimuth; empty where all are counted together."),
    Column("tilt_band", "string", "Band of tilt; empty likewise. [degrees]"),
    Column("capacity_class", "string", "Class of capacity; empty likewise. [kW]"),
    Column("noisy", "integer", "Systems that were counted, with noise; it may be below zero."),
    Column("sd", "number", "Standard deviation of the noise."),
)


def noisy_counts(marginals: Sequence[Marginal], bins: Bins) -> PublishedTable:
    """Return the counts that a synthetic table was made of: public."""
    rows: list[tuple[Any, ...]] = []
    for each in marginals:
        for place in np.ndindex(each.counts.shape):
            labels: list[str | None] = [None, None, None]
            for axis, at in zip(each.axes, place, strict=True):
                labels[axis] = bins.labels[axis][at]
            rows.append((*labels, round(float(each.counts[place])), round(each.deviation, 4)))
    return PublishedTable(
        NOISY_COUNTS,
        "Noisy counts of the systems along each axis and each pair of axes, which the synthetic"
        " systems were made of.",
        _COLUMNS,
        tuple(rows),
    )

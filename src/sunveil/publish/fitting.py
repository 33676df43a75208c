"""Fitting a model to noisy counts, and sampling it: ``python -m sunveil.publish.fitting``.

It runs in a process of its own, since JAX, which mbi brings, starts threads that no process with a
ledger or a service should be forked with. Only noisy counts, which are public, go in.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import SunveilError
from sunveil.extras import require_extras
from sunveil.publish.survival import NAMES, Marginal

Whole = NDArray[np.int64]
_STEPS = 1000


def check_mbi() -> None:
    """Refuse, before anything is charged, to make a synthetic table without mbi."""
    require_extras("synthetic", purpose="a synthetic table")


def sample_model(marginals: Sequence[Marginal], systems: int, *, shape: tuple[int, ...]) -> Whole:
    """Return the bins of sampled rows along each axis, from a model of noisy counts.

    Parameters
    ----------
    marginals
        The noisy counts.
    systems
        How many systems there are, and how many rows are sampled.
    shape
        How many bins each axis has.
    """
    asked = {
        "shape": list(shape),
        "systems": systems,
        "marginals": [[list(m.axes), m.counts.ravel().tolist(), m.deviation] for m in marginals],
    }
    done = subprocess.run(
        [sys.executable, "-m", "sunveil.publish.fitting"],
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

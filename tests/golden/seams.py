"""The only names of the golden files that are not public. A move of code edits this file alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import opendp.measurements

from sunveil.errors import SunveilError
from sunveil.inference import infer_fleet
from sunveil.ledger import Ledger, Promise, Question, YearlySchedule
from sunveil.paper import DPBO, fit_paper
from sunveil.paper.grid_and_bayesian_search import SearchSettings
from sunveil.privacy import ConcentratedGuarantee, Guarantee, PermuteAndFlip
from sunveil.privacy.mechanisms import Exponential
from sunveil.privacy.two_level_window import Window

__all__ = [
    "ConcentratedGuarantee", "Guarantee", "Ledger", "Promise", "Question", "SearchSettings",
    "SunveilError", "YearlySchedule", "fit_paper", "infer_fleet", "scores_drawn_from",
    "without_noise",
]  # fmt: skip

# Multiplied with the scale of a draw and added in turn: a change of scale changes the answer.
NOISE = (0.62, -0.35, 1.27, -1.1, 0.08, 0.41, -0.77)
MEASUREMENTS = ("make_noisy_max", "make_laplace", "make_gaussian")


@contextmanager
def without_noise() -> Iterator[None]:
    """Replace the noise of every draw by a fixed pattern: OpenDP's measurements, the generator of
    synthetic rows, and the process that fits their model.
    """
    with ExitStack() as stack:
        for name in MEASUREMENTS:
            real = getattr(opendp.measurements, name)
            stack.enter_context(patch.object(opendp.measurements, name, _patterned(real)))
        generator = np.random.default_rng
        seeded = lambda seed=None: generator(1 if seed is None else seed)  # noqa: E731
        stack.enter_context(patch("numpy.random.default_rng", seeded))
        run = subprocess.run
        fitted = lambda *a, **o: _fitted(o["input"]) if o.get("input") else run(*a, **o)  # noqa: E731
        stack.enter_context(patch("subprocess.run", fitted))
        yield


def _patterned(real: Callable[..., Any]) -> Callable[..., Any]:
    select = real.__name__ == "make_noisy_max"

    def make(*space: Any, scale: float, **options: Any) -> Any:
        measurement = real(*space, scale=scale, **options)

        def draw(levels: Any) -> Any:
            values = np.asarray(levels, dtype=np.int64)
            noisy = values + np.rint(scale * np.resize(NOISE, len(values))).astype(np.int64)
            return int(noisy.argmax()) if select else noisy.tolist()

        class Measurement(SimpleNamespace):
            def __call__(self, levels: Any) -> Any:
                return draw(levels)

        return Measurement(map=measurement.map)

    return make


def _fitted(text: str) -> Any:
    """Return rows that repeat the bins of each single axis in proportion to its counts."""
    asked = json.loads(text)
    rows = []
    for size, (_, counts, _) in zip(asked["shape"], asked["marginals"], strict=False):
        weights = np.maximum(np.array(counts[:size], dtype=float), 0.0) + 1e-9
        ends = np.cumsum(weights) / weights.sum()
        places = (np.arange(asked["systems"]) + 0.5) / asked["systems"]
        rows.append(np.minimum(np.searchsorted(ends, places), size - 1).tolist())
    return SimpleNamespace(returncode=0, stdout=json.dumps(rows), stderr="")


@contextmanager
def scores_drawn_from() -> Iterator[list[dict[str, Any]]]:
    """Collect what is drawn from: a score's levels, a placement, or the posterior of DP-BO."""
    found: list[dict[str, Any]] = []

    def seen(mechanism: type, facts: Callable[[Any, Any], dict[str, Any]]) -> Any:
        real = mechanism.draw

        def draw(self: Any, score: Any) -> Any:
            drawn = real(self, score)
            own = {"mechanism": type(self).__name__, "epsilon": self.epsilon}
            found.append({**own, "drawn": str(drawn), **facts(self, score)})
            return drawn

        return patch.object(mechanism, "draw", draw)

    def levels(_: Any, score: Any) -> dict[str, Any]:
        facts = {"sensitivity": score.sensitivity, "range": score.range, "unit": str(score.unit)}
        return {**facts, "levels": np.array(score.levels)}

    def place(window: Any, placed: Any) -> dict[str, Any]:
        axes = [[axis.size, axis.step] for axis in placed.axes]
        return {"place": list(placed.place), "axes": axes, "inside": window.inside}

    def mean(dpbo: Any, score: Any) -> dict[str, Any]:
        facts = {"mean": score.mean, "steps": score.steps}
        own = {"sensitivity": dpbo.sensitivity(score), "chances": dpbo.probabilities(score)}
        return facts | own

    drawn = {PermuteAndFlip: levels, Exponential: levels, Window: place, DPBO: mean}
    with ExitStack() as stack:
        for mechanism, facts in drawn.items():
            stack.enter_context(seen(mechanism, facts))
        yield found

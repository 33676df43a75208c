"""The paper's method and mechanism: fits, all points visited, probabilities of DP-BO."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sunveil
from sunveil.meters import from_pandas

from .files import Rows, fixed, significant
from .fleets import readings_of, simulate, systems_of
from .seams import SearchSettings, fit_paper, scores_drawn_from, without_noise

FLEET = ("--systems", 6, "--seed", 43, "--no-faults")
SHOWN = 12  # candidates of each score, evenly over the grid
READ = {"label": "start", "power_unit": "kW"}
GROUPS = ("week", "month", "quarter")


def record(folder: Path, texts: Rows) -> Rows:
    rows: Rows = {}
    fleet = simulate(folder, "paper", *FLEET)
    for number, place in enumerate(systems_of(fleet)):
        where = {name: place[name] for name in ("latitude", "longitude", "altitude")}
        power = readings_of(fleet, place["system_id"])
        rows |= _fits(place["system_id"], power, where)
        for search in ("exhaustive", "bayesopt"):
            group = GROUPS[number % 3]
            asked = {"method": "paper", "search": search, "group": group}
            found = sunveil.infer(power, **where, **READ, **asked)
            row = _plane(found.plane, found.dc_capacity_kw)
            rows[f"{place['system_id']} infer {search} by {group}"] = row
        if number < 2:
            rows[f"{place['system_id']} release"] = _release(power, where)
    return rows


def _plane(plane: Any, capacity: float) -> dict[str, Any]:
    facing = {"azimuth": fixed(plane.surface_azimuth, 2), "tilt": fixed(plane.surface_tilt, 2)}
    return {**facing, "dc_kw": significant(capacity, 5)}


def _chosen(values: np.ndarray) -> list[Any]:
    return [fixed(values[at], 4) for at in np.linspace(0, len(values) - 1, SHOWN).astype(int)]


def _fits(name: str, power: pd.Series, where: dict[str, Any]) -> Rows:
    site = sunveil.Site(where["latitude"], where["longitude"], where["altitude"])
    own = from_pandas(power, **READ)
    weather = sunveil.get_weather("clearsky", site, "2018-12-30", "2020-01-03")
    rows: Rows = {}
    for words, search in (("exhaustive", None), ("GP-UCB", SearchSettings(steps=60))):
        fit = fit_paper(own, weather, search=search)
        scores = {"scores": _chosen(fit.result.scores), "best": fixed(fit.result.scores.max(), 4)}
        rows[f"{name} {words}"] = {**_plane(fit.plane, fit.capacity), **scores}
        if fit.bayes is not None:
            rows[f"{name} points visited"] = fit.bayes.points.tolist()
    return rows


def _release(power: pd.Series, where: dict[str, Any]) -> dict[str, Any]:
    with without_noise(), scores_drawn_from() as seen:
        asked = {"protect": "readings:1", "epsilon": 2.0, "mechanism": "paper"}
        drawn = sunveil.release(power, **asked, **where, **READ)
    (facts,) = seen
    chances = facts["chances"]
    return {
        "steps": facts["steps"],
        "sensitivity": significant(facts["sensitivity"], 6),
        "mean": _chosen(facts["mean"]),
        "chances": [significant(one, 4) for one in chances[:: len(chances) // SHOWN]],
        "drawn": [drawn.surface_azimuth, drawn.surface_tilt],
        "public": drawn.public,
        "guarantee": drawn.guarantee.to_dict(),
    }

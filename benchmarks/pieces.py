"""What the pieces of one system's compiled fit take, each in a loop over the systems of a cell."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numba
import numpy as np

from sunveil.cells import cell_of, make_cell_sky
from sunveil.timegrid import TimeGrid
from sunveil.fit.shared import Doubts
from sunveil.quick.constants import QuickOptions
from sunveil.quick.ends import fill_middles, typical, typical_room
from sunveil.quick.layout import find_limit, lay_out
from sunveil.quick.mixture import is_one_plane, mixing_room
from sunveil.quick.prepared import Prepared
from sunveil.quick.rows import best_start, fit_one, fit_room, start_room, thin_row
from sunveil.quick.spread import COLUMNS, fill_spread, spread_room, weights_of
from sunveil.quick.starts import search, search_room

REPEATS = 7


def first_cell(fleet: Path) -> tuple[np.ndarray, Prepared]:
    """Return the readings of a simulated fleet's first cell, and its sky."""
    table = duckdb.sql(
        f"""
        SELECT s.system_id, s.latitude, s.longitude, s.altitude, epoch(r.time)::BIGINT AS t,
               r.power_kw
        FROM (SELECT * FROM '{fleet}/systems.parquet' ORDER BY system_id LIMIT 100) s
        JOIN '{fleet}/readings/*.parquet' r USING (system_id) ORDER BY system_id, t
        """
    ).fetchnumpy()
    names, place = np.unique(np.asarray(table["system_id"]), return_inverse=True)
    first = int(table["t"].min())
    axis = TimeGrid(first, 3600, int(table["t"].max() - first) // 3600 + 1)
    rows = np.full((len(names), axis.count), np.nan, dtype=np.float32)
    rows[place, (table["t"] - first) // 3600] = table["power_kw"]
    where = (float(table[name][0]) for name in ("latitude", "longitude", "altitude"))
    return rows, Prepared(make_cell_sky(cell_of(*where), axis), QuickOptions())


@numba.njit
def _laid(rows, known, power, have, tops):  # type: ignore[no-untyped-def]
    room = np.empty(power.shape[1], dtype=np.float32)
    for s in range(len(rows)):
        found = lay_out(rows[s], known.slot, known.begins, power[s], have[s], room)
        tops[s, 0], tops[s, 1] = found[0], found[1]


@numba.njit
def _searched(rows, known, glow):  # type: ignore[no-untyped-def]
    room = search_room(known)
    for s in range(len(rows)):
        search(rows[s], known, room)
        glow[s] = room[0]


@numba.njit
def _limited(power, have, tops, known, limits):  # type: ignore[no-untyped-def]
    for s in range(len(power)):
        limits[s] = find_limit(power[s], have[s], tops[s, 1], known.day, known.hours)


@numba.njit
def _chosen(rows, tops, known, constants, points):  # type: ignore[no-untyped-def]
    searching, room = search_room(known), start_room(known)
    for s in range(len(rows)):
        search(rows[s], known, searching)
        thin_row(rows[s], known, room)
        best_start(searching, tops[s, 0], 160.0, known, constants, room, points[s])


@numba.njit
def _fitted(power, have, tops, known, constants, points):  # type: ignore[no-untyped-def]
    room = fit_room(known)
    skies = (known.sheet, known.some, known.some_at)
    point = np.empty(points.shape[1])
    for s in range(len(power)):
        point[:] = points[s]
        fit_one(power[s], have[s], point, tops[s, 0], skies, known.patch, constants, room)
    return room


@numba.njit
def _spread(points, fit, known, weights, constants, spreads):  # type: ignore[no-untyped-def]
    room = spread_room(weights)
    for s in range(len(points)):
        whole = (points[s], fit[0], fit[1][0], fit[5])
        fill_spread(whole, known.neighbours, weights, constants, room, spreads[s])


@numba.njit
def _mixed(glow, tops, points, known, constants):  # type: ignore[no-untyped-def]
    room = mixing_room(known.mixture)
    alone = 0
    for s in range(len(glow)):
        alone += is_one_plane(glow[s], tops[s, 0], points[s], known.mixture, constants, room)
    return alone


@numba.njit
def _lit(rows, tops, days, flat, saving, light):  # type: ignore[no-untyped-def]
    room = typical_room(days)
    total = 0.0
    for s in range(len(rows)):
        fill_middles(rows[s], np.float32(0.01 * tops[s, 0]), days, light[0], light[1])
        for part in range(3):
            total += typical((light[0], light[1]), flat, saving, part, days.minutes, room)
    return total


def _microseconds(count: int, run: Callable[[], Any]) -> float:
    run()
    best = np.inf
    for _ in range(REPEATS):
        began = time.thread_time()
        run()
        best = min(best, time.thread_time() - began)
    return 1e6 * best / count


def pieces(fleet: Path) -> dict[str, float]:
    """Return the CPU time of each piece for one system. [µs]"""
    rows, prepared = first_cell(fleet)
    known, count = prepared.known, len(rows)
    some, few = prepared.for_some, prepared.for_few
    power, have = np.empty((2, count, known.sheet.shape[0] * 64), dtype=np.float32)
    tops, limits = np.zeros((count, 2)), np.zeros(count)
    glow = np.empty((count, known.places.shape[1]), dtype=np.float32)
    points, spreads = np.zeros((count, 6)), np.zeros((count, COLUMNS))
    days, weights = prepared.days, weights_of(Doubts())
    light = tuple(np.empty((2, days.number), dtype=np.float32))
    saving = np.arange(days.number) % 365 < 180

    def told(run: Callable[[], Any]) -> float:
        return _microseconds(count, run)

    out = {
        "daylight readings and their quantiles": told(
            lambda: _laid(rows, known, power, have, tops)
        ),
        "bright powers, against 97 planes": told(lambda: _searched(rows, known, glow)),
        "the inverter's limit": told(lambda: _limited(power, have, tops, known, limits)),
    }
    both = told(lambda: _chosen(rows, tops, known, few, points))
    out["refining the best starts, on 220 bright powers and 500 readings"] = (
        both - out["bright powers, against 97 planes"]
    )
    out["refining on 1,500 readings, without what hides the sun"] = told(
        lambda: _fitted(power, have, tops, known, some, points)
    )
    fit = _fitted(power, have, tops, known, some, points)
    out["intervals"] = told(lambda: _spread(points, fit, known, weights, some, spreads))
    out["one plane or a mixture of 32"] = told(lambda: _mixed(glow, tops, points, known, some))
    flat = prepared.flat_light
    out["first and last light"] = told(lambda: _lit(rows, tops, days, flat, saving, light))
    return out

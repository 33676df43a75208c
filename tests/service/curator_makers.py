"""Small fleets, and what an inference over them leaves, for tests of the curator's side."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from service_makers import Running, csrf, post, wait_for

from plot_makers import pair_of, tracker_of
from sunveil.estimates.inference_options import InferOptions
from sunveil.fleet.run_plan import run_settings
from sunveil.meters import MeterOptions
from sunveil.service.curator.inference import job_id, jobs_of
from sunveil.service.store.datasets import Served, add_served, find_served
from sunveil.simulate import simulate_fleet

FLAGS = ("clipping", "low_agreement", "clock_repaired")


def write_results(folder: Path, systems: int = 120, *, refused: int = 3, seed: int = 1) -> Path:
    """Write a folder such as an inference over a fleet leaves, without inferring anything."""
    rng = np.random.default_rng(seed)
    (folder / "estimates").mkdir(parents=True)
    rows = [_row(rng, number) for number in range(systems)]
    half = len(rows) // 2
    for part, chosen in enumerate((rows[:half], rows[half:])):
        write_estimates(folder / "estimates" / f"part-{part:05d}.parquet", chosen)
    reasons = [
        {
            "system_id": f"r{number:03d}",
            "kind": "too_little_data",
            "in_systems": number > 0,
            "reason": f"system r{number:03d} has 4 daylight readings with power, and 60 are needed",
        }
        for number in range(refused)
    ]
    if reasons:
        write_rows(folder / "refused.parquet", reasons)
    (folder / "summary.json").write_text(json.dumps({"systems": systems}))
    settings = run_settings(MeterOptions(), InferOptions())
    (folder / "run.json").write_text(json.dumps({"settings": settings}))
    return folder


def add_planes(folder: Path) -> Path:
    """Add a part with two planes and a tracker to such a folder."""
    rows = [each.to_row() for each in (pair_of(system_id="ridge"), tracker_of(system_id="farm"))]
    placed = [{**row, "latitude": 40.0, "longitude": -105.0} for row in rows]
    part = folder / "estimates" / "part-00002.parquet"
    write_estimates(part, placed)
    return part


def _row(rng: np.random.Generator, number: int) -> dict[str, object]:
    azimuth = float(rng.normal(180.0, 60.0) % 360.0)
    tilt = float(np.clip(rng.normal(22.0, 9.0), 0.0, 60.0))
    capacity = float(np.exp(rng.normal(1.7, 0.5)))
    flags = [flag for flag in FLAGS if rng.random() < 0.08]
    return {
        "system_id": f"s{number:03d}",
        "latitude": float(40.0 + rng.normal(0.0, 0.2)),
        "longitude": float(-105.0 + rng.normal(0.0, 0.3)),
        "surface_azimuth": azimuth,
        "surface_azimuth_low": (azimuth - 3.0) % 360.0,
        "surface_azimuth_high": (azimuth + 3.0) % 360.0,
        "surface_tilt": tilt,
        "surface_tilt_low": tilt - 1.5,
        "surface_tilt_high": tilt + 1.5,
        "dc_capacity_kw": capacity,
        "dc_capacity_kw_low": 0.95 * capacity,
        "dc_capacity_kw_high": 1.05 * capacity,
        "plane_error_degrees": float(rng.uniform(1.0, 4.0)),
        "ac_limit_kw": None,
        "clock_offset_minutes": 0.0,
        "clock_label": "start",
        "clock_daylight_saving": "as_declared",
        "agreement": float(rng.uniform(0.3, 0.8)),
        "flags": flags,
        "quality": ("good", "fair", "poor")[number % 3],
        "feeder": f"F{number % 4}",
    }


def write_estimates(path: Path, rows: list[dict[str, object]]) -> None:
    """Write rows with all columns of a fleet's estimates, typed even where all are null."""
    samples = [pair_of(system_id="a").to_row(), tracker_of(system_id="b").to_row()]
    names = dict.fromkeys([*samples[0], *(name for row in rows for name in row)])
    full = [{**dict.fromkeys(names), **row} for row in (*rows, *samples)]
    pq.write_table(pa.Table.from_pylist(full).slice(0, len(rows)), path)


def write_rows(path: Path, rows: list[dict[str, object]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows), path)


def write_fleet(folder: Path, systems: int = 6, *, days: int = 70, seed: int = 3) -> None:
    """Write readings of a simulated fleet as Parquet in long form, and its table of systems."""
    folder.mkdir(parents=True, exist_ok=True)
    readings, lines = [], ["system_id,latitude,longitude,altitude,feeder,billed,since,band"]
    for number, (truth, power, _) in enumerate(simulate_fleet(systems, seed=seed, sky_minutes=15)):
        part = power.iloc[2880 : 2880 + 24 * days]
        frame = part.rename("power_kw").rename_axis("time").reset_index()
        readings.append(frame.assign(system_id=f"h{number}"))
        site = truth.site
        lines.append(
            f"h{number},{site.latitude},{site.longitude},{site.altitude},F{number % 2},"
            + ("true,2024-01-31,1.50", "false,2023-12-01,0.5")[number % 2]
        )
    pd.concat(readings).to_parquet(folder / "readings.parquet", index=False)
    (folder / "systems.csv").write_text("\n".join(lines) + "\n")


SYSTEMS = b"system_id,latitude,longitude,feeder\na,40.0,-105.0,F1\nb,40.1,-105.1,F2\n"
READINGS = b"system_id,time,power_kw\na,2024-06-01T12:00Z,1.25\n"
PAGE = "/curator/datasets/roofs"


def login(running: Running) -> httpx.Client:
    """Return the browser of a service's curator; logging in is slow on purpose."""
    if not hasattr(running, "browser"):
        running.browser = running.curator()
    return running.browser


def upload(client: httpx.Client, *, title: str = "Roofs", token: str | None = None, **files: Any):
    """Send the form that adds a dataset; anything else than files is another field."""
    given = {"meters": ("readings.csv", READINGS), "systems": ("systems.csv", SYSTEMS), **files}
    fields = {"csrf": csrf(client, "/curator/add") if token is None else token, "title": title}
    fields |= {name: each for name, each in given.items() if isinstance(each, str)}
    sent = {name: each for name, each in given.items() if not isinstance(each, str)}
    return client.post("/curator/add/upload", data=fields, files=sent)


def served_of(running: Running, name: str = "roofs") -> Served:
    with running.service.store.reading() as connection:
        return find_served(connection, name)


def inferred(running: Running, name: str = "roofs", **options: Any) -> Path:
    """Add a dataset, and what an inference that has ended leaves."""
    folder = running.service.settings.datasets / name
    folder.mkdir()
    (folder / "systems.csv").write_bytes(SYSTEMS)
    write_results(folder / "inferred", **options)
    extra = {"systems_table": "systems.csv", "listed": 2}
    with running.service.store.changing() as connection:
        add_served(connection, Served(name, "Roofs", name, meters="meters", extra=extra))
    ended(running, name)
    return folder


def ended(running: Running, name: str = "roofs", script: str = "") -> None:
    """Run a script as a dataset's inference, to its end."""
    jobs = jobs_of(running.service)
    jobs.start(job_id(name), [sys.executable, "-c", script], kind="infer", about=name)
    wait_for(lambda: jobs.get(job_id(name)).state.over)


def text_of(answer: httpx.Response) -> str:
    words = re.sub(r"<script.*?</script>|<[^>]+>", " ", answer.text, flags=re.DOTALL)
    return " ".join(html.unescape(words).split())


def rows_of(answer: httpx.Response) -> list[str]:
    """Return the systems that a page lists."""
    return re.findall(r'<th scope="row">(?:<a[^>]*>)?(\w+)', answer.text)


def make_promise(client: httpx.Client, name: str = "roofs", **changes: str) -> httpx.Response:
    fields = {"protect": "system", "k": "1", "epsilon": "2", "delta": "0", "sure": "yes", **changes}
    return post(client, f"/curator/datasets/{name}/promise", **fields)


def alert_of(answer: httpx.Response) -> str:
    """Return what a page says is wrong, in small letters."""
    found = re.findall(r'role="alert"[^>]*>(.*?)</p>', answer.text, re.DOTALL)
    return html.unescape(re.sub("<[^>]+>", "", " ".join(found))).lower()

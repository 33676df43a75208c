"""The golden file: an inference compared with recorded ones: ``python -m benchmarks.golden``.

360 simulated systems and nine real series are given to both public ways of inferring them, one
system at a time (:func:`sunveil.infer`) and as a fleet (:func:`sunveil.fleet.infer_fleet`).
``golden.csv`` holds what each said when it was recorded. A run compares what is said now with the
better of them, group by group; ``--record`` writes the file anew. Readings are
kept in the folder of ``--cache``, and none of them goes into the file.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sunveil
from benchmarks import real
from benchmarks.golden_systems import COUNTS, golden_systems
from sunveil.errors import SunveilError
from sunveil.fleet import FleetSettings, infer_fleet
from sunveil.meters.options import MeterOptions
from sunveil.site import Plane

RECORDED = Path(__file__).with_name("golden.csv")
PATHS = ("single", "fleet")
REAL = "real"
GROUPS = (*COUNTS, REAL)
# Flags of what is not one fixed plane, whatever can be told of it.
NOT_ONE_PLANE = ("not_one_fixed_plane", "two_planes", "tracker")
MANY_PLANES = ("east-west", "trackers")
LABELS = ("start", "middle", "end")
TRUTH = ("system_id", "group", "stress", "latitude", "longitude", "altitude", "interval_minutes")
TRUTH += ("azimuth", "tilt", "dc_kw", "clock_minutes", "clock_saving")
# The real series that were recorded; there are more by now.
REAL_NAMES = ("serf_east", "fsec", "garage", "serf_2016", "serf_dst", "almeria", "turin")
REAL_NAMES += ("turin_clock_step", "utrecht")
# What is wrong with the clocks of real series; that of turin_clock_step is right for ten months.
REAL_CLOCKS = {"fsec": (-60.0, "as_declared"), "serf_dst": (0.0, "left_in")}
# A bar is the better of the recorded two, and this much more.
SLACK_DEGREES, SLACK_SHARE = 0.1, 1.05


def say(text: str) -> None:
    """Tell the person who waits how far the run is."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Systems with their truth and their readings on disk.

    Parameters
    ----------
    truth
        One row per system, with the columns of ``TRUTH``.
    folder
        Holds ``readings``, long Parquet files of one interval each.
    label
        How the stamps are declared.
    """

    truth: pd.DataFrame
    folder: Path
    label: str

    def of(self, groups: Sequence[str]) -> Cases:
        """Return those of some groups."""
        return Cases(self.truth[self.truth["group"].isin(groups)], self.folder, self.label)

    def readings(self) -> pd.DataFrame:
        """Return the readings of these systems as one long frame."""
        paths = sorted((self.folder / "readings").glob("*.parquet"))
        every = pd.concat(pd.read_parquet(path) for path in paths)
        return every[every["system_id"].isin(self.truth["system_id"])]


def simulated_cases(cache: Path) -> Cases:
    """Return the simulated systems, made on first use and kept from there on."""
    folder = cache / "simulated"
    if not (folder / "truth.csv").exists():
        say("simulating 360 systems")
        rows, series = [], {}
        for one in golden_systems():
            name, site, plane = one.truth.system_id, one.truth.site, one.plane
            series[name] = (one.power, one.interval_minutes)
            facing = (plane.surface_azimuth, plane.surface_tilt) if plane else (np.nan, np.nan)
            row = (name, one.group, one.stress, site.latitude, site.longitude, site.altitude)
            row += (one.interval_minutes, *facing, one.truth.dc_capacity_kw)
            rows.append((*row, one.clock_minutes, one.clock_saving))
        _write(folder, rows, series)
    return Cases(_read_truth(folder / "truth.csv"), folder, "start")


def real_cases(data: Path | None, cache: Path) -> Cases:
    """Return the real series that are here, read anew."""
    folder = cache / "real"
    shutil.rmtree(folder, ignore_errors=True)
    found, missing = real.load_all(data, REAL_NAMES)
    for name, reason in missing.items():
        say(f"{name} is left out: {reason}")
    rows, series = [], {}
    for one in found:
        minutes = round(one.interval_minutes)
        series[one.name] = (one.power.tz_convert("UTC"), minutes)
        row = (one.name, REAL, "", one.site.latitude, one.site.longitude, one.site.altitude)
        row += (minutes, one.azimuth, one.tilt, one.dc_kw)
        rows.append((*row, *REAL_CLOCKS.get(one.name, (0.0, "as_declared"))))
    _write(folder, rows, series)
    return Cases(_read_truth(folder / "truth.csv"), folder, "auto")


def _write(folder: Path, rows: list[tuple], series: dict[str, tuple[pd.Series, int]]) -> None:
    (folder / "readings").mkdir(parents=True, exist_ok=True)
    for minutes in sorted({minutes for _, minutes in series.values()}):
        parts = [
            pd.DataFrame({"system_id": name, "time": power.index, "power_kw": power.to_numpy()})
            for name, (power, each) in series.items()
            if each == minutes
        ]
        pd.concat(parts).to_parquet(folder / "readings" / f"{minutes}-minutes.parquet", index=False)
    truth = pd.DataFrame(rows, columns=list(TRUTH))
    # last, so that a folder with it is whole
    truth.round({"azimuth": 3, "tilt": 3, "dc_kw": 4}).to_csv(folder / "truth.csv", index=False)


def _read_truth(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype={"stress": "str"}).fillna({"stress": ""})


def run_single(cases: Cases) -> pd.DataFrame:
    """Infer the systems one at a time."""
    groups = dict(iter(cases.readings().groupby("system_id")))
    rows = []
    for one in cases.truth.itertuples():
        readings = groups[one.system_id].set_index("time")["power_kw"]
        altitude = None if np.isnan(one.altitude) else one.altitude
        place = {"latitude": one.latitude, "longitude": one.longitude, "altitude": altitude}
        try:
            named = readings.rename(one.system_id)
            found = sunveil.infer(named, power_unit="kW", label=cases.label, **place)
        except SunveilError:
            rows.append({"system_id": one.system_id, "flags": ["refused"]})
        else:
            rows.append(found.to_dict())
    return pd.DataFrame(rows)


def run_fleet(cases: Cases) -> pd.DataFrame:
    """Infer the systems as one fleet."""
    with tempfile.TemporaryDirectory() as scratch:
        fleet, systems, out = (Path(scratch) / name for name in ("fleet", "systems.csv", "out"))
        fleet.mkdir()
        every = cases.readings()
        minutes = every["system_id"].map(cases.truth.set_index("system_id")["interval_minutes"])
        for step, readings in every.groupby(minutes):
            readings.to_parquet(fleet / f"{step}.parquet", index=False)
        columns = ["system_id", "latitude", "longitude", "altitude"]
        cases.truth[columns].to_csv(systems, index=False)
        settings = FleetSettings(meters=MeterOptions(label=cases.label))
        infer_fleet(fleet, systems, out, settings=settings, workers=1)
        found = pd.read_parquet(out / "estimates")
        refused = pd.read_parquet(out / "refused.parquet")
    rest = [{"system_id": name, "flags": ["refused"]} for name in refused["system_id"]]
    return pd.concat([found, pd.DataFrame(rest)]) if rest else found


RUNS: dict[str, Callable[[Cases], pd.DataFrame]] = {"single": run_single, "fleet": run_fleet}


def results(cases: Cases, paths: Sequence[str]) -> pd.DataFrame:
    """Return the truth of systems, with what was said of them beside it."""
    table = cases.truth.set_index("system_id")
    for path in paths:
        began = time.process_time(), time.perf_counter()
        said = RUNS[path](cases).set_index("system_id").reindex(table.index)
        cpu, wall = time.process_time() - began[0], time.perf_counter() - began[1]
        say(f"{path}: {len(table)} systems in {wall:.0f} s, {cpu:.0f} s of CPU")
        declared = np.where(
            (cases.label == "auto") & (table["interval_minutes"] < 30), "middle", "start"
        )
        table[f"{path}_azimuth"] = said["surface_azimuth"]
        table[f"{path}_tilt"] = said["surface_tilt"]
        table[f"{path}_dc_kw"] = said["dc_capacity_kw"]
        table[f"{path}_plane_error"] = [
            _angle(*row)
            for row in zip(
                table["azimuth"],
                table["tilt"],
                said["surface_azimuth"],
                said["surface_tilt"],
                strict=True,
            )
        ]
        table[f"{path}_clock_minutes"] = said["clock_offset_minutes"] + [
            _later(label, before) * minutes / 2.0
            for label, before, minutes in zip(
                said["clock_label"], declared, table["interval_minutes"], strict=True
            )
        ]
        table[f"{path}_clock_saving"] = said["clock_daylight_saving"]
        table[f"{path}_flags"] = [" ".join(flags) for flags in said["flags"]]
    return table.reset_index()


def _angle(azimuth: float, tilt: float, found_azimuth: float, found_tilt: float) -> float:
    if np.isnan(tilt):
        return np.nan
    if np.isnan(found_tilt):
        return 180.0  # nothing found is as wrong as can be
    return round(Plane(azimuth, tilt).angle_to(Plane(found_azimuth, found_tilt)), 3)


def _later(label: Any, declared: str) -> int:
    return LABELS.index(label) - LABELS.index(declared) if label in LABELS else 0


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a group, and when it is good.

    Parameters
    ----------
    name
        What it is called in the table.
    of
        From a group's rows and the name of a path to the figure.
    better
        -1 where less is better, 1 where more is, 0 where it is only shown.
    slack
        Whether the bar is somewhat looser than the better of the recorded figures.
    """

    name: str
    of: Callable[[pd.DataFrame, str], float]
    better: int
    slack: bool = False

    def bar(self, recorded: Sequence[float]) -> float:
        """Return what the figure must reach."""
        best = min(recorded) if self.better < 0 else max(recorded)
        return max(best + SLACK_DEGREES, best * SLACK_SHARE) if self.slack else best

    def met(self, value: float, bar: float) -> bool:
        """Whether a figure reaches its bar."""
        return value <= bar + 1e-9 if self.better < 0 else value >= bar - 1e-9


def _flagged(rows: pd.DataFrame, path: str, *flags: str) -> np.ndarray:
    """Return which systems have any of some flags."""
    raised = rows[f"{path}_flags"].fillna("").str.split()
    return raised.map(lambda own: not set(flags).isdisjoint(own)).to_numpy()


def _share(*flags: str) -> Callable[[pd.DataFrame, str], float]:
    return lambda rows, path: 100.0 * float(np.mean(_flagged(rows, path, *flags)))


def _quantile(share: float) -> Callable[[pd.DataFrame, str], float]:
    return lambda rows, path: float(rows[f"{path}_plane_error"].quantile(share))


def _capacity(rows: pd.DataFrame, path: str) -> float:
    return float((100.0 * (rows[f"{path}_dc_kw"] / rows["dc_kw"] - 1.0)).abs().median())


def _clock_right(rows: pd.DataFrame, path: str) -> pd.Series:
    minutes = (rows[f"{path}_clock_minutes"] - rows["clock_minutes"]).abs() < 1.0
    return minutes & (rows[f"{path}_clock_saving"] == rows["clock_saving"])


def _right(rows: pd.DataFrame, path: str) -> float:
    return 100.0 * float(_clock_right(rows, path).mean())


def _wrongly_repaired(rows: pd.DataFrame, path: str) -> float:
    wrong = _flagged(rows, path, "clock_repaired") & ~_clock_right(rows, path)
    return 100.0 * float(wrong.mean())


def _clipping(*, there: bool) -> Callable[[pd.DataFrame, str], float]:
    def share(rows: pd.DataFrame, path: str) -> float:
        chosen = rows[(rows["stress"] == "clipping") == there]
        return 100.0 * float(np.mean(_flagged(chosen, path, "clipping")))

    return share


def measures(group: str) -> list[Measure]:
    """Return what is measured of a group."""
    many = group in MANY_PLANES
    out = [
        Measure("plane error, median [°]", _quantile(0.5), -1, slack=True),
        Measure("plane error, 95th percentile [°]", _quantile(0.95), -1, slack=True),
        Measure("capacity error, median [%]", _capacity, 0),
    ]
    out = [] if group == "trackers" else out
    out += [
        Measure("not one fixed plane [%]", _share(*NOT_ONE_PLANE), 1 if many else -1),
        Measure("clock right [%]", _right, 1),
        Measure("clock repaired wrongly [%]", _wrongly_repaired, -1),
        Measure("low_agreement [%]", _share("low_agreement"), 0),
        Measure("refused [%]", _share("refused"), -1),
    ]
    if group == "fixed":
        out.append(Measure("clipping, where there is [%]", _clipping(there=True), 1))
        out.append(Measure("clipping, elsewhere [%]", _clipping(there=False), 0))
    return out


def recorded_lines(recorded: pd.DataFrame) -> list[str]:
    """Return the table of what was recorded."""
    lines = ["| group | n | what | single | fleet |", "|---|---|---|---|---|"]
    for group, rows in recorded.groupby("group", sort=False):
        for measure in measures(group):
            cells = " | ".join(f"{measure.of(rows, path):.2f}" for path in PATHS)
            lines.append(f"| {group} | {len(rows)} | {measure.name} | {cells} |")
    return lines


def compared_lines(recorded: pd.DataFrame, now: pd.DataFrame, paths: Sequence[str]) -> list[str]:
    """Return the table of what is said now against the better of what was recorded.

    Parameters
    ----------
    recorded, now
        Results, the second of all systems of the first or of some.
    paths
        The ways of inferring that were run now.
    """
    recorded = recorded.set_index("system_id").loc[now["system_id"]].reset_index()
    heads = " | ".join(f"{path} now" for path in paths)
    lines = [f"| group | n | what | single then | fleet then | bar | {heads} | verdict |"]
    lines.append("|---" * (7 + len(paths)) + "|")
    for group, rows in now.groupby("group", sort=False):
        before = recorded[recorded["group"] == group]
        for measure in measures(group):
            then = [measure.of(before, path) for path in PATHS]
            values = [measure.of(rows, path) for path in paths]
            bar, verdict = "-", "-"
            if measure.better:
                limit = measure.bar(then)
                bar = f"{limit:.2f}"
                verdict = "met" if all(measure.met(v, limit) for v in values) else "MISSED"
            cells = [f"{v:.2f}" for v in then] + [bar] + [f"{v:.2f}" for v in values]
            name = f"| {group} | {len(rows)} | {measure.name} | "
            lines.append(name + " | ".join(cells) + f" | {verdict} |")
    return lines


def agreement_line(table: pd.DataFrame) -> str:
    """Say for how many systems both ways print the same."""
    names = ("azimuth", "tilt", "dc_kw", "clock_minutes", "clock_saving", "flags")
    same = [
        (table[f"single_{name}"] == table[f"fleet_{name}"])
        | (table[f"single_{name}"].isna() & table[f"fleet_{name}"].isna())
        for name in names
    ]
    counts = ", ".join(f"{name} {int(each.sum())}" for name, each in zip(names, same, strict=True))
    every = int(np.logical_and.reduce(same).sum())
    return f"Single and fleet print the same for {every} of {len(table)} systems ({counts})."


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the systems, and compare or record what is said of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cache", type=Path, required=True, help="folder to keep readings in")
    parser.add_argument("--data", type=Path, help="folder of real data; SUNVEIL_DATA otherwise")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=GROUPS)
    parser.add_argument("--paths", nargs="+", choices=PATHS, default=PATHS)
    parser.add_argument("--out", type=Path, help="file for the results of every system")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name} anew")
    options = parser.parse_args(arguments)
    if options.record and (set(options.groups), set(options.paths)) != (set(GROUPS), set(PATHS)):
        parser.error("--record takes all groups and both paths")
    parts = []
    simulated = [group for group in options.groups if group != REAL]
    if simulated:
        parts.append(results(simulated_cases(options.cache).of(simulated), options.paths))
    if REAL in options.groups:
        parts.append(results(real_cases(options.data, options.cache), options.paths))
    now = pd.concat(parts, ignore_index=True)
    if options.out or options.record:
        now.to_csv(RECORDED if options.record else options.out, index=False)
    if options.record:
        print("\n".join(recorded_lines(now)))
    else:
        recorded = _read_truth(RECORDED)
        check_truth(recorded, now)
        print("\n".join(compared_lines(recorded, now, options.paths)))
    if len(options.paths) == len(PATHS):
        print("\n" + agreement_line(now))


def check_truth(recorded: pd.DataFrame, now: pd.DataFrame) -> None:
    """Stop where the systems are not those that were recorded."""
    columns = ["system_id", "group", "interval_minutes", "azimuth", "tilt", "dc_kw"]
    both = now[columns].merge(recorded[columns], on=columns)
    if len(both) != len(now):
        raise SystemExit(
            f"{len(now) - len(both)} systems are not the recorded ones; empty the cache folder, or"
            " record anew if the simulator has changed"
        )


if __name__ == "__main__":
    main()

"""How like those of real homes simulated loads are.

``python -m benchmarks.loads --data FOLDER`` sets homes of :func:`~sunveil.simulate.simulate_loads`
under a simulated sky of Fontana beside eight of the real homes there, by what an inference of net
meters feels: how widely hourly loads are spread about their medians, how long deviations last,
seasons, weekends, and whether they follow the sun. It prints; the simulator has no value of a home.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from sunveil.simulate import simulate_loads
from sunveil.simulate.simulated_sky import SkyTraits, simulate_true_sky
from sunveil.site import Site

FONTANA, ZONE = Site(34.10, -117.44, 380.0), "America/Los_Angeles"
HOMES, SKIES, SEED, YEAR = 300, 6, 20, 2019
# Readings below this are of meters that stood still. [kW]
STILL = 0.02
QUANTILES = (0.05, 0.25, 0.75, 0.95, 0.99)


def likeness(load: pd.Series) -> dict[str, float]:
    """Return what tells the hourly load of one home, by the clock on its wall.

    Parameters
    ----------
    load
        Mean power of each hour, in UTC. [kW]
    """
    load = load[load > STILL].tz_convert(ZONE)
    hour = load.index.hour
    logs = np.log(load)
    spread = logs.groupby(hour).std()
    off = logs - logs.groupby(hour).transform("median")
    off = off.tz_convert("UTC").asfreq("h")
    ratio = load / load.groupby(hour).transform("median")
    by_hour = load.groupby(hour).mean() / load.mean()
    daily = load.resample("D").mean()
    monthly = load.groupby(load.index.month).mean()
    weekend = load.index.day_of_week >= 5
    by_day = load[(hour >= 9) & (hour < 16)]
    figures = {
        "mean [kW]": load.mean(),
        "lowest hour over the mean": by_hour.min(),
        "highest hour over the mean": by_hour.max(),
        "9 to 16 h over the mean": by_day.mean() / load.mean(),
        "spread of logs, calmest hour": spread.min(),
        "spread of logs, median hour": spread.median(),
        "spread of logs, widest hour": spread.max(),
    }
    figures |= {f"{q:.0%} quantile over the hour's median": ratio.quantile(q) for q in QUANTILES}
    figures |= {f"correlation over {lag} h": off.corr(off.shift(lag)) for lag in (1, 2, 6, 24, 168)}
    return figures | {
        "correlation from day to day": daily.autocorr(1),
        "spread of days": daily.std() / daily.mean(),
        "highest over lowest month": monthly.max() / monthly.min(),
        "weekends over workdays": load[weekend].mean() / load[~weekend].mean(),
    }


def real_homes(data: Path) -> Iterable[pd.Series]:
    """Yield the loads of the real homes but for the one whose load follows its PV."""
    for path in sorted((data / "fontana").glob("home_*.csv")):
        if path.stem == "home_12":
            continue
        rows = pd.read_csv(path)
        yield pd.Series(rows["load_kw"].to_numpy(), pd.DatetimeIndex(pd.to_datetime(rows["time"])))


def simulated_homes() -> pd.DataFrame:
    """Return the loads of simulated homes in the same town."""
    traits = SkyTraits(own_climate=True)
    made = []
    for seed in range(SEED, SEED + SKIES):
        sky = simulate_true_sky(FONTANA, YEAR, seed=seed, step_minutes=15, traits=traits)
        made.append(simulate_loads(sky.weather, HOMES // SKIES, seed=seed, timezone=ZONE))
    return pd.concat(made, axis=1, ignore_index=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("SUNVEIL_DATA"))
    data = parser.parse_args().data
    real = pd.DataFrame([likeness(each) for each in real_homes(Path(data))])
    begin = time.process_time()
    homes = simulated_homes()
    cost = time.process_time() - begin
    made = pd.DataFrame([likeness(homes[each]) for each in homes])
    print("| what | real homes, median (range) | simulated, median (10th, 90th percentile) |")
    print("|---|---|---|")
    for name in real:
        low, middle, high = real[name].quantile([0.0, 0.5, 1.0])
        least, usual, most = made[name].quantile([0.1, 0.5, 0.9])
        there = f"{middle:.2f} ({low:.2f}, {high:.2f})"
        print(f"| {name} | {there} | {usual:.2f} ({least:.2f}, {most:.2f}) |")
    print(f"\n{HOMES} homes and their skies in {cost:.1f} s.")


if __name__ == "__main__":
    main()

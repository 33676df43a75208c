"""The two peers, each used as well as it can be: pvanalytics and solar-data-tools.

Both are given the declared clock and, unless told that stamps name another instant, the sun in
the middle of each interval. A peer that fails gives NaN and the reason; a benchmark never stops
for it. What runs in a process of its own is in :mod:`benchmarks.peers_apart`.

``python -m benchmarks.peers serf_east`` prints a line for each.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings

import numpy as np
import pandas as pd
from pvanalytics.system import infer_orientation_fit_pvwatts

from benchmarks import real
from benchmarks.peers_apart import (
    PeerResult,
    clear_days,
    clear_sky,
    reason_of,
    solar_data_tools,
    to_middle,
    without_faults,
)
from sunveil.meters.record import Label
from sunveil.site import Site

# beyond this zenith [degrees] horizon and haze rule, and a fit without them does better
LOWEST_SUN = 75.0
# fewer clear readings than this are not fitted
ENOUGH = 50


def fit_pvwatts(
    power: pd.Series,
    site: Site,
    weather: pd.DataFrame | None = None,
    *,
    label: Label = Label.START,
) -> PeerResult:
    """Run ``pvanalytics.system.infer_orientation_fit_pvwatts`` on the clear readings.

    Parameters
    ----------
    power
        AC power with a time zone. [kW]
    site
        Where the system is.
    weather
        ``ghi``, ``dni``, ``dhi`` and, if there, ``temp_air``, ``wind_speed`` and ``*_clear`` at
        the instants of its index; clear sky when it is None.
    label
        Which instant of its interval a stamp names.
    """
    began = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tilt, azimuth = _fit_clear(power, site, weather, label)
    except Exception as error:  # whatever the peer raises is its answer
        return PeerResult(cpu_seconds=time.process_time() - began, reason=reason_of(error))
    return PeerResult(azimuth % 360.0, tilt, time.process_time() - began)


def _fit_clear(
    power: pd.Series, site: Site, weather: pd.DataFrame | None, label: Label
) -> tuple[float, float]:
    """Return tilt and azimuth [degrees] from the readings under a clear sky."""
    power = without_faults(power)
    middles = power.index.tz_convert("UTC") + to_middle(power, label)
    watts = pd.Series(power.to_numpy(dtype=float) * 1000.0, index=middles)
    if weather is not None:
        watts = watts[(middles >= weather.index[0]) & (middles <= weather.index[-1])]
    sun = site.sun(watts.index)
    clear = clear_sky(site, sun)
    sky = clear if weather is None else _at(weather, sun)
    use = (sun["apparent_zenith"] < LOWEST_SUN) & (watts > 0.02 * watts.quantile(0.99))
    # clouds where the weather is not known; snow, outages and faults where it is
    use &= _upper_envelope(watts, 0.9 if weather is None else 0.8)
    if weather is None:
        return _fit(watts[use], sky[use], sun[use])
    if "ghi_clear" in sky:
        # the filter that pvanalytics' own example shows
        use &= (sky["ghi"] - sky["ghi_clear"]).abs() < 1e-6
        sky = sky.assign(**{name: sky[f"{name}_clear"] for name in ("ghi", "dni", "dhi")})
    else:
        use &= sky["dni"] > 0.8 * clear["dni"]
    return _fit(watts[use], sky[use], sun[use])


def _fit(watts: pd.Series, sky: pd.DataFrame, sun: pd.DataFrame) -> tuple[float, float]:
    if len(watts) < ENOUGH:
        raise ValueError(f"{len(watts)} clear readings are too few for a fit")
    tilt, azimuth, _ = infer_orientation_fit_pvwatts(
        watts,
        sky["ghi"],
        sky["dhi"],
        sky["dni"],
        sun["apparent_zenith"],
        sun["azimuth"],
        temperature=sky["temp_air"],
        wind_speed=sky["wind_speed"],
        # its search starts from 180 and stops at its bounds: these let it pass north
        azimuth_min=-180,
        azimuth_max=540,
    )
    return float(tilt), float(azimuth)


def _at(weather: pd.DataFrame, sun: pd.DataFrame) -> pd.DataFrame:
    """Return weather at the instants of ``sun``, interpolated."""
    known, wanted = (index.as_unit("s").asi8 for index in (weather.index, sun.index))
    columns = {name: np.interp(wanted, known, weather[name]) for name in weather}
    return pd.DataFrame({"temp_air": 20.0, "wind_speed": 1.0} | columns, index=sun.index)


def _upper_envelope(watts: pd.Series, share: float) -> pd.Series:
    """Return where a reading reaches a share of the best of its time of day within a month."""
    index = watts.index
    minute = index.hour * 60 + index.minute
    table = pd.DataFrame({"day": index.normalize(), "minute": minute, "watts": watts.to_numpy()})
    days = pd.date_range(index[0].normalize(), index[-1].normalize(), freq="D")
    best = (
        table.pivot_table(index="day", columns="minute", values="watts")
        .reindex(days)
        .rolling(31, center=True, min_periods=5)
        .quantile(0.95)
    )
    rows = best.index.get_indexer(index.normalize())
    reached = best.to_numpy()[rows, best.columns.get_indexer(minute)]
    return watts >= share * reached


def describe(case: real.RealCase, peer: str, result: PeerResult) -> str:
    """Return one line: errors of plane and capacity, CPU time, or the reason for none."""
    if result.reason or case.azimuth is None or case.tilt is None:
        reason = result.reason or f"azimuth {result.azimuth:.1f}, tilt {result.tilt:.1f}, no label"
        return f"{case.name:24} {peer:28} {reason}"
    azimuth_error = (result.azimuth - case.azimuth + 180.0) % 360.0 - 180.0
    line = (
        f"{case.name:24} {peer:28} azimuth {result.azimuth:6.1f} ({azimuth_error:+6.1f})"
        f"  tilt {result.tilt:5.1f} ({result.tilt - case.tilt:+5.1f})  {result.cpu_seconds:6.2f} s"
    )
    if case.dc_kw and math.isfinite(result.capacity_kw):
        line += f"  capacity {100.0 * (result.capacity_kw / case.dc_kw - 1.0):+.0f}%"
    return line


def main() -> None:
    """Print what the peers say of real cases."""
    parser = argparse.ArgumentParser(description="What the peers say of real cases.")
    parser.add_argument("names", nargs="*", default=list(real.LOADERS), metavar="case")
    parser.add_argument("--data", help="data folder, in place of SUNVEIL_DATA")
    parser.add_argument("--offset", type=float, help="hours from UTC, in place of the declared")
    parser.add_argument("--year", type=int, help="one calendar year of each case")
    parser.add_argument("--hourly", action="store_true", help="average to hours first")
    parser.add_argument("--label", type=Label, default=Label.START, choices=list(Label))
    parser.add_argument("--quick", action="store_true", help="leave solar-data-tools out")
    options = parser.parse_args()
    for name in options.names:
        try:
            case = _prepared(name, options)
        except real.MissingDataError as error:
            print(f"{name:24} {error}")
            continue
        told = {"label": options.label}
        print(describe(case, "pvanalytics clear hours", fit_pvwatts(case.power, case.site, **told)))
        if case.weather is not None:
            result = fit_pvwatts(case.power, case.site, case.weather, **told)
            print(describe(case, "pvanalytics own weather", result))
        result = clear_days(case.power, case.site, **told)
        print(describe(case, "pvanalytics clear days", result))
        if not options.quick:
            result = solar_data_tools(case.power, case.site, **told)
            print(describe(case, "solar-data-tools", result))


def _prepared(name: str, options: argparse.Namespace) -> real.RealCase:
    case = real.load(name, options.data)
    if options.offset is not None:
        case = real.reclock(case, options.offset)
    if options.year:
        case = real.year_slice(case, options.year)
    return real.hourly(case) if options.hourly else case


if __name__ == "__main__":
    main()

"""Exports without a sample in ``formats``: Fluvius, DSMR, SCE, Home Assistant, Green Button."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

DAYS, QUARTER = 7, pd.Timedelta("15min")


def write(folder: Path) -> None:
    """Write one file of each."""
    times = pd.date_range("2024-06-01", periods=96 * DAYS, freq="15min")
    hour = np.asarray(times.hour + times.minute / 60.0)
    sun = 3.0 * np.clip(np.sin((hour - 6.0) / 14.0 * np.pi), 0.0, None)
    net = sun - 0.3 - 0.2 * np.random.default_rng(1).random(len(times))
    export, import_ = np.maximum(net, 0.0) / 4.0, np.maximum(-net, 0.0) / 4.0
    _write(folder / "fluvius.csv", _fluvius(times, hour, export, import_))
    _write(folder / "dsmr.csv", _dsmr(times, hour, export, import_))
    _write(folder / "sce.csv", _edison(times, -net / 4.0))
    _write(folder / "history.csv", _history(times, 1000.0 * sun))
    _write(folder / "power.csv", _resampled(times, 1000.0 * sun))
    hourly = pd.Series(sun / 4.0, index=times).resample("1h").sum()
    rows = [f"{time:%Y-%m-%dT%H:%M:%SZ},{value:.3f}" for time, value in hourly.items()]
    _write(folder / "statistics.csv", ["start,change", *rows])
    _write(folder / "green-button.xml", _green_button(times, sun))


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _fluvius(
    times: pd.DatetimeIndex, hour: np.ndarray, export: np.ndarray, import_: np.ndarray
) -> list[str]:
    lines = [
        "Van (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code;Meter;Metertype;Register;"
        "Volume;Eenheid;Validatiestatus;Omschrijving"
    ]
    for time, clock, given, taken in zip(times, hour, export, import_, strict=True):
        end = time + QUARTER
        span = f"{time:%d-%m-%Y};{time:%H:%M:%S};{end:%d-%m-%Y};{end:%H:%M:%S}"
        tariff = "Dag" if 7.0 <= clock < 22.0 else "Nacht"
        for kind, value in (("Afname", taken), ("Injectie", given)):
            volume = f"{value:.3f}".replace(".", ",")
            lines.append(
                f'{span};="541448820000000000";1SAG1100000000;Digitale meter;{kind} {tariff};'
                f"{volume};kWh;Gevalideerd;"
            )
    return lines


def _dsmr(
    times: pd.DatetimeIndex, hour: np.ndarray, export: np.ndarray, import_: np.ndarray
) -> list[str]:
    low = (hour < 7.0) | (hour >= 23.0)
    columns = [1000.0 + np.cumsum(each) for each in
               (import_ * low, export * low, import_ * ~low, export * ~low)]  # fmt: skip
    rows = zip(times, *columns, strict=True)
    lines = [f"{time:%Y-%m-%d %H:%M:%S}," + ",".join(f"{one:.3f}" for one in each)
             for time, *each in rows]  # fmt: skip
    return ["timestamp,delivered_1,returned_1,delivered_2,returned_2", *lines]


def _edison(times: pd.DatetimeIndex, usage: np.ndarray) -> list[str]:
    lines = ["Energy Usage Information", "", "Detailed Usage", ""]
    lines.append(
        'Energy consumption time period,"Usage(Real energy in kilowatt-hours)",Reading quality'
    )
    for time, value in zip(times, usage, strict=True):
        period = f"{time:%Y-%m-%d %H:%M:%S}\xa0to {time + QUARTER:%Y-%m-%d %H:%M:%S}"
        lines.append(f'"{period}","{value:.4f}",""')
    return lines


def _history(times: pd.DatetimeIndex, watts: np.ndarray) -> list[str]:
    lines = ["entity_id,state,last_changed"]
    for place, (time, value) in enumerate(zip(times, watts, strict=True)):
        for minute in (0, 5, 10):
            stamp = time + pd.Timedelta(minutes=minute, seconds=place % 19)
            lines.append(f"sensor.pv_power,{value:.0f},{stamp:%Y-%m-%dT%H:%M:%S}.250Z")
    return [*lines, f"sensor.pv_power,unavailable,{times[-1]:%Y-%m-%dT%H:%M:%S}.900Z"]


def _resampled(times: pd.DatetimeIndex, watts: np.ndarray) -> list[str]:
    rows = [f"{time:%Y-%m-%d %H:%M:%S}+00:00,{value:.1f}"
            for time, value in zip(times, watts, strict=True)]  # fmt: skip
    return ["last_changed,power_w", *rows]


def _green_button(times: pd.DatetimeIndex, power_kw: np.ndarray) -> list[str]:
    readings = [
        "<espi:IntervalReading><espi:timePeriod><espi:duration>900</espi:duration>"
        f"<espi:start>{int(time.timestamp())}</espi:start></espi:timePeriod>"
        f"<espi:value>{round(250.0 * value)}</espi:value></espi:IntervalReading>"
        for time, value in zip(times.tz_localize("UTC"), power_kw, strict=True)
    ]
    names = 'xmlns="http://www.w3.org/2005/Atom" xmlns:espi="http://naesb.org/espi"'
    kind = "<espi:flowDirection>19</espi:flowDirection><espi:uom>72</espi:uom>"
    parts = {"ReadingType": [kind], "IntervalBlock": readings}
    entries = [
        f"<entry><content><espi:{name}>{''.join(inner)}</espi:{name}></content></entry>"
        for name, inner in parts.items()
    ]
    return [f"<feed {names}>", *entries, "</feed>"]

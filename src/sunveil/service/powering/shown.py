"""What a page shows of a run of power: figures and planners' answers by group, as plain JSON."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from sunveil.errors import ParameterError
from sunveil.plots.power import typical_and_extreme_days
from sunveil.power.answers import (
    cloud_front,
    facing_at_evening,
    more_capacity,
    peak_day,
    steepest_ramps,
)
from sunveil.power.result import Banded, FleetPower
from sunveil.power.writing import summary
from sunveil.service.figures.base import Figure, axis, figure

# So many groups, the largest first, have figures and answers of their own.
MOST_SHOWN = 4
# Points of a curve, and bars.
POINTS, BARS = 240, 40
LINE, FILL = "#398ad6", "rgba(57,138,214,0.25)"


def shown_power(power: FleetPower, *, zone: str) -> dict[str, Any]:
    """Return summary, figures and answers.

    Parameters
    ----------
    power
        The fleet's power.
    zone
        The time zone of days and seasons.
    """
    order = sorted(power.groups, key=lambda name: -power.power_kw[power.place(name)].max())
    return {
        "summary": summary(power),
        "groups": [
            {
                "name": name,
                "figures": _figures(power, name, zone),
                "answers": _answers(power, name, zone),
            }
            for name in order[:MOST_SHOWN]
        ],
        "left": max(len(order) - MOST_SHOWN, 0),
    }


def _answers(power: FleetPower, group: str, zone: str) -> list[dict[str, Any]]:
    peak = peak_day(power, group=group, zone=zone)
    found = [(f"Highest power, on {peak.day}", peak.answer)]
    for season, (rise, fall) in steepest_ramps(power, group=group, zone=zone).items():
        found += [(f"Steepest rise in {season}", rise), (f"Steepest fall in {season}", fall)]
    try:
        west = facing_at_evening(power, group=group, zone=zone)
        found.append(("West-facing roofs from 17 to 20 h in summer", west))
    except ParameterError:  # the span has no summer evening
        pass
    found.append(("What a front of clouds takes away", cloud_front(power, group=group)))
    added = more_capacity(power, group=group)
    found += [(f"20% more capacity of the same mix: {name}", each) for name, each in added.items()]
    return [_answer(name, each) for name, each in found]


def _answer(name: str, answer: Banded) -> dict[str, Any]:
    return {
        "name": name,
        "value": answer.value,
        "low": answer.low,
        "high": answer.high,
        "unit": answer.unit,
        "about": answer.about,
    }


def _figures(power: FleetPower, group: str, zone: str) -> list[dict[str, Any]]:
    typical, extreme = typical_and_extreme_days(power, group=group, zone=zone)
    return [
        _captioned("typical", f"A typical day, {typical}", _day(power, group, typical, zone)),
        _captioned(
            "extreme",
            f"The day of the highest power, {extreme}",
            _day(power, group, extreme, zone),
        ),
        _captioned(
            "duration", "For how many hours the power is above what", _duration(power, group)
        ),
        _captioned(
            "ramps", "How often the power changes by how much, by daylight", _ramps(power, group)
        ),
    ]


def _captioned(name: str, caption: str, made: Figure) -> dict[str, Any]:
    return {"id": name, "caption": caption, "made": made}


def _band(x: Any, low: Any, middle: Any, high: Any) -> list[dict[str, Any]]:
    """Return a curve with its band, as traces."""
    common = {"type": "scatter", "mode": "lines", "x": _plain(x)}
    edge = {**common, "line": {"width": 0}, "hoverinfo": "skip"}
    return [
        {**edge, "y": _plain(high)},
        {**edge, "y": _plain(low), "fill": "tonexty", "fillcolor": FILL},
        {**common, "y": _plain(middle), "line": {"color": LINE, "width": 2}, "name": "power"},
    ]


def _day(power: FleetPower, group: str, day: str, zone: str) -> Figure:
    place = power.place(group)
    local = power.times.tz_convert(ZoneInfo(zone))
    own = local.strftime("%Y-%m-%d").to_numpy() == day
    hours = (local.hour + local.minute / 60.0).to_numpy()[own] + power.grid.step / 7200.0
    parts = (each[place][own] for each in (power.low_kw, power.power_kw, power.high_kw))
    return figure(
        _band(hours, *parts),
        xaxis=axis(f"Hour ({zone})", range=[0, 24], dtick=4),
        yaxis=axis("Power [kW]", rangemode="tozero"),
    )


def _duration(power: FleetPower, group: str) -> Figure:
    place = power.place(group)
    low, middle, high = (
        np.sort(each[place])[::-1] for each in (power.low_kw, power.power_kw, power.high_kw)
    )
    keep = max(int((high > 0.0).sum()), 2)
    at = np.unique(np.linspace(0, keep - 1, POINTS).astype(int))
    hours = (at + 0.5) * power.grid.step / 3600.0
    return figure(
        _band(hours, low[at], middle[at], high[at]),
        xaxis=axis("Hours with more power"),
        yaxis=axis("Power [kW]", rangemode="tozero"),
    )


def _ramps(power: FleetPower, group: str) -> Figure:
    values = power.power_kw[power.place(group)]
    ramps = np.diff(values)[(values[1:] > 0.0) | (values[:-1] > 0.0)]
    many, edges = np.histogram(ramps, bins=BARS)
    bar = {
        "type": "bar",
        "x": _plain((edges[1:] + edges[:-1]) / 2.0),
        "y": many.tolist(),
        "marker": {"color": LINE},
    }
    step = power.grid.step // 60
    return figure(
        [bar], bargap=0.05, xaxis=axis(f"Change in {step} minutes [kW]"), yaxis=axis("Intervals")
    )


def _plain(values: Any) -> list[float]:
    """Return numbers as JSON has them, with no more digits than a figure shows."""
    return [float(f"{value:.4g}") for value in np.asarray(values, dtype=np.float64)]

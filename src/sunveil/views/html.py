"""An estimate as a notebook shows it: a table of text."""

from __future__ import annotations

from html import escape

from sunveil.estimate import FLAG_MEANINGS, Estimate, Flag, Quality
from sunveil.estimate_text import show_azimuth, show_capacity, show_orientation, show_tilt

# Marks of quality, told by their form and not by a colour alone.
_MARKS = {Quality.GOOD: "●", Quality.FAIR: "◐", Quality.POOR: "○"}
# What the rows say already.
_IN_ROWS = (Flag.TWO_PLANES, Flag.TRACKER)
_CELL = "text-align:left;padding:.15em .9em .15em 0;vertical-align:top;background:none;border:0"


def estimate_html(estimate: Estimate) -> str:
    """Return an estimate as a piece of HTML that fits light and dark pages; no reading is in it."""
    rows = "".join(
        f"<tr style='background:none'><th scope='row' style='{_CELL};font-weight:600;"
        f"white-space:nowrap'>{name}</th><td style='{_CELL}'>{words}</td></tr>"
        for name, words in _rows(estimate)
    )
    name = escape(estimate.system_id)
    return (
        "<table style='border-collapse:collapse;border:0;margin:0;color:inherit;font-size:14px;"
        "line-height:1.4;max-width:44em'>"
        f"<caption style='text-align:left;font-weight:600;font-size:1.1em;padding:0 0 .3em;"
        f"caption-side:top;color:inherit'>{name}</caption><tbody>{rows}</tbody></table>"
    )


def _rows(estimate: Estimate) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if len(estimate.planes) > 1:
        rows += [
            (
                f"Plane {number}",
                f"azimuth {show_azimuth(plane)}, tilt {show_tilt(plane)},"
                f" {show_capacity(plane)} DC",
            )
            for number, plane in enumerate(estimate.planes, start=1)
        ]
    else:
        names = ("Azimuth", "Tilt") if estimate.tracker is None else ("Tracker", "Turns")
        rows += list(zip(names, show_orientation(estimate), strict=True))
    rows.append(("DC capacity", show_capacity(estimate)))
    if estimate.ac_limit_kw is not None:
        rows.append(("AC limit", f"{estimate.ac_limit_kw:.3g} kW"))
    quality = estimate.quality
    rows.append(
        ("Quality", f"{_MARKS[quality]} {quality.value}: {escape(estimate.quality_reason)}")
    )
    flags = [flag for flag in estimate.flags if flag not in _IN_ROWS]
    if flags:
        told = "<br>".join(
            f"{flag.value.replace('_', ' ')}: {escape(FLAG_MEANINGS[flag])}" for flag in flags
        )
        rows.append(("Flags", told))
    rows.append(("", "<small style='opacity:.75'>In brackets: 90% intervals.</small>"))
    return rows

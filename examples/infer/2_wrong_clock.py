"""
A wrong clock
=============

A roof that faces west gives its most in the afternoon. So does one that faces south, on a clock
that is fast. That is why the clock decides the azimuth, and why Sunveil looks at it before
anything else.
"""

# %%
# One roof, seven clocks
# ----------------------
#
# A roof that faces south is simulated once. Then its readings are stamped by clocks that are up to
# an hour slow (below zero) or fast.

import matplotlib.pyplot as plt
import pandas as pd

import sunveil
from sunveil.simulate import (
    SystemTruth,
    daylight_saving_stamps,
    fast_clock,
    simulate_power,
    simulate_sky,
)

site = sunveil.Site(latitude=39.74, longitude=-104.99)
plane = sunveil.Plane(surface_azimuth=180.0, surface_tilt=25.0)
roof = SystemTruth("roof", site, planes=((plane, 1.0),), dc_capacity_kw=5.0)
sky = simulate_sky(site, 2023, seed=3, step_minutes=10)
readings = simulate_power(roof, sky, seed=3)

errors = [-60, -30, -10, 0, 10, 30, 60]
stamped = {minutes: fast_clock(readings, minutes) for minutes in errors}

# %%
# As given, and repaired
# ----------------------
#
# ``clock="given"`` takes the stamps at their word. The default looks at the first and last light of
# the days, which come at the same time whichever way a roof faces, and repairs a clock that
# contradicts them.

rows = {}
for minutes, series in stamped.items():
    given = sunveil.infer(series, site=site, clock="given")
    repaired = sunveil.infer(series, site=site)
    rows[minutes] = {
        "as given": given.surface_azimuth,
        "repaired": repaired.surface_azimuth,
        "minutes found": repaired.clock.offset_minutes,
    }
table = pd.DataFrame(rows).T.rename_axis("minutes fast")
table.round(1)

# %%
# The intervals of a wrong clock are no help: they say how sure the azimuth is *on that clock*.

hour_fast = sunveil.infer(stamped[60], site=site, clock="given")
low, high = hour_fast.azimuth_interval.low, hour_fast.azimuth_interval.high
held = plane.surface_azimuth in hour_fast.azimuth_interval
print(f"an hour fast, as given: {low:.0f}° to {high:.0f}°")
print("the truth is in it" if held else "the truth is not in it")

# %%
# Daylight saving
# ---------------
#
# A common fault: somebody set the logger's clock to summer time, and the file says that it is
# standard time. For half of the year the stamps are an hour fast.

summer = daylight_saving_stamps(readings, "America/Denver")
found = sunveil.infer(summer, site=site)
print(f"azimuth {found.surface_azimuth:.1f}°, flags: {', '.join(found.flags)}")
print(f"daylight saving: {found.clock.daylight_saving}")

# %%
# What is repaired, and what is not
# ---------------------------------
#
# Half an hour shows in the light, and is repaired. Ten minutes look like a roof that faces a
# little further to one side: they are not corrected, and move the azimuth.

left = table["repaired"] - plane.surface_azimuth
print(f"ten minutes, not repaired: {left[-10]:+.0f}° and {left[10]:+.0f}°")

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.axhline(plane.surface_azimuth, color="0.6", lw=1, label="truth")
ax.plot(table.index, table["as given"], "o--", color="#D55E00", label="clock as given")
ax.plot(table.index, table["repaired"], "o-", color="#0072B2", label="clock repaired")
ax.set(
    xlabel="The clock is fast by [minutes]",
    ylabel="Inferred azimuth [°]",
    xticks=errors,
    title="What a wrong clock does to a roof that faces south",
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")

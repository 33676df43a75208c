"""
Shade and the skyline
=====================

A house to the south-west takes the late sun away, and the roof looks as if it faced further east
than it does. Sunveil finds what hides the sun, leaves these hours out, and draws what it found.
"""

# %%
# A roof behind a house
# ---------------------
#
# The horizon is a function from the sun's azimuth to the elevation below which it is hidden: here a
# house from 220° to 275°, 28° high. The same roof without the house is made beside it.

import numpy as np

import sunveil
from sunveil.plots import plot_skyline
from sunveil.simulate import SystemTruth, simulate_power, simulate_sky


def house(azimuth):
    """Return how high the house stands, by azimuth [degrees]."""
    return np.where((azimuth > 220.0) & (azimuth < 275.0), 28.0, 0.0)


site = sunveil.Site(latitude=39.74, longitude=-104.99)
plane = sunveil.Plane(surface_azimuth=200.0, surface_tilt=30.0)
roof = SystemTruth("roof", site, planes=((plane, 1.0),), dc_capacity_kw=5.0)
sky = simulate_sky(site, 2023, seed=5, step_minutes=10)
free = simulate_power(roof, sky, seed=5)
shaded = simulate_power(roof, sky, seed=5, horizon=house)
lost = 1.0 - shaded.sum() / free.sum()
print(f"The house takes {lost:.1%} of the year's energy.")

# %%
# Infer both
# ----------

for name, readings in (("free", free), ("shaded", shaded)):
    found = sunveil.infer(readings, site=site)
    hidden = max(found.skyline, default=0.0)
    print(
        f"{name:7} azimuth {found.surface_azimuth:.1f}°, tilt {found.surface_tilt:.1f}°,"
        f" skyline up to {hidden:.0f}°"
    )

# %%
# Look at what hides the sun
# --------------------------
#
# The sky as one would see it from the panels, with the sun's paths of three days. Grey is what was
# found to hide the sun, in sectors of equal width; the dashed line is the house that is really
# there. Edges are rough, since a sector is as high as the readings of a year make likely. Nothing
# is known where the sun never passes.

width = 360.0 / len(found.skyline)
middles = width * (np.arange(len(found.skyline)) + 0.5)
marked = np.array(found.skyline) > 0.0
right = marked & (house(middles) > 0.0)
print(f"{marked.sum()} sectors of {width:.0f}° are hidden; the house is in {right.sum()} of them.")

ax = plot_skyline(found, site)
azimuths = np.arange(0.0, 360.5, 0.5)
ax.plot(azimuths, house(azimuths), "--", color="black", lw=1, label="the house")
ax.legend(frameon=False, loc="upper left", fontsize=8.5)
ax.set_title("What hides the sun, by its readings", loc="left", fontsize=9.5)

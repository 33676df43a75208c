"""
Two planes
==========

Many roofs carry modules on both sides of a ridge. One plane would be wrong for them: the sum of an
east and a west side looks like a flat roof, with other mornings and other evenings.
"""

# %%
# A ridge that runs north and south
# ---------------------------------
#
# Six tenths of the modules face west, four tenths east. The meter sees their sum.

import matplotlib.pyplot as plt

import sunveil
from sunveil.simulate import SystemTruth, simulate_power, simulate_sky

site = sunveil.Site(latitude=39.74, longitude=-104.99)
west = sunveil.Plane(surface_azimuth=265.0, surface_tilt=30.0)
east = sunveil.Plane(surface_azimuth=85.0, surface_tilt=30.0)
roof = SystemTruth("roof", site, planes=((west, 0.6), (east, 0.4)), dc_capacity_kw=8.0)
sky = simulate_sky(site, 2023, seed=11, step_minutes=10)
readings = simulate_power(roof, sky, seed=11)

# %%
# Infer
# -----
#
# ``label="start"`` says which instant of its hour a stamp names. For two planes it matters more
# than for one: half an hour moves both.

found = sunveil.infer(readings, site=site, label="start")
print("flags:", ", ".join(found.flags))
for plane in found.planes:
    print(
        f"azimuth {plane.surface_azimuth:5.1f}°, tilt {plane.surface_tilt:4.1f}°,"
        f" {plane.dc_capacity_kw:.2f} kW ({plane.share:.0%})"
    )

# %%
# ``surface_azimuth`` and ``surface_tilt`` of the estimate itself stay those of the one plane that
# would do best in place of both. It is nearly level here, so that its azimuth says little:

print(f"as one plane: azimuth {found.surface_azimuth:.0f}°, tilt {found.surface_tilt:.1f}°")

# %%
# Into pvlib
# ----------
#
# ``to_pvlib`` gives pvlib's chain of models; its ``system`` has one array for each plane. Here
# it runs under the sky that made the readings, on the clearest day of May.

chain = found.to_pvlib()
weather = sky.true.to_frame()
light = weather["ghi"]["2023-05"]
day = light.groupby(light.index.date).sum().idxmax()
one_day = weather.loc[f"{day} 11:00" :].iloc[: 16 * 6]
chain.run_model(one_day)
sides = [each["p_mp"] if hasattr(each, "columns") else each for each in chain.results.dc]

# %%
# The morning belongs to the east side and the evening to the west side. Dots are what the meter
# read, the black line is what the chain gives, and the coloured ones are its two sides.

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
measured = readings.loc[one_day.index[0] : one_day.index[-1]]
middle = measured.index.tz_convert("America/Denver")
hours = middle.hour + middle.minute / 60 + 0.5
local = one_day.index.tz_convert("America/Denver")
fine = local.hour + local.minute / 60
ax.plot(hours, measured, "o", ms=4, color="0.35", label="measured")
ax.plot(fine, chain.results.ac / 1000, color="black", lw=1.5, label="both sides")
for plane, power, colour in zip(found.planes, sides, ("#D55E00", "#0072B2"), strict=True):
    name = f"facing {plane.surface_azimuth:.0f}°, DC"
    ax.plot(fine, power / 1000, color=colour, lw=1.5, label=name)
ax.set(
    xlabel="Hour (America/Denver)",
    ylabel="Power [kW]",
    ylim=(0, None),
    title=f"Two planes on {day:%-d %B %Y}",
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")

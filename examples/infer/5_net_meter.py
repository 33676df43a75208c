"""
A net meter
===========

Most homes with modules have one meter, at the grid. It reads what the roof gives less what the
household uses, and never sees either alone. Sunveil tells the roof from the household.
"""

# %%
# A home
# ------
#
# A year of a household's load is simulated: habits, appliances, cooling. The meter is above zero
# where power flows to the grid.

import matplotlib.pyplot as plt

import sunveil
from sunveil.simulate import SystemTruth, simulate_loads, simulate_power, simulate_sky

site = sunveil.Site(latitude=39.74, longitude=-104.99)
zone = "America/Denver"
plane = sunveil.Plane(surface_azimuth=190.0, surface_tilt=25.0)
roof = SystemTruth("home", site, planes=((plane, 1.0),), dc_capacity_kw=6.0)
sky = simulate_sky(site, 2023, seed=2, step_minutes=10)
generation = simulate_power(roof, sky, seed=2)
load = simulate_loads(sky.true, 1, seed=8, timezone=zone)[0]
net = (generation - load).rename("home")
print(f"generated {generation.sum():,.0f} kWh, used {load.sum():,.0f} kWh")

# %%
# Infer
# -----
#
# ``net=True`` declares it. The time zone is that of the clock on the wall, which the household's
# habits follow.

local = net.tz_convert(zone)
found = sunveil.infer(local, site=site, net=True)
found

# %%
# What it says of the household stays private, as the readings do; no publication holds it.

home = found.household
used = 1.0 - (generation - load).clip(lower=0).sum() / generation.sum()
print(f"mean load        {home.mean_load_kw:.2f} kW (truth {load.mean():.2f} kW)")
print(f"self-consumption {home.self_consumption:.0%} (truth {used:.0%})")

# %%
# Told apart, hour by hour
# ------------------------
#
# ``separate`` gives the generation of every hour with a 90% band. Nine in ten hours of daylight
# should lie in it.

apart = sunveil.separate(local, found, site=site)
truth = generation.reindex(apart.index)
daylight = truth > 0.05 * roof.dc_capacity_kw
inside = truth.between(apart["generation_low_kw"], apart["generation_high_kw"])
print(f"in the band: {inside[daylight].mean():.0%} of the hours of daylight")

# %%
# Three days of June. The grey line is all that was given to the inference.

fig, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
few = apart.loc["2023-06-12 06:00":"2023-06-15 06:00"]
times = few.index.tz_convert(zone).tz_localize(None)
low, high = few["generation_low_kw"], few["generation_high_kw"]
ax.plot(times, net.reindex(few.index), color="0.6", lw=1, label="the meter")
ax.fill_between(times, low, high, color="#0072B2", alpha=0.2, lw=0)
ax.plot(times, few["generation_kw"], color="#0072B2", label="generation, separated")
ax.plot(times, truth[few.index], "o", ms=3, color="#D55E00", label="true generation")
ax.axhline(0, color="0.8", lw=0.8, zorder=0)
ax.set(ylabel="Power [kW]", title="A net meter, and the roof behind it")
ax.set_xlim(times[0], times[-1])
ax.set_ylim(top=1.35 * high.max())
ax.spines[["top", "right"]].set_visible(False)
ax.xaxis.set_major_locator(plt.matplotlib.dates.HourLocator(byhour=(12,)))
ax.xaxis.set_major_formatter(plt.matplotlib.dates.DateFormatter("noon,\n%-d June"))
ax.legend(frameon=False, loc="upper left", ncols=3)

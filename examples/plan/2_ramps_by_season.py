"""
The steepest ramps, by season
=============================

How fast does a town's solar power rise in the morning and fall in the evening, or when clouds come?
That decides what other plants must be able to do.
"""

# %%
# A year of power
# ---------------
#
# Three thousand homes, published at ε = 1 for a whole household, under a year of public weather.

import matplotlib.pyplot as plt
import numpy as np

import sunveil
from sunveil.example_publication import example_tables
from sunveil.power.planning_questions import steepest_ramps
from sunveil.simulate import simulate_sky

site = sunveil.Site(latitude=39.74, longitude=-105.17)
sky = simulate_sky(site, 2023, seed=1, step_minutes=15)
found = sunveil.fleet_power(
    example_tables(3000),
    site,
    start="2023-01-01",
    end="2024-01-01",
    weather=sky.satellite,
    step_minutes=30,
    draws=60,
)

# %%
# One function
# ------------
#
# For every season, the steepest rise and the steepest fall within an hour, each with its band.

ramps = steepest_ramps(found, zone="America/Denver", minutes=60)
for season, (rise, fall) in ramps.items():
    print(f"{season:7} {rise.value:+7,.0f} kW   {fall.value:+7,.0f} kW")

# %%
# One sky is over all homes here. In a real town clouds do not come to all roofs at once, so that
# ramps by clouds are less steep than these; ramps by the sun are as they are.

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
x = np.arange(len(ramps))
for place, (name, colour) in enumerate((("rise", "#0072B2"), ("fall", "#D55E00"))):
    answers = [pair[place] for pair in ramps.values()]
    height = np.array([each.value for each in answers])
    low = height - [each.low for each in answers]
    high = np.array([each.high for each in answers]) - height
    ax.bar(x, height, width=0.6, color=colour, alpha=0.4, label=f"steepest {name}")
    ax.errorbar(x, height, yerr=[low, high], fmt="none", color=colour, capsize=4)
ax.axhline(0, color="0.3", lw=0.8)
ax.set_xticks(x, [season.capitalize() for season in ramps])
ax.set(ylabel="Change within an hour [kW]", title="Middle of the draws, and nine in ten of them")
ax.set_ylim(-1.35 * abs(ax.get_ylim()[0]), 1.35 * ax.get_ylim()[1])
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left", ncols=2)

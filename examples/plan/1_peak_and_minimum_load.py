"""
Peak and minimum-load days
==========================

When do the roofs of a town give most, and when is least left for the grid to supply? A planner does
not have the meters, and answers from a publication.
"""

# %%
# From tables to power
# --------------------
#
# Three thousand homes were published at ε = 1 for a whole household: how many roofs face where,
# and the total capacity, both with noise. Weather is public; here a simulated satellite's stands
# for it. ``power`` draws fleets that agree with the tables and their noise, and gives the power
# of each.

import matplotlib.pyplot as plt
import numpy as np

import sunveil
from sunveil.example_publication import example_tables
from sunveil.plots.publication_figures import plot_power_day
from sunveil.power.planning_questions import minimum_load_day, peak_day
from sunveil.simulate import simulate_sky

site = sunveil.Site(latitude=39.74, longitude=-105.17)
zone = "America/Denver"
tables = example_tables(3000)
sky = simulate_sky(site, 2023, seed=1, step_minutes=15)
found = sunveil.fleet_power(
    tables,
    site,
    start="2023-01-01",
    end="2024-01-01",
    weather=sky.satellite,
    step_minutes=30,
    draws=60,
)
print(tables.guarantee)

# %%
# The highest power
# -----------------
#
# Every answer has a band that nine in ten draws are within. It holds the noise of the publication,
# the error of the model, and what the weather does not know. ``chance`` is how many draws name this
# very day.

peak = peak_day(found, zone=zone)
print(peak.day, "in", f"{peak.chance:.0%} of the draws")
print(peak.answer)

# %%
# The lowest load
# ---------------
#
# What is left for the grid is load less generation. The town's load is made up here: higher on
# working days and in the evening, lowest in spring when nobody heats or cools.

local = found.times.tz_convert(zone)
hour = local.hour + local.minute / 60
season = 1.0 + 0.25 * np.cos(4 * np.pi * (local.day_of_year - 15) / 365)
evening = np.exp(-(((hour - 19) / 3) ** 2)) + 0.5 * np.exp(-(((hour - 8) / 2.5) ** 2))
working = np.where(local.day_of_week < 5, 1.0, 0.9)
load = 12_000.0 * season * working * (1.0 + 0.6 * evening)

lowest = minimum_load_day(found, load, zone=zone)
print(lowest.day, "in", f"{lowest.chance:.0%} of the draws")
print(lowest.answer)
back = "flows back" if lowest.answer.high < 0 else "may not flow back"
print(f"At that hour power {back} into the grid, by the whole band.")

# %%
# Both days
# ---------

fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained", sharey=True)
plot_power_day(found, peak.day, zone=zone, ax=axes[0])
axes[0].set_title(f"Highest power: {peak.day}", loc="left", fontsize=9.5)
plot_power_day(found, lowest.day, zone=zone, ax=axes[1])
own = local.strftime("%Y-%m-%d") == lowest.day
axes[1].plot(hour[own], load[own], color="#D55E00", lw=1.5, label="load")
axes[1].set_title(f"Lowest load: {lowest.day}", loc="left", fontsize=9.5)
axes[1].set(ylabel="", ylim=(0, 1.35 * load[own].max()))
axes[1].legend(frameon=False, loc="upper left")

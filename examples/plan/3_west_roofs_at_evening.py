"""
West-facing roofs at the evening peak
=====================================

When a town comes home, the sun is in the west. What do the roofs that face it give, and how many
kilowatts of them would replace one of a roof that faces south?
"""

# %%
# Power by the way roofs face
# ---------------------------
#
# A summer under clear skies, from private tables of 3,000 homes. The tables know how many roofs
# face each sector, so that power can be asked of one sector alone.

import matplotlib.pyplot as plt
import numpy as np

import sunveil
from sunveil.example_publication import example_tables
from sunveil.power.planning_questions import facing_at_evening

site = sunveil.Site(latitude=39.74, longitude=-105.17)
zone = "America/Denver"
found = sunveil.fleet_power(
    example_tables(3000), site, start="2023-06-01T07:00", end="2023-09-01T07:00", draws=60
)
sectors = {"east": 90.0, "south": 180.0, "west": 270.0}
answers = {
    name: facing_at_evening(found, azimuth=azimuth, hours=(17.0, 20.0), zone=zone)
    for name, azimuth in sectors.items()
}
for name, answer in answers.items():
    print(f"{name:6}{answer}")

# %%
# South-facing roofs give more because there are more of them. For each kilowatt of modules it is
# the other way round:

mixture = found.mixture
per_kw = {}
for name, azimuth in sectors.items():
    away = np.abs((mixture.surface_azimuth - azimuth + 180.0) % 360.0 - 180.0)
    capacity = mixture.weights[:, 0, away <= 45.0].sum(axis=1).mean()
    per_kw[name] = answers[name].value / capacity
    print(f"{name:6}{per_kw[name]:.2f} kW for each kW of modules")
ratio = per_kw["west"] / per_kw["south"]
print(f"West gives {ratio:.1f} times as much as south, for each kW, from 17 to 20 h.")

# %%
# A day in June
# -------------

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
local = found.times.tz_convert(zone)
own = local.strftime("%Y-%m-%d") == "2023-06-21"
hours = (local.hour + local.minute / 60)[own]
ax.axvspan(17, 20, color="0.93", lw=0)
colours = ("#009E73", "#0072B2", "#D55E00")
for (name, azimuth), colour in zip(sectors.items(), colours, strict=True):
    away = np.abs((mixture.surface_azimuth - azimuth + 180.0) % 360.0 - 180.0)
    low, mid, high = np.quantile(found.draws(planes=away <= 45.0)[own], [0.05, 0.5, 0.95], axis=1)
    ax.fill_between(hours, low, high, color=colour, alpha=0.2, lw=0)
    ax.plot(hours, mid, color=colour, label=f"facing {name}")
ax.text(18.5, 0.97, "evening\npeak", transform=ax.get_xaxis_transform(), ha="center", va="top")
ax.set(xlabel=f"Hour ({zone})", ylabel="Power [kW]", xlim=(4, 21), ylim=(0, None))
ax.set_title("3,000 homes on a clear 21 June, with bands of nine in ten draws", fontsize=10)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="upper left")

"""
Twenty per cent more of the same mix
====================================

If a fifth more modules came to the same kinds of roofs, what would they add? A planner who knows
the mix does not need to know the roofs.
"""

# %%
# What is there
# -------------
#
# A clear June week of 3,000 homes, from tables that were published at ε = 1.

import matplotlib.pyplot as plt

import sunveil
from sunveil.example_publication import example_homes, example_tables
from sunveil.plots.publication_figures import plot_power_day
from sunveil.power.planning_questions import more_capacity

site = sunveil.Site(latitude=39.74, longitude=-105.17)
zone = "America/Denver"
found = sunveil.fleet_power(
    example_tables(3000), site, start="2023-06-15T06:00", end="2023-06-22T06:00", draws=200
)

# %%
# What would be added
# -------------------

added = more_capacity(found, share=0.2)
for answer in added.values():
    print(answer)

# %%
# Only a simulation can check it: here is a fifth of what the homes really have.

true_kw = 0.2 * example_homes(3000).dc_capacity_kw.sum()
held = added["capacity"].low <= true_kw <= added["capacity"].high
print(f"true: {true_kw:,.0f} kW, which the band {'holds' if held else 'misses'}")

# %%
# The same mix means the same shape: the new modules peak when the old ones do. Modules that face
# west would add less at noon, and more when it is needed
# (:doc:`west-facing roofs <3_west_roofs_at_evening>`).

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
plot_power_day(found, "2023-06-21", zone=zone, ax=ax)
now = ax.lines[0]
ax.plot(now.get_xdata(), 1.2 * now.get_ydata(), "--", color="#D55E00", label="with 20% more")
now.set_label("now")
ax.set_title("A clear 21 June, 3,000 homes; blue: nine in ten draws", loc="left", fontsize=9.5)
ax.set_ylim(0, 1.35 * now.get_ydata().max())
ax.legend(frameon=False, loc="upper left", fontsize=8.5)

"""
A cloud front over a feeder
===========================

A front takes most of the light away within minutes. How much power goes with it depends on how long
it takes to cross the feeder, and on how many modules there are: which only the publication tells.
"""

# %%
# Two feeders
# -----------
#
# Six hundred homes on two feeders, published by feeder at ε = 1. Which home is on which feeder is
# public, its roof is not.

import matplotlib.pyplot as plt

import sunveil
from sunveil.example_publication import example_tables
from sunveil.power.planning_questions import cloud_front

site = sunveil.Site(latitude=39.74, longitude=-105.17)
tables = example_tables(600, feeders=("F1", "F2"))
found = sunveil.fleet_power(
    tables, site, start="2023-06-20T06:00", end="2023-06-22T06:00", step_minutes=5, draws=200
)

# %%
# How much, how fast
# ------------------
#
# At the feeder's highest hour, under a front that leaves a quarter of the light. The figure is
# the fall within five minutes, which is the interval of this power.

passages = [5, 10, 15, 20, 30, 45, 60]
falls = {
    group: [cloud_front(found, group=group, minutes=minutes) for minutes in passages]
    for group in found.groups
}
for group, answers in falls.items():
    print(group, answers[2])

# %%
# The bands are wider than those of a whole town: the noise is the same, and the group is smaller.

for group, answers in falls.items():
    wide = (answers[0].high - answers[0].low) / answers[0].value
    print(f"{group}: the band is {wide:.0%} of the fall wide")

# %%
# A front that takes an hour is no trouble, one that takes five minutes is:

fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
for (group, answers), colour in zip(falls.items(), ("#0072B2", "#D55E00"), strict=True):
    low, high = [each.low for each in answers], [each.high for each in answers]
    ax.fill_between(passages, low, high, color=colour, alpha=0.2, lw=0)
    ax.plot(passages, [each.value for each in answers], "o-", ms=4, color=colour, label=group)
ax.set(
    xlabel="The front crosses the feeder in [minutes]",
    ylabel="Fall within 5 minutes [kW]",
    ylim=(0, None),
    title="What a cloud front takes away, with bands of nine in ten draws",
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, title="Feeder", alignment="left", loc="upper right")

"""
A private release, and what ε buys
==================================

What is inferred from somebody's meter is as private as the meter. A *release* may be published: a
plane and a capacity that are drawn at random, so that the answer reveals almost nothing about
what is protected. This example makes one, and shows what more or less privacy costs in accuracy.
"""

# %%
# A record, and public weather
# ----------------------------

import matplotlib.pyplot as plt

import sunveil
from sunveil.releases.expected_errors import typical_errors
from sunveil.releases.release_choices import Choices
from sunveil.simulate import SystemTruth, simulate_power, simulate_sky
from sunveil.site import TimeGrid

site = sunveil.Site(latitude=39.74, longitude=-104.99)
plane = sunveil.Plane(surface_azimuth=215.0, surface_tilt=28.0)
roof = SystemTruth("roof", site, planes=((plane, 1.0),), dc_capacity_kw=6.4)
sky = simulate_sky(site, 2023, seed=7, step_minutes=10)
readings = simulate_power(roof, sky, seed=7)

# %%
# One release
# -----------
#
# The *unit* says what is protected. With ``Days(1)`` it is everything that happened on any one
# day. ε says how well: whatever comes out is at most e\ :sup:`ε` times as likely with that day as
# with any other day in its place.

drawn = sunveil.release(
    readings, site=site, power_unit="kW", label="start", protect="days:1", epsilon=1.0
)
print(drawn.guarantee)

# %%
# The draw is another one in every run, and here is the one of the run that made this page:

print(f"azimuth  {drawn.surface_azimuth:5.0f}°   (truth {plane.surface_azimuth:.0f}°)")
print(f"tilt     {drawn.surface_tilt:5.0f}°   (truth {plane.surface_tilt:.0f}°)")
print(f"capacity {drawn.dc_capacity_kw:5.1f} kW (truth {roof.dc_capacity_kw:.1f} kW)")

# %%
# An analyst does not see the truth, and gets the errors to expect beside the answer. They are
# public and come from other systems, never from this record.

print(f"azimuth off by {drawn.expected.azimuth.mean:.1f}° on average,")
print(f"nine in ten within {drawn.expected.azimuth.within:.1f}°")

# %%
# What a release does not hide
# ----------------------------
#
# A guarantee for one day is none for the household: 365 days at ε each are 365 ε for the year.
# Where the azimuth of the roof is itself the secret, the unit is ``System()``, the whole record,
# and then no method can be accurate: the noise must hide one roof among all others.
#
# What ε buys
# -----------
#
# The errors to expect of any release can be looked up before there is one, and at no cost: they
# depend on the unit, on ε and on how long the record is, which is all public. (On the command line
# it is ``sunveil utility``.)

hours = TimeGrid(first=0, step=3600, count=365 * 24)
epsilons = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0]
units = {
    "any one reading": sunveil.Readings(1),
    "any one day": sunveil.Days(1),
    "the whole record": sunveil.System(),
}
azimuth_errors = {
    name: [
        typical_errors(hours, Choices(), clear=True, protect=unit, epsilon=epsilon).azimuth.mean
        for epsilon in epsilons
    ]
    for name, unit in units.items()
}
for name, errors in azimuth_errors.items():
    print(f"{name:17} {errors[0]:5.1f}° at ε = 0.1, {errors[3]:5.1f}° at ε = 1")

# %%
# The picture says which sentence a curator can afford to promise. The dotted line is what a blind
# guess is off by. Where a curve is flat, more ε buys nothing: what is left is the error of the
# model, which is the same without any noise.

fig, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
colours = ("#0072B2", "#D55E00", "#009E73")
for (name, errors), colour in zip(azimuth_errors.items(), colours, strict=True):
    ax.plot(epsilons, errors, "o-", color=colour, label=name)
ax.axhline(90.0, color="0.6", lw=1, ls=":")
ax.annotate("a guess", (0.1, 90.0), (0, -12), textcoords="offset points", color="0.4")
ax.set(
    xscale="log",
    yscale="log",
    xlabel="ε: more privacy to the left",
    ylabel="Expected error of azimuth [°]",
    title="What ε buys, by what is protected",
)
ax.set_xticks(epsilons, [f"{each:g}" for each in epsilons])
ax.set_yticks([1, 3, 10, 30, 90], ["1", "3", "10", "30", "90"])
ax.minorticks_off()
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, title="What is protected", alignment="left", loc=(0.33, 0.4))

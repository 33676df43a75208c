"""
The paper's figures
===================

Sunveil began with a paper that infers a roof's plane by Bayesian optimisation and publishes it with
noise. Its figures can be made again, all of them by ``make reproduce``; here are three.
"""

# %%
# What light tells of a plane
# ---------------------------
#
# Figure 3: the light of a clear summer day in Chino, California. The azimuth moves the peak, the
# tilt changes its height. That is why readings tell both.

import matplotlib.pyplot as plt
import numpy as np

import sunveil
from reproduction.answers import at_chance
from reproduction.experiment import run_experiment
from reproduction.figure6 import exact_curve
from reproduction.subject import simulated_subject
from sunveil.grids import plane_grid
from sunveil.plots import plot_irradiance_by_azimuth, plot_irradiance_by_tilt

chino = sunveil.Site(latitude=34.01, longitude=-117.69)
fig, axes = plt.subplots(2, 1, figsize=(6.6, 7.0), layout="constrained")
plot_irradiance_by_azimuth(chino, "2016-07-15", azimuths=(90, 135, 180, 225, 270), ax=axes[0])
plot_irradiance_by_tilt(chino, "2016-07-15", ax=axes[1])

# %%
# The search, done again
# ----------------------
#
# The paper scores every plane by how well it explains one clear day of each month, and looks for
# the best by Gaussian-process optimisation. On a simulated system, over a grid of 10° to be
# quick:

subject = simulated_subject()
grid = plane_grid(10.0, 10.0)
experiment = run_experiment(subject, grid=grid, steps=(40, 80))
best = experiment.exhaustive.best
print(f"best of all planes: azimuth {best.surface_azimuth:.0f}°, tilt {best.surface_tilt:.0f}°")

# %%
# Figure 6, and what it leaves out
# --------------------------------
#
# The paper then draws a plane with a probability that depends on ε. The figure shows how far a
# single drawn answer is off. The noise is set by a bound that holds under a condition on the score,
# and is so large that at the paper's ε = 0.1 an answer is as good as one drawn without any data.

curve = exact_curve(experiment, delta=0.1)
errors = np.array([each.azimuth_error for each in curve.answers])
blind = at_chance(grid, best).azimuth_error
paper = errors[np.argmin(np.abs(np.log(curve.epsilons / 0.1)))]
print(f"azimuth error at ε = 0.1: {paper:.1f}°; without any data: {blind:.1f}°")

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
ax.plot(curve.epsilons, errors, color="#0072B2", label="the paper's mechanism, δ = 0.1")
ax.axhline(blind, color="0.5", lw=1, ls=":", label="without any data")
ax.axvline(0.1, color="#D55E00", lw=1, ls="--", label="the paper's ε")
ax.set(
    xscale="log",
    xlabel="ε",
    ylabel="Expected azimuth error of an answer [°]",
    ylim=(0, None),
    title="Where the paper's answers begin to tell something",
)
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False, loc="lower left")

# sphinx_gallery_thumbnail_number = -1

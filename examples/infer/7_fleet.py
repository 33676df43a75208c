"""
A fleet
=======

A utility has ten thousand meters, not one. A fleet is a folder of readings and a table that says
where each system is; what comes out is a folder of estimates, and a reason for every system that
has none.
"""

# %%
# Readings of forty homes
# -----------------------
#
# They are written as a utility would have them, Parquet files and a table of systems. Some of them
# have what real records have: wrong clocks, outages, shade, snow.

import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sunveil.inference.fleet_run import infer_fleet
from sunveil.simulate import CITIES, FleetSpec, Place, write_fleet

work = tempfile.TemporaryDirectory()
folder = Path(work.name)
denver = next(city for city in CITIES if city.name == "Denver")
place = Place(denver.name, denver.site, denver.timezone)
spec = FleetSpec.of(40, seed=5, places=[place], cells=1)
for _ in write_fleet(folder / "fleet", spec, workers=1):
    pass
print(*sorted(each.name for each in (folder / "fleet").iterdir()), sep="\n")

# %%
# Infer all of them
# -----------------
#
# The same on the command line is ``sunveil infer readings/ --systems systems.parquet --out
# estimates``. A run that was stopped is taken up where it was.

found = infer_fleet(
    folder / "fleet" / "readings",
    folder / "fleet" / "systems.parquet",
    folder / "estimates",
    workers=1,
)
print(f"{found.inferred} inferred, {found.refused} refused")

# %%
# The folder has one row for each system, and a summary of the run.

estimates = pd.read_parquet(folder / "estimates" / "estimates")
summary = json.loads((folder / "estimates" / "summary.json").read_text())
print(pd.Series(estimates["quality"]).value_counts().to_string())
flags = estimates["flags"].explode().dropna()
print(flags.value_counts().to_string())

# %%
# Held against the truth
# ----------------------
#
# The fleet is simulated, so that its truth is beside it. Systems on two planes and on trackers are
# not compared here: they have no single azimuth.

truth = pd.read_parquet(folder / "fleet" / "truth.parquet")
both = estimates.merge(truth, on="system_id", suffixes=("", "_true"))
single = both["planes"].str.len().eq(1) & both["planes_true"].str.len().eq(1)
both = both[single]
true_plane = both["planes_true"].str[0]
turned = both["surface_azimuth"] - true_plane.str["surface_azimuth"]
turned = (turned + 180.0) % 360.0 - 180.0
tilted = both["surface_tilt"] - true_plane.str["surface_tilt"]
print(f"{len(both)} systems on one plane")
print(f"azimuth off by {turned.abs().median():.1f}° in the median")
print(f"tilt off by {tilted.abs().median():.1f}° in the median")

# %%
# Every dot is a system. Quality is what the inference itself says of it, before it knows any truth.
# Roofs that are nearly flat have no azimuth to speak of, and may lie anywhere on the left.

fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.6), layout="constrained")
colours = {"good": "#0072B2", "fair": "#E69F00", "poor": "#999999"}
pairs = (("surface_azimuth", "Azimuth [°]", (0, 360)), ("surface_tilt", "Tilt [°]", (0, 60)))
for ax, (name, label, ends) in zip(axes, pairs, strict=True):
    ax.plot(ends, ends, color="0.8", lw=1, zorder=0)
    for quality, colour in colours.items():
        own = (both["quality"] == quality).to_numpy()
        true = np.array([each[name] for each in true_plane[own]], dtype=float)
        ax.plot(true, both[name][own], "o", ms=4, color=colour, label=quality, mew=0)
    ax.set(xlabel=f"True {label.lower()}", ylabel=f"Inferred {label.lower()}", xlim=ends, ylim=ends)
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].legend(frameon=False, title="Quality", alignment="left", loc="upper left")
work.cleanup()

# sphinx_gallery_parallel = False

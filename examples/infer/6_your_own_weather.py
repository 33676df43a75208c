"""
Your own weather
================

The default sky is clear, without clouds. With measured irradiance, from a station or a satellite,
the cloudy hours are used too.
"""

# %%
# A weather file
# --------------
#
# Here is what a satellite product might say of a year: every half hour, with the errors that such
# products have. It is written to a CSV file with the usual names of columns. Files of the NSRDB,
# PVGIS, TMY3 and EPW are read as they are.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import sunveil
from sunveil.simulate import SystemTruth, simulate_power, simulate_sky

site = sunveil.Site(latitude=47.61, longitude=-122.33)
plane = sunveil.Plane(surface_azimuth=150.0, surface_tilt=35.0)
roof = SystemTruth("roof", site, planes=((plane, 1.0),), dc_capacity_kw=5.0)
sky = simulate_sky(site, 2023, seed=9, step_minutes=10, clear_days=0.25)
readings = simulate_power(roof, sky, seed=9)

folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "weather.csv"
table = sky.satellite.to_frame()[["ghi", "dni", "dhi", "temp_air"]]
table.rename_axis("time").round(1).to_csv(path)
print(*path.read_text().splitlines()[:3], sep="\n")

# %%
# With and without it
# -------------------
#
# One word says where the weather comes from: a path, a frame in pvlib's names, ``"nsrdb"``,
# ``"pvgis"``, or nothing for the clear sky.

clear = sunveil.infer(readings, site=site)
own = sunveil.infer(readings, site=site, weather=path)
rows = {
    name: {
        "azimuth [°]": found.surface_azimuth,
        "± [°]": found.azimuth_interval.width / 2,
        "tilt [°]": found.surface_tilt,
        "capacity [kW]": found.dc_capacity_kw,
        "readings that agree": found.agreement,
    }
    for name, found in (("clear sky", clear), ("own weather", own))
}
truth = {"azimuth [°]": 150.0, "tilt [°]": 35.0, "capacity [kW]": 5.0}
pd.DataFrame({**rows, "truth": truth}).T.round(2)

# %%
# In a place with few clear days it is the share of readings that agree that changes most: under a
# clear sky only the clear hours can. The plane comes from clear hours either way, and measured
# weather brings errors of its own, so that it need not be closer.
#
# What the weather explains
# -------------------------
#
# The same estimate, run by pvlib under the file's weather, against what the meter read in every
# hour of the year. Under a clear sky the cloudy hours would all lie at the top.

chain = own.to_pvlib()
chain.run_model(table.assign(wind_speed=1.0))
modelled = chain.results.ac.resample("1h").mean() / 1000
chain.run_model(sunveil.get_weather("clearsky", site, "2023-01-01", "2024-01-01").to_frame())
cloudless = chain.results.ac.resample("1h").mean() / 1000
by_hour = pd.DataFrame({"read": readings, "own": modelled, "clear": cloudless}).dropna()
by_hour = by_hour[by_hour["clear"] > 0.1]
off = {name: (by_hour[name] - by_hour["read"]).abs().mean() for name in ("clear", "own")}
print(f"mean error of an hour: {off['clear']:.2f} kW clear sky, {off['own']:.2f} kW own weather")

fig, axes = plt.subplots(1, 2, figsize=(7.2, 3.7), layout="constrained", sharey=True)
for ax, name, title in zip(axes, ("clear", "own"), ("Clear sky", "Own weather"), strict=True):
    ax.scatter(by_hour["read"], by_hour[name], s=3, alpha=0.25, color="#0072B2", lw=0)
    ax.plot([0, 5], [0, 5], color="#D55E00", lw=1)
    ax.set(xlabel="Measured power [kW]", title=title, xlim=(0, 5), ylim=(0, 5), aspect="equal")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_ylabel("Modelled power [kW]")
folder.cleanup()

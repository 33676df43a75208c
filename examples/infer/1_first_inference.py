"""
A first inference
=================

A meter counts what a solar roof gives. From a year of its readings, and the place, Sunveil tells
which way the roof faces, how steep it is, and how many kilowatts of modules are on it.
"""

# %%
# A roof with a known truth
# ---------------------------
#
# Nothing is downloaded here: a roof in Denver is simulated under a year of changing clouds. Its
# meter writes one number for every hour, the mean power in kW. Real readings come from a file just
# as well: ``sunveil.infer("meter.csv", site=site)``.

import sunveil
from sunveil.simulate import SystemTruth, simulate_power, simulate_sky

site = sunveil.Site(latitude=39.74, longitude=-104.99)
plane = sunveil.Plane(surface_azimuth=215.0, surface_tilt=28.0)
roof = SystemTruth("roof", site, planes=((plane, 1.0),), dc_capacity_kw=6.4)
sky = simulate_sky(site, 2023, seed=7, step_minutes=10)
readings = simulate_power(roof, sky, seed=7)
print(readings["2023-06-20 12:00":"2023-06-20 18:00"])

# %%
# Infer
# -----
#
# The inference is given the readings, their unit and the place, nothing else. Its weather is a
# clear sky: clouds only take readings away, and it looks for the hours without them.

found = sunveil.infer(readings, site=site, power_unit="kW")
found

# %%
# The numbers in brackets are 90% intervals: nine in ten of them should hold the truth. Do these?

for name, truth, interval in (
    ("azimuth", plane.surface_azimuth, found.azimuth_interval),
    ("tilt", plane.surface_tilt, found.tilt_interval),
    ("capacity", roof.dc_capacity_kw, found.capacity_interval),
):
    held = "held" if truth in interval else "missed"
    span = f"{interval.low:6.1f} to {interval.high:6.1f}"
    print(f"{name:9} truth {truth:6.1f}   {span}   {held}")

# %%
# Look at it
# ----------
#
# Before an estimate is used, look at what it rests on. Above are four clear days, measured and
# modelled. On the left is every plane that the roof might have, coloured by how many readings agree
# with it. On the right is what the model leaves unexplained, by month and hour: an odd patch there
# would be a tree, snow or a wrong clock.
#
# The figure says that it contains readings. An estimate is as private as the readings that it was
# made from: :doc:`what may be published is another matter <../publish/1_private_release>`.

found.plot()

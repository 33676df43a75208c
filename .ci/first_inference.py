"""What a newcomer does first, from the installed wheel alone: make readings, infer, look."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from pvlib import iam, irradiance
from pvlib.location import Location

import sunveil

# Four months under a sky that is always clear, at Golden, Colorado.
PLACE = Location(39.742, -105.1727, altitude=1795)
TIMES = pd.date_range("2024-03-01", "2024-07-01", freq="30min", tz="UTC", inclusive="left")
TRUE = sunveil.Plane(200.0, 30.0)


def make_power() -> pd.Series:
    """Return the power of a roof by pvlib's models. [kW]"""
    middles = TIMES + pd.Timedelta(minutes=15)
    sky = PLACE.get_clearsky(middles)
    sun = PLACE.get_solarposition(middles)
    angles = (TRUE.surface_tilt, TRUE.surface_azimuth, sun["apparent_zenith"], sun["azimuth"])
    parts = irradiance.get_total_irradiance(
        *angles,
        sky["dni"],
        sky["ghi"],
        sky["dhi"],
        dni_extra=irradiance.get_extra_radiation(middles.day_of_year.to_numpy()),
        model="haydavies",
    )
    diffuse = iam.marion_diffuse("physical", TRUE.surface_tilt)
    light = (
        parts["poa_direct"] * iam.physical(irradiance.aoi(*angles))
        + parts["poa_sky_diffuse"] * diffuse["sky"]
        + parts["poa_ground_diffuse"] * diffuse["ground"]
    ).fillna(0.0)
    return pd.Series(
        5.0 * 0.9 * np.maximum(light.to_numpy(), 0.0) / 1000.0, index=TIMES, name="roof"
    )


def main() -> None:
    """Infer, look at the estimate in every form, and write a meter file."""
    power = make_power()
    estimate = sunveil.infer(power, site=PLACE, label="start")
    assert estimate.plane.angle_to(TRUE) < 5.0, estimate
    assert "<table" in estimate._repr_html_()
    assert estimate.to_sam()[0]["system_capacity"] > 0.0
    estimate.plot().savefig("estimate.png")
    rows = [f"{time:%Y-%m-%dT%H:%MZ},{kw:.4f}" for time, kw in power.items()]
    Path("meters.csv").write_text("\n".join(["time,power_kw", *rows]) + "\n")
    print(estimate)


if __name__ == "__main__":
    main()

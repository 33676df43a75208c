from __future__ import annotations

import numpy as np
import pytest

from reproduction.figure2 import angles


def test_the_angles_are_those_of_the_papers_first_equation():
    drawn = angles()
    zenith, azimuth, own, tilt = (
        np.radians(drawn.data[name])
        for name in ("solar_zenith", "solar_azimuth", "surface_azimuth", "surface_tilt")
    )
    cosine = np.sin(zenith) * np.cos(own - azimuth) * np.sin(tilt) + np.cos(zenith) * np.cos(tilt)
    assert drawn.data["angle_of_incidence"] == pytest.approx(np.degrees(np.arccos(cosine)))
    told = {text.get_text() for text in drawn.figure.axes[0].texts}
    assert {"γ", "β", "θ", "N", "E", "S", "W"} <= told

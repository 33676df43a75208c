from __future__ import annotations

import numpy as np
import pytest

from sunveil.weather.decomposition import normal_beam, pvlib_name


def test_the_beam_is_divided_by_the_cosine_of_the_zenith():
    cosine = np.array([0.2, 0.5, 1.0])
    normal = normal_beam(700.0 * cosine, cosine, np.array([100, 100, 100]))
    np.testing.assert_allclose(normal, 700.0)


def test_a_low_sun_gives_no_absurd_beam():
    cosine = np.array([0.0001, 0.01, 0.04, -0.1])
    normal = normal_beam(np.array([5.0, 5.0, 50.0, 5.0]), cosine, np.array([1, 1, 1, 1]))
    assert normal[0] == normal[1] == pytest.approx(5.0 / np.cos(np.radians(87.0)))
    assert normal[2] == pytest.approx(50.0 / np.cos(np.radians(87.0)))
    assert normal[3] == 0.0
    assert normal_beam(np.array([900.0]), np.array([0.3]), np.array([1]))[0] < 1420.0


@pytest.mark.parametrize(
    ("heading", "name"),
    [
        ("GHI", "ghi"),
        (" ghi ", "ghi"),
        ("GHI (W/m^2)", "ghi"),
        ("Gb(n)", "dni"),
        ("Diffuse_Horizontal-Irradiance [W/m2]", "dhi"),
        ("Dry-bulb (C)", "temp_air"),
        ("Wspd (m/s)", "wind_speed"),
        ("Clearsky GHI", None),
        ("ghi_clear", None),
        ("Temperature source", None),
        (3, None),
    ],
)
def test_headings_are_understood(heading, name):
    assert pvlib_name(heading) == name

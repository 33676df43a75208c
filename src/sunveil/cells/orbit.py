"""Where the sun stands above the turning globe, by short series.

The Earth's path is a sum of sines whose larger terms are kept, those above 1e-6 of a radian; the
nodding of its axis keeps four. The result stays within 0.0005° of the whole series between 2000 and
2040. A day hardly bends the path, so that it is summed once a day and curves are drawn between.

References
----------
P. Bretagnon and G. Francou, "Planetary theories in rectangular and spherical variables, VSOP87
solutions", Astronomy and Astrophysics 202, 1988, rounded as by I. Reda and A. Andreas, "Solar
position algorithm for solar radiation applications", Solar Energy 76, 2004, DOI
10.1016/j.solener.2003.12.003; J. Meeus, "Astronomical Algorithms", 2nd ed., 1998, chs. 12, 22, 25.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.site import Array

DAY = 86400
# Noon of 1 January 2000. [s since 1970, UTC]
_EPOCH = 946728000
# What clocks on Earth are behind the planets' even time; pvlib's default. [s]
_BEHIND = 67.0
# Terms of the Earth's path: amplitude [1e-8 rad, or 1e-8 of its distance], phase [rad], and
# frequency [rad per thousand years]. First the longitude, then what of it grows with time.
_LONGITUDE = np.array(
    [
        (175347046.0, 0.0, 0.0),
        (3341656.0, 4.6692568, 6283.07585),
        (34894.0, 4.6261, 12566.1517),
        (3497.0, 2.7441, 5753.3849),
        (3418.0, 2.8289, 3.5231),
        (3136.0, 3.6277, 77713.7715),
        (2676.0, 4.4181, 7860.4194),
        (2343.0, 6.1352, 3930.2097),
        (1324.0, 0.7425, 11506.7698),
        (1273.0, 2.0371, 529.691),
        (1199.0, 1.1096, 1577.3435),
        (990.0, 5.233, 5884.927),
        (902.0, 2.045, 26.298),
        (857.0, 3.508, 398.149),
        (780.0, 1.179, 5223.694),
        (753.0, 2.533, 5507.553),
        (505.0, 4.583, 18849.228),
        (492.0, 4.205, 775.523),
        (357.0, 2.92, 0.067),
        (317.0, 5.849, 11790.629),
        (284.0, 1.899, 796.298),
        (271.0, 0.315, 10977.079),
        (243.0, 0.345, 5486.778),
        (206.0, 4.806, 2544.314),
        (205.0, 1.869, 5573.143),
        (202.0, 2.458, 6069.777),
        (156.0, 0.833, 213.299),
        (132.0, 3.411, 2942.463),
        (126.0, 1.083, 20.775),
        (115.0, 0.645, 0.98),
        (103.0, 0.636, 4694.003),
        (102.0, 0.976, 15720.839),
        (102.0, 4.267, 7.114),
        (99.0, 6.21, 2146.17),
        (98.0, 0.68, 155.42),
    ]
)
_DRIFT = np.array(
    [(628331966747.0, 0.0, 0.0), (206059.0, 2.678235, 6283.07585), (4303.0, 2.6351, 12566.1517)]
)
_LATITUDE = np.array([(280.0, 3.199, 84334.662), (102.0, 5.422, 5507.553)])
_DISTANCE = np.array(
    [(100013989.0, 0.0, 0.0), (1670700.0, 3.0984635, 6283.07585), (13956.0, 3.05525, 12566.1517)]
)
# How the axis nods: by multiples of the longitude of the moon's node, of the sun's mean longitude
# and of the moon's; along the sun's path, and across it. [seconds of arc]
_NODDING = np.array(
    [
        (1, 0, 0, -17.1996, 9.2025),
        (0, 2, 0, -1.3187, 0.5736),
        (0, 0, 2, -0.2274, 0.0977),
        (2, 0, 0, 0.2062, -0.0895),
    ]
)
# Light takes eight minutes, in which the Earth moves on. [seconds of arc]
_ABERRATION = 20.4898


def above_globe(seconds: NDArray[np.int64]) -> Array:
    """Return unit vectors to the sun in the globe's own axes: to (0, 0), to (0, 90 E), north.

    They are seen from the globe's centre. Shape (3, n).

    Parameters
    ----------
    seconds
        The instants, in any order. [s since 1970, UTC]
    """
    low, high = int(seconds.min()) // DAY - 1, int(seconds.max()) // DAY + 2
    knots = _of_days(np.arange(low, high + 1, dtype=np.int64) * DAY)
    x, y, north, nodded = _between(knots, seconds - low * DAY)
    since = (seconds - _EPOCH) / DAY
    # whole turns are left out, for they would cost digits
    turn = 280.46061837 + 0.98564736629 * since + 360.0 * (since % 1.0)
    turn = np.radians(turn) + nodded
    cosine, sine = np.cos(turn), np.sin(turn)
    return np.stack([x * cosine + y * sine, y * cosine - x * sine, north])


def _of_days(seconds: NDArray[np.int64]) -> Array:
    """Return the sun among the stars, and how far the nodding axis is ahead, shape (4, n)."""
    millennia = (seconds.astype(np.float64) - _EPOCH + _BEHIND) / (365250.0 * DAY)
    nodding, across = _nodding(millennia * 10.0)
    longitude = _sum(_LONGITUDE, millennia) + millennia * _sum(_DRIFT, millennia) + np.pi
    longitude += np.radians(nodding - _ABERRATION / 3600.0 / _sum(_DISTANCE, millennia))
    latitude = -_sum(_LATITUDE, millennia)
    slant = np.radians(23.4392911 - 0.130042 * millennia + across)
    x, y, z = np.cos(longitude), np.sin(longitude), latitude
    cosine, sine = np.cos(slant), np.sin(slant)
    ahead = np.radians(nodding) * cosine
    return np.stack([x, y * cosine - z * sine, y * sine + z * cosine, ahead])


def _sum(terms: Array, millennia: Array) -> Array:
    size, phase, speed = terms.T
    return np.asarray(1e-8 * size @ np.cos(phase[:, None] + np.outer(speed, millennia)))


def _nodding(centuries: Array) -> tuple[Array, Array]:
    """Return the axis' nodding along the sun's path and across it. [degrees]"""
    angles = np.radians(
        np.stack(
            [
                125.04452 - 1934.136261 * centuries,
                280.4665 + 36000.7698 * centuries,
                218.3165 + 481267.8813 * centuries,
            ]
        )
    )
    turns = _NODDING[:, :3] @ angles
    along, across = _NODDING[:, 3:].T / 3600.0
    return along @ np.sin(turns), across @ np.cos(turns)


def _between(knots: Array, seconds: NDArray[np.int64]) -> Array:
    """Return cubics through the four nearest of daily knots, at seconds after the first."""
    place = seconds // DAY
    f = (seconds % DAY) / DAY
    weights = (
        -f * (f - 1.0) * (f - 2.0) / 6.0,
        (f + 1.0) * (f - 1.0) * (f - 2.0) / 2.0,
        -(f + 1.0) * f * (f - 2.0) / 2.0,
        (f + 1.0) * f * (f - 1.0) / 6.0,
    )
    return np.asarray(sum(w * knots[:, place + k - 1] for k, w in enumerate(weights)))

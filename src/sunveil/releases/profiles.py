"""What every mount of a list would give in each interval of a frame: public."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from sunveil.grids import Grid
from sunveil.releases.choices import Choices
from sunveil.releases.mounts import Mounts, PlanePairs, SingleAxisTrackers
from sunveil.scores import Logs, log_profiles
from sunveil.search.exhaustive import blocks
from sunveil.site import Array
from sunveil.sky import Sky, sky_at, unit_power
from sunveil.weather import Weather

# Instants of mounts that are modelled at once: what is made on the way stays in the cache, and
# short records do not pay for many small pieces.
_TOGETHER, _FEWEST = 65_536, 32
Powers = NDArray[np.floating]


def mount_profiles(
    weather: Weather,
    clear: Weather,
    starts: NDArray[np.datetime64],
    mounts: Mounts,
    *,
    choices: Choices,
    ahead: float,
    haze: float,
    length: float,
) -> Logs:
    """Return the logarithm of every mount's mean profile over each interval.

    Parameters
    ----------
    weather, clear
        The weather that candidates are modelled under, and the clear sky over the same times.
    starts
        UTC start of every interval.
    mounts
        The mounts.
    choices
        Losses, albedo, heat and the floor of profiles.
    ahead
        How far the declared clock runs ahead. [minutes]
    haze
        How much hazier than the weather the sky is. [Linke turbidity]
    length
        Of an interval. [s]
    """
    # at one or two places of Gauss-Legendre, which count alike
    places, _ = np.polynomial.legendre.leggauss(2 if length > 900.0 else 1)
    early = np.timedelta64(round(ahead * 60.0), "s")
    skies = []
    for place in places:
        offset = np.timedelta64(round((place + 1.0) / 2.0 * length), "s")
        sky = sky_at(weather, starts - early + offset, clear)
        skies.append(sky.hazier(haze).single())
    out = np.empty((len(mounts), len(starts)), dtype=np.float32)
    first = 0
    for powers in _powers(skies, mounts, choices):
        out[first : first + len(powers)] = log_profiles(powers, choices.tolerance.floor)
        first += len(powers)
    return out


def _powers(skies: Sequence[Sky], mounts: Mounts, choices: Choices) -> Iterator[Powers]:
    """Yield what mounts give per kW, some of them at a time, in their order."""
    for _, part in blocks(mounts.singles, _together(skies)):
        yield _mean_power(skies, [part.normals] * len(skies), choices)
    if mounts.pairs is not None:
        yield from _pair_powers(skies, mounts.pairs, choices)
    if mounts.trackers is not None:
        yield from _tracker_powers(skies, mounts.trackers, choices)


def _together(skies: Sequence[Sky]) -> int:
    """Return how many mounts are modelled at once."""
    return max(_FEWEST, _TOGETHER // len(skies[0].sun))


def _mean_power(skies: Sequence[Sky], normals: Sequence[Array], choices: Choices) -> Powers:
    """Return the mean of what planes give under skies, with their normals under each."""
    mean, *others = (
        unit_power(sky, each, losses=choices.losses, albedo=choices.albedo, heat=choices.heat)
        for sky, each in zip(skies, normals, strict=True)
    )
    for power in others:
        mean += power
    mean /= len(skies)
    return mean


def _pair_powers(skies: Sequence[Sky], pairs: PlanePairs, choices: Choices) -> Iterator[Powers]:
    """Yield the sums of two planes each, which many pairs have in common."""
    both = np.stack([np.concatenate([pairs.first, pairs.second]), np.tile(pairs.tilt, 2)])
    (azimuth, tilt), place = np.unique(both, axis=1, return_inverse=True)
    first, second = place.reshape(2, -1)
    planes = np.concatenate(
        [
            _mean_power(skies, [part.normals] * len(skies), choices)
            for _, part in blocks(Grid(azimuth, tilt), _together(skies))
        ]
    )
    share, together = pairs.share[:, np.newaxis].astype(planes.dtype), _together(skies)
    for begin in range(0, len(pairs), together):
        some = slice(begin, begin + together)
        yield share[some] * planes[first[some]] + (1.0 - share[some]) * planes[second[some]]


def _tracker_powers(
    skies: Sequence[Sky], trackers: SingleAxisTrackers, choices: Choices
) -> Iterator[Powers]:
    suns = [sky.sun.astype(np.float64) for sky in skies]
    for number in range(len(trackers)):
        turned = [trackers.normals(number, sun)[np.newaxis] for sun in suns]
        yield _mean_power(skies, turned, choices)

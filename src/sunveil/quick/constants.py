"""What the compiled fit takes from the public assumptions, once per block."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import ParameterError
from sunveil.fit.shared import DIMMEST, HEAT_DEVIATION, MEASURED_HAZE, Clock, ErrorModel
from sunveil.site import Array, Losses, Mount
from sunveil.sky import MODIFIERS

# The light that enters through pvlib's glass, cosine times modifier, by powers of twice the cosine
# less one: right to 1e-5 of the beam, and a computation that a processor does sixteen at a time.
_ENTERING = np.array(
    [
        0.47300029,
        0.55907351,
        -0.032332312,
        -0.015148127,
        0.031715382,
        -0.030705271,
        0.021450007,
        -0.0051032896,
        0.00086317287,
        -0.0081100212,
        0.0053051077,
    ],
    dtype=np.float32,
)


@dataclass(frozen=True, slots=True)
class QuickOptions:
    """What the inference of a fleet assumes and does; see :class:`sunveil.infer.Options`.

    Parameters
    ----------
    clock
        ``repair``: test the clock and repair it first; ``given``: take it as declared.
    losses
        What stands between light and meter.
    albedo
        Fraction of global light that the ground sends back.
    mount
        How the modules are mounted, where somebody knows.
    """

    clock: Clock = Clock.REPAIR
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    mount: Mount = Mount.UNKNOWN

    def __post_init__(self) -> None:
        object.__setattr__(self, "clock", Clock(self.clock))
        if not 0.0 <= self.albedo <= 1.0:
            raise ParameterError(f"albedo must be between 0 and 1, and {self.albedo:g} is not")


class Constants(NamedTuple):
    """Numbers that the compiled loops need beside sky and readings.

    Parameters
    ----------
    entering
        Coefficients of the entering light in powers of ``2 cosine - 1``, lowest first.
    sky_modifier, ground_modifier
        Marion's modifiers at whole degrees of tilt.
    albedo, system, efficiency, gamma
        Ground, losses, inverter and temperature coefficient.
    relative, absolute, reach, cloud, together, dimmest
        The model of errors; see :class:`sunveil.fit.shared.ErrorModel`.
    haze_mean, haze_deviation, heat_mean, heat_deviation
        The priors.
    """

    entering: NDArray[np.float32]
    sky_modifier: Array
    ground_modifier: Array
    albedo: float
    system: float
    efficiency: float
    gamma: float
    relative: float
    absolute: float
    reach: float
    cloud: float
    together: float
    dimmest: float
    haze_mean: float
    haze_deviation: float
    heat_mean: float
    heat_deviation: float


def entering_light() -> NDArray[np.float32]:
    """Return the polynomial of ``cosine x modifier`` over [0, 1]."""
    return _ENTERING


@functools.lru_cache(maxsize=1)
def modifiers_by_degree() -> tuple[Array, Array]:
    """Return Marion's modifiers of sky and ground light at whole degrees of tilt.

    Curves through the known tilts, where straight lines would be off by up to 5e-4.
    """
    tilts, sky, ground = MODIFIERS.T
    degrees = np.arange(91.0)
    return _curve(tilts, sky, degrees), _curve(tilts, ground, degrees)


def _curve(x: Array, y: Array, at: Array) -> Array:
    """Return the smooth curve through points that turns only where they do.

    References
    ----------
    F. N. Fritsch and J. Butland, "A method for constructing local monotone piecewise cubic
    interpolants", SIAM Journal on Scientific and Statistical Computing 5, 1984.
    """
    step, rise = np.diff(x), np.diff(y) / np.diff(x)
    slope = np.zeros(len(x))
    # between equal directions a harmonic mean, else flat
    same = np.flatnonzero(rise[:-1] * rise[1:] > 0.0)
    before, after = 2.0 * step[1:] + step[:-1], step[1:] + 2.0 * step[:-1]
    mean = (before[same] + after[same]) / (before[same] / rise[same] + after[same] / rise[same + 1])
    slope[same + 1] = mean
    slope[0] = _end_slope(step[0], step[1], rise[0], rise[1])
    slope[-1] = _end_slope(step[-1], step[-2], rise[-1], rise[-2])
    k = np.clip(np.searchsorted(x, at, side="right") - 1, 0, len(step) - 1)
    t, h = (at - x[k]) / step[k], step[k]
    value = y[k] * (1.0 + 2.0 * t) * (1.0 - t) ** 2 + y[k + 1] * t * t * (3.0 - 2.0 * t)
    value += h * t * (1.0 - t) * (slope[k] * (1.0 - t) - slope[k + 1] * t)
    return np.asarray(value)


def _end_slope(near: float, far: float, first: float, second: float) -> float:
    """Return the slope at an end of a curve, from the steps and rises next to it."""
    slope = ((2.0 * near + far) * first - near * second) / (near + far)
    if slope * first <= 0.0:
        return 0.0
    # where the curve turns at once, no steeper than three times its first rise
    return 3.0 * first if first * second < 0.0 and abs(slope) > 3.0 * abs(first) else slope


def constants_of(options: QuickOptions, *, clear: bool) -> Constants:
    """Return the numbers of an inference under a clear sky, or under measured weather."""
    errors = ErrorModel(heat_prior=(options.mount.heat, HEAT_DEVIATION))
    haze = errors.haze_prior if clear else MEASURED_HAZE
    sky, ground = modifiers_by_degree()
    return Constants(
        entering=entering_light(),
        sky_modifier=sky,
        ground_modifier=ground,
        albedo=options.albedo,
        system=options.losses.system,
        efficiency=options.losses.inverter_efficiency,
        gamma=options.losses.gamma_pdc,
        relative=errors.relative,
        absolute=errors.absolute,
        reach=errors.reach,
        cloud=errors.cloud,
        together=errors.together,
        dimmest=DIMMEST,
        haze_mean=haze[0],
        haze_deviation=haze[1],
        heat_mean=errors.heat_prior[0],
        heat_deviation=errors.heat_prior[1],
    )

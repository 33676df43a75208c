"""What the compiled fit takes from the public assumptions, once per block."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pvlib
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from sunveil.errors import ParameterError
from sunveil.fit.refine import DIMMEST, HEAT_DEVIATION, ErrorModel
from sunveil.infer import MEASURED_HAZE, Clock
from sunveil.site import Losses, Mount
from sunveil.sky import MODIFIER_TILTS, diffuse_modifiers

# The light that enters through the glass, as a polynomial of the cosine of incidence: right to
# 1e-5 of the beam, and a computation that a processor does sixteen at a time.
_DEGREE = 10


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
        The model of errors; see :class:`sunveil.fit.refine.ErrorModel`.
    haze_mean, haze_deviation, heat_mean, heat_deviation
        The priors.
    """

    entering: NDArray[np.float32]
    sky_modifier: NDArray[np.float64]
    ground_modifier: NDArray[np.float64]
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


@functools.lru_cache(maxsize=1)
def entering_light() -> NDArray[np.float32]:
    """Return the polynomial of ``cosine x modifier`` over [0, 1]."""
    # denser where the sun grazes, since there the curve bends
    cosine = np.linspace(0.0, 1.0, 4001) ** 1.5
    light = cosine * pvlib.iam.physical(np.degrees(np.arccos(cosine)))
    found = np.polynomial.Polynomial.fit(cosine, light, _DEGREE, domain=[0.0, 1.0])
    return np.asarray(found.coef, dtype=np.float32)


@functools.lru_cache(maxsize=1)
def modifiers_by_degree() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Marion's modifiers of sky and ground light at whole degrees of tilt.

    Curves through the known tilts, where straight lines would be off by up to 5e-4.
    """
    sky, ground = diffuse_modifiers(MODIFIER_TILTS)
    degrees = np.arange(91.0)
    return (
        np.asarray(PchipInterpolator(MODIFIER_TILTS, sky)(degrees)),
        np.asarray(PchipInterpolator(MODIFIER_TILTS, ground)(degrees)),
    )


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

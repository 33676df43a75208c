"""What the glass of modules lets in: incidence-angle modifiers, by table."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from sunveil.site import Array


@functools.cache
def _modifier_table(kind: np.dtype[Any], size: int = 16384) -> Array:
    import pvlib

    cosines = (np.arange(size + 1) + 0.5) / size
    angles = np.degrees(np.arccos(np.minimum(cosines, 1.0)))
    return np.asarray(pvlib.iam.physical(angles), dtype=kind)


def direct_modifier(cosine: Array) -> Array:
    """Return the incidence-angle modifier of direct light, by table, for cosines in [0, 1].

    The table is so fine that its nearest entry is right to 2e-4 at grazing light, and the light
    that enters, which is what counts, to 2e-5 of the beam. It reaches one step beyond 1, where
    rounding may put a cosine.
    """
    table = _modifier_table(cosine.dtype)
    return np.asarray(table[(cosine * (len(table) - 1)).astype(np.int32)])


# Marion's modifiers of sky and ground light under pvlib's glass by tilt [degrees], dense where they
# bend. A flat plane sees no ground.
MODIFIERS = np.array(
    [
        (0.0, 0.944394240096, 0.0),
        (1.0, 0.944472645175, 0.0406836175513),
        (2.0, 0.944661390098, 0.103958509497),
        (3.5, 0.945124086621, 0.180798536381),
        (5.0, 0.945738834226, 0.246122678902),
        (7.5, 0.947002756038, 0.341501914026),
        (10.0, 0.948415146445, 0.421184719467),
        (15.0, 0.95130627186, 0.546630840117),
        (20.0, 0.953917829444, 0.63871401178),
        (25.0, 0.956057285777, 0.707519628673),
        (30.0, 0.957675389134, 0.75971430282),
        (40.0, 0.959430094964, 0.83107761269),
        (50.0, 0.959469456137, 0.875189661764),
        (60.0, 0.958033230309, 0.903567385413),
        (75.0, 0.953190181064, 0.929509453764),
        (90.0, 0.944404794632, 0.944404794632),
    ]
)


def diffuse_modifiers(surface_tilt: Array) -> tuple[Array, Array]:
    """Return Marion's modifiers of sky and ground light for planes of given tilts.

    References
    ----------
    B. Marion, "Numerical method for angle-of-incidence correction factors for diffuse radiation
    incident photovoltaic modules", Solar Energy 147, 2017. DOI 10.1016/j.solener.2017.03.027
    """
    tilts, sky, ground = MODIFIERS.T
    return np.interp(surface_tilt, tilts, sky), np.interp(surface_tilt, tilts, ground)

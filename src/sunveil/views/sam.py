"""An estimate as the inputs of SAM's PVWatts."""

from __future__ import annotations

from sunveil.checked import checked
from sunveil.estimate import Estimate
from sunveil.quantities import five_digits, hundredths
from sunveil.site import Mount

# PVWatts' numbers of how modules are mounted.
RACK, ROOF, TRACKER, BACKTRACKER = 0, 1, 2, 3
STANDARD = 0
# Of fixed modules, PVWatts takes the ratio and does nothing with it.
USUAL_GCR = 0.4
# What PVWatts accepts. [%]
LOSSES, EFFICIENCIES = (-5.0, 99.0), (90.0, 99.5)


@checked
def pvwatts_inputs(estimate: Estimate) -> list[dict[str, float | int]]:
    """Return the system design of an estimate in the names of SAM's module ``pvwattsv8``.

    PVWatts simulates one plane: of two planes there are two sets, whose outputs add up. Standard
    modules are assumed, which lose 0.37% of power per °C there. An inverter that shows no limit is
    taken to be as large as the array.

    Parameters
    ----------
    estimate
        The estimate.

    Returns
    -------
    list of dict
        For each plane: ``system_capacity`` [kW], ``module_type``, ``dc_ac_ratio``, ``array_type``,
        ``tilt`` and ``azimuth`` [degrees], ``gcr``, ``losses`` [%], ``inv_eff`` [%]; of a tracker
        ``rotlim`` [degrees] too, and ``azimuth`` is that of its axis. Numbers that PVWatts does not
        accept are brought to the nearest that it does.

    References
    ----------
    PVWatts version 8, https://developer.nrel.gov/docs/solar/pvwatts/v8/
    """
    losses = estimate.assumptions.losses
    shared: dict[str, float | int] = {
        "module_type": STANDARD,
        "dc_ac_ratio": _plain(hundredths(estimate.dc_ac_ratio), 1.0),
        "losses": _held(100.0 * losses.system, *LOSSES),
        "inv_eff": _held(100.0 * losses.inverter_efficiency, *EFFICIENCIES),
    }
    turned = estimate.tracker
    if turned is not None:
        tracker: dict[str, float | int] = {
            "system_capacity": _plain(five_digits(estimate.dc_capacity_kw)),
            "array_type": BACKTRACKER if turned.backtrack else TRACKER,
            "tilt": 0.0,
            "azimuth": _plain(hundredths(turned.axis_azimuth)),
            "gcr": _held(turned.gcr, 0.01, 0.99),
            "rotlim": _plain(hundredths(turned.max_angle)),
        }
        return [tracker | shared]
    kind = ROOF if estimate.assumptions.mount is Mount.ROOF else RACK
    return [
        {
            "system_capacity": _plain(five_digits(plane.dc_capacity_kw)),
            "array_type": kind,
            "tilt": _plain(hundredths(plane.surface_tilt)),
            "azimuth": _plain(hundredths(plane.surface_azimuth)),
            "gcr": USUAL_GCR,
            **shared,
        }
        for plane in estimate.planes
    ]


def _held(value: float, low: float, high: float) -> float:
    return round(min(max(value, low), high), 3)


def _plain(value: float | None, otherwise: float = 0.0) -> float:
    return otherwise if value is None else float(value)

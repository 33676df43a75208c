"""An estimate as a system of pvlib's, and the chain of models that runs it."""

from __future__ import annotations

from typing import Any

from pvlib.iam import marion_diffuse
from pvlib.location import Location
from pvlib.modelchain import ModelChain
from pvlib.pvsystem import Array, FixedMount, PVSystem, SingleAxisTrackerMount

from sunveil.checked import checked
from sunveil.errors import ParameterError
from sunveil.estimate import Estimate
from sunveil.site import SHELTER, Losses, Site, SkyModel

WATTS = 1000.0
# Faiman's constants on an open rack. [W/m²/K, W s/m³/K]
U0, U1 = 25.0, 6.84
# The tilt at which a tracker's modules stand on average, for the share of diffuse light that glass
# lets through: it hardly changes with it. [degrees]
TRACKER_TILT = 30.0
_PVWATTS_LOSSES = (
    "soiling",
    "shading",
    "snow",
    "mismatch",
    "wiring",
    "connections",
    "lid",
    "nameplate_rating",
    "age",
    "availability",
)


@checked
def make_pvsystem(estimate: Estimate) -> PVSystem:
    """Return an estimate as a system of pvlib's, by the assumptions that it was inferred under.

    Modules and inverter are PVWatts': powers are in W. Temperatures are Faiman's, with the heat
    that the fit found; wind is that at 10 m, of which half reaches the modules. An inverter that
    shows no limit is as large as the array.

    Parameters
    ----------
    estimate
        The estimate.

    Returns
    -------
    pvlib.pvsystem.PVSystem
        With one array for each plane, or one that follows the sun.
    """
    losses = estimate.assumptions.losses
    limit = estimate.ac_limit_kw
    # pvlib's inverter gives eta_inv_nom of its DC rating at most
    rating = (
        estimate.dc_capacity_kw if limit is None else limit / losses.inverter_efficiency
    ) * WATTS
    return PVSystem(
        arrays=_arrays(estimate),
        inverter_parameters={"pdc0": rating, "eta_inv_nom": losses.inverter_efficiency},
        losses_parameters=_losses(losses),
        name=estimate.system_id,
    )


@checked
def make_modelchain(estimate: Estimate, site: Any = None) -> ModelChain:
    """Return pvlib's chain of models for an estimate, ready for ``run_model(weather)``.

    Light is carried to the planes by Perez' model as the inference does it, and the glass lets as
    much of it through. The haze that the fit found is no part of it: the weather brings its own.

    Parameters
    ----------
    estimate
        The estimate.
    site
        Where the system is, as a :class:`~sunveil.Site` or pvlib's ``Location``; where it was
        inferred, when left out.

    Returns
    -------
    pvlib.modelchain.ModelChain
        Its ``results.ac`` is in W.
    """
    if site is None and estimate.source is None:
        raise ParameterError(
            "an estimate that was read back does not know its place: give site= as a Site or as"
            " pvlib's Location"
        )
    place = estimate.source.site if site is None and estimate.source else Site.of(site)
    location = Location(
        place.latitude, place.longitude, tz="UTC", altitude=place.height, name=estimate.system_id
    )
    return ModelChain(
        make_pvsystem(estimate),
        location,
        transposition_model=SkyModel.PEREZ.value,
        aoi_model="physical",
        spectral_model="no_loss",
        temperature_model="faiman",
        dc_model="pvwatts",
        ac_model="pvwatts",
        losses_model="pvwatts",
        name=estimate.system_id,
    )


def _arrays(estimate: Estimate) -> list[Array]:
    turned = estimate.tracker
    if turned is not None:
        mount = SingleAxisTrackerMount(
            axis_tilt=0.0,
            axis_azimuth=turned.axis_azimuth,
            max_angle=turned.max_angle,
            backtrack=turned.backtrack,
            gcr=turned.gcr,
        )
        return [_array(estimate, mount, estimate.dc_capacity_kw, tilt=TRACKER_TILT, name="tracker")]
    return [
        _array(
            estimate,
            FixedMount(surface_tilt=plane.surface_tilt, surface_azimuth=plane.surface_azimuth),
            plane.dc_capacity_kw,
            tilt=plane.surface_tilt,
            name=f"plane {number}",
        )
        for number, plane in enumerate(estimate.planes, start=1)
    ]


def _array(estimate: Estimate, mount: Any, capacity_kw: float, *, tilt: float, name: str) -> Array:
    """Return one array of modules.

    Parameters
    ----------
    estimate
        The estimate.
    mount
        What the modules stand on.
    capacity_kw
        Their DC capacity. [kW]
    tilt
        How they are tilted. [degrees]
    name
        The name of the array.
    """
    assumed = estimate.assumptions
    heat = assumed.mount.heat if estimate.heat is None else estimate.heat
    return Array(
        mount=mount,
        albedo=assumed.albedo,
        module_parameters={
            "pdc0": capacity_kw * WATTS,
            "gamma_pdc": assumed.losses.gamma_pdc,
            # the share of diffuse light that the glass lets through, which pvlib leaves whole
            "FD": float(marion_diffuse("physical", tilt)["sky"]),
        },
        temperature_model_parameters={"u0": U0 / heat, "u1": U1 * SHELTER / heat},
        name=name,
    )


def _losses(losses: Losses) -> dict[str, float]:
    """Return the system losses as PVWatts': all in one, since their parts multiply to it. [%]"""
    return dict.fromkeys(_PVWATTS_LOSSES, 0.0) | {"nameplate_rating": 100.0 * losses.system}

"""HTML, pvlib PVSystem and ModelChain, SAM inputs."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from pvlib.iam import marion_diffuse
from pvlib.location import Location
from pvlib.modelchain import ModelChain
from pvlib.pvsystem import Array, FixedMount, PVSystem, SingleAxisTrackerMount

from sunveil.errors import ParameterError
from sunveil.estimates.estimate_text import show_azimuth, show_capacity, show_orientation, show_tilt
from sunveil.estimates.flags_and_quality import FLAG_MEANINGS, Flag, Quality
from sunveil.estimates.intervals_and_rounding import FIVE_DIGITS, HUNDREDTHS
from sunveil.site import SHELTER, Losses, Mount, Site, SkyModel

if TYPE_CHECKING:
    from sunveil.estimates.estimates_table import Estimate

# Marks of quality, distinguished by form, not by colour alone.
_MARKS = {Quality.GOOD: "●", Quality.FAIR: "◐", Quality.POOR: "○"}

# What the rows say already.
_IN_ROWS = (Flag.TWO_PLANES, Flag.TRACKER)

_CELL = "text-align:left;padding:.15em .9em .15em 0;vertical-align:top;background:none;border:0"


def estimate_html(estimate: Estimate) -> str:
    """Return an estimate as a piece of HTML that fits light and dark pages; no reading is in it."""
    rows = "".join(
        f"<tr style='background:none'><th scope='row' style='{_CELL};font-weight:600;"
        f"white-space:nowrap'>{name}</th><td style='{_CELL}'>{words}</td></tr>"
        for name, words in _rows(estimate)
    )
    name = escape(estimate.system_id)
    return (
        "<table style='border-collapse:collapse;border:0;margin:0;color:inherit;font-size:14px;"
        "line-height:1.4;max-width:44em'>"
        f"<caption style='text-align:left;font-weight:600;font-size:1.1em;padding:0 0 .3em;"
        f"caption-side:top;color:inherit'>{name}</caption><tbody>{rows}</tbody></table>"
    )


def _rows(estimate: Estimate) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    if len(estimate.planes) > 1:
        rows += [
            (
                f"Plane {number}",
                f"azimuth {show_azimuth(plane)}, tilt {show_tilt(plane)},"
                f" {show_capacity(plane)} DC",
            )
            for number, plane in enumerate(estimate.planes, start=1)
        ]
    else:
        names = ("Azimuth", "Tilt") if estimate.tracker is None else ("Tracker", "Turns")
        rows += list(zip(names, show_orientation(estimate), strict=True))
    rows.append(("DC capacity", show_capacity(estimate)))
    if estimate.ac_limit_kw is not None:
        rows.append(("AC limit", f"{estimate.ac_limit_kw:.3g} kW"))
    quality = estimate.quality
    rows.append(
        ("Quality", f"{_MARKS[quality]} {quality.value}: {escape(estimate.quality_reason)}")
    )
    flags = [flag for flag in estimate.flags if flag not in _IN_ROWS]
    if flags:
        shown = "<br>".join(
            f"{flag.value.replace('_', ' ')}: {escape(FLAG_MEANINGS[flag])}" for flag in flags
        )
        rows.append(("Flags", shown))
    rows.append(("", "<small style='opacity:.75'>In brackets: 90% intervals.</small>"))
    return rows


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


def make_pvsystem(estimate: Estimate) -> PVSystem:
    """Return an estimate as a system of pvlib's, by the assumptions that it was inferred under."""
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


def make_modelchain(estimate: Estimate, site: Any = None) -> ModelChain:
    """Return pvlib's chain of models for an estimate, ready for ``run_model(weather)``."""
    place = _place(estimate) if site is None else Site.of(site)
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


def _place(estimate: Estimate) -> Site:
    """Return where a system was inferred."""
    if estimate.source is not None:
        return estimate.source.site
    if estimate.latitude is None or estimate.longitude is None:
        raise ParameterError(
            "an estimate that was read back does not know its place: give site= as a Site or as"
            " pvlib's Location"
        )
    return Site(estimate.latitude, estimate.longitude)


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
    """Return one array of modules."""
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


# PVWatts' numbers of how modules are mounted.
RACK, ROOF, TRACKER, BACKTRACKER = 0, 1, 2, 3

STANDARD = 0

# Of fixed modules, PVWatts takes the ratio and does nothing with it.
USUAL_GCR = 0.4

# What PVWatts accepts. [%]
LOSSES, EFFICIENCIES = (-5.0, 99.0), (90.0, 99.5)


def pvwatts_inputs(estimate: Estimate) -> list[dict[str, float | int]]:
    """Return the system design of an estimate in the names of SAM's module ``pvwattsv8``."""
    losses = estimate.assumptions.losses
    shared: dict[str, float | int] = {
        "module_type": STANDARD,
        "dc_ac_ratio": float(HUNDREDTHS(estimate.dc_ac_ratio or 1.0)),
        "losses": _held(100.0 * losses.system, *LOSSES),
        "inv_eff": _held(100.0 * losses.inverter_efficiency, *EFFICIENCIES),
    }
    turned = estimate.tracker
    if turned is not None:
        tracker: dict[str, float | int] = {
            "system_capacity": float(FIVE_DIGITS(estimate.dc_capacity_kw)),
            "array_type": BACKTRACKER if turned.backtrack else TRACKER,
            "tilt": 0.0,
            "azimuth": float(HUNDREDTHS(turned.axis_azimuth)),
            "gcr": _held(turned.gcr, 0.01, 0.99),
            "rotlim": float(HUNDREDTHS(turned.max_angle)),
        }
        return [tracker | shared]
    kind = ROOF if estimate.assumptions.mount is Mount.ROOF else RACK
    return [
        {
            "system_capacity": float(FIVE_DIGITS(plane.dc_capacity_kw)),
            "array_type": kind,
            "tilt": float(HUNDREDTHS(plane.surface_tilt)),
            "azimuth": float(HUNDREDTHS(plane.surface_azimuth)),
            "gcr": USUAL_GCR,
            **shared,
        }
        for plane in estimate.planes
    ]


def _held(value: float, low: float, high: float) -> float:
    return round(min(max(value, low), high), 3)

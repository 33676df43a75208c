"""What a run over a fleet assumes and does, apart from where its readings are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sunveil import __version__
from sunveil.arguments import check_fields, shown
from sunveil.cell import SIZE
from sunveil.errors import ParameterError
from sunveil.meters.options import MeterOptions
from sunveil.site import Losses, Mount

SKIES = ("clearsky", "nsrdb", "pvgis")
# The method that estimates are made by. It changes whenever the same readings may give another
# estimate, so that a run which one method began is never ended by another.
ENGINE = "6"
# What of Sunveil itself decides a result; workers on other machines must have the same.
IDENTITY = (__version__, ENGINE)


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """What decides the estimates of a fleet, beside its readings.

    Parameters
    ----------
    meters
        How to read the meters; a time zone that is declared here goes before those that the table
        of systems names.
    clock
        ``"repair"`` a clock that does not fit the sun, or take it as ``"given"``.
    losses
        What stands between light and meter.
    albedo
        Share of light that the ground sends back.
    mount
        How the modules are mounted.
    force
        Whether to infer what does not look like generation at its place all the same, flagged.
    weather
        ``"clearsky"``, ``"nsrdb"`` or ``"pvgis"``.
    cell
        Width of a weather cell; systems of one cell share its sky. [degrees]
    part_rows
        About how many readings are worked on at a time: a year of hours of some 250 systems. A
        file is not cut in two below four times as many.
    """

    meters: MeterOptions = field(default_factory=MeterOptions)
    clock: str = "repair"
    losses: Losses = field(default_factory=Losses)
    albedo: float = 0.2
    mount: Mount = Mount.UNKNOWN
    force: bool = False
    weather: str = "clearsky"
    cell: float = SIZE
    part_rows: int = 2_500_000

    def __post_init__(self) -> None:
        check_fields(self)
        if self.weather not in SKIES:
            raise ParameterError(
                f"the weather of a fleet is one of {', '.join(SKIES)}, each at every system's own"
                f" place, and {shown(self.weather)} is not"
            )
        if self.clock not in ("repair", "given"):
            raise ParameterError(
                f"clock must be one of repair, given, and {shown(self.clock)} is not"
            )
        if not 0.0 <= self.albedo <= 1.0:
            raise ParameterError(f"albedo must be between 0 and 1, and {self.albedo:g} is not")
        if not 0.01 <= self.cell <= 1.0:
            raise ParameterError(f"cell must be 0.01 to 1 degrees wide, and {self.cell:g} is not")
        if self.part_rows < 1:
            raise ParameterError("a part has at least one reading")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON types; keys of servers are never among them."""
        meters = {
            name: None if value is None else value if isinstance(value, bool) else str(value)
            for name, value in (
                (name, getattr(self.meters, name)) for name in self.meters.__slots__
            )
        }
        return {
            "meters": meters,
            "clock": self.clock,
            "system_losses": self.losses.system,
            "inverter_efficiency": self.losses.inverter_efficiency,
            "gamma_pdc_per_degC": self.losses.gamma_pdc,
            "albedo": self.albedo,
            "mount": self.mount.value,
            "force": self.force,
            "weather": self.weather,
            "cell_degrees": self.cell,
            "part_rows": self.part_rows,
        }

"""Simulated datasets as cells of text: what is private, with public names and columns around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sunveil.simulate import SystemTruth, simulate_power, simulate_sky
from sunveil.site import Plane, Site

# Near the meridian of Greenwich, so that a record's first hours are a night of zeros.
SITE = Site(39.5, -0.4, 20.0)
YEAR = 2019
FIRST, HOURS_A_DAY = "2019-06-01", 24
VALUES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")


@dataclass(frozen=True, slots=True)
class Truth:
    """What a simulated system is.

    Parameters
    ----------
    surface_azimuth, surface_tilt
        Its plane. [degrees]
    dc_capacity_kw
        Its capacity. [kW]
    """

    surface_azimuth: float
    surface_tilt: float
    dc_capacity_kw: float


# Far apart, so that a release tells which is which; none is where a record of zeros ends up.
THREE = (Truth(180.0, 30.0, 6.0), Truth(92.0, 24.0, 12.0), Truth(268.0, 40.0, 3.0))
# Away from a record of zeros on every axis, for releases that are so noisy that only many tell.
CROWDED = Truth(75.0, 50.0, 15.0)


@dataclass(frozen=True, slots=True)
class PrivateCells:
    """A dataset: private cells by system; which systems and columns there are is public.

    Parameters
    ----------
    by_system
        The cells of each system, as bytes of a file; all systems have as many.
    columns
        What each cell stands for: the stamp of a reading, or the column of an estimate.
    truths
        What each system is, in the order of their names.
    """

    by_system: Mapping[str, tuple[bytes, ...]]
    columns: tuple[str, ...]
    truths: tuple[Truth, ...] = ()

    def replaced(self, system: str, places: Sequence[int], cells: Sequence[bytes]) -> PrivateCells:
        """Return the neighbour in which some cells of one system are others.

        Parameters
        ----------
        system
            Whose.
        places
            Which of its cells.
        cells
            What stands there instead.
        """
        own = list(self.by_system[system])
        for place, cell in zip(places, cells, strict=True):
            own[place] = cell
        return replace(self, by_system={**self.by_system, system: tuple(own)})


def meter_cells(
    truths: Sequence[Truth] = THREE,
    *,
    days: int,
    scale: float = 1.0,
    digits: int = 3,
    decimal: str = ".",
    base_load_kw: float = 0.0,
) -> PrivateCells:
    """Return hourly readings of systems under a clear sky.

    Parameters
    ----------
    truths
        What they are; one that is there twice has the same readings.
    days
        How many days. [days]
    scale
        What one kW is in the file's unit.
    digits
        Decimals that are written.
    decimal
        The mark before them.
    base_load_kw
        What a household takes at least, whose load a net meter has taken off; 0 for none. [kW]
    """
    sky = simulate_sky(SITE, YEAR, seed=1, step_minutes=30, clear_days=1.0)
    written: dict[Truth, tuple[bytes, ...]] = {}
    for truth in dict.fromkeys(truths):
        plane = Plane(truth.surface_azimuth, truth.surface_tilt)
        system = SystemTruth("audit", SITE, ((plane, 1.0),), truth.dc_capacity_kw)
        power = simulate_power(system, sky, seed=1, noise=0.0)[FIRST:].iloc[: days * HOURS_A_DAY]
        loads = base_load_kw * np.exp(np.random.default_rng(1).exponential(0.7, len(power)))
        texts = [f"{scale * each:.{digits}f}" for each in power - loads]
        written[truth] = tuple(text.replace(".", decimal).encode() for text in texts)
    stamps = tuple(f"{each:%Y-%m-%d %H:%M}" for each in power.index)
    named = {f"home{number:02d}": written[truth] for number, truth in enumerate(truths)}
    return PrivateCells(named, stamps, tuple(truths))


def estimate_cells(systems: int, *, whole: int) -> PrivateCells:
    """Return a fleet's table of estimates, the first capacities in whole kW, as many are written.

    Parameters
    ----------
    systems
        How many rows.
    whole
        How many of the first have whole capacities.
    """
    rng = np.random.default_rng(1)
    rows = {}
    for number in range(systems):
        azimuth, tilt, capacity = rng.uniform(90, 270), rng.uniform(5, 45), rng.integers(3, 12)
        size = f"{capacity}" if number < whole else f"{capacity + 0.45:.2f}"
        rows[f"home{number:05d}"] = (
            f"{azimuth:.1f}".encode(),
            f"{tilt:.1f}".encode(),
            size.encode(),
        )
    return PrivateCells(rows, VALUES)

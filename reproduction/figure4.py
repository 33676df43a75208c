"""Nameplate capacity against daily peak power in a simulated California fleet: paper fig. 4."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import gaussian_kde, spearmanr

from reproduction.artefact import Artefact, Statement
from reproduction.subject import CHINO, SEED, YEAR
from sunveil.plots.style import INK, SMALL, dress, loose_figure, name_axes
from sunveil.simulate import City, SystemTruth, draw_systems, simulate_power, simulate_sky
from sunveil.simulate.fault_rates import US
from sunveil.site import Array, Site

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SYSTEMS = 240
SKY_MINUTES = 30
LARGEST_HOME_KW = US.largest_home_kw
ZONE = "America/Los_Angeles"
PLACES = (
    City("Chino", CHINO, ZONE, US),
    City("San Diego", Site(32.72, -117.16, 19.0), ZONE, US),
    City("Fresno", Site(36.74, -119.78, 94.0), ZONE, US),
    City("San Jose", Site(37.34, -121.89, 25.0), ZONE, US),
    City("Sacramento", Site(38.58, -121.49, 9.0), ZONE, US),
)
# Four that colour-blind readers tell apart, light to dark with the peak.
COLOURS = ("#E69F00", "#009E73", "#0072B2", "#3B1C5A")
QUARTERS = ("lowest quarter", "second quarter", "third quarter", "highest quarter")
# Standard time: what a day is in California's winter.
WATTS = 1000.0
# Every so many of the daily peaks are enough for a density.
DENSITY_STEP = 11
_TO_LOCAL = pd.Timedelta(hours=-8)


@dataclass(frozen=True, slots=True, eq=False)
class HomeFleet:
    """Simulated homes with their capacities and their daily peaks.

    Parameters
    ----------
    city
        Name of the place of each system.
    capacity
        DC nameplate capacity. [kW]
    peak
        Median over the days of the year of the day's highest hourly power. [kW]
    low, high
        The 10th and the 90th percentile of the same. [kW]
    days
        The peak of every day, shape (systems, days). [kW]
    """

    city: tuple[str, ...]
    capacity: Array
    peak: Array
    low: Array
    high: Array
    days: Array

    @property
    def quarter(self) -> NDArray[np.int64]:
        """Which quarter of the daily peaks each system is in, 0 to 3."""
        return _quarters(self.peak)

    @property
    def agreeing(self) -> float:
        """Share of systems in the same quarter by capacity as by daily peak."""
        return float(np.mean(_quarters(self.capacity) == self.quarter))

    @property
    def rank_correlation(self) -> float:
        """Spearman's correlation of capacity and daily peak."""
        return float(spearmanr(self.capacity, self.peak).statistic)


def simulate_homes(systems: int = SYSTEMS, *, seed: int = SEED) -> HomeFleet:
    """Return a fleet of homes in five cities of California over 2016, one sky per city.

    Planes and capacities are drawn like those of a public list of US systems, see
    :mod:`sunveil.simulate`; readings are hourly with 2% noise.
    """
    homes = _draw_homes(systems, seed=seed)
    peaks: dict[int, Array] = {}
    for place, city in enumerate(PLACES):
        sky = simulate_sky(city.site, YEAR, seed=seed + place, step_minutes=SKY_MINUTES)
        for number in range(place, systems, len(PLACES)):
            truth = replace(homes[number], site=city.site, timezone=city.timezone)
            peaks[number] = daily_peaks(simulate_power(truth, sky, seed=seed + number))
    low, peak, high = np.array(
        [np.quantile(peaks[number], [0.1, 0.5, 0.9]) for number in range(systems)]
    ).T
    return HomeFleet(
        city=tuple(PLACES[number % len(PLACES)].name for number in range(systems)),
        capacity=np.array([home.dc_capacity_kw for home in homes]),
        peak=peak,
        low=low,
        high=high,
        days=np.array([peaks[number] for number in range(systems)]),
    )


def daily_peaks(power: pd.Series[float]) -> Array:
    """Return the highest reading of every whole day of California's. [kW]"""
    days = (pd.DatetimeIndex(power.index) + _TO_LOCAL).floor("D")
    by_day = power.groupby(days)
    whole = by_day.size() == 24
    return np.asarray(by_day.max()[whole], dtype=np.float64)


def capacity_and_peak(fleet: HomeFleet) -> Artefact:
    """Draw capacity against daily peak power, with its four quarters: paper fig. 4."""
    figure = loose_figure(6.8, 5.6)
    joint, above, beside = _panels(figure, fleet)
    for quarter, (colour, words) in enumerate(zip(COLOURS, QUARTERS, strict=True)):
        of = fleet.quarter == quarter
        x, y = fleet.capacity[of], WATTS * fleet.peak[of]
        days = WATTS * fleet.days[of]
        joint.plot(
            np.repeat(x, days.shape[1]),
            days.ravel(),
            linestyle="none",
            marker=".",
            markersize=1.6,
            markeredgewidth=0.0,
            color=colour,
            alpha=0.16,
            rasterized=True,
            zorder=1.2,
        )
        joint.scatter(
            x, y, s=16, color=colour, edgecolor="white", linewidth=0.4, label=words, zorder=2.2
        )
        _densities(above, beside, x, days.ravel()[::DENSITY_STEP], colour=colour)
    above.set_ylim(bottom=0.0)
    beside.set_xlim(left=0.0)
    joint.legend(
        loc="upper left",
        frameon=False,
        fontsize=SMALL,
        title="Daily peak",
        title_fontsize=SMALL,
        labelcolor=INK,
        alignment="left",
    )
    return Artefact(
        name="4-capacity-and-daily-peak",
        title="Nameplate capacity against daily peak power (paper fig. 4)",
        words=(
            f"{len(fleet.peak)} simulated homes in five cities of California, {YEAR}: the highest"
            f" hourly power of all their {fleet.days.size:,} days as small points, a system's"
            " median as a dot. Colours are the four quarters of the median daily peak; the curves"
            " above are kernel density estimates of capacity within each, those at the right of the"
            " daily peaks."
        ),
        figure=figure,
        data={
            "year": YEAR,
            "units": {"dc_capacity_kw": "kW", "daily_peak_kw": "kW"},
            "quartiles_of_daily_peak_kw": _places(np.quantile(fleet.peak, [0.25, 0.5, 0.75])),
            "rank_correlation": round(fleet.rank_correlation, 4),
            "share_in_the_same_quarter": round(fleet.agreeing, 4),
            "city": list(fleet.city),
            "dc_capacity_kw": _places(fleet.capacity),
            "daily_peak_kw": _places(fleet.peak),
            "daily_peak_kw_10th_percentile": _places(fleet.low),
            "daily_peak_kw_90th_percentile": _places(fleet.high),
            "quarter": [int(quarter) + 1 for quarter in fleet.quarter],
        },
    )


def capacity_statement(fleet: HomeFleet) -> Statement:
    """Hold the fleet against the paper's reading of its figure."""
    correlation, agreeing = fleet.rank_correlation, fleet.agreeing
    return Statement(
        paper="Generation profiles are sensitive to nameplate capacity (fig. 4).",
        measured=(
            f"Over {len(fleet.peak)} simulated homes, capacity and daily peak have a rank"
            f" correlation of {correlation:.2f}, and {100.0 * agreeing:.0f}% of the homes are in"
            " the same quarter by one as by the other; chance gives 25%."
        ),
        holds=correlation > 0.5 and agreeing > 0.5,
        why=(
            "It could not but hold: power is capacity times what light, heat, plane and inverter"
            " leave of it, and these differ less from home to home than capacity does."
        ),
        section="II-B",
        numbers={"rank_correlation": correlation, "share_in_the_same_quarter": agreeing},
    )


def _draw_homes(systems: int, *, seed: int) -> list[SystemTruth]:
    """Return systems of US homes; the draw gives European and commercial ones too."""
    drawn = 2 * systems
    while True:
        homes = [
            truth
            for truth in draw_systems(drawn, seed=seed)
            if truth.timezone.startswith("America/") and truth.dc_capacity_kw <= LARGEST_HOME_KW
        ]
        if len(homes) >= systems:
            return homes[:systems]
        drawn *= 2


def _quarters(values: Array) -> NDArray[np.int64]:
    return np.searchsorted(np.quantile(values, [0.25, 0.5, 0.75]), values, side="left").astype(
        np.int64
    )


def _panels(figure: Figure, fleet: HomeFleet) -> tuple[Axes, Axes, Axes]:
    """Return the joint panel and the two beside it, with room for all systems."""
    (above, corner), (joint, beside) = figure.subplots(
        2, 2, width_ratios=(4.0, 1.0), height_ratios=(1.0, 4.0)
    )
    corner.set_axis_off()
    joint.set_xlim(0.0, 1.05 * float(fleet.capacity.max()))
    joint.set_ylim(0.0, 1.05 * WATTS * float(fleet.days.max()))
    dress(joint)
    name_axes(joint, x="Nameplate capacity, DC [kW]", y="Daily peak power, AC [W]")
    for ax in (above, beside):
        ax.set_xticks([])
        ax.set_yticks([])
        for spine in ax.spines.values():
            spine.set_visible(False)
    above.set_xlim(joint.get_xlim())
    beside.set_ylim(joint.get_ylim())
    return joint, above, beside


def _densities(above: Axes, beside: Axes, x: Array, y: Array, *, colour: str) -> None:
    """Draw the kernel density estimates of a quarter's capacities and of its peaks."""
    across = np.linspace(*above.get_xlim(), 300)
    dense = gaussian_kde(x)(across)
    above.fill_between(across, dense, color=colour, alpha=0.25, linewidth=0.0)
    above.plot(across, dense, color=colour, linewidth=1.4)
    along = np.linspace(*beside.get_ylim(), 300)
    dense = gaussian_kde(y)(along)
    beside.fill_betweenx(along, dense, color=colour, alpha=0.25, linewidth=0.0)
    beside.plot(dense, along, color=colour, linewidth=1.4)


def _places(values: Array) -> list[float]:
    return [float(value) for value in np.round(values, 4)]

"""How often systems of a fleet have second planes, shade, dirt, snow, wrong clocks and outages.

The shares of trackers and of records that are not a whole year are those of OEDI's PVDAQ list of
1,862 systems, which says:

- 8 of the 1,621 systems whose mount it knows are trackers (0.5%), and 33 of all turned out to be
  mounted otherwise than the list says (1.8%);
- 143 have less than a year of readings (7.7%);
- 13 clip so much that its check of quality says so (0.7%);
- 100 of 1,797 capacities are above 20 kW (5.6%), and none of the UK list's 1,274: from 20 kW on
  stand the commercial systems of :mod:`~sunveil.simulate.systems`, 4.5% in the US.

It says nothing of wrong clocks, shade, second planes, noise or outages: these are chosen, not
counted, and so is the share of oversized systems, since not each of them clips so much. The kinds
of wrong clocks are those met in public series: a declared offset that is an hour off, daylight
saving left in, stamps at the middle or the end of the interval, and a clock that steps.

What makes real records hard beyond this has its numbers from:

- age: a median loss of 0.72% a year in NREL's PV Fleet Performance Data Initiative
  (NREL/TP-5K00-76687, 2020);
- dirt: 0.15% a day without rain, at most 30%, in California and the Southwest (Kimber et al. 2006,
  doi:10.1109/WCPEC.2006.279690, as pvlib has it), which a tenth of the systems here exceed;
- snow: how it slides by tilt, light and warmth is Marion's (Marion et al. 2013, Solar
  Energy 97, 112-121, as pvlib has it); how often it falls is chosen so that systems
  in Vermont's cold lose some weeks a year, as those of PVDAQ there do;
- skylines: as many and as high as make a mean loss of 3%, which PVWatts takes for shading
  (Dobos 2014, NREL/TP-6A20-62641);
- turbidity: the maps err by 0.73 units (Remund et al. 2003), a fifth of a usual sky's, here half of
  its variance by place and half by season;
- temperature: usual at the place, but for summers and winters that differ by 2.9 K from one
  another more or less, as weather files do from it (``benchmarks.climate``);
- winter smog: the plants of PVOD in Hebei (doi:10.11922/sciencedb.01094) give half as much per
  clear sky in winter as in summer; how many places have it is chosen;
- sentinels, negative stretches and clocks that step: half as often as among eighteen public,
  labelled series (2, 1 and 1), which are partly known for their faults. Dead strings, stuck
  readings and months of a wrong scale are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from sunveil.arguments import check_fields
from sunveil.errors import ParameterError


class SimulatedClock(StrEnum):
    """How a system's clock stands to the UTC that its file declares."""

    DECLARED = "declared"
    HOUR_FAST = "hour_fast"
    HOUR_SLOW = "hour_slow"
    HALF_HOUR_FAST = "half_hour_fast"
    HALF_HOUR_SLOW = "half_hour_slow"
    DAYLIGHT_SAVING = "daylight_saving"
    LABEL_END = "label_end"
    LABEL_MIDDLE = "label_middle"


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often and how badly the systems of a simulated fleet go wrong.

    Parameters
    ----------
    noise, noise_spread
        Median and lognormal spread of the relative error of single readings.
    loss_spread
        Standard deviation of system losses about the nominal ones of
        :class:`~sunveil.site.Losses`.
    hour_fast, hour_slow, half_hour_fast, half_hour_slow
        Shares of clocks that are ahead or behind.
    daylight_saving
        Share of clocks that save daylight though the file declares UTC; where the place does not
        save daylight, they are right.
    label_end, label_middle
        Shares of systems whose stamps name the end or the middle of the interval though the file
        declares its start.
    clock_steps
        Share of clocks that step by an hour on one day of the year.
    oversized
        Share of systems with 1.4 to 1.8 times as much DC capacity as their inverter takes.
    shaded
        Share of systems with an obstacle 20 to 110 degrees wide and 10 to 40 degrees high on the
        sun's side.
    east_west, hipped
        Shares of systems on two planes: both sides of a ridge, or two sides around a corner.
    trackers
        Share of systems that follow the sun; nine in ten about one axis.
    late, short
        Shares of records that begin within the year, or last 4 to 40 days only.
    hour_gaps, day_gaps, week_gaps
        Yearly number of gaps without readings of 1 to 12 hours, 1 to 7 days and 1 to 8 weeks.
    down_days, down_weeks
        Yearly number of times when the meter says zero for 1 to 5 days, or 1 to 6 weeks.
    snowfall
        Chance that a dull day below freezing covers the modules, from where snow slides and melts
        off, from a flat system later than from a steep one.
    soiling, soiling_spread
        Median and lognormal spread of the loss of DC power by each day without rain.
    dry_seasons
        Share of cells where no rain falls for four to six months about midsummer.
    degradation, degradation_spread
        Median and standard deviation of the yearly loss of DC power.
    oldest_years
        Systems are of any age up to this. [years]
    skylines
        Share of systems with hills, trees and houses around them.
    turbidity_season
        Lognormal spread of how the turbidity of winter and summer differs from the maps.
    climate
        Standard deviation of how a place's summers are warmer, and its winters colder, than is
        usual there; 0 for a climate by latitude. [K]
    smog
        Share of cells where haze takes about half of the light in winter.
    dead_strings, negative, stuck, wrong_scale
        Shares of systems that in the year lose a string for 2 to 10 months; read below zero by day
        for 3 to 40 days; repeat one reading for up to 10 days; are written in a wrong scale
        for a month.
    sentinels
        Share of systems whose missing readings are written as -999 or -9999.
    uneven
        Shape of the gamma distribution of how prone to gaps a system is; small is uneven.
    """

    noise: float = 0.02
    noise_spread: float = 0.4
    loss_spread: float = 0.03
    hour_fast: float = 0.02
    hour_slow: float = 0.02
    half_hour_fast: float = 0.01
    half_hour_slow: float = 0.01
    daylight_saving: float = 0.04
    label_end: float = 0.02
    label_middle: float = 0.02
    clock_steps: float = 0.03
    oversized: float = 0.02
    shaded: float = 0.12
    east_west: float = 0.03
    hipped: float = 0.03
    trackers: float = 0.005
    late: float = 0.07
    short: float = 0.007
    hour_gaps: float = 4.0
    day_gaps: float = 1.0
    week_gaps: float = 0.06
    down_days: float = 0.5
    down_weeks: float = 0.03
    snowfall: float = 0.3
    uneven: float = 0.5
    soiling: float = 0.0005
    soiling_spread: float = 0.86
    dry_seasons: float = 0.3
    degradation: float = 0.0072
    degradation_spread: float = 0.004
    oldest_years: float = 10.0
    skylines: float = 0.65
    turbidity_season: float = 0.15
    climate: float = 1.5
    smog: float = 0.04
    dead_strings: float = 0.03
    negative: float = 0.03
    stuck: float = 0.03
    wrong_scale: float = 0.01
    sentinels: float = 0.05

    def __post_init__(self) -> None:
        check_fields(self)

    def with_mix(
        self, *, two_planes: float | None = None, trackers: float | None = None
    ) -> FaultRates:
        """Return the same rates for another mix of systems.

        Parameters
        ----------
        two_planes
            Share of systems on two planes, half of them about a ridge and half about a corner; as
            it is when left out.
        trackers
            Share of systems that follow the sun; as it is when left out.
        """
        ridge, corner = (
            (self.east_west, self.hipped) if two_planes is None else (two_planes / 2,) * 2
        )
        turning = self.trackers if trackers is None else trackers
        if min(ridge, corner, turning) < 0.0 or ridge + corner > 1.0 or turning > 1.0:
            raise ParameterError("shares of two planes and of trackers must be from 0 to 1")
        return replace(self, east_west=ridge, hipped=corner, trackers=turning)

    @property
    def clocks(self) -> dict[SimulatedClock, float]:
        """The share of each clock; they add up to 1."""
        wrong = {
            SimulatedClock.HOUR_FAST: self.hour_fast,
            SimulatedClock.HOUR_SLOW: self.hour_slow,
            SimulatedClock.HALF_HOUR_FAST: self.half_hour_fast,
            SimulatedClock.HALF_HOUR_SLOW: self.half_hour_slow,
            SimulatedClock.DAYLIGHT_SAVING: self.daylight_saving,
            SimulatedClock.LABEL_END: self.label_end,
            SimulatedClock.LABEL_MIDDLE: self.label_middle,
        }
        return {SimulatedClock.DECLARED: 1.0 - sum(wrong.values()), **wrong}


REAL_FLEET = FaultRates()

# What a fleet had before it learnt from real records: meters and clocks go wrong, and no more.
PLAIN_FLEET = replace(
    REAL_FLEET,
    **dict.fromkeys(
        (
            "label_middle",
            "clock_steps",
            "soiling",
            "dry_seasons",
            "degradation",
            "degradation_spread",
            "oldest_years",
            "skylines",
            "turbidity_season",
            "climate",
            "smog",
            "dead_strings",
            "negative",
            "stuck",
            "wrong_scale",
            "sentinels",
        ),
        0.0,
    ),
)

# Noise stays: no meter is without it. Spreads of what is 0 do nothing.
CLEAN_FLEET = replace(
    REAL_FLEET,
    **{
        name: 0.0
        for name in FaultRates.__dataclass_fields__
        if name not in ("noise", "noise_spread", "uneven")
    },
)

# What of the rates is a mix of systems rather than a fault.
MIX = ("east_west", "hipped", "trackers")

REALISM = {"real": REAL_FLEET, "plain": PLAIN_FLEET, "clean": CLEAN_FLEET}
"""How like a real fleet a simulated one is to be, by name."""

"""How often systems of a fleet have second planes, shade, wrong clocks, noise and outages.

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
of wrong clocks are those met in public series: a declared offset that is an hour off, and daylight
saving left in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class SimulatedClock(StrEnum):
    """How a system's clock stands to the UTC that its file declares."""

    DECLARED = "declared"
    HOUR_FAST = "hour_fast"
    HOUR_SLOW = "hour_slow"
    HALF_HOUR_FAST = "half_hour_fast"
    HALF_HOUR_SLOW = "half_hour_slow"
    DAYLIGHT_SAVING = "daylight_saving"
    LABEL_END = "label_end"


@dataclass(frozen=True, slots=True)
class FaultRates:
    """How often and how badly the systems of a simulated fleet go wrong.

    Parameters
    ----------
    noise, noise_spread
        Median and lognormal spread of the relative error of single readings.
    loss_spread
        Standard deviation of system losses about PVWatts' 14%.
    hour_fast, hour_slow, half_hour_fast, half_hour_slow
        Shares of clocks that are ahead or behind.
    daylight_saving
        Share of clocks that save daylight though the file declares UTC; where the place does not
        save daylight, they are right.
    label_end
        Share of systems whose stamps name the end of the interval though the file declares
        its start.
    oversized
        Share of systems with 1.4 to 1.8 times as much DC capacity as their inverter takes.
    shaded
        Share of systems with an obstacle 20 to 110 degrees wide and 10 to 40 degrees high on the
        sun's side.
    east_west, hipped
        Shares of systems on two planes: both sides of a ridge, or two sides around a corner.
    trackers
        Share of systems that follow the sun; four in five about one axis.
    late, short
        Shares of records that begin within the year, or last 4 to 40 days only.
    hour_gaps, day_gaps, week_gaps
        Yearly number of gaps without readings of 1 to 12 hours, 1 to 7 days and 1 to 8 weeks.
    down_days, down_weeks
        Yearly number of times when the meter says zero for 1 to 5 days, or 1 to 6 weeks.
    snow_spells
        Yearly number of snowfalls where 20 days or more of the year freeze, each of which
        covers a system for up to 8 days, a flat one longer than a steep one.
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
    snow_spells: float = 3.0
    uneven: float = 0.5

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
        }
        return {SimulatedClock.DECLARED: 1.0 - sum(wrong.values()), **wrong}


REAL_FLEET = FaultRates()

# Noise stays: no meter is without it.
CLEAN_FLEET = replace(
    FaultRates(),
    **{
        name: 0.0
        for name in FaultRates.__dataclass_fields__
        if name not in ("noise", "noise_spread", "uneven")
    },
)

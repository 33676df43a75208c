"""Cumulative counters to differences."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sunveil.errors import MeterError
from sunveil.meters.reading_options import AUTO, MeterOptions, Register, Unit
from sunveil.meters.time_steps import RawReadings

# A register falls at hardly any step, and rises at a good share of them. [share of steps]
REGISTER_FALLS, REGISTER_RISES = 0.005, 0.1

# One that starts again every day falls about once a day, from near its top to near zero.
_DAILY_FALLS = (0.4, 1.3)
_DAILY_TOP, _DAILY_BOTTOM = 0.9, 0.05
_LEAST = 48
_DAY = 86_400


def find_register(readings: RawReadings, options: MeterOptions, unit: Unit) -> Register:
    """Return what kind of register sorted readings are: as declared, or as they run."""
    if options.register != AUTO:
        return Register(options.register)
    if options.declared_only or len(readings) < _LEAST:
        return Register.NO
    if readings.seconds[-1] - readings.seconds[0] < _DAY:
        return Register.NO  # a morning's power rises all the time, too
    # of a net meter that counts both ways apart, the two together go up by night and by day
    counts = np.sum(readings.columns, axis=0)
    if is_cumulative(np.diff(counts)):
        found = Register.CUMULATIVE
    elif _is_daily(readings.with_power(counts)):
        found = Register.DAILY
    else:
        return Register.NO
    if not unit.is_energy:
        raise MeterError(
            f"{readings.where} counts up as a register of energy does, but is said to be power:"
            " set option `power_unit` to kWh or Wh, or option `register` to no if it is no"
            " register"
        )
    return found


def is_cumulative(steps: NDArray[np.float64]) -> bool:
    """Whether the steps between readings are those of a counter that only ever grows."""
    return bool((steps < 0).mean() < REGISTER_FALLS and (steps > 0).mean() > REGISTER_RISES)


def _is_daily(readings: RawReadings) -> bool:
    """Whether readings climb all day and start again at about zero."""
    power = readings.power
    steps = np.diff(power)
    falls = np.flatnonzero(steps < 0)
    days = (readings.seconds[-1] - readings.seconds[0]) / _DAY
    if not len(falls) or not _DAILY_FALLS[0] <= len(falls) / days <= _DAILY_FALLS[1]:
        return False
    starts = np.r_[0, falls + 1]
    tops = np.maximum.reduceat(power, starts)[:-1]
    usual = float(np.median(tops))
    return bool(
        np.median(power[falls] / np.maximum(tops, 1e-12)) > _DAILY_TOP
        and np.median(power[falls + 1]) < _DAILY_BOTTOM * usual
    )


def differences(readings: RawReadings, register: Register, *, interval: int) -> RawReadings:
    """Return the energy between counts that stand one interval apart."""
    # Counts are stamped at the instant they were taken, so a difference is of the interval that
    # ends there. Where a count falls, a daily register has started again at zero, and nothing is
    # known of any other, unless it is the only one of a net meter, which runs backwards by day. Of
    # two registers, what was taken from the grid is taken from what was given to it.
    # Every count is part of two differences.
    counts = np.array(readings.columns)
    steps = np.diff(counts)
    apart = np.diff(readings.seconds) == interval
    if register is Register.DAILY:
        steps = np.where(steps < 0, counts[:, 1:], steps)
    backwards = readings.net and readings.imported is None and register is Register.CUMULATIVE
    kept = np.flatnonzero(apart & (backwards | (steps >= 0).all(axis=0))) + 1
    note = f"The readings are differences of a {register.value} register."
    return readings.keep(kept, note).with_columns(*steps[:, kept - 1]).netted()

"""Integer scores with unit and sensitivity, net meters included."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sunveil._options import checked
from sunveil.errors import ParameterError
from sunveil.fleet.blocks import power_on
from sunveil.meters.record import Record
from sunveil.privacy.guarantees import Days, Readings, reach
from sunveil.privacy.mechanisms import Placement, Score
from sunveil.releases.candidate_frame import ReleaseFrame
from sunveil.releases.prior_and_votes import HOUR
from sunveil.releases.release_choices import NetChoices
from sunveil.releases.score_kernels import Counts, Logs, count_days, count_readings
from sunveil.site import DAY, Array

kernel = njit(cache=True, nogil=True)

# [kW] smallest load
LEAST_LOAD = 1e-4

# Nothing is less likely, so that a reading that no candidate explains counts for none.
LEAST_CHANCE = 1e-300


@kernel
def tabulate(  # type: ignore[no-untyped-def]
    power, seen, day, density, above, lowest, per_step, clear, clearness, chances, floor, scale, out
):
    """Tell how likely every reading is under every clear power, beside the likeliest, in levels."""
    last = density.shape[1] - 1.0
    row = np.empty(len(clear))
    for t in range(len(power)):
        dense, over = density[day[t]], above[day[t]]
        top = LEAST_CHANCE
        for g in range(len(clear)):
            exact, at_most = 0.0, 0.0
            for k in range(len(clearness)):
                load = clearness[k] * clear[g] - power[t]
                held = max(load, LEAST_LOAD)
                place = min(max((np.log(held) - lowest) * per_step, 0.0), last)
                exact += chances[k] * dense[int(place)] / held * (load > LEAST_LOAD)
                at_most += chances[k] * over[int(place)]
            # of a meter that counts only what is given, zero says that it was at most zero
            row[g] = at_most if power[t] == 0.0 else exact
            top = max(top, row[g])
        for g in range(len(clear)):
            nats = seen[t] * np.log(max(row[g] / top, floor))
            # at most 50 nats of 64 levels (NetChoices): 3,200, whatever the interval
            out[t, g] = np.int16(np.rint(scale * nats))
        for g in range(len(clear), out.shape[1]):
            out[t, g] = out[t, len(clear) - 1]


@kernel
def sum_days(table, place, days, most, beside_best, out):  # type: ignore[no-untyped-def]
    """Add up what days count for every plane and capacity: the levels of their readings."""
    planes, capacities = out.shape
    # Intervals last a minute or more, so a day has at most 1,440, of at most 3,200 levels each
    # (NetChoices): its sums stay within 4.7 million of zero, where 32 bits hold 2,147 million.
    sums = np.empty((planes, capacities), dtype=np.int32)
    for d in range(len(days) - 1):
        best = np.int32(-(2**31) + 1)
        for plane in range(planes):
            own = sums[plane]
            own[:] = np.int32(0)
            for t in range(days[d], days[d + 1]):
                first = place[plane, t]
                row = table[t, first : first + capacities]
                for c in range(capacities):
                    own[c] += row[c]
            for c in range(capacities):
                best = max(best, own[c])
        least = np.int32((best if beside_best else 0) - most)
        for plane in range(planes):
            for c in range(capacities):
                out[plane, c] += max(sums[plane, c] - least, 0)


PROOF = "docs/proofs/net-days.md"

# Bins of the logarithm of a load. [log kW]
_LOWEST, _HIGHEST, _BIN = -10.0, 12.0, 0.05

# No plane gives more than this. [kW/kW]
_MOST = 1.5

Levels = NDArray[np.int16]


def net_score(frame: ReleaseFrame, record: Record, unit: Readings | Days) -> Score:
    """Return what the units of a net meter's record count for every candidate."""
    # What a day counts for a candidate is a whole number from 0 to L, and a function of that day's
    # readings alone; so the sensitivity is `k L`, and three times as much of a register. Of single
    # readings the same holds, without the nights, and twice as much of a register. Proof:
    # `docs/proofs/net-days.md`.
    # numba takes a second to load

    net, by_day = _choices(frame), isinstance(unit, Days)
    table = levels_by_power(frame, power_on(frame.time_grid, record), net, by_day=by_day)
    levels = net.day_levels if by_day else net.reading_levels
    # readings are held to a range already, so that days of them are held to all they can count
    most = levels if by_day else levels * int(np.diff(frame.days).max())
    place = places(frame, net)
    out = np.zeros((len(place), len(frame.choices.capacities)), dtype=np.int64)
    sum_days(table, place, frame.days, most, by_day, out)
    sensitivity = unit.k * levels * reach(unit, differenced=record.differenced)
    return Score(out.ravel(), sensitivity, unit, PROOF)


def levels_by_power(frame: ReleaseFrame, power: Array, net: NetChoices, *, by_day: bool) -> Levels:
    """Return the likelihood of each daylight reading under each clear power, in levels."""
    day = _days(frame)
    weights = base_weights(frame, power, net, day) if by_day else _no_nights(net)
    middles = np.arange(_LOWEST, _HIGHEST, _BIN) + _BIN / 2.0
    density = weights @ net.load_density(middles - net.bases()[0][:, np.newaxis])
    above = np.cumsum(density[:, ::-1], axis=1)[:, ::-1] * _BIN
    daylight = power[frame.daylight]
    clear = _clear_powers(frame, net)
    out = np.empty((len(daylight), len(clear) + len(frame.choices.capacities)), dtype=np.int16)
    # readings of short intervals say less that is new
    hours = min(frame.time_grid.step / HOUR, 1.0) if by_day else 1.0
    tabulate(
        np.nan_to_num(daylight),
        (~np.isnan(daylight)).astype(np.float64),
        day[frame.daylight] if by_day else np.zeros(len(daylight), dtype=np.int64),
        density,
        above,
        _LOWEST,
        1.0 / _BIN,
        clear,
        *net.clearness(clear_sky=frame.weather.clear),
        math.exp(-net.reading_nats),
        net.levels_per_nat * hours,
        out,
    )
    return out


def base_weights(
    frame: ReleaseFrame, power: Array, net: NetChoices, day: NDArray[np.int64]
) -> Array:
    bases, prior = net.bases()
    # readings at night that are no load carry no information, like missing ones
    load = frame.night & (power < 0.0)
    logs = np.log(np.where(load, -power, 1.0))
    said = net.night * np.log(net.load_density(logs[:, np.newaxis] - bases) + np.exp(-20.0))
    found = np.zeros((day[-1] + 1, len(bases)))
    np.add.at(found, day, np.where(load[:, np.newaxis], said, 0.0))
    found += prior
    found = np.exp(found - found.max(axis=1, keepdims=True))
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def places(frame: ReleaseFrame, net: NetChoices) -> NDArray[np.int32]:
    # Planes of all clocks stand one after another, shape (clocks * planes, daylight intervals).
    step = frame.choices.capacities.step
    most = round(math.log(_MOST / net.floor) / step)
    no_power = len(_clear_powers(frame, net)) - 1
    found = []
    for (logs,) in frame.profiles:
        daylight = np.isfinite(logs)
        near = np.rint((np.where(daylight, logs, 0.0) - math.log(net.floor)) / step)
        found.append(np.where(daylight, np.clip(near, 0, most), no_power).astype(np.int32))
    return np.concatenate(found)


def _clear_powers(frame: ReleaseFrame, net: NetChoices) -> Array:
    """Return the clear powers of a table: those of all capacities, and none at all. [kW]"""
    capacities = frame.choices.capacities
    count = round(math.log(_MOST / net.floor) / capacities.step) + len(capacities)
    powers = net.floor * capacities.low * np.exp(capacities.step * np.arange(count))
    return np.append(powers, 0.0)


def _no_nights(net: NetChoices) -> Array:
    weights = np.exp(net.bases()[1])
    return np.asarray(weights / weights.sum())[np.newaxis]


def _days(frame: ReleaseFrame) -> NDArray[np.int64]:
    """Return the solar day of every interval, counted from the first."""
    solar = frame.time_grid.times.astype("datetime64[s]").astype(np.int64)
    found = (solar + round(frame.weather.site.longitude * 240.0)) // DAY
    return np.asarray(found - found[0])


def _choices(frame: ReleaseFrame) -> NetChoices:
    assert frame.choices.net is not None  # count_score asks for no other
    return frame.choices.net


@checked
def reading_score(frame: ReleaseFrame, record: Record, k: int = 1) -> Score:
    """Return how many readings agree with every candidate.

    Privacy
    -------
    Neighbours differ in ``k`` readings; each moves any count by at most one, so the sensitivity is
    ``k``. A reading of a register is part of two differences, so that it is then ``2 k``. Proof:
    ``docs/proofs/agreement.md``.
    """
    unit = Readings(k)
    power = frame.readings(record)
    levels = _highest(frame, partial(count_readings, power, bins=frame.bins))
    sensitivity = k * reach(unit, differenced=record.differenced)
    return Score(levels, sensitivity, unit, "docs/proofs/agreement.md")


@checked
def day_score(frame: ReleaseFrame, record: Record, k: int = 1) -> Score:
    """Return how many votes every candidate has from the record's days.

    Privacy
    -------
    Neighbours differ in all readings of ``k`` solar days; each day has at most as many votes as
    there are thresholds, so the sensitivity is ``k`` times their number. A day of a register is
    part of the differences of three days, so that it is then three times as much. Proof:
    ``docs/proofs/day-votes.md``.
    """
    unit = Days(k)
    power = frame.readings(record)
    thresholds, fewest = frame.choices.ballot

    def votes(profiles: Logs, *, highest: Counts) -> Counts:
        return count_days(
            power,
            profiles,
            frame.bins,
            days=frame.days,
            thresholds=thresholds,
            fewest=fewest,
            least=frame.daylight_flat(profiles),
            highest=highest,
        )

    levels = _highest(frame, votes)
    sensitivity = k * len(thresholds) * reach(unit, differenced=record.differenced)
    return Score(levels, sensitivity, unit, "docs/proofs/day-votes.md")


def _highest(frame: ReleaseFrame, count: Callable[..., Counts]) -> Counts:
    """Return the highest count of every candidate under any haze: no neighbour moves it further."""
    out = np.zeros(frame.shape, dtype=np.int64)
    for highest, hazes in zip(out, frame.profiles, strict=True):
        for profiles in hazes:
            count(profiles, highest=highest)
    return out.ravel()


def unit_score(frame: ReleaseFrame, record: Record, unit: Readings | Days) -> Score:
    """Return the score that protects a unit, with what the public prior adds to it."""
    # What is added is the same for neighbours, so that the sensitivity is that of the counts.
    # Proof: `docs/proofs/prior.md`.
    return with_prior(frame, count_score(frame, record, unit), in_place=True)


def count_score(frame: ReleaseFrame, record: Record, unit: Readings | Days) -> Score:
    """Return the score that protects a unit, without the public prior."""
    net = frame.choices.net is not None
    if net is not record.net:
        raise ParameterError("the frame was made for another kind of meter, net or not")
    if net:
        return net_score(frame, record, unit)
    count = reading_score if isinstance(unit, Readings) else day_score
    return count(frame, record, unit.k)


def with_prior(frame: ReleaseFrame, score: Score, *, in_place: bool = False) -> Score:
    """Return a score with the public prior of a resolved frame added."""
    levels = score.levels.reshape(frame.shape)
    out = levels if in_place else np.empty_like(levels)
    np.add(levels, frame.offsets()[:, np.newaxis], out=out)
    return replace(score, levels=out.ravel())


def placement(frame: ReleaseFrame, record: Record) -> Placement:
    """Return where the record is best explained among the axes for whole records."""
    # The single plane and the capacity with the highest agreement count, of a net meter those that
    # its days are likeliest under, the first of equals, rounded to the nearest values of the axes.
    # Neighbours differ in the whole record, and may be placed anywhere: no sensitivity is needed.
    frame = frame.of_singles()
    unit = Readings(1) if frame.choices.net is None else Days(1)
    best = int(count_score(frame, record, unit).levels.argmax())
    _, plane, capacity = np.unravel_index(best, frame.shape)
    azimuth, tilt, log_capacity = axes = frame.choices.axes()
    steps = int(capacity) * frame.choices.capacities.step / log_capacity.step
    place = (
        round(frame.grid.surface_azimuth[plane] / azimuth.step) % azimuth.size,
        min(round(frame.grid.surface_tilt[plane] / tilt.step), tilt.size - 1),
        min(math.floor(steps + 0.5), log_capacity.size - 1),
    )
    return Placement(place, axes)

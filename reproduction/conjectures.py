"""The paper's statements on light, power and clear days, held against several systems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reproduction.artefact import Statement, over_subjects
from reproduction.experiment import Experiment
from sunveil.paper.daily_profiles import candidate_profiles, group_of, whole_days
from sunveil.pv_model import plane_irradiance, sky_at
from sunveil.site import Array, Plane
from sunveil.weather import clearsky

# A correlation from which on one would speak of a strong one.
STRONG = 0.9
TURNS = (1.0, 5.0, 10.0, 30.0)
# Picked days must be among the clearest of their group by this share of it.
CLEAREST = 0.25
# PVWatts' temperature coefficient of modules of standard silicon. [1/K]
GAMMA_PDC = -0.0047
REFERENCE = 25.0


def conjectures(experiments: Sequence[Experiment]) -> list[Statement]:
    """Hold the paper's conjectures and its rule for clear days against several systems."""
    judges: tuple[tuple[str, Callable[[Experiment], Statement]], ...] = (
        ("II-A", light_and_power),
        ("II-A", any_change),
        ("II-A", seasons),
        ("II-C", clearest_days),
    )
    return [
        replace(
            over_subjects([(each.subject.name, judge(each)) for each in experiments]),
            section=section,
        )
        for section, judge in judges
    ]


def light_and_power(experiment: Experiment) -> Statement:
    """Return how strongly light on the plane, by eq. 2, and power are correlated."""
    subject = experiment.subject
    plane = subject.reported or experiment.exhaustive.best
    _, middles, power = whole_days(subject.record, subject.weather)
    sky = sky_at(subject.weather, middles.ravel())
    light = plane_irradiance(
        sky, plane.normal[np.newaxis], diffuse_modifier=False, circumsolar_modifier=False
    )[0]
    up = sky.sun[:, 2] > 0.0
    found = float(np.corrcoef(light[up], power.ravel()[up])[0, 1])
    return Statement(
        "Conjecture 1: the plane-of-array irradiance is strongly correlated to the power.",
        f"Over {int(up.sum()):,} daylight readings the correlation is {found:.3f}.",
        found >= STRONG,
        f"{STRONG:g} or more is called strong here. Power is light times a few slow factors, so"
        " that what is missing is weather that the irradiance data do not know.",
        numbers={"correlation": found, "readings": int(up.sum())},
    )


def any_change(experiment: Experiment) -> Statement:
    """Return what turning and tilting a plane changes in its normalised days."""
    plane = experiment.subject.reported or experiment.exhaustive.best
    turned = [_change(experiment, plane, azimuth=turn) for turn in TURNS]
    tilted = [_change(experiment, plane, tilt=turn) for turn in TURNS]
    flat = _change(experiment, Plane(180.0, 0.0), azimuth=180.0)
    told = ", ".join(
        f"{first:.1%} and {second:.1%} by {turn:g}°"
        for turn, first, second in zip(TURNS, turned, tilted, strict=True)
    )
    needed = [turn for turn, off in zip(TURNS, turned, strict=True) if off > experiment.misfit]
    return Statement(
        "Conjecture 2: any change in azimuth and tilt changes the generation significantly.",
        "Turning and tilting the plane changes its normalised days, in the root mean square of a"
        f" day's peak, by {told}; the best candidate's own misfit is {experiment.misfit:.1%}, which"
        f" {f'{needed[0]:g}° of azimuth exceed' if needed else 'none of these turns exceeds'}.",
        min(turned[0], tilted[0], flat) > experiment.misfit,
        "A change is called significant where it exceeds what the best candidate itself misfits."
        " Small changes do not, and of a flat plane no turn changes anything: any is too much said,"
        " large is right.",
        numbers={
            "degrees": list(TURNS),
            "change_by_azimuth": turned,
            "change_by_tilt": tilted,
            "change_of_a_flat_plane": flat,
            "misfit": experiment.misfit,
        },
    )


def _change(
    experiment: Experiment, plane: Plane, *, azimuth: float = 0.0, tilt: float = 0.0
) -> float:
    """Return the root mean square change of normalised days; steep planes are tilted back."""
    other = plane.surface_tilt + (tilt if plane.surface_tilt + tilt <= 90.0 else -tilt)
    moved = Plane((plane.surface_azimuth + azimuth) % 360.0, other)
    pair = np.array([plane.normal, moved.normal])
    days = [
        candidate_profiles(sky, pair, albedo=0.2, to_the_letter=True)
        for sky in experiment.score.skies
    ]
    return float(np.sqrt(np.mean([np.mean((first - second) ** 2) for first, second in days])))


def seasons(experiment: Experiment) -> Statement:
    """Return what the seasons do to power at the same light, by eq. 3."""
    weather = experiment.subject.weather
    lit = weather.ghi > 200.0
    months = weather.times.month.to_numpy()[lit]
    # cells in the light are warmer than the air by what Faiman's open rack says
    cells = weather.temp_air[lit] + weather.ghi[lit] / (25.0 + 6.84 * weather.wind_speed[lit])
    factor = 1.0 + GAMMA_PDC * (cells - REFERENCE)
    means = {int(month): float(factor[months == month].mean()) for month in np.unique(months)}
    low, high = min(means, key=means.__getitem__), max(means, key=means.__getitem__)
    apart = means[high] / means[low] - 1.0
    return Statement(
        "Conjecture 3: various seasonal confounders affect the generation.",
        f"Temperature alone, by eq. 3, leaves {means[high]:.3f} of the power in month {high} and"
        f" {means[low]:.3f} in month {low}: {apart:.1%} apart at the same light.",
        apart > 0.01,
        "It could not but hold. The paper's own method then throws it away: each day is brought to"
        " [0, 1], and with the season goes what shows the tilt best.",
        numbers={"factor_by_month": {str(month): value for month, value in means.items()}},
    )


def clearest_days(experiment: Experiment) -> Statement:
    """Return how clear the days are that DNI and GHI correlate best in."""
    ranks, sizes = clearness_ranks(experiment)
    within = float(np.mean(ranks <= np.maximum(1, np.ceil(CLEAREST * sizes))))
    return Statement(
        "The day whose DNI and GHI correlate best is the clearest of its group.",
        f"By their light over a clear sky's, the {len(ranks)} days picked are from number"
        f" {int(ranks.min())} to number {int(ranks.max())} of their groups, number"
        f" {float(np.median(ranks)):g} in the median; {within:.0%} are in the clearest quarter.",
        within > 0.9,
        "Correlation asks for the shape of a day and not for its brightness: a hazy or evenly dim"
        " day correlates as well as a clear one.",
        numbers={"ranks": ranks.tolist(), "group_sizes": sizes.tolist()},
    )


def clearness_ranks(experiment: Experiment) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many days of its group are as clear as each picked day, and how many there are."""
    subject = experiment.subject
    days, middles, _ = whole_days(subject.record, subject.weather)
    clear = clearsky(
        subject.weather.site,
        f"{middles.min() - np.timedelta64(1, 'D')}Z",
        f"{middles.max() + np.timedelta64(1, 'D')}Z",
    )
    times = middles.ravel()
    light: list[Array] = []
    for weather in (subject.weather, clear):
        sky = sky_at(weather, times)
        light.append(np.where(sky.sun[:, 2] > 0.0, sky.ghi, 0.0).reshape(middles.shape).sum(axis=1))
    share = light[0] / np.maximum(light[1], 1e-9)
    groups = group_of(days, subject.group)
    ranks, sizes = [], []
    for day in experiment.score.days:
        members = groups == day.group
        own = float(share[days == day.day][0])
        ranks.append(int((share[members] > own).sum()) + 1)
        sizes.append(int(members.sum()))
    return np.array(ranks), np.array(sizes)

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from sunveil.cells import CellSky
from sunveil.timegrid import TimeGrid
from sunveil.cells.tables import LANES
from sunveil.estimate import DaylightSaving
from sunveil.fit.clipping import find_limit as reference_limit
from sunveil.fit.clocks import Hypothesis
from sunveil.fit.clocks import decide as reference_decide
from sunveil.fit.clocks import propose as reference_propose
from sunveil.fit.daylight import coarsen
from sunveil.fit.light import FEWEST_DAYS, _middles
from sunveil.fit.planes import BRIGHT_QUANTILE, FEWEST
from sunveil.fit.refine import Point
from sunveil.meters import Record
from sunveil.quick.clocks import relay
from sunveil.quick.constants import Constants, QuickOptions, entering_light
from sunveil.quick.ends import Calendar, Days, days_of, fill_middles, typical
from sunveil.quick.evidence import LEAST_GAIN, MOST_CLOCKS, decide, propose, suspicious
from sunveil.quick.groups import plane_profiles
from sunveil.quick.layout import fill_long, find_limit, lay_out, on_long_axis
from sunveil.quick.least_squares import non_negative, squares_room
from sunveil.quick.model import NO_LIMIT, OUT, SLOPES, linearise
from sunveil.quick.newton import newton_room, refine, solve
from sunveil.quick.prepared import prepare
from sunveil.quick.rows import DOUBTFUL, WIDE, best_start, start_room, thin_row
from sunveil.quick.spread import angle_of, fill_draws, neighbours_of, quantile
from sunveil.quick.starts import bright_ranks, fill_bright, search, search_room
from sunveil.site import Plane, normals
from sunveil.sky import Sky, sky_at, unit_power
from sunveil.weather import clearsky

NODES = (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))


def point_of(
    azimuth: float, tilt: float, capacity: float, *, haze: float, heat: float
) -> np.ndarray:
    out = Point.of(Plane(azimuth, tilt), capacity, haze=haze, heat=heat).to_array()
    out[5] = 2.0 * NO_LIMIT
    return out


def skies(sky: CellSky) -> list[Sky]:
    weather = clearsky(sky.site, "2018-12-31", "2020-01-02")
    starts = sky.axis.starts[sky.slot[: sky.usable]]
    return [sky_at(weather, (starts + round(node * 3600)).view("M8[s]")) for node in NODES]


@pytest.mark.parametrize(
    ("azimuth", "tilt", "haze"),
    [(180.0, 30.0, 0.0), (95.0, 12.0, -0.4), (300.0, 85.0, 0.6), (0.0, 0.0, 0.13)],
)
def test_the_compiled_model_is_the_atlas_model(
    denver: CellSky, constants: Constants, azimuth: float, tilt: float, haze: float
) -> None:
    point = point_of(azimuth, tilt, 1.0, haze=haze, heat=1.2)
    mine = plane_profiles(denver.sheet, point[None], constants)[0, : denver.usable]
    normal = normals(np.array([azimuth]), np.array([tilt]))
    theirs = np.mean(
        [unit_power(one.hazier(haze), normal, heat=1.2)[0] for one in skies(denver)], axis=0
    )
    # the oracle's weather is interpolated between quarters of an hour
    assert np.abs(mine - theirs).max() < 0.012
    assert np.abs(mine - theirs).mean() < 0.0008


def test_the_light_through_the_glass_is_a_polynomial_to_one_in_a_hundred_thousand() -> None:
    import pvlib

    cosine = np.linspace(0.0, 1.0, 3001)
    light = cosine * pvlib.iam.physical(np.degrees(np.arccos(cosine)))
    found = np.polynomial.Polynomial(entering_light().astype(float))(2.0 * cosine - 1.0)
    assert np.abs(found - light).max() < 5e-5


def test_derivatives_are_those_of_the_model(denver: CellSky, constants: Constants) -> None:
    point = point_of(220.0, 25.0, 7.0, haze=0.37, heat=1.25)
    padded = denver.sheet.shape[0] * LANES
    out = np.empty((denver.sheet.shape[0], OUT, LANES), dtype=np.float32)
    linearise(
        denver.sheet,
        np.zeros(padded, dtype=np.float32),
        np.ones(padded, dtype=np.float32),
        point,
        5.0,
        1.0,
        constants,
        out,
    )
    rows = out.transpose(1, 0, 2).reshape(OUT, -1)[:, : denver.usable]
    for place, step in ((0, 0.02), (1, 0.02), (3, 0.02), (4, 0.02)):
        sides = []
        for sign in (-1.0, 1.0):
            moved = point.copy()
            moved[place] += sign * step
            sides.append(7.0 * plane_profiles(denver.sheet, moved[None], constants)[0])
        slope = (sides[1] - sides[0])[: denver.usable] / (2.0 * step) * rows[1]
        # where a light is cut off at its least the two sides differ
        close = np.abs(slope - rows[SLOPES + place]) < 0.02 + 0.02 * np.abs(slope)
        assert close.mean() > 0.97


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_small_systems_are_solved(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(6, 6))
    matrix, right = root @ root.T + np.eye(6), rng.normal(size=6)
    wanted = np.linalg.solve(matrix[:size, :size], right[:size])
    solve(matrix, right, size)
    np.testing.assert_allclose(right[:size], wanted)


@given(st.integers(0, 2**32 - 1))
def test_mixtures_are_the_non_negative_least_squares(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.uniform(size=(9, 40)).astype(np.float32)
    values = np.maximum(rng.normal(size=9), 0.0) @ rows + 0.05 * rng.normal(size=40)
    weight, model = rng.uniform(0.1, 1.0, 40).astype(np.float32), np.empty(40, dtype=np.float32)
    found = np.where(rng.random(9) < 0.3, rng.random(9), 0.0)
    non_negative(rows, weight, values.astype(np.float32), found, model, squares_room(9, 40))
    root = np.sqrt(weight)
    np.testing.assert_allclose(found, nnls((rows * root).T, values * root)[0], atol=2e-3)
    np.testing.assert_allclose(model, found @ rows, rtol=1e-4)


def test_a_fit_finds_the_plane_that_made_the_readings(
    denver: CellSky, constants: Constants, rng: np.random.Generator
) -> None:
    truth = point_of(220.0, 25.0, 7.0, haze=-0.2, heat=1.25)
    power = 7.0 * plane_profiles(denver.sheet, truth[None], constants)[0]
    cloudy = rng.random(len(power)) < 0.4
    power[cloudy] *= rng.uniform(0.1, 0.8, cloudy.sum()).astype(np.float32)
    have = (np.arange(len(power)) < denver.usable).astype(np.float32)
    point = point_of(195.0, 35.0, 5.0, haze=-0.2, heat=1.25)
    out = np.empty((denver.sheet.shape[0], OUT, LANES), dtype=np.float32)
    bright = float(np.quantile(power[: denver.usable], 0.98))
    readings, room = (denver.sheet, power, have, bright), newton_room()
    refine(readings, point, 1.5, False, 20, constants, out, room)
    share = refine(readings, point, 1.0, True, 20, constants, out, room)
    assert np.hypot(point[0] - truth[0], point[1] - truth[1]) < 0.5
    assert np.exp(point[2]) == pytest.approx(7.0, rel=0.02)
    assert 0.5 < share < 0.95


def test_where_little_is_explained_starts_are_refined_without_bright_powers_too(
    denver: CellSky, constants: Constants, rng: np.random.Generator
) -> None:
    known = prepare(denver, QuickOptions()).known
    truth = point_of(170, 30, 6.0, haze=0.0, heat=1.2)
    clear = 6.0 * plane_profiles(denver.sheet, truth[None], constants)[0, : denver.usable]
    found, room, point = search_room(known), start_room(known), np.zeros(6)
    out, stepping = room[3], newton_room()
    for _ in range(20):
        row = np.zeros(denver.axis.count, dtype=np.float32)
        row[known.slot] = clear * rng.uniform(0.02, 0.9, len(clear)).astype(np.float32)
        search(row, known, found)
        thin_row(row, known, room)
        share = best_start(found, 4.0, 2.0 * NO_LIMIT, known, constants, room, point)
        assert share < DOUBTFUL
        alone = found[1][0].copy()
        readings = (known.few, room[4], room[5], 4.0)
        refine(readings, alone, WIDE, False, 8, constants, out, stepping)
        seen = refine(readings, alone, 1.0, True, 8, constants, out, stepping)
        # the same steps, but compiled apart and so rounded otherwise
        assert share > seen - 0.01


@given(st.integers(0, 6), st.integers(20, 60))
def test_long_intervals_are_those_of_the_other_method(shift: int, count: int) -> None:
    first = 1_546_300_800 + shift * 600
    axis = TimeGrid(first, 600, count)
    rng = np.random.default_rng(count)
    power = rng.uniform(size=count)
    there = rng.random(count) < 0.9
    there[0] = there[-1] = True
    times = axis.starts[there].view("M8[s]")
    record = coarsen(Record("one", times, power[there], 10.0))
    row = np.where(there, power, np.nan).astype(np.float32)[None]
    mine = on_long_axis(row, axis)[0]
    starts = axis.long.starts[np.isfinite(mine)]
    np.testing.assert_array_equal(starts, record.times.astype("M8[s]").astype(np.int64))
    np.testing.assert_allclose(mine[np.isfinite(mine)], record.power_kw, rtol=1e-5)


def test_limits_are_found_where_the_other_method_finds_them(
    denver: CellSky, constants: Constants, rng: np.random.Generator
) -> None:
    prepared = prepare(denver, QuickOptions())
    rows = np.zeros((3, 8760), dtype=np.float32)
    point = point_of(180.0, 30.0, 1.0, haze=0.0, heat=1.0)
    clear = plane_profiles(denver.sheet, point[None], constants)[0, : denver.usable]
    noisy = clear * rng.choice([1.0, 0.5, 0.8], denver.usable, p=[0.6, 0.2, 0.2])
    for row, limit in zip(rows, (0.55, 0.65, np.inf), strict=True):
        row[denver.slot[: denver.usable]] = np.minimum(noisy, limit)
    known = prepared.known
    found = []
    for row in rows:
        power, have, room = np.empty((3, denver.sheet.shape[0] * LANES), dtype=np.float32)
        top = lay_out(row, known.slot, known.begins, power, have, room)[1]
        mine = np.exp(find_limit(power, have, top, known.day, 1.0))
        other = reference_limit(
            power[: denver.usable].astype(float),
            prepared.day.astype(np.int64),
            interval_minutes=60.0,
        )
        assert mine == pytest.approx(other, rel=1e-5)
        found.append(mine)
    assert np.isfinite(found[:2]).all()
    assert np.isinf(found[2])


@given(
    st.lists(st.one_of(st.floats(-0.5, 9, width=32), st.just(0.0), st.just(np.nan)), min_size=1),
    st.integers(1, 9),
)
def test_readings_are_laid_out_and_counted(values: list[float], per_day: int) -> None:
    row = np.array(values, dtype=np.float32)
    slot = np.arange(len(row), dtype=np.int32)
    begins = np.append(np.arange(0, len(row), per_day), len(row)).astype(np.int32)
    power, have, room = np.ones((3, len(row) + 5), dtype=np.float32)
    bright, top, count, lit, days = lay_out(row, slot, begins, power, have, room)
    there = np.isfinite(row)
    np.testing.assert_array_equal(have, np.append(there, np.zeros(5)))
    np.testing.assert_array_equal(power, np.append(np.nan_to_num(row), np.zeros(5)))
    assert (count, lit) == (there.sum(), (row > 0.0).sum())
    assert days == len(np.unique(np.arange(len(row))[there] // per_day))
    if (row > 0.0).any():
        expected = np.quantile(row[there].astype(float), [0.98, 0.999])
        np.testing.assert_allclose([bright, top], expected, rtol=1e-5, atol=1e-6)


@given(st.integers(0, 2**32 - 1))
def test_bright_powers_are_quantiles_of_their_groups(seed: int) -> None:
    rng = np.random.default_rng(seed)
    row = rng.uniform(size=50).astype(np.float32)
    row[rng.random(50) < 0.3] = np.nan
    places = rng.permutation(50).reshape(10, 5).astype(np.int32)
    scale = rng.uniform(0.5, 2.0, (10, 5)).astype(np.float32)
    scale[7:, :2] = np.nan  # groups with fewer members
    ranks, out = bright_ranks(10), np.empty(5, dtype=np.float32)
    room = np.empty((ranks.max() + 1, 5), np.float32), out.copy(), np.empty(5, np.int32)
    fill_bright(row, places, scale, ranks, room, out)
    for group in range(5):
        values = np.sort(row[places[:, group]] * scale[:, group])
        values = values[np.isfinite(values)]
        if len(values) < FEWEST:
            assert np.isnan(out[group])
        else:
            assert out[group] == values[int(BRIGHT_QUANTILE * (len(values) - 1) + 0.5)]


def days_like(number: int, denver: CellSky) -> Days:
    days = days_of(denver)
    assert days is not None
    return days._replace(first=0, lead=0, number=number)


def test_first_and_last_light_are_those_of_the_other_method(
    denver: CellSky, rng: np.random.Generator
) -> None:
    hours = np.arange(24 * 30) % 24
    power = np.maximum(np.sin((hours - rng.uniform(5, 7)) / 12.0 * np.pi), 0.0).astype(np.float32)
    power *= rng.uniform(0.2, 1.0, len(power)).astype(np.float32)
    middle, energy = np.empty((2, 30), dtype=np.float32)
    fill_middles(power, np.float32(0.05), days_like(30, denver), middle, energy)
    theirs, found = _middles(power.reshape(30, 24).astype(float), 0.05)
    assert found.all()
    np.testing.assert_allclose(middle, theirs, atol=1e-4)
    np.testing.assert_allclose(energy, power.reshape(30, 24).sum(axis=1), rtol=1e-5)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_light_runs_ahead_as_the_other_method_says(seed: int, part: int) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs, brightness = rng.uniform(1.0, 9.0, (3, 41)).astype(np.float32)
    ours[rng.random(41) < 0.2] = np.nan
    saving = rng.random(41) < 0.5
    room = tuple(np.empty((3, 41), dtype=np.float32))
    mine = typical(
        (ours, brightness), (theirs, np.ones(41, dtype=np.float32)), saving, part, 60.0, room
    )
    good = np.isfinite(ours)
    chosen = [np.ones(41, dtype=bool), ~saving, saving][part][good]
    ahead = ((ours - theirs) * 60.0)[good].astype(float)
    if np.count_nonzero(chosen) < FEWEST_DAYS:
        assert np.isnan(mine)
    else:
        # medians of an even number are the lower of the two in the middle
        bright = brightness[good][chosen]
        kept = bright >= np.sort(bright)[(len(bright) - 1) // 2]
        values = np.sort(ahead[chosen][kept])
        assert mine == pytest.approx(values[(len(values) - 1) // 2], abs=2e-3)


KINDS = (DaylightSaving.AS_DECLARED, DaylightSaving.LEFT_IN, DaylightSaving.APPLIED_TWICE)
MINUTES = st.one_of(st.floats(-200, 200), st.just(float("nan")))


class Light:
    """Light whose medians are known, as the other method asks for them."""

    def __init__(self, base: float, winter: float, summer: float) -> None:
        self.base, self.parts = base, (winter, summer)

    def typical(self, chosen: np.ndarray | None = None) -> float:
        return self.base if chosen is None else self.parts[int(chosen[0])]


@given(MINUTES, MINUTES, MINUTES, st.sampled_from([15.0, 30.0, 60.0]))
def test_the_clocks_that_are_proposed_are_those_of_the_other_method(
    base: float, winter: float, summer: float, minutes: float
) -> None:
    options = np.zeros((MOST_CLOCKS, 2))
    number = propose(base, winter, summer, minutes, options)
    mine = [Hypothesis(offset, KINDS[int(kind)]) for offset, kind in options[:number]]
    theirs = reference_propose(Light(base, winter, summer), np.array([True, False]), minutes)
    assert mine == theirs
    if suspicious(base, winter, summer):
        assert len(mine) > 1 or abs(base) > 26 * 30.0


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([15.0, 60.0]))
def test_the_clock_that_is_chosen_is_that_of_the_other_method(
    seed: int, number: int, minutes: float
) -> None:
    rng = np.random.default_rng(seed)
    options = np.zeros((5, 2))
    options[1:, 0] = rng.choice([-60.0, -30.0, 30.0, 60.0], 4)
    options[1:, 1] = rng.integers(0, 3, 4)
    shares, left = rng.uniform(0.8, 1.0, 5), rng.uniform(0.0, 60.0, 5)
    best = decide(options, shares, left, number, minutes)
    clocks = [Hypothesis(offset, KINDS[int(kind)]) for offset, kind in options[:number]]
    theirs = reference_decide(
        clocks,
        shares[:number].tolist(),
        dict(enumerate(left[:number])),
        minutes,
        least_gain=LEAST_GAIN,
    )
    assert (clocks[best], shares[best] - shares[0]) == theirs


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=50), st.floats(0, 1))
def test_quantiles_are_numpys(values: list[float], share: float) -> None:
    mine, theirs = np.array(values), np.quantile(values, [share, 1.0 - share])
    assert quantile(mine, share, 1.0, np.empty(len(mine))) == pytest.approx(theirs[0], abs=1e-9)
    assert quantile(mine, share, -1.0, np.empty(len(mine))) == pytest.approx(theirs[1], abs=1e-9)


@given(
    st.floats(-60, 60),
    st.floats(-60, 60),
    st.tuples(st.floats(0.1, 20), st.floats(-5, 5), st.floats(0.1, 20)),
    st.integers(0, 2**32 - 1),
)
def test_drawn_planes_are_where_spherical_geometry_puts_them(
    east: float, north: float, factor: tuple[float, float, float], seed: int
) -> None:
    draws = np.random.default_rng(seed).normal(size=(2, 40))
    turns, tilts, cosines = np.empty((3, 40))
    fill_draws(np.array([east, north]), factor, draws, turns, tilts, cosines)
    x, y = east + factor[0] * draws[0], north + factor[1] * draws[0] + factor[2] * draws[1]
    tilt = np.minimum(np.hypot(x, y), 90.0)
    np.testing.assert_allclose(tilts, tilt, atol=1e-9)
    centre = np.degrees(np.arctan2(east, north))
    turned = (np.degrees(np.arctan2(x, y)) - centre + 180.0) % 360.0 - 180.0
    mine = np.array([angle_of(turn) for turn in turns])
    assert np.abs((mine - turned + 180.0) % 360.0 - 180.0).max() < 1e-6
    assert (np.diff(mine[np.argsort(turns)]) >= -1e-9).all()
    own = np.radians(np.hypot(east, north))
    angle = np.sin(own) * np.sin(np.radians(tilt)) * np.cos(np.radians(turned))
    np.testing.assert_allclose(cosines, angle + np.cos(own) * np.cos(np.radians(tilt)), atol=2e-7)


def test_neighbours_are_intervals_that_follow_each_other() -> None:
    slot = np.array([3, 4, 5, 9, 10, 20], dtype=np.int32)
    found = neighbours_of(slot, np.arange(6, dtype=np.int32), minutes=30.0)
    np.testing.assert_array_equal(found.before[:6], [0, 0, 1, 3, 3, 5])
    np.testing.assert_array_equal(found.after[:6], [1, 2, 2, 4, 4, 5])
    np.testing.assert_allclose(found.rate[:6] * 30.0, [1, 0.5, 1, 1, 1, 1])
    assert len(found.rate) == LANES
    some = neighbours_of(slot, np.array([0, 2, 4], dtype=np.int32), minutes=30.0)
    np.testing.assert_array_equal(some.before[:3], [0, 1, 3])


@given(st.integers(-120, 120), st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_readings_are_moved_to_where_a_clock_puts_them(halves: int, kind: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    row, saving = rng.uniform(size=60).astype(np.float32), np.arange(60) >= 30
    out = np.empty_like(row)
    relay(row, 30.0 * halves, kind, Calendar(saving, saving, 3600), out)
    ahead = Hypothesis(30.0 * halves, KINDS[kind]).ahead_seconds(saving)
    expected = np.full(60, np.nan, dtype=np.float32)
    for i, shift in enumerate(np.floor_divide(ahead, 3600)):
        if 0 <= i - shift < 60:
            expected[i - shift] = row[i]
    np.testing.assert_array_equal(out, expected)


def test_a_missing_reading_blanks_its_long_interval_alone() -> None:
    power = np.array([[1.0, 3.0, np.nan, 5.0, 2.0, 4.0]], dtype=np.float32)
    out = np.empty((1, 3), dtype=np.float32)
    fill_long(power, 0, 2, out)
    np.testing.assert_array_equal(out, [[2.0, np.nan, 3.0]])

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pvlib
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex

from plot_makers import (
    CAPACITY,
    EAST,
    GOLDEN,
    LOADS,
    ROOF,
    WEST,
    estimate_of,
    net_of,
    net_sunny,
    pair_of,
    sunny,
    tracker_of,
    truth_of,
)
from pvlib_chain import pvlib_irradiance
from sunveil.errors import ParameterError
from sunveil.estimates import ClockFinding, Estimate, YearEstimate
from sunveil.estimates.estimates_table import EstimateSource
from sunveil.estimates.planes_and_intervals import DaylightSaving
from sunveil.inference.fleet_part import SiteSkies
from sunveil.meters import Label, Record
from sunveil.plots import (
    plot_clear_days,
    plot_errors,
    plot_irradiance_by_azimuth,
    plot_load,
    plot_score_map,
    plot_separated,
    plot_skyline,
    plot_yearly_irradiance,
    plot_years,
)
from sunveil.plots.estimate_figures import clear_days, plot_estimate, residual_table
from sunveil.plots.skyline_and_scores import SeenReadings, agreement_map, seen_readings
from sunveil.plots.style import PRIVATE
from sunveil.pv_model import ac_power, sky_at
from sunveil.simulate import Tracker
from sunveil.site import Array, Plane, Site, normals
from sunveil.weather import Weather, clearsky

CHINO = Site(34.0122, -117.6889, 200.0)
SYDNEY = Site(-33.87, 151.21, 20.0)


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    plt.switch_backend("Agg")
    yield
    plt.close("all")


def drawn(ax: Axes) -> Axes:
    """Draw the whole figure, so that whatever would warn does."""
    ax.get_figure(root=True).canvas.draw()
    return ax


def private_marks(ax: Axes) -> int:
    texts = ax.get_figure(root=True).texts
    return sum("private: contains readings" in text.get_text() for text in texts)


def seen(record: Record, weather: Weather, estimate: Estimate) -> SeenReadings:
    return seen_readings(record, SiteSkies.under(weather), estimate)


def peak_hours(ax: Axes) -> list[float]:
    return [float(line.get_xdata()[np.argmax(line.get_ydata())]) for line in ax.get_lines()]


def test_planes_that_face_east_peak_before_those_that_face_west() -> None:
    ax = drawn(plot_irradiance_by_azimuth(CHINO, "2016-07-15", azimuths=(90, 180, 270)))
    east, south, west = peak_hours(ax)
    assert east < 11.5 < south < 12.5 < west
    assert south == pytest.approx(12.0, abs=0.1)
    assert east + west == pytest.approx(24.0, abs=0.3)
    assert "[W/m²]" in ax.get_ylabel()
    assert "[h]" in ax.get_xlabel()
    assert "25° tilt, 15 July 2016" in ax.get_title(loc="left")
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["90° E", "180° S", "270° W"]


def test_given_weather_replaces_the_clear_sky() -> None:
    clear = clearsky(CHINO, "2016-07-01", "2016-08-01")
    dull = replace(
        clear, ghi=0.3 * clear.ghi, dni=0.0 * clear.dni, dhi=0.3 * clear.ghi, clear=False
    )
    asked = (CHINO, "2016-07-15")
    axes = [plot_irradiance_by_azimuth(*asked, azimuths=(180,), weather=w) for w in (None, dull)]
    tops = [float(np.max(ax.get_lines()[0].get_ydata())) for ax in axes]
    assert tops[1] == pytest.approx(0.3 * tops[0], rel=0.15)


def test_the_best_plane_of_chino_is_the_papers() -> None:
    ax = drawn(plot_yearly_irradiance(CHINO, 2016))
    azimuth, tilt = (float(values[0]) for values in ax.get_lines()[-1].get_data())
    # the paper's map puts it between 165° and 180° of azimuth and 35° and 40° of tilt
    assert 165.0 <= np.degrees(azimuth) <= 180.0
    assert 30.0 <= tilt <= 40.0
    weather = clearsky(CHINO, "2016-01-01", "2017-01-01", step_minutes=60)
    plane = Plane(float(np.degrees(azimuth)), tilt)
    light = pvlib_irradiance(plane, weather.to_frame(), CHINO.sun(weather.times))
    daily = float(light.sum()) / 366.0 / 1000.0
    written = re.search(r"([\d.]+) kWh/m² per day", ax.get_xlabel())
    assert written is not None
    assert float(written[1]) == pytest.approx(daily, rel=0.01)
    assert "tilt [°]" in ax.get_xlabel()
    bar = ax.figure.axes[-1]
    assert "[kWh/m² per day]" in bar.get_ylabel()


def square() -> Axes:
    return plt.subplots()[1]


@pytest.mark.parametrize(
    ("plot", "said"),
    [
        (lambda: plot_yearly_irradiance(CHINO, 2016, ax=square()), "projection='polar'"),
        (
            lambda: plot_irradiance_by_azimuth(Site(80.0, 20.0, 0.0), "2019-12-21"),
            "hardly rises on 21 December 2019",
        ),
        (lambda: plot_load(estimate_of()), "roof is no net meter"),
        (lambda: plot_separated(*sunny(), estimate_of()), "roof is no net meter"),
        (lambda: plot_separated(*net_sunny(), net_of(), axes=[square()]), "four panels"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(plot, said) -> None:
    with pytest.raises(ParameterError, match=said):
        plot()


def test_clear_days_show_readings_as_dots_on_the_modelled_line() -> None:
    record, weather = sunny()
    panels = plot_clear_days(record, weather, estimate_of())
    drawn(panels[0])
    assert len(panels) == 4
    assert panels[0].get_ylabel() == "AC power [kW]"
    for ax in panels:
        lines = {line.get_gid(): line for line in ax.get_lines()}
        measured, modelled = (lines[name].get_ydata() for name in ("measured", "modelled"))
        assert measured.max() > 1.0
        assert np.abs(measured - modelled).max() < 0.03 * CAPACITY
        assert np.isin(measured.astype(np.float32), record.power_kw.astype(np.float32)).all()
        assert "[h]" in ax.get_xlabel()
    assert private_marks(panels[0]) == 1


def test_readings_of_a_net_meter_lie_below_the_generation_by_the_load() -> None:
    record, weather = net_sunny()
    panels = plot_clear_days(record, weather, net_of())
    assert panels[0].get_ylabel() == "AC power, net [kW]"
    assert panels[0].get_ylim()[0] < -0.2
    for ax in panels:
        lines = {line.get_gid(): line.get_ydata() for line in ax.get_lines()}
        load = lines["modelled"] - lines["measured"]
        assert 0.2 < load.mean() < 0.9
        assert lines["measured"].min() < 0.0


@pytest.mark.parametrize(
    ("made", "estimate", "best"), [(sunny, estimate_of(), 0.9), (net_sunny, net_of(), 0.85)]
)
def test_the_map_peaks_at_the_plane_once_the_usual_load_is_added(made, estimate, best) -> None:
    share = agreement_map(seen(*made(), estimate))
    tilt, azimuth = np.unravel_index(int(share.argmax()), share.shape)
    assert share.shape == (19, 72)
    assert share.max() > best
    assert ROOF.angle_to(Plane(5.0 * azimuth, 5.0 * tilt)) <= 6.0


def test_dark_or_idle_readings_of_exports_are_no_generation() -> None:
    record, weather = net_sunny()
    data = seen(replace(record, power_kw=np.maximum(record.power_kw, 0.0)), weather, net_of())
    assert np.isnan(data.generated).sum() == (data.power == 0.0).sum() > 100


def test_generation_and_load_of_a_net_meter_are_drawn_by_season() -> None:
    record, weather = net_sunny()
    panels = plot_separated(record, weather, net_of(haze_summer=-0.2, haze_winter=-0.2, heat=1.25))
    drawn(panels[0])
    assert [ax.get_title(loc="left") for ax in panels][::2] == ["Dec to Feb", "Jun to Aug"]
    for ax, loads in zip(panels, LOADS, strict=True):
        generation, load = (by_gid(ax, name)[0].get_ydata() for name in ("generation", "load"))
        assert len(by_gid(ax, "band")) == 1
        assert generation[[0, 1, 22, 23]] == pytest.approx(0.0, abs=1e-6)
        assert generation[9:15].max() > 2.0
        assert load[[0, 1, 22, 23]] == pytest.approx(loads[0], rel=0.1)
        assert np.abs(load - loads).mean() < 0.15
    assert private_marks(panels[0]) == 1


@pytest.mark.parametrize(
    ("offset", "label", "minutes"),
    [(60.0, Label.START, 60), (0.0, Label.MIDDLE, 15), (-30.0, Label.START, -30)],
)
def test_readings_are_drawn_on_the_repaired_clock(offset, label, minutes) -> None:
    (record, weather), clock = sunny(), ClockFinding(offset, label)
    shifted = replace(record, times=record.times + np.timedelta64(60 * minutes, "s"))
    right = seen(record, weather, estimate_of())
    repaired = seen(shifted, weather, estimate_of(clock=clock))
    assert np.array_equal(right.starts, repaired.starts)
    assert np.array_equal(right.power, repaired.power)


def test_daylight_saving_left_in_is_taken_out_in_summer_only() -> None:
    record, weather = sunny()
    saved = estimate_of(clock=ClockFinding(0.0, Label.START, DaylightSaving.LEFT_IN))
    data, plain = seen(record, weather, saved), seen(record, weather, estimate_of())
    for month, hours in (("2019-01", 0), ("2019-07", 1)):
        at = data.starts[data.starts.astype("datetime64[M]") == np.datetime64(month)][100:101]
        found = plain.power[np.isin(plain.starts, at + np.timedelta64(hours, "h"))]
        assert data.power[np.isin(data.starts, at)] == pytest.approx(found)


def test_smooth_days_of_much_energy_are_chosen_one_of_each_season() -> None:
    data = seen(*sunny(), estimate_of())
    clear = data.day.min() + np.array([40, 130, 230, 320])
    random = np.random.default_rng(4).uniform(0.1, 1.0, len(data))
    clouds = np.where(np.isin(data.day, clear), 1.0, random)
    assert list(clear_days(replace(data, power=data.power * clouds), 4)) == list(clear)
    before = clear_days(data, 4)
    jagged = np.where(np.arange(len(data)) % 2 == 0, 1.3, 0.8)
    power = np.where(np.isin(data.day, before), data.power * jagged, data.power)
    assert not np.isin(clear_days(replace(data, power=power), 4), before).any()


def test_the_score_map_marks_estimate_region_truth_and_privacy() -> None:
    record, weather = sunny()
    ax = drawn(plot_score_map(record, weather, estimate_of(), truth=Plane(190.0, 25.0)))
    marks = {line.get_label(): line for line in ax.get_lines()}
    assert set(marks) == {"90% region", "estimate", "truth"}
    assert marks["estimate"].get_xdata() == pytest.approx(np.radians(200.0))
    assert marks["truth"].get_ydata() == pytest.approx(25.0)
    assert private_marks(ax) == 1
    assert "[%]" in ax.figure.axes[-1].get_ylabel()
    assert "[°]" in ax.get_xlabel()
    without = plot_score_map(record, weather, estimate_of())
    assert "truth" not in [line.get_label() for line in without.get_lines()]


def test_errors_are_drawn_with_intervals_and_units() -> None:
    truths = [truth_of(Plane(190.0, 28.0)), truth_of(Plane(100.0, 4.0))]
    estimates = [estimate_of(Plane(193.0, 29.0)), estimate_of(Plane(60.0, 4.5))]
    panels = plot_errors(truths, estimates)
    drawn(panels[0])
    titles = [ax.get_title(loc="left").split(" (")[0] for ax in panels]
    assert titles == ["Azimuth", "Tilt", "DC capacity"]
    for ax, units in zip(panels, (("°", "°"), ("°", "°"), ("kW", "%")), strict=True):
        assert f"[{units[0]}]" in ax.get_xlabel()
        assert f"[{units[1]}]" in ax.get_ylabel()
    solid, hollow = (container[0] for container in panels[0].containers)
    assert solid.get_ydata() == pytest.approx([3.0])
    assert hollow.get_ydata() == pytest.approx([-40.0])
    assert to_hex(hollow.get_markerfacecolor()) == "#ffffff"
    assert to_hex(solid.get_markerfacecolor()) != "#ffffff"
    (bars,) = panels[0].containers[0][2]
    assert bars.get_segments()[0][:, 1] == pytest.approx([-1.0, 7.0])
    assert private_marks(panels[0]) == 0


def test_pairs_and_trackers_that_were_not_told_are_left_out_of_errors() -> None:
    pair = truth_of(planes=((Plane(270.0, 20.0), 0.5), (Plane(90.0, 20.0), 0.5)))
    tracker = truth_of(tracker=Tracker())
    panels = plot_errors([pair, truth_of(), tracker], [estimate_of()] * 3)
    assert len(panels[1].containers[0][0].get_ydata()) == 1
    with pytest.raises(ParameterError, match="with recognised planes"):
        plot_errors([pair, tracker], [estimate_of()] * 2)
    # of a pair both planes, each against its own; of a tracker the capacity
    told = plot_errors([pair, tracker], [pair_of(), tracker_of()])
    assert sorted(told[0].containers[0][0].get_ydata()) == pytest.approx([1.0, 2.0])
    assert [len(ax.containers[0][0].get_ydata()) for ax in told] == [2, 2, 2]


def with_power(*profiles: tuple[Array, float]) -> tuple[Record, Weather]:
    """The readings of planes, or of one plane that turns, each with its share."""
    record, weather = sunny()
    sky = sky_at(weather, record.middles).hazier(-0.2)
    power = sum(share * ac_power(sky, facing, heat=1.25)[0] for facing, share in profiles)
    return replace(record, power_kw=CAPACITY * power), weather


FITTED = {"haze_summer": -0.2, "haze_winter": -0.2, "heat": 1.25}


def test_two_planes_are_drawn_as_a_sum_below_one_limit_and_as_parts() -> None:
    record, weather = with_power((EAST.normal[None], 0.6), (WEST.normal[None], 0.4))
    for limit in (None, 2.0):
        panels = plot_clear_days(record, weather, pair_of(ac_limit_kw=limit, **FITTED))
        lines = [line for ax in panels for line in ax.get_lines()]
        measured, modelled, *_ = (
            np.concatenate([line.get_ydata() for line in lines if line.get_gid() == name])
            for name in ("measured", "modelled")
        )
        kept = measured if limit is None else np.minimum(measured, limit)
        assert np.abs(kept - modelled).max() < 0.01 * CAPACITY
        # the parts are not cut: an inverter limits their sum
        parts = [line.get_ydata() for line in lines if line.get_gid() == "plane"]
        assert len(parts) == 8
        together = np.concatenate(parts[0::2]) + np.concatenate(parts[1::2])
        assert np.abs(together - measured).max() < 0.01 * CAPACITY
    one = plot_clear_days(*sunny(), estimate_of())
    assert not [line for ax in one for line in ax.get_lines() if line.get_gid() == "plane"]


def test_a_trackers_model_turns_as_pvlib_turns_it() -> None:
    record, weather = sunny()
    sun = sky_at(weather, record.middles).sun
    zenith = np.degrees(np.arccos(sun[:, 2]))
    azimuth = np.degrees(np.arctan2(sun[:, 0], sun[:, 1])) % 360.0
    tracked = tracker_of(**FITTED)
    for backtrack in (True, False):
        turned = pvlib.tracking.singleaxis(
            zenith, azimuth, axis_azimuth=178.0, max_angle=55.0, backtrack=backtrack, gcr=0.38
        )
        angles = (np.nan_to_num(turned[f"surface_{name}"]) for name in ("azimuth", "tilt"))
        record, weather = with_power((normals(*angles)[None], 1.0))
        estimate = tracked.replaced(tracker=replace(tracked.tracker, backtrack=backtrack))
        data = seen(record, weather, estimate)
        missed = np.abs(data.modelled - data.power) / CAPACITY
        assert np.median(missed) < 0.002
        # an interval at whose middle it turns back is not what its two instants are
        assert np.quantile(missed, 0.99) < 0.02


def test_the_score_map_marks_both_planes_or_the_turn_of_a_tracker() -> None:
    record, weather = sunny()
    pair = plot_score_map(record, weather, pair_of())
    crosses = [line for line in pair.get_lines() if line.get_gid() == "plane"]
    places = [float(np.degrees(line.get_xdata()[0])) for line in crosses]
    assert places == pytest.approx([92.0, 271.0])
    assert crosses[0].get_markersize() > crosses[1].get_markersize()
    assert pair.get_title(loc="left") == "Estimate: two planes, 92° / 31° and 271° / 30°"
    turned = plot_score_map(record, weather, tracker_of())
    ends = [line.get_xydata() for line in turned.get_lines() if line.get_gid() == "turn"]
    assert np.degrees([ends[0][0, 0], ends[1][1, 0]]) == pytest.approx([88.0, 268.0])
    assert "axis 178.0°" in turned.get_title(loc="left")


def test_figures_stay_on_the_axes_they_are_given_and_leave_settings_alone() -> None:
    before = dict(mpl.rcParams)
    figure, ax = plt.subplots(layout="constrained")
    polar = plt.figure().add_subplot(projection="polar")
    count = len(plt.get_fignums())
    assert plot_irradiance_by_azimuth(CHINO, "2016-07-15", ax=ax) is ax
    record, weather = sunny()
    assert plot_score_map(record, weather, estimate_of(), ax=polar) is polar
    assert len(plt.get_fignums()) == count
    assert dict(mpl.rcParams) == before
    assert len(figure.axes) == 1


WESTERN = (0.0,) * 15 + (30.0,) * 5 + (10.0,) * 2 + (0.0,) * 8
YEARS = (
    YearEstimate(dt.date(2018, 1, 1), 359.0, 29.0, 5.1),
    YearEstimate(dt.date(2019, 1, 1), 3.0, 33.0, 4.9),
)


def by_gid(ax: Axes, gid: str) -> list[object]:
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


@pytest.mark.parametrize(("site", "middle"), [(GOLDEN, 180.0), (SYDNEY, 0.0)])
def test_a_skyline_stands_where_it_hides_the_sun(site: Site, middle: float) -> None:
    ax = drawn(plot_skyline(estimate_of(skyline=WESTERN), site))
    assert ax.get_xlim() == (middle - 180.0, middle + 180.0)
    (hidden,) = (each for each in ax.patches if hasattr(each, "get_data"))
    values, edges, _ = hidden.get_data()
    heights = dict(zip(edges[:-1] % 360.0, values, strict=True))
    assert heights == {12.0 * place: height for place, height in enumerate(WESTERN)}
    assert "30°" in [text.get_text() for text in ax.texts]
    assert "[°]" in ax.get_xlabel()
    assert "[°]" in ax.get_ylabel()
    assert private_marks(ax) == 1


def test_years_are_drawn_around_north_without_a_seam() -> None:
    estimate = estimate_of(Plane(1.0, 31.0), years=YEARS)
    azimuth, tilt, capacity = (drawn(ax) for ax in plot_years(estimate))
    (dots,) = by_gid(azimuth, "years")
    assert list(dots.get_ydata()) == [-1.0, 3.0]
    (band,) = by_gid(azimuth, "interval")
    assert (band.get_y(), band.get_y() + band.get_height()) == (-3.0, 5.0)
    assert "359" in azimuth.yaxis.get_major_formatter()(-1.0, 0)
    assert list(by_gid(tilt, "years")[0].get_ydata()) == [29.0, 33.0]
    assert list(by_gid(capacity, "years")[0].get_ydata()) == [5.1, 4.9]
    assert [label.get_text() for label in tilt.get_xticklabels()] == ["2018", "2019"]
    assert "[kW]" in capacity.get_title(loc="left")
    assert private_marks(azimuth) == 1


def test_the_haze_of_an_estimate_has_its_seasons_in_the_model() -> None:
    record, weather = sunny()
    even = seen(record, weather, estimate_of(haze_summer=0.5, haze_winter=0.5))
    smog = seen(record, weather, estimate_of(haze_summer=0.0, haze_winter=1.0))
    month = even.starts.astype("datetime64[M]").astype(int) % 12
    winter, summer = (smog.modelled[month == one].sum() for one in (0, 5))
    assert winter < 0.99 * even.modelled[month == 0].sum()
    assert summer > 1.005 * even.modelled[month == 5].sum()


def test_one_figure_shows_everything_that_an_estimate_rests_on():
    record, _ = sunny()
    years = tuple(YearEstimate(dt.date(year, 1, 1), 201.0, 30.0, 5.0) for year in (2018, 2019))
    source = EstimateSource(record, SiteSkies.at(GOLDEN), GOLDEN)
    estimate = estimate_of(source=source, years=years, skyline=(20.0,) * 30)
    panels = plot_estimate(estimate)
    assert set(panels) == {
        *(f"day {number}" for number in (1, 2, 3, 4)),
        *("map", "residuals", "skyline", "year azimuth", "year tilt", "year capacity"),
    }
    figure = panels["map"].get_figure(root=True)
    assert {ax.get_figure(root=True) for ax in panels.values()} == {figure}
    assert [text.get_text() for text in figure.texts].count(PRIVATE) == 1
    plt.close(figure)
    assert estimate.plot().texts[0].get_text() == PRIVATE
    plt.close("all")


def test_residuals_tell_mornings_from_afternoons_of_a_plane_that_is_turned_wrongly():
    record, _ = sunny()
    skies = SiteSkies.at(GOLDEN)
    right = residual_table(seen_readings(record, skies, estimate_of()))
    assert np.nanmax(np.abs(right)) < 0.15
    east = estimate_of(Plane(160.0, 30.0))
    wrong = residual_table(seen_readings(record, skies, east))
    assert np.nanmean(wrong[:, 7:10]) < -0.3
    assert np.nanmean(wrong[:, 14:17]) > 0.3

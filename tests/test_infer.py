from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sunveil
from plot_makers import estimate_of, net_of, net_sunny, pair_of, sunny, tracker_of
from sunveil.cli import main
from sunveil.errors import MeterError, TooLittleData
from sunveil.estimates import ClockFinding, Estimate, Flag, Quality
from sunveil.estimates.inference_options import InferOptions, Method, Search
from sunveil.fleet.blocks import grid_of
from sunveil.inference import fleet_part, infer_fleet
from sunveil.inference.fleet_part import SiteSkies
from sunveil.inference.infer import infer_record, infer_records
from sunveil.meters import Label, from_pandas
from sunveil.site import RUNNING_LOSSES, Losses, Plane, Site
from sunveil.weather import clearsky

Maker = Callable[..., pd.Series]
GOLDEN = {"latitude": 39.742, "longitude": -105.1727, "altitude": 1795.0}


@pytest.fixture(scope="module")
def power(clear_power: Maker) -> pd.Series:
    return clear_power()


@pytest.fixture(scope="module")
def estimate(power: pd.Series) -> Estimate:
    return sunveil.infer(power, **GOLDEN)


def test_a_series_gives_an_estimate_near_the_truth(estimate):
    assert isinstance(estimate, Estimate)
    assert estimate.plane.angle_to(Plane(200.0, 30.0)) < 3.0
    assert estimate.dc_capacity_kw == pytest.approx(5.0, rel=0.06)
    assert estimate.tilt_interval.low <= estimate.surface_tilt <= estimate.tilt_interval.high
    assert estimate.flags == ()


@pytest.mark.parametrize("label", ["start", "middle", "end"])
def test_the_label_says_where_in_its_interval_a_stamp_stands(power, estimate, label):
    moved = power.set_axis(power.index + pd.Timedelta(minutes=60 * Label(label).fraction))
    other = sunveil.infer(moved, label=label, clock="given", **GOLDEN)
    assert other.plane.angle_to(estimate.plane) < 0.01
    assert other.clock.label is Label(label)


def test_an_undeclared_label_is_the_start_or_for_short_intervals_the_middle_with_a_wider_azimuth(
    clear_power, estimate
):
    assert estimate.clock.label is Label.START
    short = clear_power(minutes=15)
    declared = sunveil.infer(short, label="middle", clock="given", **GOLDEN)
    undeclared = sunveil.infer(short, clock="given", **GOLDEN)
    assert undeclared.clock.label is Label.MIDDLE
    assert declared.plane == undeclared.plane
    assert undeclared.azimuth_interval.width > 1.1 * declared.azimuth_interval.width


def test_times_without_a_zone_need_one(power, estimate):
    naive = power.tz_convert("Etc/GMT+7").tz_localize(None)
    with pytest.raises(sunveil.MeterError, match="timezone"):
        sunveil.infer(naive, **GOLDEN)
    for zone in ("UTC-07:00", "Etc/GMT+7"):
        other = sunveil.infer(naive, timezone=zone, **GOLDEN)
        assert other.plane.angle_to(estimate.plane) < 0.01


@pytest.mark.parametrize("by_day", [False, True])
def test_a_fast_clock_is_repaired_unless_the_clock_is_given(clear_power, by_day):
    power = clear_power(150.0, 35.0)
    if by_day:
        power = power[power > 0.005 * power.max()]
    right = sunveil.infer(power, **GOLDEN)
    assert (right.clock.offset_minutes, right.flags) == (0.0, ())
    fast = power.set_axis(power.index + pd.Timedelta(hours=1))
    repaired = sunveil.infer(fast, **GOLDEN)
    assert repaired.clock.offset_minutes == 60.0
    assert Flag.CLOCK_REPAIRED in repaired.flags
    assert repaired.plane.angle_to(Plane(150.0, 35.0)) < 3.0
    given = sunveil.infer(fast, clock="given", **GOLDEN)
    assert given.clock.offset_minutes == 0.0
    assert Flag.CLOCK_REPAIRED not in given.flags
    assert given.plane.angle_to(Plane(150.0, 35.0)) > 5.0


def test_a_clock_that_light_cannot_check_is_flagged_unless_it_is_given(clear_power):
    power = clear_power(150.0, 35.0)
    bright = power[power > 0.4 * power.max()]
    found = sunveil.infer(bright, label="start", **GOLDEN)
    assert found.flags == (Flag.CLOCK_UNCHECKED,)
    assert found.quality is not Quality.GOOD
    given = sunveil.infer(bright, label="start", clock="given", **GOLDEN)
    assert given.flags == ()


def test_a_clock_that_no_repair_explains_is_kept_and_the_interval_holds_both_answers(clear_power):
    power = clear_power(150.0, 35.0, minutes=15)
    fast = power.set_axis(power.index + pd.Timedelta(minutes=75))
    found = sunveil.infer(fast, label="start", **GOLDEN)
    assert found.clock.offset_minutes == 0.0
    assert found.flags == (Flag.CLOCK_DOUBTFUL,)
    assert found.quality is Quality.POOR
    assert "first and last light" in found.quality_reason
    for minutes in (60, 90):
        moved = fast.set_axis(fast.index - pd.Timedelta(minutes=minutes))
        other = sunveil.infer(moved, label="start", clock="given", **GOLDEN)
        assert other.surface_azimuth in found.azimuth_interval
        assert other.surface_tilt in found.tilt_interval
        assert other.dc_capacity_kw in found.capacity_interval
        assert found.plane_error_degrees >= found.plane.angle_to(other.plane)


def test_a_doubtful_clock_that_is_hours_off_needs_a_zone_of_the_place(clear_power):
    power = clear_power(150.0, 35.0, minutes=15)
    fast = power.set_axis(power.index + pd.Timedelta(minutes=195))
    with pytest.raises(sunveil.errors.SunveilError, match="place"):
        sunveil.infer(fast, label="start", **GOLDEN)
    local = fast.tz_convert("Etc/GMT+7")
    found = sunveil.infer(local, label="start", **GOLDEN)
    assert Flag.CLOCK_DOUBTFUL in found.flags


def test_a_repair_by_half_an_hour_widens_the_interval_of_the_azimuth(clear_power):
    power = clear_power(150.0, 35.0, minutes=30)
    moved = [power.set_axis(power.index + pd.Timedelta(minutes=at)) for at in (45, 75)]
    half, whole = (sunveil.infer(each, label="start", **GOLDEN) for each in moved)
    assert (half.clock.offset_minutes, whole.clock.offset_minutes) == (30.0, 60.0)
    assert half.azimuth_interval.width > 2.0 * whole.azimuth_interval.width
    assert half.azimuth_interval.low <= 150.0 < whole.azimuth_interval.low


def test_a_constant_is_refused_and_has_no_capacity_of_nothing_if_forced(power):
    constant = power * 0.0 + 2.0
    for method in ("default", "paper"):
        with pytest.raises(TooLittleData, match="do not look like PV generation"):
            sunveil.infer(constant, method=method, **GOLDEN)
    found = sunveil.infer(constant, force=True, **GOLDEN)
    assert Flag.NOT_GENERATION in found.flags
    assert 0.0 < found.capacity_interval.low <= found.capacity_interval.high < np.inf
    with pytest.raises(TooLittleData, match="no plane explains its readings"):
        sunveil.infer(constant, method="paper", search="bayesopt", force=True, **GOLDEN)


def test_assumed_losses_and_mounts_set_the_capacity_and_not_the_plane(power, estimate):
    ideal = sunveil.infer(power, losses=Losses(system=0.0), **GOLDEN)
    assert ideal.dc_capacity_kw == pytest.approx(
        (1.0 - RUNNING_LOSSES) * estimate.dc_capacity_kw, rel=0.01
    )
    assert ideal.plane.angle_to(estimate.plane) < 0.3
    assert ideal.assumptions.losses.system == 0.0
    rack, roof = (sunveil.infer(power, mount=mount, **GOLDEN) for mount in ("rack", "roof"))
    assert rack.dc_capacity_kw < 0.98 * estimate.dc_capacity_kw
    assert roof.dc_capacity_kw > 1.02 * estimate.dc_capacity_kw
    assert roof.assumptions.to_dict()["mount"] == "roof"
    assert roof.plane.angle_to(rack.plane) < 3.0


def test_weather_may_be_given_as_weather_or_as_a_frame(power, estimate):
    sky = clearsky(Site(**GOLDEN), "2019-01-01", "2020-01-01")
    assert sunveil.infer(power, weather=sky, **GOLDEN).plane.angle_to(estimate.plane) < 0.01
    frame = sunveil.infer(power, weather=sky.to_frame(), **GOLDEN)
    assert frame.plane.angle_to(Plane(200.0, 30.0)) < 3.0
    assert frame.assumptions.weather == "the frame"


def framed(**systems: pd.Series) -> pd.DataFrame:
    """Return a frame of several systems, one reading a row."""
    return pd.concat(
        pd.DataFrame({"system_id": name, "time": power.index, "power_kw": power.to_numpy()})
        for name, power in systems.items()
    )


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda power: power.iloc[:48], "longer record"),
        (lambda power: power * 0.0, "only zeros"),
        (lambda power: power * np.nan, "no reading that is a number"),
        (lambda power: power * 0.0 + np.inf, "no reading that is a number"),
        (lambda power: power.iloc[:0], "empty"),
        (lambda power: power.reset_index(drop=True), "DatetimeIndex"),
    ],
)
def test_readings_that_carry_no_inference_are_refused(power, spoil, said):
    with pytest.raises(sunveil.SunveilError, match=said):
        sunveil.infer(spoil(power), **GOLDEN)


@pytest.mark.parametrize(
    ("name", "value", "said"), [("weather", 7, "clearsky"), ("timezone", "Mars/Olympus", "Mars")]
)
def test_an_unknown_weather_or_zone_is_refused(power, name, value, said):
    with pytest.raises(sunveil.SunveilError, match=said):
        sunveil.infer(power, **GOLDEN, **{name: value})


@pytest.fixture(scope="module")
def net(power: pd.Series) -> pd.Series:
    """Return a net meter: a household's load, as a rule below the generation by day, taken off."""
    load = np.random.default_rng(0).exponential(0.8, len(power))
    return (power - load).rename("home")


def test_a_net_meter_is_separated_from_its_household_and_leaves_its_neighbours_alone(
    power, net, estimate
):
    record, home = from_pandas(power, system_id="power_kw"), from_pandas(net, system_id="home")
    found, beside = infer_records([home, record], SiteSkies(**GOLDEN))
    assert beside == estimate
    assert estimate.household is None
    assert Flag.NET_METER in found.flags
    assert found.household.mean_load_kw > 0.0
    assert found == sunveil.infer(home, **GOLDEN)
    said = sunveil.infer(net, net=True, **GOLDEN)
    assert (said.plane, said.household) == (found.plane, found.household)


def test_the_papers_method_refuses_a_net_meter_and_says_what_to_do(net):
    said = r"home is a net meter.*needs the generation alone: set option `method` to default"
    with pytest.raises(MeterError, match=said):
        sunveil.infer(net, method="paper", net=True, **GOLDEN)


def test_readings_that_w_and_kw_both_fit_ask_for_their_unit(power):
    # roofs of 0.2 to 0.8 kW and of 6 kW in W, a plant of 1 MW in kW
    for scale in (32.0, 125.0, 1000.0, 160.0):
        for name in (None, "roof", "roof W", "ac"):
            with pytest.raises(
                MeterError, match=r"unit of its readings: give option `power_unit` as one"
            ):
                sunveil.infer((scale * power).rename(name), **GOLDEN)
    with pytest.raises(MeterError, match="option `power_unit`"):
        sunveil.infer((1000.0 * power).to_numpy(), times=power.index, **GOLDEN)
    found = sunveil.infer_frame((1000.0 * power).rename("roof").to_frame(), **GOLDEN)
    assert not len(found)
    assert "option `power_unit`" in found.refused[0].reason
    energy = (0.25 * power).rename("energy")
    with pytest.raises(MeterError, match="option `power_unit`"):
        sunveil.infer(energy, **GOLDEN)


def test_readings_that_one_unit_alone_fits_are_taken_in_it_with_a_note(power, estimate):
    said = "No unit was given: taken to be kW, since in W it would be less than a single module."
    plain = sunveil.infer(power.rename("roof"), **GOLDEN)
    assert said in plain.notes
    assert plain.dc_capacity_kw == estimate.dc_capacity_kw
    assert plain.quality is not Quality.POOR
    huge = sunveil.infer((2.0e5 * power).rename("roof"), **GOLDEN)
    assert any(note.startswith("No unit was given: taken to be W,") for note in huge.notes)
    assert huge.dc_capacity_kw == pytest.approx(200.0 * estimate.dc_capacity_kw, rel=1e-3)


@pytest.mark.parametrize(
    ("factor", "name", "unit", "size"),
    [
        (1000.0, "ac_power_w", None, 1.0), (1000.0, "roof", "W", 1.0), (1000.0, "roof", "Wh", 1.0),
        (1.0, "roof", "kWh", 1.0), (1.0, "roof", "kw", 1.0), (160.0, "power_kw", None, 160.0),
        (160.0, "plant", "kW", 160.0),
    ],
)  # fmt: skip
def test_a_unit_that_is_given_or_named_is_taken(power, estimate, factor, name, unit, size):
    given = {} if unit is None else {"power_unit": unit}
    found = sunveil.infer((factor * power).rename(name), **GOLDEN, **given)
    assert found.dc_capacity_kw == pytest.approx(size * estimate.dc_capacity_kw, rel=1e-3)
    assert (found.flags, found.quality) == ((), Quality.GOOD)


def test_whole_kilowatts_of_a_plant_are_not_flagged(power, tmp_path):
    path = tmp_path / "plant.csv"
    (250.0 * power).round().rename("power_kw").rename_axis("time").to_csv(path)
    found = sunveil.infer(path, **GOLDEN)
    assert (found.flags, found.quality) == ((), Quality.GOOD)
    assert found.notes[-1].endswith("kW if the readings were in W rather than kW.")


def test_a_capacity_that_no_meter_has_is_poor_with_the_likelier_unit(power):
    small = sunveil.infer(power, **GOLDEN, power_unit="W")
    assert (small.flags, small.quality) == ((Flag.UNLIKELY_UNIT,), Quality.POOR)
    assert small.notes[-1].endswith("kW if the readings were in kW rather than W.")


def test_a_frame_s_systems_stand_alone(power):
    (alone,) = sunveil.infer_frame(framed(good=power), **GOLDEN)
    (ended,) = sunveil.infer_frame(framed(a=power), label="end", clock="given", **GOLDEN)
    assert ended.clock.label is Label.END
    for hostile in (power * np.nan, power * 0.0, power * np.inf, power.iloc[::-1] * 1e300):
        found = sunveil.infer_frame(framed(bad=hostile, good=power), **GOLDEN)
        assert found["good"] == alone
        assert len(found) + len(found.refused) == 2
        for each in found.refused:
            assert each.system_id == "bad"
            with pytest.raises(sunveil.ParameterError, match="bad was not inferred: "):
                found["bad"]
            assert found.to_frame().loc["bad", "error"] == each.reason


def test_a_frame_gives_what_each_series_gives(clear_power):
    """And what a record gives does not depend on those that it is inferred with."""
    planes = {"a": (220.0, 40.0), "b": (140.0, 20.0), "c": (90.0, 10.0)}
    series = {name: clear_power(*plane) for name, plane in planes.items()}
    series["c"] = series["c"].iloc[300:]
    for found in sunveil.infer_frame(framed(**series), **GOLDEN):
        one = series[found.system_id].rename(found.system_id)
        alone = sunveil.infer(one, power_unit="kW", **GOLDEN)
        assert found.to_dict() == alone.to_dict()


def test_records_of_several_grids_come_back_in_their_order(clear_power):
    records = [
        from_pandas(clear_power(days=days, minutes=minutes), system_id=f"{place}", label="start")
        for place, (days, minutes) in enumerate([(90, 60), (90, 15), (2, 60), (90, 60)])
    ]
    skies = SiteSkies(**GOLDEN)
    found = list(infer_records(records, skies))
    assert [type(each) for each in found] == [Estimate, Estimate, sunveil.TooLittleData, Estimate]
    assert [each.system_id for each in found if isinstance(each, Estimate)] == ["0", "1", "3"]
    assert "system 2" in str(found[2])
    # a sky serves all records of its grid
    assert skies.over(grid_of(records[0])) is skies.over(grid_of(records[3]))


def test_more_records_than_are_inferred_together_give_the_same(clear_power, monkeypatch):
    records = [
        from_pandas(clear_power(azimuth, 30.0), system_id=f"{azimuth:g}")
        for azimuth in (120.0, 180.0, 240.0)
    ]
    together = list(infer_records(records, SiteSkies(**GOLDEN)))
    monkeypatch.setitem(infer_records.__globals__, "BATCH", 2)
    parted = list(infer_records(records, SiteSkies(**GOLDEN)))
    assert [each.to_dict() for each in parted] == [each.to_dict() for each in together]


def test_weather_of_a_place_is_used_over_all_records(power):
    """Weather that is measured is asked for once per grid, with a margin for wrong clocks."""
    asked = []

    def load(span):
        asked.append(span)
        return replace(clearsky(Site(**GOLDEN), *span), clear=False, source="elsewhere")

    skies = SiteSkies(**GOLDEN, weather="pvgis", load=load)
    record = from_pandas(power)
    found = list(infer_records([record, record], skies))
    assert len(asked) == 1
    first, last = (pd.Timestamp(each, tz="UTC") for each in record.extent)
    assert asked[0][0] < first
    assert asked[0][1] > last
    assert {each.assumptions.weather for each in found} == {"elsewhere"}


def test_one_system_gives_the_last_digit_of_the_fleets_row(tmp_path):
    fleet, systems = tmp_path / "fleet", tmp_path / "systems.csv"
    place = {"latitude": 39.74, "longitude": -104.99, "altitude": 1609.0}
    systems.write_text("latitude,longitude,altitude\n39.74,-104.99,1609\n")
    options = ["--systems", "6", "--two-planes", "0.5", "--seed", "3", "--sites"]
    assert main(["simulate", "--out", str(fleet), *options, str(systems)]) == 0
    # a fleet is inferred at the centres of cells, and turned to each place: here they are one
    simulated = pd.read_parquet(fleet / "systems.parquet")
    simulated.assign(**place).to_csv(systems, index=False)
    infer_fleet(fleet / "readings", systems, tmp_path / "out", workers=1)
    rows = pd.read_parquet(tmp_path / "out" / "estimates").set_index("system_id")
    frame = pd.read_parquet(fleet / "readings")
    for name, own in frame[frame["system_id"].isin(rows.index)].groupby("system_id"):
        power = own.set_index("time")["power_kw"].rename(name)
        found, row = sunveil.infer(power, **place).to_row(), rows.loc[name]
        assert found.pop("system_id") == name
        for mine, theirs in zip(found.pop("planes"), row["planes"], strict=True):
            assert mine == pytest.approx(theirs, rel=1e-7), name
        for field, mine in found.items():
            theirs = list(row[field]) if isinstance(mine, list) else row[field]
            if mine is None:
                assert pd.isna(theirs), (name, field)
            elif isinstance(mine, (str, list)):
                assert mine == theirs, (name, field)
            else:
                assert mine == pytest.approx(theirs, rel=1e-7), (name, field)
    raised = set(np.concatenate(rows["flags"].to_list()))
    assert raised >= {Flag.CLIPPING.value, Flag.CLOCK_REPAIRED.value}
    assert raised & {Flag.TWO_PLANES.value, Flag.NOT_ONE_PLANE.value}


@pytest.mark.parametrize("fitted", [pair_of(), tracker_of()])
def test_the_paper_s_one_plane_is_flagged_where_the_engine_finds_more(fitted, monkeypatch):
    monkeypatch.setattr(fleet_part, "infer_block", lambda *_, **__: fitted.alone())
    options = InferOptions(method=Method.PAPER, search=Search.BAYESOPT)
    found = infer_record(*sunny(60), options=options)
    assert [each.plane for each in found.planes] == [found.plane]
    assert found.plane != fitted.plane
    assert found.tracker is None
    assert found.flags == (Flag.NOT_ONE_PLANE,)


def test_a_wide_frame_has_a_system_in_each_column_and_survives_bad_ones(power):
    wide = pd.DataFrame({"roof b": power, "roof a": power, "dead": power * 0.0})
    found = sunveil.infer_frame(wide, site=Site(**GOLDEN))
    assert [each.system_id for each in found] == ["roof a", "roof b"]
    assert found[0].plane == found["roof b"].plane
    (refused,) = found.refused
    assert refused.system_id == "dead"
    table = found.to_frame()
    assert table.index.tolist() == ["roof a", "roof b", "dead"]
    assert table.loc["dead", "error"] == refused.reason
    assert "1 refused" in repr(found)
    assert "<table" in found._repr_html_()


HOME = net_of(haze_summer=-0.2, haze_winter=-0.2, heat=1.25)


@pytest.fixture(scope="module")
def found() -> pd.DataFrame:
    return sunveil.separate(net_sunny()[0], HOME, **GOLDEN)


def test_generation_less_load_is_the_reading_and_the_band_holds_the_generation(
    found: pd.DataFrame,
) -> None:
    net, generation = net_sunny()[0].power_kw, sunny()[0].power_kw
    assert found.index.equals(pd.DatetimeIndex(net_sunny()[0].times).tz_localize("UTC"))
    np.testing.assert_allclose(found["generation_kw"] - found["load_kw"], net, atol=1e-5)
    assert (found["load_kw"] >= -1e-6).all()
    assert np.abs(found["generation_kw"] - generation).mean() < 0.1
    low, high = found["generation_low_kw"], found["generation_high_kw"]
    assert ((low - 0.01 <= found["generation_kw"]) & (found["generation_kw"] <= high + 0.01)).all()
    bright = generation > 0.5
    assert ((low <= generation + 0.05) & (generation <= high + 0.05))[bright].mean() > 0.8


def test_a_clock_that_was_repaired_is_repaired_once(found: pd.DataFrame) -> None:
    record = net_sunny()[0]
    fast = replace(record, times=record.times + np.timedelta64(90, "m"))
    clock = ClockFinding(90.0, Label.START)
    other = sunveil.separate(fast, HOME.replaced(clock=clock), **GOLDEN)
    pd.testing.assert_frame_equal(other, found)


def test_a_series_is_read_as_an_inference_reads_it(found: pd.DataFrame) -> None:
    watts = 1000.0 * net_sunny()[0].to_series().tz_convert("Etc/GMT+7")
    other = sunveil.separate(watts, HOME, power_unit="W", label="start", **GOLDEN)
    here = found.loc[other.index, "load_kw"]
    assert len(other) > 0.99 * len(found)
    # the same hours of the same household, whatever the clock is called
    np.testing.assert_allclose(other["load_kw"], here, atol=0.05)


def test_a_meter_of_generation_has_no_load_to_be_told_from() -> None:
    with pytest.raises(sunveil.MeterError, match="roof is no net meter: it reads its generation"):
        sunveil.separate(sunny()[0], estimate_of(), **GOLDEN)

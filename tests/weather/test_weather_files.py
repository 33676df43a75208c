from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pvanalytics
import pvlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from weather_fakes import GOLDEN, psm_text, pvgis_json, sky_frame

from sunveil.errors import WeatherError
from sunveil.site import Site
from sunveil.weather import clearsky, read_weather
from sunveil.weather.climate_normals import climate_temperature

NAMES = ("ghi", "dni", "dhi", "temp_air", "wind_speed")
TMY3 = Path(pvlib.__file__).parent / "data" / "703165TY.csv"
EXAMPLES = Path(pvanalytics.__file__).parent / "data"


def closure(weather) -> float:
    """Root mean square of global less diffuse less beam: small only at the right instants."""
    zenith, _ = weather.sun()
    rest = weather.ghi - weather.dhi - weather.dni * np.maximum(np.cos(np.radians(zenith)), 0.0)
    return float(np.sqrt(np.mean(rest[weather.dni > 100.0] ** 2)))


def assert_equal(weather, frame: pd.DataFrame) -> None:
    assert list(weather.times) == list(frame.index)
    for name in NAMES:
        np.testing.assert_allclose(getattr(weather, name), frame[name])


def read(folder: Path, content: str | pd.DataFrame, name: str = "weather.csv", **options):
    """Write a file of weather, a table by its stamps, and read it."""
    text = content if isinstance(content, str) else content.to_csv(index_label="time")
    (folder / name).write_text(text)
    return read_weather(folder / name, **options)


@pytest.fixture
def week() -> pd.DataFrame:
    return sky_frame(2016, 30).iloc[2000:2336]


@pytest.mark.parametrize("zone", [0, -7, 5.5])
def test_an_nsrdb_download_reads_as_it_was_and_as_pvlib_reads_it(tmp_path, week, zone):
    text = psm_text(week, zone=zone)
    weather = read(tmp_path, text, "download.csv")
    assert (weather.site, weather.source, weather.typical) == (GOLDEN, "download.csv", False)
    assert_equal(weather, week)
    if zone == -7:
        theirs, about = pvlib.iotools.read_nsrdb_psm4(io.StringIO(text))
        assert_equal(weather, theirs.tz_convert("UTC"))
        assert about["altitude"] == weather.site.altitude


light = hnp.arrays(np.float64, (5, 12), elements=st.floats(0, 1400, allow_subnormal=False))


@settings(max_examples=40, deadline=None)
@given(
    values=light,
    start=st.datetimes(pd.Timestamp("1998-01-01"), pd.Timestamp("2030-01-01")),
    step=st.sampled_from([5, 10, 15, 30, 60]),
    zone=st.integers(-12, 12),
    kind=st.sampled_from(["psm", "csv"]),
)
def test_any_frame_comes_back_from_a_file(tmp_path_factory, values, start, step, zone, kind):
    index = pd.date_range(pd.Timestamp(start).floor("min"), periods=12, freq=f"{step}min", tz="UTC")
    frame = pd.DataFrame(dict(zip(NAMES, values, strict=True)), index=index)
    local = frame.tz_convert(f"UTC{zone:+03d}:00")
    stamped = psm_text(frame, zone=zone) if kind == "psm" else local
    assert_equal(read(tmp_path_factory.mktemp("any"), stamped, site=GOLDEN), frame)


def test_columns_go_by_their_usual_names(tmp_path, week):
    heads = {
        "ghi": "G(h)", "dni": "DNI (W/m^2)", "dhi": "diffuse_horizontal_irradiance",
        "temp_air": "Air Temperature [C]", "wind_speed": "WS10m",
    }  # fmt: skip
    table = week.rename(columns=heads).assign(**{"Clearsky GHI": 1.0, "DHI clear": 2.0})
    stamped = table.to_csv(index_label="Timestamp")
    assert_equal(read(tmp_path, stamped, site=GOLDEN), week)


def test_times_without_a_zone_need_one(tmp_path, week):
    naive = week.tz_convert("UTC-07:00").tz_localize(None)
    with pytest.raises(WeatherError, match="without a time zone"):
        read(tmp_path, naive, site=GOLDEN)
    assert_equal(read(tmp_path, naive, site=GOLDEN, timezone="UTC-07:00"), week)
    with pytest.raises(WeatherError, match="not a time zone"):
        read(tmp_path, naive, site=GOLDEN, timezone="Mars/Base")


def test_solar_zenith_angles_show_the_clock(tmp_path, week):
    local = week.index.tz_convert("UTC-07:00").tz_localize(None)
    clock = ("year", "month", "day", "hour", "minute")
    parts = {name.title(): getattr(local, name) for name in clock}
    table = pd.DataFrame({**parts, **{name.upper(): week[name].to_numpy() for name in NAMES[:3]}})
    table["Temperature"] = week["temp_air"].to_numpy()
    table["Wind Speed"] = week["wind_speed"].to_numpy()
    table["Solar Zenith Angle"] = GOLDEN.sun(week.index)["apparent_zenith"].to_numpy().round(2)
    assert_equal(read(tmp_path, table.to_csv(), site=GOLDEN), week)
    with pytest.raises(WeatherError, match="fit none"):
        read(tmp_path, table.to_csv(), site=Site(0.0, GOLDEN.longitude))


@pytest.mark.parametrize("missing", [("dni",), ("dhi",), ("ghi",), ("dni", "dhi")])
def test_missing_irradiances_are_made_from_the_others(tmp_path, missing):
    clear = clearsky(GOLDEN, "2016-06-01", "2016-06-08").to_frame()
    weather = read(tmp_path, clear.drop(columns=list(missing)), site=GOLDEN)
    assert closure(weather) < 3.0
    noon = clear["ghi"].to_numpy() > 500.0
    for name in missing:
        tolerance = 2.0 if len(missing) == 1 else 150.0
        np.testing.assert_allclose(getattr(weather, name)[noon], clear[name][noon], atol=tolerance)


def test_rows_without_light_are_left_out_and_temperature_is_interpolated(tmp_path, week):
    broken = week.copy()
    faults = ((3, "ghi", np.nan), (5, "dni", np.inf), (8, "temp_air", np.nan), (10, "dhi", -4.0))
    for row, name, value in faults:
        broken.iloc[row, broken.columns.get_loc(name)] = value
    weather = read(tmp_path, broken.sample(frac=1.0, random_state=1), site=GOLDEN)
    assert list(weather.times) == list(week.index.delete([3, 5]))
    expected = (week["temp_air"].iloc[7] + week["temp_air"].iloc[9]) / 2.0
    assert weather.temp_air[6] == pytest.approx(expected, abs=0.3)
    assert (weather.dhi >= 0.0).all()


@pytest.mark.parametrize("known", [0, 48])
def test_missing_temperatures_are_the_usual_ones(tmp_path, week, known):
    bare = week.copy()
    usual = climate_temperature(GOLDEN, week.index)
    bare["temp_air"] = usual + 3.0
    bare.iloc[known:, bare.columns.get_loc("temp_air")] = np.nan
    weather = read(tmp_path, bare, site=GOLDEN)
    # what is known of the week says how far it is from the usual
    np.testing.assert_allclose(weather.temp_air, usual + (3.0 if known else 0.0))


def test_pvgis_hourly_json_must_be_of_a_horizontal_plane(tmp_path):
    frame = sky_frame(2019, 60, minute=10).iloc[4000:4100]
    weather = read(tmp_path, pvgis_json(frame), "Timeseries.json")
    assert weather.site == GOLDEN
    assert list(weather.times) == list(frame.index)
    np.testing.assert_allclose(weather.dhi, frame["dhi"])
    with pytest.raises(WeatherError, match=r"Timeseries\.json.*slope 0"):
        read(tmp_path, pvgis_json(frame, slope=30), "Timeseries.json")


@pytest.mark.parametrize("components", [True, False])
def test_pvgis_hourly_csv(tmp_path, components):
    heads = "Gb(i),Gd(i),Gr(i)" if components else "G(i)"
    values = "400.0,100.0,0.0" if components else "500.0"
    lines = [
        "Latitude (decimal degrees):\t45.000", "Longitude (decimal degrees):\t8.000",
        "Elevation (m):\t250", "Radiation database:\tPVGIS-SARAH3", "", "",
        "Slope: 0 deg. ", "Azimuth: 0 deg. ", "",
        f"time,{heads},H_sun,T2m,WS10m,Int",
        f"20160601:1010,{values},30.0,20.0,2.0,0.0", f"20160601:1110,{values},60.0,21.0,2.0,0.0",
        "", "H_sun: Sun height (degree)", "",
    ]  # fmt: skip
    weather = read(tmp_path, "\r\n".join(lines))
    assert weather.site == Site(45.0, 8.0, 250.0)
    assert weather.times[0] == pd.Timestamp("2016-06-01T10:10Z")
    np.testing.assert_allclose(weather.ghi, 500.0)
    if components:
        np.testing.assert_allclose(weather.dni, [800.0, 400.0 / np.sin(np.radians(60.0))])


def pvgis_tmy(kind: str) -> str:
    index = pd.date_range("2015-01-01", "2016-01-01", freq="h", tz="UTC", inclusive="left")
    years = 2005 + index.month  # every month of another year, leap years among them
    stamps = [f"{year}{when:%m%d:%H%M}" for year, when in zip(years, index, strict=True)]
    ghi = np.arange(len(index)) % 900
    if kind == "json":
        rows = [
            {"time(UTC)": s, "T2m": 5.0, "G(h)": float(g), "Gb(n)": 2.0, "Gd(h)": 3.0, "WS10m": 1.0}
            for s, g in zip(stamps, ghi, strict=True)
        ]
        location = {"latitude": 45.0, "longitude": 8.0, "elevation": 250.0,
                    "irradiance_time_offset": 0.25}  # fmt: skip
        outputs = {"months_selected": [], "tmy_hourly": rows}
        answer = {"inputs": {"location": location}, "outputs": outputs, "meta": {"inputs": {}}}
        return json.dumps(answer)
    head = ["Latitude (decimal degrees): 45.000", "Longitude (decimal degrees): 8.000",
            "Elevation (m): 250.0", "Irradiance Time Offset (h): 0.25", "month,year",
            *(f"{m},{2005 + m}" for m in range(1, 13)),
            "time(UTC),T2m,RH,G(h),Gb(n),Gd(h),IR(h),WS10m,WD10m,SP"]  # fmt: skip
    rows = [f"{s},5.0,50,{g}.0,2.0,3.0,300,1.0,0,99000" for s, g in zip(stamps, ghi, strict=True)]
    return "\r\n".join([*head, *rows, "", "SP: pressure", ""])


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_a_typical_year_of_pvgis_is_moved_by_its_offset(tmp_path, kind):
    weather = read(tmp_path, pvgis_tmy(kind), f"tmy.{kind}")
    assert weather.typical
    assert weather.site == Site(45.0, 8.0, 250.0)
    assert len(weather.times) == 8760
    assert weather.times[0] == pd.Timestamp("1990-01-01T00:15Z")
    np.testing.assert_allclose(weather.ghi, np.arange(8760) % 900)


def test_tmy3_values_stand_at_the_middle_of_the_hours_they_sum():
    weather = read_weather(TMY3)
    assert weather.typical
    assert weather.site == Site(55.317, -160.517, 7.0)
    assert len(weather.times) == 8760
    assert set(weather.times.minute) == {30}
    assert closure(weather) < 2.0  # half an hour off, it is above 20
    theirs, _ = pvlib.iotools.read_tmy3(TMY3, coerce_year=1990)
    assert weather.ghi.sum() == theirs["ghi"].sum()


def epw_text(frame: pd.DataFrame, site: Site, zone: float) -> str:
    """The frame, at middles of hours in UTC, as an EPW file of local hours 1 to 24."""
    head = [f"LOCATION,Town,-,USA,Made,0,{site.latitude},{site.longitude},{zone},{site.altitude}"]
    text = io.StringIO()
    writer = csv.writer(text)
    local = frame.index + pd.Timedelta(hours=zone)
    for when, row in zip(local, frame.to_dict("records"), strict=True):
        fields: list[object] = [0] * 35
        fields[:6] = [when.year, when.month, when.day, when.hour + 1, 60, "A"]
        fields[6], fields[21] = row["temp_air"], row["wind_speed"]
        fields[13:16] = [row["ghi"], row["dni"], row["dhi"]]
        writer.writerow(fields)
    return "\n".join([*head, *["-"] * 7, text.getvalue()])


def test_epw_hours_of_a_real_year(tmp_path):
    frame = sky_frame(2018, 60, minute=30).iloc[7:500]
    weather = read(tmp_path, epw_text(frame, GOLDEN, -7.0), "real.epw")
    assert not weather.typical
    assert weather.site == GOLDEN
    assert_equal(weather, frame)


def test_epw_months_of_several_years_are_a_typical_year(tmp_path):
    parts = [sky_frame(year, 60, minute=30) for year in range(2000, 2012)]
    frame = pd.concat([part[part.index.month == m] for m, part in enumerate(parts, start=1)])
    frame = frame[~((frame.index.month == 2) & (frame.index.day == 29))]
    frame.iloc[5, 0] = 9999.0
    weather = read(tmp_path, epw_text(frame, GOLDEN, 0.0), "typical.epw")
    assert weather.typical
    assert set(weather.times.year) == {1990}
    assert len(weather.times) == 8759


@pytest.mark.parametrize(
    ("name", "step"),
    [("serf_east_psm3_data.csv", 15), ("system_50_ac_power_2_full_DST_psm3.parquet", 30)],
)
def test_the_examples_of_pvanalytics_can_be_read(name, step):
    weather = read_weather(EXAMPLES / name, site=GOLDEN)
    assert weather.step_minutes == step
    zenith, _ = weather.sun()
    assert weather.ghi[zenith > 95.0].max() < 15.0  # one of them interpolated its light
    assert weather.ghi[zenith < 40.0].mean() > 500.0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\n \n", "is empty"),
        (b"just some text\nand, more\nof, it, here\n", "cannot be read|no column of times"),
        (b"\x00\x01\x02\xff\xfe", "cannot be read|no column of times|is empty"),
        (b"PAR1 but not really", "cannot be read as weather"),
        (b'{"outputs": 1}', "not a whole answer of PVGIS"),
        (b'{"outputs": {"hourly": [', "not a whole answer of PVGIS"),
        (b'{"outputs": {"hourly": []}}', "cannot be read as weather"),
        (b"LOCATION,only,this\n", "cannot be read as weather"),
        (b"Latitude (decimal degrees): 45\n", "cannot be read as weather"),
        (b"Latitude,Longitude,Time Zone\n1,2,3\nnothing\n", "cannot be read as weather"),
        (b"Latitude,Longitude,Time Zone\n99,2,3\nYear,Month,Day,Hour,GHI\n2016,1,1,0,5\n",
         "latitude must be between"),
        (b"703165,Town,AK\nDate (MM/DD/YYYY),Time (HH:MM)\n", "cannot be read as weather"),
        (b"time,power\n2016-01-01T00:00Z,3\n2016-01-01T01:00Z,3\n", "no column of global"),
        (b"time,ghi\n2016-01-01T00:00Z,nan\n2016-01-01T01:00Z,inf\n", "fewer than two rows"),
        (b"time,ghi\n2016-01-01T00:00Z,x\n2016-01-01T01:00Z,5000\n2016-01-01T02:00Z,1\n",
         "bring it to W/m²"),
    ],
)  # fmt: skip
def test_a_bad_file_gives_one_sentence_with_its_name(tmp_path, content, said):
    path = tmp_path / "bad.dat"
    path.write_bytes(content)
    with pytest.raises(WeatherError, match=said) as caught:
        read_weather(path, site=GOLDEN)
    assert "bad.dat" in str(caught.value)


@settings(max_examples=60, deadline=None)
@given(content=st.binary(max_size=300))
def test_no_bytes_at_all_give_anything_but_our_error(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "bytes.csv"
    path.write_bytes(content)
    with pytest.raises(WeatherError):
        read_weather(path, site=GOLDEN)

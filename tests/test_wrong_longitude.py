"""A clock that cannot be that of a place is refused, by public facts, wherever readings come in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sunveil
from sunveil.cli import main
from sunveil.errors import ParameterError
from sunveil.estimates import Flag
from sunveil.fleet.open import open_fleet
from sunveil.fleet.systems_table import read_systems
from sunveil.inference import infer_fleet
from sunveil.meters import MeterOptions, from_pandas
from sunveil.privacy import Days
from sunveil.releases.fleet_releases import SystemsToRelease
from sunveil.releases.release import release
from sunveil.service.settings import ReadingLimits, UploadLimits
from sunveil.service.upload_checks import take_in
from sunveil.service.uploads import ReceivedFile
from sunveil.weather import clearsky

RIGHT, WRONG = -105.1727, 105.1727
SAID = "did you mean longitude -105.1727?"
ZONE = "America/Denver"


@pytest.fixture(scope="module")
def power(clear_power) -> pd.Series:
    return clear_power(days=20)


def place(longitude: float) -> dict[str, float]:
    return {"latitude": 39.742, "longitude": longitude, "altitude": 1795.0}


def table(path: Path, places: dict[str, float], zone: str | None = None) -> Path:
    """Write a table of systems and their longitudes."""
    rows = [f"{name},39.742,{each}" + (f",{zone}" if zone else "") for name, each in places.items()]
    head = "system_id,latitude,longitude" + (",timezone" if zone else "")
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def frame_of(power: pd.Series, names) -> pd.DataFrame:
    """Return the same readings for several systems."""
    return pd.concat(
        [pd.DataFrame({"system_id": name, "time": power.index, "power_kw": power.to_numpy()})
         for name in names],
        ignore_index=True,
    )  # fmt: skip


def csv(path: Path, power: pd.Series, stamp: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    local = power.tz_convert(ZONE)
    pd.DataFrame({"time": local.index.strftime(stamp), "power_kw": local.to_numpy()}).to_csv(
        path, index=False
    )
    return path


def refusals(folder: Path) -> dict[str, str]:
    found = pd.read_parquet(folder / "refused.parquet")
    return dict(zip(found["system_id"], found["reason"], strict=True))


@pytest.mark.parametrize(
    ("clock", "longitude", "fits"),
    [
        ("Asia/Shanghai", 75.0, True),
        ("UTC+08:00", 75.0, True),
        ("UTC+08:00", 74.9, False),
        ("Pacific/Kiritimati", -157.4, True),
        ("Pacific/Apia", -171.8, True),
        ("UTC+13:00", -175.2, True),
        ("UTC-12:00", 179.9, True),
        ("America/Nome", -165.4, True),
        ("Europe/Madrid", -9.3, True),
        ("UTC", 151.2, True),
        ("Etc/UTC", 151.2, True),
        ("GMT", -105.0, True),
        ("Australia/Sydney", -151.2, False),
        ("Australia/Sydney", 151.2, True),
        ("Asia/Tokyo", -139.7, False),
        ("Etc/GMT+7", 105.0, False),
        ("Europe/Berlin", -98.0, False),
    ],
)
def test_a_clock_is_refused_more_than_three_hours_from_the_sun_of_its_place(
    tmp_path, clock, longitude, fits
):
    systems = table(tmp_path / "s.csv", {"a": longitude}, clock)
    assert bool(len(read_systems(systems))) == fits
    systems = table(tmp_path / "s.csv", {"a": longitude})
    found = read_systems(systems, MeterOptions(timezone=clock))
    assert bool(len(found)) == fits
    if not fits:
        assert f"did you mean longitude {-longitude:g}?" in found.refused[0].reason or (
            "check the longitude" in found.refused[0].reason
        )


@pytest.mark.parametrize("way", ["declared", "offset", "zone", "stamps", "saving stamps"])
def test_an_inference_says_which_longitude_would_fit(power, tmp_path, way):
    wide = power.tz_convert(ZONE)
    readings, given = {
        "declared": (wide.tz_localize(None), {"timezone": ZONE, "label": "start"}),
        "offset": (power.tz_convert("UTC-07:00").tz_localize(None), {"timezone": "-07:00"}),
        "zone": (wide, {}),
        "stamps": (csv(tmp_path / "a" / "a.csv", power, "%Y-%m-%dT%H:%M-07:00"), {}),
        "saving stamps": (csv(tmp_path / "a" / "a.csv", power, "%Y-%m-%dT%H:%M%z"), {}),
    }[way]
    with pytest.raises(ParameterError) as caught:
        sunveil.infer(readings, **place(WRONG), **given)
    assert SAID in str(caught.value)
    if way not in ("stamps",):
        found = sunveil.infer(readings, **place(RIGHT), **given)
        assert Flag.CLOCK_REPAIRED not in found.flags


def test_no_reading_is_looked_at(power, monkeypatch):
    monkeypatch.setattr("sunveil.inference.fleet_part.infer_block", None)
    for values in (power, power * np.nan, power * 0.0):
        record = from_pandas(values.tz_convert(ZONE), cleaning="each", power_unit="kW")
        with pytest.raises(ParameterError) as caught:
            sunveil.infer(record, **place(WRONG))
        assert SAID in str(caught.value)


def test_stamps_in_utc_say_nothing_and_a_repair_of_hours_is_not_believed(clear_power):
    power = clear_power(days=60)
    with pytest.raises(sunveil.SunveilError, match="longitude"):
        sunveil.infer(power, **place(WRONG))
    forced = sunveil.infer(power, force=True, **place(WRONG))
    assert Flag.WRONG_PLACE in forced.flags
    assert forced.quality == "poor"
    hour = power.set_axis(power.index + pd.Timedelta(hours=1))
    assert sunveil.infer(hour, **place(RIGHT)).clock.offset_minutes == 60.0
    # a clock that is declared, and plausible, may be hours off
    far = power.set_axis(power.index + pd.Timedelta(hours=3)).tz_convert("Etc/GMT+7")
    assert sunveil.infer(far, **place(RIGHT)).clock.offset_minutes == 180.0
    with pytest.raises(sunveil.SunveilError, match="longitude"):
        sunveil.infer(far.tz_convert("UTC"), **place(RIGHT))
    assert sunveil.infer(far.tz_convert("UTC"), clock="given", force=True, **place(RIGHT))


def test_a_fleet_refuses_the_systems_whose_clock_is_not_their_place_s(power, tmp_path):
    folder = tmp_path / "fleet"
    for name in ("far", "near"):
        csv(folder / f"{name}.csv", power, "%Y-%m-%dT%H:%M%z")
    systems = table(tmp_path / "systems.csv", {"far": WRONG, "near": RIGHT})
    infer_fleet(folder, systems, tmp_path / "stamps")
    assert list(refusals(tmp_path / "stamps")) == ["far"]
    assert SAID in refusals(tmp_path / "stamps")["far"]
    frame = frame_of(power, ("far", "near"))
    naive = frame.assign(time=frame["time"].dt.tz_convert(ZONE).dt.tz_localize(None))
    naive.to_parquet(tmp_path / "naive.parquet", index=False)
    for number, zone in enumerate((ZONE, "UTC-06:00")):
        out = tmp_path / f"declared{number}"
        infer_fleet(tmp_path / "naive.parquet", systems, out, timezone=zone)
        assert list(refusals(out)) == ["far"]
        assert SAID in refusals(out)["far"]


def test_a_zone_that_a_file_of_several_systems_keeps_may_be_how_it_is_shown(power, tmp_path):
    """The mirrored place is refused; any other is taken as if its stamps were in UTC."""
    places, shown = {"near": RIGHT, "far": WRONG, "east": 10.0}, tmp_path / "shown.parquet"
    frame = frame_of(power, places)
    frame.assign(time=frame["time"].dt.tz_convert(ZONE)).to_parquet(shown, index=False)
    infer_fleet(shown, table(tmp_path / "systems.csv", places), tmp_path / "out")
    found = refusals(tmp_path / "out")
    assert SAID in found["far"]
    # seven hours from where it says that it stands
    assert "longitude" in found["east"]
    assert "did you mean" not in found["east"]
    assert "near" not in found


@pytest.mark.parametrize("mechanism", ["default", "paper"])
def test_a_release_is_refused_and_says_the_same_whatever_the_readings(power, mechanism):
    weather = clearsky(sunveil.Site(39.742, WRONG), "2019-02-20", "2019-04-01")
    for values in (power, power * np.nan, power * 0.0):
        record = from_pandas(values.tz_convert(ZONE), cleaning="each", power_unit="kW")
        with pytest.raises(ParameterError) as caught:
            release(record, weather, protect=Days(1), epsilon=1.0, mechanism=mechanism)
        assert SAID in str(caught.value)
        with (
            open_fleet([record], site=weather.site, weather=weather) as fleet,
            pytest.raises(ParameterError) as caught,
        ):
            SystemsToRelease.of(fleet)
        assert SAID in str(caught.value)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SUNVEIL_LEDGER", str(tmp_path / "ledger.db"))
    assert main(["dataset", "create", "homes", "--protect", "days:1", "--epsilon", "2"]) == 0
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("command", ["infer", "release", "publish system"])
@pytest.mark.parametrize("whole", [False, True])
def test_commands_refuse_it(command, whole, power, tmp_path, ledger, capsys):
    meters = csv(tmp_path / "fleet" / "a.csv", power, "%Y-%m-%d %H:%M").parent
    csv(tmp_path / "fleet" / "b.csv", power, "%Y-%m-%d %H:%M")
    given = [*command.split(), str(meters), "--timezone", ZONE]
    if whole:
        systems = table(tmp_path / "systems.csv", {"a": WRONG, "b": WRONG})
        given += ["--systems", str(systems)]
        written = "--out" if command == "infer" else "--refused"
        given += [written, str(tmp_path / "refused.csv")]
    else:
        given += ["--latitude", "39.742", "--longitude", str(WRONG)]
    if command != "infer":
        given += ["--label", "start", "--protect", "days:1", "--epsilon", "1"]
    if command.startswith("publish"):
        given += ["--dataset", "homes", "--out", str(tmp_path / "rows")]
    capsys.readouterr()
    assert main(given) == 2
    said = capsys.readouterr().err
    if not whole:
        assert SAID in said
    assert not (tmp_path / "rows").exists()
    assert main(["dataset", "show", "homes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["remaining"] == 2.0


def test_an_upload_says_so_before_anything_is_inferred(power, tmp_path):
    came, into = tmp_path / "came", tmp_path / "into"
    into.mkdir()
    path = csv(came / "a.csv", power, "%Y-%m-%d %H:%M")
    files = [ReceivedFile("meters", "a.csv", path, path.stat().st_size)]
    limits = UploadLimits()
    options = MeterOptions(timezone=ZONE, label="start")
    with pytest.raises(sunveil.SunveilError) as caught:
        take_in(files, into, limits, ReadingLimits(), options, place(WRONG))
    assert SAID in str(caught.value)

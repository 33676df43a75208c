from __future__ import annotations

import gzip

import pytest

FILES = {
    "empty.csv": b"",
    "header.csv": b"system_id,time,power_kw\n",
    "prose.csv": b"It was a bright cold day in April.\nThe clocks were striking.\n" * 20,
    "prose2.csv": b"Dear Sir, thank you\nfor your letter, which\nI have read, twice\n" * 20,
    "binary.csv": bytes(range(256)) * 20,
    "cut.parquet": b"PAR1" + b"\x15\x04" * 40,
    "cut.csv.gz": gzip.compress(b"time,power_kw\n" + b"2019-06-01T12:00Z,1.0\n" * 999)[:60],
    "cut.xml": b"<?xml version='1.0'?><feed xmlns='http://www.w3.org/2005/Atom'><entry>",
    "workbook.xlsx": b"PK\x03\x04" + b"\x00" * 100,
    "no_times.csv": b"a,power_kw\n1,2\n2,3\n",
    "no_power.csv": b"time,remark\n2019-06-01T12:00Z,fine\n2019-06-01T13:00Z,fine\n",
    "no_zone.csv": b"time,power_kw\n2019-06-01 12:00,1.0\n2019-06-01 13:00,2.0\n",
    "nan.csv": b"time,power_kw\n" + b"".join(b"2019-06-01T%02d:00Z,NaN\n" % h for h in range(24)),
    "inf.csv": b"time,power_kw\n" + b"".join(b"2019-06-01T%02d:00Z,inf\n" % h for h in range(24)),
    "one.csv": b"time,power_kw\n2019-06-01T12:00Z,1.0\n",
    "zero.csv": b"time,power_kw\n" + b"".join(b"2019-06-01T%02d:00Z,0\n" % h for h in range(24)),
}


@pytest.fixture
def refused(sunveil, tmp_path):
    """Run a command that must fail, and return its one sentence."""

    def run(*arguments: object, out: object = tmp_path / "out" / "result.json") -> str:
        (tmp_path / "out").mkdir(exist_ok=True)
        said = sunveil(*arguments, "--json", "--out", out)
        assert said.code == 2
        assert said.out == ""
        assert said.err.startswith("sunveil: ")
        assert said.err.count("\n") == 1
        assert said.err.endswith("\n")
        assert "Traceback" not in said.err
        assert list((tmp_path / "out").iterdir()) == []
        return said.err

    return run


@pytest.mark.parametrize("name", FILES)
def test_a_file_without_readings_is_refused_by_its_name(refused, tmp_path, place, name):
    path = tmp_path / name
    path.write_bytes(FILES[name])
    assert name.partition(".")[0] in refused("infer", path, *place)


def test_a_loop_of_links_and_a_folder_without_meters_are_refused(refused, tmp_path, place):
    path, bare = tmp_path / "loop.csv", tmp_path / "bare"
    path.symlink_to(path)
    bare.mkdir()
    assert "loop.csv" in refused("infer", path, *place)
    assert "no meter files" in refused("infer", bare, *place)


def test_a_year_without_weather_is_refused_with_both_spans(
    refused, one_system, weather_file, place
):
    said = refused("infer", one_system, *place, "--weather", weather_file(2016))
    assert "2016-01-01" in said
    assert "2019-02-27" in said


def test_weather_of_another_place_or_kind_is_refused(refused, one_system, tmp_path, place):
    for content in (b"", b"Dear Sir\n", bytes(range(256))):
        path = tmp_path / "sky.csv"
        path.write_bytes(content)
        assert "sky.csv" in refused("infer", one_system, *place, "--weather", path)


def test_an_out_that_would_spoil_the_input_is_refused(refused, one_system, tmp_path, place):
    before = one_system.read_bytes()
    link = tmp_path / "link.csv"
    link.symlink_to(one_system)
    beside = one_system.parent / "more.csv"
    for meters, out in ((one_system, link), (one_system.parent, beside)):
        assert "files that are read" in refused("infer", meters, *place, out=out)
    assert one_system.read_bytes() == before
    assert not beside.exists()


def test_names_that_would_steer_a_terminal_are_printed_harmlessly(
    sunveil, three_roofs, write_long, tmp_path, place
):
    power = three_roofs["south"]
    path = write_long(tmp_path / "odd.csv", {"roof\x1b[2J": power, "other": power})
    said = sunveil("infer", path, *place)
    assert "\x1b" not in said.out + said.err
    assert "other" in said.out
    alone = sunveil("infer", write_long(tmp_path / "alone.csv", {"roof\x1b[2J": power}), *place)
    assert alone.code == 2
    assert "\x1b" not in alone.out + alone.err

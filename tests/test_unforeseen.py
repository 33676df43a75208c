"""Errors that nobody foresaw: a sentence, a line in the log, a traceback with SUNVEIL_DEBUG=1."""

from __future__ import annotations

import logging
import zipfile

import pandas as pd
import pytest

import sunveil
from sunveil.cli import main
from sunveil.errors import SunveilError
from sunveil.meters.build_record import to_record

SECRET = "7.65432 kW at home"
PLACE = ("--latitude", "39.742", "--longitude", "-105.1727")
WEEK = pd.date_range("2024-06-01", periods=7 * 24, freq="h", tz="UTC")


def broken(*_args, **_options):
    raise ArithmeticError(SECRET)


@pytest.fixture
def meters(tmp_path):
    path = tmp_path / "meters.csv"
    pd.DataFrame({"time": WEEK, "power_kw": WEEK.hour % 12}).to_csv(path, index=False)
    return path


@pytest.fixture
def said(capsys):
    def run(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out + err

    return run


def test_an_inference_keeps_the_cause_and_logs_where_it_was(monkeypatch, caplog, tmp_path):
    monkeypatch.setattr("sunveil.inference.fleet_part.infer_block", broken)
    with pytest.raises(SunveilError, match="ArithmeticError") as failed:
        sunveil.infer(pd.Series(1.0, WEEK), latitude=39.7, longitude=-105.2, power_unit="kW")
    assert isinstance(failed.value.__cause__, ArithmeticError)
    assert SECRET not in str(failed.value) + caplog.text
    assert "ArithmeticError at broken:" in caplog.text
    # a damaged workbook keeps its cause too
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as file:
        file.writestr("[Content_Types].xml", "<Types/>")
        file.writestr("xl/workbook.xml", SECRET)
    with pytest.raises(SunveilError, match="xlsx") as failed:
        sunveil.read_meters(tmp_path / "a.xlsx")
    assert failed.value.__cause__ is not None


@pytest.mark.parametrize("at", ["inference.fleet_part.infer_block", "meters.read_files.to_record"])
def test_a_traceback_is_shown_to_who_asks_for_it(monkeypatch, caplog, said, meters, at):
    monkeypatch.setattr(f"sunveil.{at}", broken)
    code, text = said("infer", meters, *PLACE)
    assert code == 2
    assert "ArithmeticError" in text
    assert SECRET not in text + caplog.text
    monkeypatch.setenv("SUNVEIL_DEBUG", "1")
    said("infer", meters, *PLACE)
    assert SECRET in caplog.text
    assert "Traceback" in caplog.text


def test_a_fleet_logs_what_befell_a_system(monkeypatch, caplog, said, meters, tmp_path):
    monkeypatch.setattr("sunveil.inference.fleet_part.infer_block", broken)
    systems = tmp_path / "systems.csv"
    systems.write_text("system_id,latitude,longitude\nmeters,39.742,-105.1727\n")
    asked = ("infer", meters, "--systems", systems, "--workers", "1", "--out")
    said(*asked, tmp_path / "one")
    assert "ArithmeticError at broken:" in caplog.text
    assert SECRET not in caplog.text
    monkeypatch.setenv("SUNVEIL_DEBUG", "1")
    said(*asked, tmp_path / "two")
    assert SECRET in caplog.text


def test_a_command_that_breaks_says_so_in_a_sentence(monkeypatch, said, meters):
    monkeypatch.setattr("sunveil.meters.read_files.contents_of", broken)
    code, text = said("infer", meters, *PLACE)
    assert (code, text.count("\n")) == (70, 1)
    assert text.startswith("sunveil: unexpected ArithmeticError; run it again with SUNVEIL_DEBUG=1")
    monkeypatch.setenv("SUNVEIL_DEBUG", "1")
    code, text = said("infer", meters, *PLACE)
    assert code == 70
    assert "Traceback (most recent call last)" in text
    assert SECRET in text
    assert text.splitlines()[-1].startswith("sunveil: unexpected ArithmeticError")


def test_a_refusal_has_its_traceback_before_its_sentence(said, tmp_path, monkeypatch):
    monkeypatch.setenv("SUNVEIL_DEBUG", "1")
    code, text = said("infer", tmp_path / "none.csv", *PLACE)
    assert code == 2
    assert "Traceback (most recent call last)" in text
    assert text.splitlines()[-1].startswith("sunveil: there is no file")


def test_a_release_says_and_logs_nothing_of_what_broke_for_a_reading(
    monkeypatch, caplog, said, meters
):
    asked = ("release", meters, *PLACE, "--protect", "days:1", "--epsilon", "1")
    whole = to_record

    def picky(raw, options):
        return broken() if raw.values.any() else whole(raw, options)

    calm = said(*asked)
    monkeypatch.setattr("sunveil.fleet.open.to_record", picky)
    code, text = said(*asked)
    assert (code, calm[0]) == (0, 0)
    assert len(text.splitlines()) == len(calm[1].splitlines())
    assert "ArithmeticError" not in text + caplog.text
    monkeypatch.setenv("SUNVEIL_DEBUG", "1")
    said(*asked)
    assert SECRET in caplog.text


def test_a_service_tells_its_log_alone_and_all_of_it_only_when_asked(monkeypatch):
    from sunveil.service.context import internal_problem
    from sunveil.service.health_and_metrics import JsonLines, TextLines, WithoutTraceback

    def logged(line):
        kept = []
        handler = logging.Handler()
        handler.emit = lambda record: kept.append(line.format(record))
        handler.addFilter(WithoutTraceback())
        log = logging.getLogger("sunveil.service")
        log.addHandler(handler)
        try:
            broken()
        except ArithmeticError as error:
            problem = internal_problem(error)
        finally:
            log.removeHandler(handler)
        return kept[0], str(problem.to_dict())

    for line in (TextLines(), JsonLines()):
        monkeypatch.delenv("SUNVEIL_DEBUG", raising=False)
        log, answer = logged(line)
        assert "ArithmeticError at broken:" in log
        assert SECRET not in log + answer
        monkeypatch.setenv("SUNVEIL_DEBUG", "1")
        log, answer = logged(line)
        assert SECRET in log
        assert SECRET not in answer

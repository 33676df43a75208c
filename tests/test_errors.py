from __future__ import annotations

import os
import pickle
import stat

import pytest

import sunveil
from sunveil import errors
from sunveil._files import write_whole
from sunveil.errors import (
    BudgetExceeded,
    LedgerError,
    LedgerUnavailable,
    MeterError,
    ParameterError,
    SourceError,
    SunveilError,
    TooLittleData,
    WeatherError,
)


def test_every_error_is_a_sunveil_error_and_in_the_tree_of_the_docstring():
    found = [each for each in vars(errors).values() if isinstance(each, type)]
    found = [each for each in found if issubclass(each, Exception)]
    assert len(found) == 12
    for kind in found:
        assert issubclass(kind, SunveilError)
        assert kind.__name__ in errors.__doc__
    assert issubclass(MeterError, SourceError)
    assert issubclass(WeatherError, SourceError)
    assert not issubclass(MeterError, WeatherError)
    assert not issubclass(TooLittleData, SourceError)
    assert issubclass(ParameterError, ValueError)


def test_an_error_names_its_option_in_the_message_and_as_an_attribute(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("time,power_kw\n2024-06-01 00:00,1\n2024-06-01 01:00,1\n")
    with pytest.raises(MeterError, match=r"option `timezone`") as refused:
        sunveil.read_meters(path)
    assert refused.value.option == "timezone"
    assert pickle.loads(pickle.dumps(refused.value)).option == "timezone"
    assert SunveilError("what went wrong").option is None


def test_errors_of_the_ledger_keep_their_facts():
    exceeded = BudgetExceeded("too much", requested=2.0, remaining=0.5)
    assert isinstance(exceeded, LedgerError)
    assert (exceeded.requested, exceeded.remaining) == (2.0, 0.5)
    away = LedgerUnavailable("the ledger here: full", reason="full")
    assert isinstance(away, LedgerError)
    assert (str(away), away.reason) == ("the ledger here: full", "full")


def test_text_and_bytes_are_written_as_they_are(tmp_path):
    for name, content in (("text", "ε = 1\r\n"), ("bytes", b"\x00\xff")):
        write_whole(tmp_path / name, content)
    assert (tmp_path / "text").read_bytes() == "ε = 1\r\n".encode()
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_private_file_is_for_its_owner_only_and_another_follows_the_mask(tmp_path):
    mask = os.umask(0o022)
    try:
        for name, private in (("own", True), ("open", False)):
            write_whole(tmp_path / name, "x", private=private)
    finally:
        os.umask(mask)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("own", "open")]
    assert modes == [0o600, 0o644]


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "below" / "file")
    write_whole(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "below" / "file").read_text() == "new"


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, MemoryError])
def test_what_stops_the_writing_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error):
    path = tmp_path / "file"
    path.write_text("old")

    def stop(*_: object) -> None:
        assert len(list(tmp_path.iterdir())) == 2
        raise error

    monkeypatch.setattr(os, "replace", stop)
    with pytest.raises(error):
        write_whole(path, "new")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "old"

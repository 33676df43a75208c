from __future__ import annotations

import os
import stat

import pytest

from sunveil._files import write_whole


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

from __future__ import annotations

import os

from sunveil.endtoend.workplace import open_workplace


def test_a_workplace_leaves_nothing_behind(monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "before")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with open_workplace(lambda _: 0) as place:
        assert os.environ["XDG_STATE_HOME"].startswith(str(place.folder))
        name = place.new_dataset("days:1")
        assert place.ledger_of(name).is_file()
    assert (os.environ["XDG_STATE_HOME"], "XDG_CACHE_HOME" in os.environ) == ("before", False)
    assert not place.folder.exists()


def test_names_are_new_and_equally_long():
    with open_workplace(lambda _: 0) as place:
        names = [place.new_name() for _ in range(3)] + [place.new_folder().name]
    assert len(set(names)) == 4
    assert {len(name) for name in names} == {6}

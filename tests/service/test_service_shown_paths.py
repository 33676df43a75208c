from __future__ import annotations

from pathlib import Path

from service_makers import post

from sunveil.service.page_rendering import without_server_paths
from sunveil.service.settings import ServiceSettings


def test_files_are_named_from_the_data_folder_on():
    settings = ServiceSettings(data=Path("/srv/cust & co/data"), database="/srv/ledger/sunveil.db")
    assert (
        without_server_paths(
            "/srv/cust & co/data/datasets/roofs/a.csv, /srv/cust &amp; co/data/b.csv and"
            " /srv/ledger/sunveil.db lack a column; see /curator/add",
            settings,
        )
        == "datasets/roofs/a.csv, b.csv and sunveil.db lack a column; see /curator/add"
    )


def test_a_curator_is_told_of_a_file_without_where_the_server_keeps_it(served):
    page = served.curator()
    data = served.service.settings.data
    assert (data / "sunveil.db.mark").exists()
    (data / "sunveil.db.mark").write_text("changed by hand")
    shown = page.get("/curator/datasets/roofs/ledger")
    assert "the high-water mark sunveil.db.mark is not as it was written" in shown.text
    assert str(data) not in shown.text
    refused = post(page, "/curator/datasets/roofs/analysts", analyst="bob", share="1")
    assert str(data) not in refused.text

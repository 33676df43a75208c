"""Another edition of a promised dataset, over real HTTP."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from curator_makers import write_results
from service_makers import Running, csrf, key, new_token, post

from sunveil.estimates.read_write import RUN
from sunveil.service.curator.inference import job_id, jobs_of
from sunveil.service.store.datasets import Served, add_served, find_served

PAGE = "/curator/datasets/roofs"
SYSTEMS = 12
HEADER = "system_id,latitude,longitude,feeder,household"
READINGS = b"system_id,time,power_kw\ns000,2025-06-01T12:00Z,1.25\n"


def table(extra: tuple[str, ...] = (), *, keys: bool = True) -> bytes:
    """Return a table of the systems that results have, and of further ones."""
    rows = [
        f"{name},40.0,-105.0,F{number % 4},{f'home-{name}' if keys else ''}"
        for number, name in enumerate([*(f"s{at:03d}" for at in range(SYSTEMS)), *extra])
    ]
    return "\n".join([HEADER, *rows]).encode()


def write_finished(folder: Path, **options: Any) -> None:
    """Write what a run over a fleet leaves at its end; whoever it refused is not in the table."""
    write_results(folder / "inferred", SYSTEMS, refused=1, **options)
    (folder / "inferred" / RUN).write_text("{}")


def served_of(running: Running) -> Served:
    with running.service.store.reading() as connection:
        return find_served(connection, "roofs")


def wait_for(happened: Callable[[], bool]) -> None:
    last = time.monotonic() + 60.0
    while not happened():
        assert time.monotonic() < last, "it never happened"
        time.sleep(0.02)


def end_inference(running: Running, script: str = "") -> None:
    """Run a script in place of a dataset's inference, to its end."""
    jobs = jobs_of(running.service)
    jobs.start(job_id("roofs"), [sys.executable, "-c", script], kind="infer", about="roofs")
    wait_for(lambda: jobs.get(job_id("roofs")).state.over)


@pytest.fixture
def running(serve) -> Running:
    """Return a service with a dataset whose promise is made and of which ann has a share."""
    made: Running = serve()
    folder = made.service.settings.datasets / "roofs"
    (folder / "meters").mkdir(parents=True)
    (folder / "systems.csv").write_bytes(table())
    write_finished(folder)
    extra = {"systems_table": "systems.csv", "listed": SYSTEMS, "options": {"timezone": "UTC"}}
    served = Served("roofs", "Roofs", "roofs", meters="meters", extra=extra, edition="2025")
    with made.service.store.changing() as connection:
        add_served(connection, served)
    end_inference(made)
    wait_for(lambda: served_of(made).state == "ready")
    made.browser = made.curator()
    promise = {"protect": "system", "k": "1", "epsilon": "2", "delta": "0", "sure": "yes"}
    post(made.browser, f"{PAGE}/promise", **promise)
    made.service.ledger.set_share("roofs", "ann", 2.0)
    return made


def upload(client: httpx.Client, systems: bytes, **fields: str) -> httpx.Response:
    given = {"csrf": csrf(client, f"{PAGE}/edition"), "edition": "2026", **fields}
    files = {"meters": ("readings.csv", READINGS), "systems": ("systems.csv", systems)}
    return client.post(f"{PAGE}/edition/upload", data=given, files=files)


def ask(api: httpx.Client, epsilon: float = 0.5) -> dict[str, Any]:
    question = {"kind": "totals", "epsilon": epsilon}
    answer = api.post("/datasets/roofs/releases", json=question, headers=key())
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def test_an_edition_is_inferred_beside_the_one_that_answers_and_takes_its_place(running):
    api = running.client(new_token(running.service))
    first = ask(api)
    before = running.service.ledger.dataset("roofs")
    assert 'href="/curator/datasets/roofs/edition"' in running.browser.get(PAGE).text
    form = running.browser.get(f"{PAGE}/edition").text
    assert 'value="UTC"' in form  # read as the last edition was
    answer = upload(running.browser, table(("n1",)))
    assert answer.headers["location"] == PAGE, answer.text
    assert "Version 2025 answers questions until" in running.browser.get(PAGE).text
    # the old one answers, from what was kept too
    assert (served_of(running).edition, served_of(running).state) == ("2025", "ready")
    assert ask(api)["id"] == first["id"]
    assert running.service.ledger.dataset("roofs").households == SYSTEMS + 1
    folder = running.service.settings.datasets / "roofs" / "edition-2"
    assert (folder / "meters" / "readings.csv").read_bytes() == READINGS
    write_finished(folder, seed=2)
    end_inference(running)
    wait_for(lambda: served_of(running).edition == "2026")
    assert served_of(running).extra["editions"] == ["2025"]
    second = ask(api)
    assert (first["edition"], second["edition"]) == ("2025", "2026")
    assert second["id"] != first["id"]
    assert api.get(f"/releases/{first['id']}").json()["tables"] == first["tables"]
    after = running.service.ledger.dataset("roofs")
    assert after.promise == before.promise
    assert (before.spent, after.spent) == (0.5, 1.0)
    assert running.service.ledger.verify("roofs").holds


@pytest.mark.parametrize(
    ("systems", "fields", "why"),
    [
        (table(), {"edition": "2025"}, "there is a version of this name"),
        (table(), {"edition": " "}, "give the version a name"),
        (table(("n1",), keys=False), {}, "a new name is not a new household"),
        (b"a,b\n1,2\n", {}, "no column of systems"),
        (table().replace(b"home-s000", b"4.0031E+11"), {}, "&#39;household&#39; of"),
    ],
)
def test_an_edition_that_cannot_be_is_refused_and_leaves_nothing(running, systems, fields, why):
    ask(running.client(new_token(running.service)))  # registers who is there
    answer = upload(running.browser, systems, **fields)
    assert (answer.status_code, why in answer.text.lower()) == (422, True)
    assert "next" not in served_of(running).extra
    folder = running.service.settings.datasets
    assert not (folder / "roofs" / "edition-2").exists()
    assert [each.name for each in folder.glob("[!.]*")] == ["roofs"]


def test_new_systems_without_keys_join_where_the_curator_says_that_they_are_others(running):
    ask(running.client(new_token(running.service)))
    assert upload(running.browser, table(("n1",), keys=False), others="yes").status_code == 303


def test_an_edition_is_named_in_a_folder_begun_anew_and_dropped(running):
    data: Path = running.service.settings.data
    (data / "utility").mkdir()
    (data / "utility" / "a.csv").write_bytes(READINGS)
    (data / "systems.csv").write_bytes(table())
    fields = {"edition": "2026", "meters": "utility", "systems": "systems.csv"}
    answer = post(running.browser, f"{PAGE}/edition/folder", page=f"{PAGE}/edition", **fields)
    assert answer.headers["location"] == PAGE, answer.text
    again = post(running.browser, f"{PAGE}/edition/folder", page=f"{PAGE}/edition", **fields)
    assert "a new version is waiting" in again.text.lower()
    end_inference(running, "raise SystemExit(2)")
    wait_for(lambda: served_of(running).upcoming.state == "failed")
    assert served_of(running).state == "ready"  # the old one answers
    dropped = post(running.browser, f"{PAGE}/edition/drop", page=PAGE)
    assert dropped.headers["location"] == PAGE
    assert "next" not in served_of(running).extra
    assert (data / "utility" / "a.csv").exists()
    assert not (running.service.settings.datasets / "roofs" / "edition-2").exists()
    assert (running.service.settings.datasets / "roofs" / "inferred").exists()

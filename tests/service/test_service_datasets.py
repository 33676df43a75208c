from __future__ import annotations

import html
import json
import sys
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_makers import (
    PAGE,
    READINGS,
    SYSTEMS,
    alert_of,
    ended,
    inferred,
    login,
    make_promise,
    served_of,
    text_of,
    upload,
    write_results,
)
from service_makers import Running, csrf, key, new_token, post, wait_for

from sunveil.cli import cli
from sunveil.estimates.read_write import RUN
from sunveil.meters import MeterOptions, iter_systems
from sunveil.service.background_jobs import JobState
from sunveil.service.curator import inference
from sunveil.service.curator.datasets import DatasetForm, described, public_groups
from sunveil.service.settings import MEGABYTE, ReadingLimits
from sunveil.service.store.datasets import READING_FIELDS, Served, add_served
from sunveil.service.upload_checks import look_at_named, meter_options, options_from, preview


@pytest.fixture(scope="module")
def taken(start) -> Running:
    """Return a service that takes little, and has one dataset."""
    running = start(upload_limit=MEGABYTE)
    upload(login(running), title="Taken")
    return running


def test_a_form_from_elsewhere_uploads_nothing(serve):
    running = serve()
    assert upload(login(running), token="0" * 64).status_code == 403
    assert upload(running.client(), token="0" * 64).status_code == 401
    assert list(running.service.settings.datasets.iterdir()) == []


def name_folder(client: httpx.Client, meters: str, systems: str = "utility/systems.csv"):
    fields = {"title": "Named", "meters": meters, "systems": systems, "timezone": "UTC"}
    return post(client, "/curator/add/folder", page="/curator/add", **fields)


@pytest.fixture(scope="module")
def with_folder(start) -> Running:
    running = start()
    data = running.service.settings.data
    (data / "utility" / "2025").mkdir(parents=True)
    (data / "utility" / "systems.csv").write_bytes(SYSTEMS)
    (data / "utility" / "2025" / "a.csv").write_bytes(READINGS)
    (data.parent / "secret").mkdir()
    (data / "way-out").symlink_to(data.parent / "secret")
    (data / "inner").symlink_to(data / "utility" / "2025")
    return running


@pytest.mark.parametrize("named", ["utility/2025", " inner "])
def test_a_dataset_is_added_by_naming_a_folder_which_stays_where_it_is(with_folder, named):
    readings = with_folder.service.settings.data / "utility" / "2025"
    client = login(with_folder)
    assert '<option value="utility">' in client.get("/curator/add").text
    assert name_folder(client, named).headers["location"] == "/curator/datasets/named"
    made = served_of(with_folder, "named")
    assert made.path(with_folder.service.settings.datasets, made.meters).resolve() == readings
    assert made.extra["options"] == {"timezone": "UTC"}
    removed = post(client, "/curator/datasets/named/remove", page="/curator/datasets/named")
    assert removed.headers["location"] == "/curator"
    assert (readings / "a.csv").exists()


@pytest.mark.parametrize(
    ("meters", "systems", "why"),
    [
        (".", "utility/systems.csv", "name a file"),
        ("a\0b", "utility/systems.csv", "name a file"),
        ("../elsewhere", "utility/systems.csv", "leads out"),
        ("utility/../../secret", "utility/systems.csv", "leads out"),
        ("way-out", "utility/systems.csv", "is a link that leads out"),
        ("/etc", "utility/systems.csv", "leads out"),
        ("nothing", "utility/systems.csv", "has no 'nothing'"),
        ("datasets", "utility/systems.csv", "the service's own"),
        ("jobs", "utility/systems.csv", "the service's own"),
        ("utility/2025", "utility", "is a file"),
        ("utility/systems.csv", "utility/systems.csv", "beside it"),
        ("utility/2025", "utility/2025/a.csv", "no column of latitude"),
    ],
)
def test_a_folder_that_must_not_be_named_is_refused(with_folder, meters, systems, why):
    answer = name_folder(login(with_folder), meters, systems)
    assert (answer.status_code, why in alert_of(answer)) == (422, True), alert_of(answer)
    assert str(with_folder.service.settings.data) not in answer.text


def test_an_inference_that_ended_makes_the_dataset_ready_though_nobody_looks(serve):
    running = serve()
    inferred(running, systems=12, refused=3)
    wait_for(lambda: served_of(running).state == "ready")
    made = served_of(running)
    # of the three that were refused, one is not in the public table
    assert (made.estimates, made.systems) == ("inferred", 14)
    # what the folder of jobs says is right, whatever the database said
    with running.service.store.changing() as connection:
        connection.connection().exec_driver_sql("UPDATE service_datasets SET state = 'inferring'")
    assert inference.update_state(running.service, served_of(running)).state == "ready"


def test_how_readings_are_written_goes_to_the_inference_and_to_releases(serve):
    running = serve()
    fields = {"skip_rows": "3", "separator": "tab", "decimal": ",", "power_column": "P AC"}
    fields |= {"negate": "yes", "duplicates": "mean", "force": "yes"}
    assert upload(login(running), **fields).status_code == 303
    words = inference.inference_command(running.service, served_of(running))
    read = ["--power-column=P AC", "--skip-rows=3", "--separator=\t", "--decimal=,"]
    assert words[-7:] == [*read, "--duplicates=mean", "--negate", "--force"]
    context = cli.commands["infer"].make_context("infer", words[4:])
    assert (context.params["skip_rows"], context.params["negate"]) == (3, True)
    options = meter_options(served_of(running))
    assert (options.skip_rows, options.separator, options.decimal) == (3, "\t", ",")
    assert (options.negate, options.duplicates) == (True, "mean")


def test_the_form_shows_every_option_that_a_message_may_name(serve):
    page = login(serve()).get("/curator/add").text
    for name in (*READING_FIELDS, "mount", "force"):
        assert f"<code>{name}</code>" in page
        assert f'name="{name}"' in page


def test_an_inference_that_fails_says_why_and_can_be_taken_up(serve):
    running = serve()
    client = login(running)
    upload(client)
    ended(running, script="import sys; sys.exit('sunveil: the readings have no times')")
    page = text_of(client.get(PAGE))
    assert "The inference failed. The readings have no times." in page
    assert "Resume" in page
    assert served_of(running).state == "failed"
    progress = client.get(f"{PAGE}/progress").json()
    assert (progress["state"], progress["message"]) == ("failed", "the readings have no times")


def test_running_work_is_shown_with_its_progress_and_can_be_stopped(serve):
    running = serve()
    client = login(running)
    upload(client)
    line = {"event": "progress", "done": 1, "total": 4, "systems": 10, "of": 40}
    script = f"print('{json.dumps(line)}', flush=True); import time; time.sleep(600)"
    jobs = inference.jobs_of(running.service)
    jobs.start(
        inference.job_id("roofs"), [sys.executable, "-c", script], kind="infer", about="roofs"
    )
    wait_for(lambda: jobs.get(inference.job_id("roofs")).progress is not None)
    page = client.get(PAGE)
    assert "10 of 40 systems" in text_of(page)
    assert '<progress max="1" value="0.25"' in page.text
    assert '<meta http-equiv="refresh"' in page.text
    assert client.get(f"{PAGE}/progress").json()["progress"]["share"] == 0.25
    assert served_of(running).state == "inferring"
    refused = post(client, f"{PAGE}/remove", page=PAGE)
    assert "cancel it before" in text_of(refused)
    post(client, f"{PAGE}/cancel", page=PAGE)
    assert jobs.get(inference.job_id("roofs")).state is JobState.CANCELLED
    assert "cancelled at 10 of 40 systems" in text_of(client.get(PAGE))


def test_an_inference_is_begun_from_nothing_only_before_the_promise(serve):
    running = serve()
    client, folder = login(running), inferred(running)
    page = PAGE
    answer = post(client, f"{page}/restart", page=page)
    assert answer.status_code == 303
    assert not (folder / "inferred" / "summary.json").exists()
    inference.jobs_of(running.service).cancel(inference.job_id("roofs"))
    with running.service.store.changing() as connection:
        connection.connection().exec_driver_sql("UPDATE service_datasets SET state = 'ready'")
    make_promise(client)
    answer = post(client, f"{page}/restart", page=page)
    assert "its estimates stay as they are" in text_of(answer)


def test_readings_that_exceed_the_memory_end_in_a_sentence_without_infer_now(start):
    running = start(reading=ReadingLimits(memory=700 * MEGABYTE))
    rows = 1_000_000
    schema = pa.schema(
        [("system_id", pa.string()), ("time", pa.timestamp("us")), ("power_kw", pa.float32())]
    )
    times = pa.array(np.arange(rows) * 60_000_000 + 1_546_300_800_000_000)
    folder = running.service.settings.data / "long"
    folder.mkdir()
    with pq.ParquetWriter(
        folder / "readings.parquet",
        schema,
        use_dictionary=["system_id", "power_kw"],
        column_encoding={"time": "DELTA_BINARY_PACKED"},
    ) as writer:
        for number in range(30):
            columns = [pa.array([f"s{number}"] * rows), times.cast(pa.timestamp("us"))]
            writer.write_table(pa.table([*columns, pa.array(np.ones(rows, "f4"))], schema=schema))
    listed = "".join(f"s{number},40,-105\n" for number in range(30))
    (folder / "systems.csv").write_text(f"system_id,latitude,longitude\n{listed}")
    client = login(running)
    answer = name_folder(client, "long/readings.parquet", "long/systems.csv")
    page = answer.headers["location"]
    wait_for(lambda: client.get(f"{page}/preview").json()["state"] != "running")
    text = text_of(client.get(page))
    assert "takes more than the 700 MB of memory" in text
    assert "Infer now" not in text
    assert post(client, f"{page}/infer", page=page).status_code == 409


@pytest.mark.parametrize("file_type", ["csv", "parquet"])
def test_only_columns_that_give_every_system_a_group_are_offered(tmp_path, file_type):
    places = {"system_id": list("abc"), "latitude": [40.0] * 3, "longitude": [-105.0, -105.0, None]}
    keys = {"household": ["k1", "k2", "k2"], "Meter": ["m1", "m2", "m3"], "same": ["s"] * 3}
    keys |= {"feeder": ["F1", "F2", "F3"], "zip": [80401, 80402, 80401], "half": ["x", None, "y"]}
    # of the system without a place too
    expected = {"feeder": ["F1", "F2", "F3"], "zip": ["80401", "80402"]}
    if file_type == "parquet":  # lists divide nothing, and every other value has one text
        keys |= {"billed": [True, False, True], "feeders": [["a"], ["b"], ["a"]]}
        keys |= {"since": [date(2024, 1, 31), date(2023, 1, 1), date(2023, 1, 1)]}
        keys |= {"band": [Decimal("1.50"), Decimal("0.50"), Decimal("0.50")]}
        keys |= {"blob": [b"\xff", b"a", b"b"]}
        expected |= {"billed": ["false", "true"], "since": ["2023-01-01", "2024-01-31"]}
        expected |= {"band": ["0.50", "1.50"]}
        pq.write_table(pa.table({**places, **keys}), tmp_path / "systems.parquet")
    else:
        pd.DataFrame({**places, **keys}).to_csv(tmp_path / "systems.csv", index=False)
    assert public_groups(tmp_path / f"systems.{file_type}") == expected


def test_a_preview_says_what_is_in_the_files_and_what_is_not_in_the_table(tmp_path):
    meters = tmp_path / "meters"
    meters.mkdir()
    hours = pd.date_range("2024-06-01", periods=72, freq="h")
    good = "time,power_kw\n" + "".join(
        f"{hour:%Y-%m-%d %H:%M},{max(0, 6 - abs(hour.hour - 12))}.{hour.day}\n" for hour in hours
    )
    for name in ("a", "b", "stranger"):
        (meters / f"{name}.csv").write_text(good)
    (meters / "broken.csv").write_text("no,table\n1,2\n")
    table = tmp_path / "systems.csv"
    table.write_text("system_id,latitude,longitude\na,40,-105\nb,40,-105\nmissing,40,-105\n")
    said: list[tuple[int, int]] = []
    found = preview(
        meters, table, MeterOptions(timezone="UTC-07:00"), tell=lambda *far: said.append(far)
    )
    assert (found["files"], found["systems"], found["in_both"]) == (4, 3, 2)
    assert found["only_files"] == {"count": 1, "names": ["stranger"]}
    assert found["only_table"] == {"count": 1, "names": ["missing"]}
    assert (found["first"], found["last"]) == ("2024-06-01", "2024-06-04")
    assert found["intervals"] == [("60 minutes", 3)]
    assert found["zones"] == [("UTC-07:00", 3)]
    assert found["units"] == [("kW", 3)]
    assert [each["count"] for each in found["refused"]] == [1]
    assert said[0] == (0, 4)
    assert said[-1] == (4, 4)
    # without a time zone nobody can be read, and one reason is given for all
    found = preview(meters, table, MeterOptions(), tell=lambda *_: None)
    assert sorted(each["count"] for each in found["refused"]) == [1, 3]
    json.dumps(found)


COUNT = 12
NEWER = b"system_id,time,power_kw\ns000,2025-06-01T12:00Z,1.25\n"


def table(extra: tuple[str, ...] = (), *, keys: bool = True) -> bytes:
    """Return a table of the systems that results have, and of further ones."""
    rows = [
        f"{name},40.0,-105.0,F{number % 4},{f'home-{name}' if keys else ''}"
        for number, name in enumerate([*(f"s{at:03d}" for at in range(COUNT)), *extra])
    ]
    return "\n".join(["system_id,latitude,longitude,feeder,household", *rows]).encode()


def write_finished(folder: Path, **options: Any) -> None:
    """Write what a run over a fleet leaves at its end; whoever it refused is not in the table."""
    write_results(folder / "inferred", COUNT, refused=1, **options)
    (folder / "inferred" / RUN).write_text("{}")


@pytest.fixture
def promised(serve) -> Running:
    """Return a service with a dataset whose promise is made and of which ann has a share."""
    made: Running = serve()
    folder = made.service.settings.datasets / "roofs"
    (folder / "meters").mkdir(parents=True)
    (folder / "systems.csv").write_bytes(table())
    write_finished(folder)
    extra = {"systems_table": "systems.csv", "listed": COUNT, "options": {"timezone": "UTC"}}
    served = Served("roofs", "Roofs", "roofs", meters="meters", extra=extra, edition="2025")
    with made.service.store.changing() as connection:
        add_served(connection, served)
    ended(made)
    wait_for(lambda: served_of(made).state == "ready")
    make_promise(login(made))
    made.service.ledger.set_share("roofs", "ann", 2.0)
    return made


def upload_edition(client: httpx.Client, systems: bytes, **fields: str) -> httpx.Response:
    given = {"csrf": csrf(client, f"{PAGE}/edition"), "edition": "2026", **fields}
    files = {"meters": ("readings.csv", NEWER), "systems": ("systems.csv", systems)}
    return client.post(f"{PAGE}/edition/upload", data=given, files=files)


def ask_total(api: httpx.Client, epsilon: float = 0.5) -> dict[str, Any]:
    question = {"kind": "totals", "epsilon": epsilon}
    answer = api.post("/datasets/roofs/releases", json=question, headers=key())
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


def test_an_edition_is_inferred_beside_the_one_that_answers_and_takes_its_place(promised):
    api = promised.client(new_token(promised.service))
    first = ask_total(api)
    before = promised.service.ledger.dataset("roofs")
    assert 'href="/curator/datasets/roofs/edition"' in promised.browser.get(PAGE).text
    form = promised.browser.get(f"{PAGE}/edition").text
    assert 'value="UTC"' in form  # read as the last edition was
    answer = upload_edition(promised.browser, table(("n1",)))
    assert answer.headers["location"] == PAGE, answer.text
    assert "Version 2025 answers questions until" in promised.browser.get(PAGE).text
    # the old one answers, from what was kept too
    assert (served_of(promised).edition, served_of(promised).state) == ("2025", "ready")
    assert ask_total(api)["id"] == first["id"]
    assert promised.service.ledger.dataset("roofs").households == COUNT + 1
    folder = promised.service.settings.datasets / "roofs" / "edition-2"
    assert (folder / "meters" / "readings.csv").read_bytes() == NEWER
    write_finished(folder, seed=2)
    ended(promised)
    wait_for(lambda: served_of(promised).edition == "2026")
    assert served_of(promised).extra["editions"] == ["2025"]
    second = ask_total(api)
    assert (first["edition"], second["edition"]) == ("2025", "2026")
    assert second["id"] != first["id"]
    assert api.get(f"/releases/{first['id']}").json()["tables"] == first["tables"]
    after = promised.service.ledger.dataset("roofs")
    assert after.promise == before.promise
    assert (before.spent, after.spent) == (0.5, 1.0)
    assert promised.service.ledger.verify("roofs").holds


def test_an_edition_that_cannot_be_is_refused_and_leaves_nothing(promised):
    ask_total(promised.api())  # registers who is there
    folder = promised.service.settings.datasets
    for systems, fields, why in (
        (table(), {"edition": "2025"}, "there is a version of this name"),
        (table(), {"edition": " "}, "give the version a name"),
        (table(("n1",), keys=False), {}, "a new name is not a new household"),
        (b"a,b\n1,2\n", {}, "no column of systems"),
        (table().replace(b"home-s000", b"4.0031E+11"), {}, "&#39;household&#39; of"),
    ):
        answer = upload_edition(promised.browser, systems, **fields)
        assert (answer.status_code, why in answer.text.lower()) == (422, True)
        assert "next" not in served_of(promised).extra
        assert not (folder / "roofs" / "edition-2").exists()
        assert [each.name for each in folder.glob("[!.]*")] == ["roofs"]
    # new systems without keys join where the curator says that they are others
    others = upload_edition(promised.browser, table(("n1",), keys=False), others="yes")
    assert others.status_code == 303


def test_an_edition_is_named_in_a_folder_begun_anew_and_dropped(promised):
    data: Path = promised.service.settings.data
    (data / "utility").mkdir()
    (data / "utility" / "a.csv").write_bytes(NEWER)
    (data / "systems.csv").write_bytes(table())
    fields = {"edition": "2026", "meters": "utility", "systems": "systems.csv"}
    answer = post(promised.browser, f"{PAGE}/edition/folder", page=f"{PAGE}/edition", **fields)
    assert answer.headers["location"] == PAGE, answer.text
    again = post(promised.browser, f"{PAGE}/edition/folder", page=f"{PAGE}/edition", **fields)
    assert "a new version is waiting" in again.text.lower()
    ended(promised, script="raise SystemExit(2)")
    wait_for(lambda: served_of(promised).upcoming.state == "failed")
    assert served_of(promised).state == "ready"  # the old one answers
    dropped = post(promised.browser, f"{PAGE}/edition/drop", page=PAGE)
    assert dropped.headers["location"] == PAGE
    assert "next" not in served_of(promised).extra
    assert (data / "utility" / "a.csv").exists()
    assert not (promised.service.settings.datasets / "roofs" / "edition-2").exists()
    assert (promised.service.settings.datasets / "roofs" / "inferred").exists()


def test_a_dataset_is_added_by_uploading_it_whatever_a_killed_service_left_under_its_name(serve):
    running = serve()
    folder = running.service.settings.datasets
    (folder / "dacher-of-2025" / "meters").mkdir(parents=True)
    (folder / "dacher-of-2025" / "meters" / "half.csv").touch()
    answer = upload(login(running), title="Dächer of 2025")
    assert answer.headers["location"] == "/curator/datasets/dacher-of-2025"
    made = served_of(running, "dacher-of-2025")
    assert (made.title, made.state, made.extra["listed"]) == ("Dächer of 2025", "new", 2)
    assert (made.latitude, made.longitude) == (40.05, -105.05)
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        "dacher-of-2025/meters/readings.csv",
        "dacher-of-2025/systems.csv",
    ]
    # neither of these systems can be inferred, and the dataset is ready all the same
    made = inference.infer_now(running.service, "dacher-of-2025")
    assert (made.state, made.estimates, made.systems) == ("ready", "inferred", 2)


@pytest.mark.parametrize(
    ("changes", "status", "why"),
    [
        ({"meters": ("a.parquet", READINGS)}, 422, "'a.parquet' is not Parquet"),
        ({"meters": ("a.csv", b"x" * 2 * MEGABYTE)}, 413, "larger"),
        ({"meters": ("../a.csv", READINGS)}, 422, "leads out of its folder"),
        ({"systems": ("s.csv", b"a,b\n1,2\n")}, 422, "no column of systems"),
        ({"systems": ("s.csv", SYSTEMS[:36])}, 422, "names no system"),
        ({"title": "x" * 121}, 422, "give the dataset a name"),
        ({"title": "屋根"}, 422, "letter from a to z"),
        ({"title": "Taken"}, 422, "a dataset named taken already"),
        ({"title": "<My> roofs", "meters": ("a.csv", b"\0\1")}, 422, "is no meter file"),
        ({"skip_rows": "many"}, 422, "lines above the header"),
    ],
)
def test_an_upload_that_is_refused_leaves_nothing_says_why_and_keeps_what_was_written(
    taken, changes, status, why
):
    answer = upload(login(taken), **changes)
    found = why.lower() in alert_of(answer)
    assert (answer.status_code, found) == (status, True), alert_of(answer)
    assert [path.name for path in taken.service.settings.datasets.glob("[!.]*")] == ["taken"]
    if status == 422:
        assert f'value="{html.escape(changes.get("title", "Roofs"))}"' in answer.text


def described_as(form, meters, table):
    """Return a dataset as it is described by its form, its readings and its table of systems."""
    found = look_at_named(meters, table, ReadingLimits(), options_from(form.options))
    return described(form, "homes", meters=meters.name, found={**found, "table": table.name})


def test_a_curator_declares_net_meters_for_all_or_in_the_table_of_systems(tmp_path, shared):
    table = tmp_path / "systems.csv"
    table.write_text("system_id,latitude,longitude,metering\na,40,-105,net\nb,40,-105,\n")
    made = {}
    for net in ("", "yes"):
        form = DatasetForm.of({"title": "Homes", "net": net, "export_column": "out" if net else ""})
        made[net] = described_as(form, tmp_path / "m", table)
    assert (made[""].net, made["yes"].net) == (1, 2)
    assert (meter_options(made[""]).net, meter_options(made["yes"]).net) == (False, True)
    words = inference.inference_command(shared.service, made["yes"])
    assert "--net" in words
    assert "--export-column=out" in words
    assert "--net" not in inference.inference_command(shared.service, made[""])


def test_a_form_adds_up_columns(tmp_path):
    table, meters = tmp_path / "systems.csv", tmp_path / "m"
    table.write_text("system_id,latitude,longitude\na,40,-105\n")
    meters.mkdir()
    times = pd.date_range("2024-06-01", periods=48, freq="h", tz="UTC")
    pd.DataFrame({"time": times, "b kWh": 1.0, "c kWh": 2.0, "d kWh": 0.5}).to_csv(
        meters / "a.csv", index=False
    )
    fields = {"title": "Homes", "export_column": "b kWh + c kWh", "import_column": "d kWh"}
    made = described_as(DatasetForm.of(fields), meters, table)
    (record,) = iter_systems(meters / "a.csv", meter_options(made))
    assert record.net
    assert set(record.power_kw) == {2.5}


def test_columns_of_import_and_export_declare_net_meters(tmp_path):
    table = tmp_path / "systems.csv"
    table.write_text("system_id,latitude,longitude,metering\na,40,-105,\nb,40,-105,generation\n")
    rows = {"system_id": ["a"], "time": pd.to_datetime(["2024-06-01T12:00Z"])}
    net, plain = tmp_path / "m.parquet", tmp_path / "g.parquet"
    pd.DataFrame({**rows, "import_kw": [0.0], "export_kw": [1.0]}).to_parquet(net)
    pd.DataFrame({**rows, "power_kw": [1.0]}).to_parquet(plain)
    form = DatasetForm.of({"title": "Homes"})
    told = [described_as(form, path, table).net for path in (net, plain, tmp_path / "gone")]
    assert told == [1, 0, 0]

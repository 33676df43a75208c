from __future__ import annotations

import csv
import html
import io
import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_makers import add_planes, write_results
from service_makers import Running, add_dataset, csrf, key, post, quick_settings
from service_makers import running as running_service

from sunveil.cli import cli
from sunveil.errors import SourceError
from sunveil.estimates.inference_options import InferOptions
from sunveil.fleet.run_plan import run_settings
from sunveil.ledger import Promise, Question
from sunveil.ledger.promises import SystemHome
from sunveil.meters import MeterOptions
from sunveil.privacy import Days, Guarantee, System
from sunveil.privacy.guarantees import from_nano, unit_name
from sunveil.publish.publisher import read_households
from sunveil.service.background_jobs import JobState
from sunveil.service.curator.datasets import public_groups
from sunveil.service.curator.inference import (
    infer_now,
    inference_command,
    job_id,
    jobs_of,
    update_state,
)
from sunveil.service.curator.system_fit import estimate_of, system_report
from sunveil.service.settings import MEGABYTE, ReadingLimits
from sunveil.service.store.datasets import READING_FIELDS, Served, add_served, find_served
from sunveil.service.upload_checks import meter_options

SYSTEMS = b"system_id,latitude,longitude,feeder\na,40.0,-105.0,F1\nb,40.1,-105.1,F2\n"
READINGS = b"system_id,time,power_kw\na,2024-06-01T12:00Z,1.25\n"


def login(running: Running) -> httpx.Client:
    """Return the browser of a service's curator; logging in is slow on purpose."""
    if not hasattr(running, "browser"):
        running.browser = running.curator()
    return running.browser


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Running]]:
    """Return what starts services that several tests use."""
    started: list[Running] = []

    def one(**changes: Any) -> Running:
        folder = tmp_path_factory.mktemp("service")
        started.append(running_service(quick_settings(folder, **changes)))
        return started[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("marks")))
        yield one
        for each in started:
            each.stop()


def upload(client: httpx.Client, *, title: str = "Roofs", token: str | None = None, **files):
    given = {"meters": ("readings.csv", READINGS), "systems": ("systems.csv", SYSTEMS), **files}
    fields = {"csrf": csrf(client, "/curator/add") if token is None else token, "title": title}
    return client.post("/curator/add/upload", data=fields, files=given)


def served_of(running: Running, name: str = "roofs") -> Served:
    with running.service.store.reading() as connection:
        return find_served(connection, name)


def inferred(running: Running, name: str = "roofs", **options) -> Path:
    """Add a dataset, and what an inference that has ended leaves."""
    folder = running.service.settings.datasets / name
    folder.mkdir()
    (folder / "systems.csv").write_bytes(SYSTEMS)
    write_results(folder / "inferred", **options)
    made = Served(
        name=name,
        title="Roofs",
        folder=name,
        meters="meters",
        extra={"systems_table": "systems.csv", "listed": 2},
    )
    with running.service.store.changing() as connection:
        add_served(connection, made)
    ended(running, name, "")
    return folder


def ended(running: Running, name: str, script: str) -> None:
    """Run a script as a dataset's inference, to its end."""
    jobs = jobs_of(running.service)
    jobs.start(job_id(name), [sys.executable, "-c", script], kind="infer", about=name)
    wait_for(lambda: jobs.get(job_id(name)).state.over)


def wait_for(happened: Callable[[], bool]) -> None:
    last = time.monotonic() + 60.0
    while not happened():
        assert time.monotonic() < last, "it never happened"
        time.sleep(0.02)


def text_of(answer: httpx.Response) -> str:
    words = re.sub(r"<script.*?</script>|<[^>]+>", " ", answer.text, flags=re.DOTALL)
    return " ".join(html.unescape(words).split())


# -- adding


def test_a_dataset_is_added_by_uploading_it(serve):
    running = serve()
    answer = upload(login(running), title="Dächer of 2025")
    assert answer.headers["location"] == "/curator/datasets/dacher-of-2025"
    made = served_of(running, "dacher-of-2025")
    assert (made.title, made.state, made.extra["listed"]) == ("Dächer of 2025", "new", 2)
    assert (made.latitude, made.longitude) == (40.05, -105.05)
    folder = running.service.settings.datasets
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        "dacher-of-2025/meters/readings.csv",
        "dacher-of-2025/systems.csv",
    ]


@pytest.fixture(scope="module")
def taken(start) -> Running:
    """Return a service that takes little, and has one dataset."""
    running = start(upload_limit=MEGABYTE)
    upload(login(running), title="Taken")
    return running


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
    ],
)
def test_an_upload_that_is_refused_leaves_nothing_and_says_why(taken, changes, status, why):
    answer = upload(login(taken), **changes)
    found = why.lower() in text_of(answer).lower()
    assert (answer.status_code, found) == (status, True), text_of(answer)
    assert [path.name for path in taken.service.settings.datasets.glob("[!.]*")] == ["taken"]


def test_what_a_killed_service_left_under_a_name_is_in_nobodys_way(serve):
    running = serve()
    left = running.service.settings.datasets / "roofs" / "meters"
    left.mkdir(parents=True)
    (left / "half.csv").touch()
    assert upload(login(running)).headers["location"] == "/curator/datasets/roofs"
    assert [path.name for path in left.iterdir()] == ["readings.csv"]


def test_a_form_from_elsewhere_uploads_nothing(serve):
    running = serve()
    answer = upload(login(running), token="0" * 64)
    assert answer.status_code == 403
    nobody = running.client()
    assert upload(nobody, token="0" * 64).status_code == 401
    assert list(running.service.settings.datasets.iterdir()) == []


def test_a_refused_form_keeps_what_was_written(serve):
    answer = upload(login(serve()), title="My <roofs>", meters=("a.csv", b"\0\1"))
    assert 'value="My &lt;roofs&gt;"' in answer.text


def name_folder(client: httpx.Client, meters: str, systems: str = "utility/systems.csv"):
    fields = {"title": "Named", "meters": meters, "systems": systems, "timezone": "UTC"}
    return post(client, "/curator/add/folder", page="/curator/add", **fields)


@pytest.fixture(scope="module")
def with_folder(start) -> Running:
    running = start()
    folder = running.service.settings.data / "utility"
    (folder / "2025").mkdir(parents=True)
    (folder / "systems.csv").write_bytes(SYSTEMS)
    (folder / "2025" / "a.csv").write_bytes(READINGS)
    return running


def test_a_dataset_is_added_by_naming_a_folder_which_stays_where_it_is(with_folder):
    readings = with_folder.service.settings.data / "utility" / "2025"
    client = login(with_folder)
    assert '<option value="utility">' in client.get("/curator/add").text
    answer = name_folder(client, "utility/2025")
    assert answer.headers["location"] == "/curator/datasets/named"
    made = served_of(with_folder, "named")
    assert made.path(with_folder.service.settings.datasets, made.meters) == readings
    assert made.extra["options"] == {"timezone": "UTC"}
    removed = post(client, "/curator/datasets/named/remove", page="/curator/datasets/named")
    assert removed.headers["location"] == "/curator"
    assert (readings / "a.csv").exists()


@pytest.mark.parametrize(
    ("meters", "systems", "why"),
    [
        ("../elsewhere", "utility/systems.csv", "leads out"),
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
    assert (answer.status_code, why in text_of(answer)) == (422, True), text_of(answer)


# -- inference


def test_an_inference_that_ended_makes_the_dataset_ready_though_nobody_looks(serve):
    running = serve()
    inferred(running, systems=12, refused=3)
    wait_for(lambda: served_of(running).state == "ready")
    made = served_of(running)
    # of the three that were refused, one is not in the public table
    assert (made.estimates, made.systems) == ("inferred", 14)


def test_a_dataset_in_which_nobody_could_be_inferred_is_ready_too(serve):
    running = serve()
    upload(login(running))
    made = infer_now(running.service, "roofs")
    assert (made.state, made.estimates, made.systems) == ("ready", "inferred", 2)


def green_button(power: pd.Series) -> bytes:
    """Return half-hourly power as a Green Button feed of what went into the grid, in Wh."""
    readings = "".join(
        "<espi:IntervalReading><espi:timePeriod><espi:duration>1800</espi:duration>"
        f"<espi:start>{int(start.timestamp())}</espi:start></espi:timePeriod>"
        f"<espi:value>{round(500.0 * value)}</espi:value></espi:IntervalReading>"
        for start, value in power.items()
    )
    kind = "<espi:flowDirection>19</espi:flowDirection><espi:uom>72</espi:uom>"
    parts = {"ReadingType": kind, "IntervalBlock": readings}
    entries = "".join(
        f"<entry><content><espi:{name}>{inner}</espi:{name}></content></entry>"
        for name, inner in parts.items()
    )
    names = 'xmlns="http://www.w3.org/2005/Atom" xmlns:espi="http://naesb.org/espi"'
    return f"<feed {names}>{entries}</feed>".encode()


def nem12(power: pd.Series) -> bytes:
    """Return half-hourly power as a NEM12 file of generation, in kWh, on the market's clock."""
    there = power.tz_convert("Etc/GMT-10")
    days = [(day, part) for day, part in there.groupby(there.index.date) if len(part) == 48]
    lines = ["100,NEM12,202406211149,A,B", "200,NEM1200001,B1,1,B1,N1,01009,KWH,30,20240710"]
    lines += [
        f"300,{day:%Y%m%d},{','.join(f'{each / 2.0:.4f}' for each in part)},A,,,20240621000000,"
        for day, part in days
    ]
    return "\r\n".join([*lines, "900", ""]).encode()


def feather(power: pd.Series) -> bytes:
    """Return power as a Feather file in long form."""
    held = io.BytesIO()
    columns = {"system_id": "feather", "time": power.index, "power_kw": power.to_numpy()}
    pd.DataFrame(columns).to_feather(held)
    return held.getvalue()


def test_green_button_nem12_and_feather_are_uploaded_and_inferred(serve, clear_power, golden_site):
    running = serve()
    power = clear_power(200.0, 30.0, dc_capacity_kw=5.0, minutes=30).tz_convert("UTC")
    names = {"green": "green.xml", "NEM1200001": "nem12.csv", "feather": "feather.feather"}
    # the sun of Colorado, 17 hours of clock away
    eastern = power.set_axis(power.index - pd.Timedelta(hours=17))
    made = zip(names.values(), (green_button(power), nem12(eastern), feather(power)), strict=True)
    longitude = golden_site.longitude
    places = dict.fromkeys(names, longitude) | {"NEM1200001": longitude + 255.0}
    rows = [
        f"{name},{golden_site.latitude},{east},{golden_site.altitude}"
        for name, east in places.items()
    ]
    table = "\n".join(["system_id,latitude,longitude,altitude", *rows, ""]).encode()
    browser = login(running)
    sent = [("meters", each) for each in made] + [("systems", ("systems.csv", table))]
    fields = {"csrf": csrf(browser, "/curator/add"), "title": "Roofs"}
    assert browser.post("/curator/add/upload", data=fields, files=sent).status_code == 303
    assert infer_now(running.service, "roofs").state == "ready"
    page = text_of(browser.get("/curator/datasets/roofs/systems"))
    for name in names:
        azimuth = re.search(rf"{name} (\d+)", page)
        assert azimuth is not None, page
        assert abs(float(azimuth[1]) - 200.0) < 5.0


def test_how_readings_are_written_goes_to_the_inference_and_to_releases(serve):
    running = serve()
    client = login(running)
    fields = {"skip_rows": "3", "separator": "tab", "decimal": ",", "power_column": "P AC"}
    fields |= {"negate": "yes", "duplicates": "mean", "force": "yes"}
    given = {"meters": ("readings.csv", READINGS), "systems": ("systems.csv", SYSTEMS)}
    data = {"csrf": csrf(client, "/curator/add"), "title": "Roofs", **fields}
    assert client.post("/curator/add/upload", data=data, files=given).status_code == 303
    words = inference_command(running.service, served_of(running))
    read = ["--power-column=P AC", "--skip-rows=3", "--separator=\t", "--decimal=,"]
    assert words[-7:] == [*read, "--duplicates=mean", "--negate", "--force"]
    command = cli.commands["infer"]
    context = command.make_context("infer", words[4:])
    assert (context.params["skip_rows"], context.params["negate"]) == (3, True)
    options = meter_options(served_of(running))
    assert (options.skip_rows, options.separator, options.decimal) == (3, "\t", ",")
    assert (options.negate, options.duplicates) == (True, "mean")
    data |= {"csrf": csrf(client, "/curator/add"), "title": "More", "skip_rows": "many"}
    refused = client.post("/curator/add/upload", data=data, files=given)
    assert refused.status_code == 422
    assert "lines above the header" in text_of(refused).lower()


def test_the_form_shows_every_option_that_a_message_may_name(serve):
    page = login(serve()).get("/curator/add").text
    for name in (*READING_FIELDS, "mount", "force"):
        assert f"<code>{name}</code>" in page
        assert f'name="{name}"' in page


def test_an_inference_that_fails_says_why_and_can_be_taken_up(serve):
    running = serve()
    client = login(running)
    upload(client)
    ended(running, "roofs", "import sys; sys.exit('sunveil: the readings have no times')")
    page = text_of(client.get("/curator/datasets/roofs"))
    assert "The inference failed. The readings have no times." in page
    assert "Resume" in page
    assert served_of(running).state == "failed"
    progress = client.get("/curator/datasets/roofs/progress").json()
    assert (progress["state"], progress["message"]) == ("failed", "the readings have no times")


def test_running_work_is_shown_with_its_progress_and_can_be_stopped(serve):
    running = serve()
    client = login(running)
    upload(client)
    line = {"event": "progress", "done": 1, "total": 4, "systems": 10, "of": 40}
    script = f"print('{json.dumps(line)}', flush=True); import time; time.sleep(600)"
    jobs = jobs_of(running.service)
    jobs.start(job_id("roofs"), [sys.executable, "-c", script], kind="infer", about="roofs")
    wait_for(lambda: jobs.get(job_id("roofs")).progress is not None)
    page = client.get("/curator/datasets/roofs")
    assert "10 of 40 systems" in text_of(page)
    assert '<progress max="1" value="0.25"' in page.text
    assert '<meta http-equiv="refresh"' in page.text
    assert client.get("/curator/datasets/roofs/progress").json()["progress"]["share"] == 0.25
    assert served_of(running).state == "inferring"
    refused = post(client, "/curator/datasets/roofs/remove", page="/curator/datasets/roofs")
    assert "cancel it before" in text_of(refused)
    post(client, "/curator/datasets/roofs/cancel", page="/curator/datasets/roofs")
    assert jobs.get(job_id("roofs")).state is JobState.CANCELLED
    assert "cancelled at 10 of 40 systems" in text_of(client.get("/curator/datasets/roofs"))


def test_what_the_jobs_folder_says_is_right_whatever_the_database_said(serve):
    running = serve()
    inferred(running)
    wait_for(lambda: served_of(running).state == "ready")
    with running.service.store.changing() as connection:
        connection.connection().exec_driver_sql("UPDATE service_datasets SET state = 'inferring'")
    assert update_state(running.service, served_of(running)).state == "ready"


def test_an_inference_is_begun_from_nothing_only_before_the_promise(serve):
    running = serve()
    client, folder = login(running), inferred(running)
    page = "/curator/datasets/roofs"
    answer = post(client, f"{page}/restart", page=page)
    assert answer.status_code == 303
    assert not (folder / "inferred" / "summary.json").exists()
    jobs_of(running.service).cancel(job_id("roofs"))
    with running.service.store.changing() as connection:
        connection.connection().exec_driver_sql("UPDATE service_datasets SET state = 'ready'")
    make_promise(client)
    answer = post(client, f"{page}/restart", page=page)
    assert "its estimates stay as they are" in text_of(answer)


# -- estimates


@pytest.fixture(scope="module")
def fleet(start) -> Running:
    found = start()
    inferred(found, systems=120, refused=3)
    wait_for(lambda: served_of(found).state == "ready")
    return found


def test_estimates_are_drawn_and_counted(fleet):
    answer = login(fleet).get("/curator/datasets/roofs/estimates")
    figures = {
        name: json.loads(made)
        for name, made in re.findall(r'json" id="(\w+)-data">(.*?)</script>', answer.text)
    }
    assert set(figures) == {"planes", "rose", "tilts", "capacities"}
    assert sum(figures["rose"]["data"][0]["r"]) == 120
    assert sum(figures["tilts"]["data"][0]["y"]) == 120
    assert sum(figures["capacities"]["data"][0]["y"]) == 120
    assert "Systems inferred 120" in text_of(answer)
    for quality in ("good", "fair", "poor"):
        assert f'systems?quality={quality}">40 {quality}</a>' in answer.text


def rows(answer: httpx.Response) -> list[str]:
    return re.findall(r'<th scope="row">(?:<a[^>]*>)?(\w+)', answer.text)


def test_systems_are_shown_by_pages(fleet):
    client = login(fleet)
    pages = [client.get(f"/curator/datasets/roofs/systems?page={n}") for n in (1, 2, 3, 99)]
    assert [len(rows(page)) for page in pages] == [50, 50, 20, 20]
    assert rows(pages[0])[:2] == ["s000", "s001"]
    assert "Page 1 of 3" in text_of(pages[0])


def test_systems_are_filtered_by_name_flag_and_refusal(fleet):
    client = login(fleet)
    assert rows(client.get("/curator/datasets/roofs/systems?text=S01")) == [
        f"s01{n}" for n in range(10)
    ]
    flagged = client.get("/curator/datasets/roofs/systems?show=flagged&flag=clipping")
    assert 0 < len(rows(flagged)) < 30
    assert all("clipping" in row for row in flagged.text.split('<th scope="row">')[1:])
    fair = client.get("/curator/datasets/roofs/systems?quality=fair")
    assert rows(fair)[:3] == ["s001", "s004", "s007"]
    assert "40 systems" in text_of(fair)
    assert len(rows(client.get("/curator/datasets/roofs/systems?quality=%27--"))) == 50
    refused = client.get("/curator/datasets/roofs/systems?show=refused")
    assert rows(refused) == ["r000", "r001", "r002"]
    assert "too little data: 3" in text_of(refused)
    assert "has 4 daylight readings" in text_of(refused)
    assert client.get("/curator/datasets/roofs/systems?show=all%27--").status_code == 404


@pytest.fixture
def with_planes(fleet) -> Iterator[Running]:
    part = add_planes(fleet.service.settings.datasets / "roofs" / "inferred")
    yield fleet
    part.unlink()


def test_planes_and_trackers_are_shown_in_the_list_and_on_their_pages(with_planes):
    client = login(with_planes)
    two = client.get("/curator/datasets/roofs/systems?show=flagged&flag=two_planes")
    assert rows(two) == ["ridge"]
    assert "92.0°<br>271.0°" in two.text
    assert "31.0°<br>30.0°" in two.text
    assert "axis 178.0° ±55.0°" in text_of(client.get("/curator/datasets/roofs/systems?text=farm"))
    assert client.get("/curator/datasets/roofs/estimates").status_code == 200
    ridge = text_of(client.get("/curator/datasets/roofs/system?system_id=ridge"))
    assert "Azimuth 271.0° (266° to 276°) Tilt 30.0° (27° to 33°) 2.00 kW (1.84 to 2.16)" in ridge
    farm = text_of(client.get("/curator/datasets/roofs/system?system_id=farm"))
    assert "Single-axis tracker Axis 178.0°" in farm
    assert "Turns ±55° (45° to 60°)" in farm
    assert "Rows cover 38% of the ground" in farm


@pytest.mark.parametrize("text", ["%27%20OR%201=1", "%25", "%5C", "%00x", "<b>"])
def test_a_strange_filter_finds_nothing_and_breaks_nothing(fleet, text):
    answer = login(fleet).get(f"/curator/datasets/roofs/systems?text={text}")
    assert (answer.status_code, rows(answer)) == (200, [])
    assert "<b>" not in answer.text


def test_a_system_that_was_refused_says_why_and_a_stranger_is_not_there(fleet):
    client = login(fleet)
    answer = client.get("/curator/datasets/roofs/system?system_id=r001")
    assert "This system has no estimate: system r001 has 4" in text_of(answer)
    assert client.get("/curator/datasets/roofs/system?system_id=nobody").status_code == 404
    # its readings are not there in this fleet, which is said, and the rest is shown
    answer = client.get("/curator/datasets/roofs/system?system_id=s001")
    assert answer.status_code == 200
    assert "s001" in text_of(answer)


def test_pages_about_no_dataset_are_not_there(fleet):
    client = login(fleet)
    for path in ("", "/estimates", "/systems", "/promise", "/analysts", "/ledger", "/progress"):
        assert client.get(f"/curator/datasets/nothing{path}").status_code == 404


def test_logs_hold_no_system_and_no_value(fleet, caplog):
    client = login(fleet)
    with caplog.at_level(logging.DEBUG):
        for path in ("estimates", "systems", "system?system_id=s001", "systems?text=s001"):
            client.get(f"/curator/datasets/roofs/{path}")
    said = "\n".join(record.getMessage() for record in caplog.records if "sunveil" in record.name)
    assert "s001" not in said


# -- the promise


def make_promise(client: httpx.Client, name: str = "roofs", **changes: str) -> httpx.Response:
    fields = {"protect": "system", "k": "1", "epsilon": "2", "delta": "0", "sure": "yes", **changes}
    return post(client, f"/curator/datasets/{name}/promise", **fields)


def test_a_promise_is_previewed_in_plain_words_and_spends_nothing(fleet):
    client = login(fleet)
    asked = "protect=days&k=7&epsilon=1&delta=1e-6&allow=paper"
    answer = client.get(f"/curator/datasets/roofs/promise?{asked}")
    page = text_of(answer)
    assert "on any 7 days change the probability of any set of answers" in page
    assert "to at most 2.72 times (ε = 1) its value without them, plus 1e-06" in page
    assert "Orientation and size of a household's panels are not protected" in page
    assert "depends on an assumption about the data" in page
    assert 'id="tables-data"' in answer.text
    assert 'id="systems-data"' in answer.text
    assert fleet.service.ledger.names() == []


def crawl(client: httpx.Client, start: str) -> dict[str, str]:
    """Return the text of every page of a side that links lead to."""
    found, waiting = {}, [start]
    while waiting:
        path = waiting.pop()
        answer = client.get(path)
        found[path] = answer.text
        for link in re.findall(r'<a[^>]* href="([^"#]+)"', answer.text):
            to = html.unescape(link)
            if to.startswith(start) and to not in found and to not in waiting and len(found) < 60:
                waiting.append(to)
    return found


@pytest.mark.parametrize("side", ["/curator", "/analyst"])
def test_no_page_puts_the_token_of_a_form_into_an_address(start, side):
    running = start()
    inferred(running)
    add_dataset(running.service, "asked")
    ask = {"kind": "totals", "epsilon": 0.1}
    running.api().post("/datasets/asked/releases", json=ask, headers=key())
    client = login(running) if side == "/curator" else running.analyst()
    pages = crawl(client, side)
    assert len(pages) > 10
    seen = 0
    for path, text in pages.items():
        assert "csrf" not in path
        for form, inside in re.findall(r"<form([^>]*)>(.*?)</form>", text, re.DOTALL):
            seen += 1
            methods = re.findall(r'\bmethod="?(\w+)', form) + re.findall(
                r'formmethod="?(\w+)', inside
            )
            if "get" in methods or not methods:
                assert '<input type="hidden" name="csrf"' not in inside, path
    assert seen > 5


@pytest.mark.parametrize(
    "promise",
    [
        Promise(System(), 2.0),
        Promise(System(), 4.0, 1e-6),
        Promise(System(), 3.0, meters=3),
        Promise(Days(2), 4.0, 1e-6, meters=2),
    ],
    ids=["epsilon", "delta", "meters", "days"],
)
def test_errors_shown_before_a_promise_are_those_that_a_plan_states(serve, promise):
    running = serve()
    add_dataset(running.service, shares={"ann": promise.epsilon}, epsilon=promise.epsilon)
    served = replace(served_of(running), name="new", folder="roofs")
    with running.service.store.changing() as connection:
        add_served(connection, served)
    unit, _, k = unit_name(promise.unit).partition(":")
    fields = {"protect": unit, "k": k or "1", "epsilon": promise.epsilon}
    fields |= {"delta": promise.delta, "meters": promise.meters}
    page = login(running).get("/curator/datasets/new/promise", params=fields).text
    rows = [
        [float(number) for number in re.findall(r">±?(\d+(?:\.\d+)?)", row)[:4]]
        for row in re.findall(r'<tr>(<th scope="row">.*?)</tr>', page)
    ]
    assert [row[0] for row in rows] == [1.0, 5.0, 20.0]
    running.service.ledger.create_dataset("new", promise)
    running.service.ledger.set_share("new", "ann", from_nano(promise.total))
    api = running.api()
    for questions, epsilon, sector, total in rows:
        asked = {"kind": "fleet-table", "epsilon": epsilon}
        one = api.post("/datasets/new/plans", json={**asked, "tables": ["sectors"]}).json()
        two = api.post("/datasets/new/plans", json={**asked, "tables": ["totals"]}).json()
        assert one["cost"] * questions == pytest.approx(from_nano(promise.total), rel=0.02)
        found = {each["value"]: each["error"] for each in one["expected"] + two["expected"]}
        assert sector == pytest.approx(found["systems"], rel=0.02)
        assert total == pytest.approx(found["total_kw"], rel=0.06)


def test_a_promise_is_made_once_and_for_ever(serve):
    running = serve()
    client = login(running)
    inferred(running)
    unsure = make_promise(client, sure="")
    assert (unsure.status_code, "can never be changed" in text_of(unsure)) == (422, True)
    assert running.service.ledger.names() == []
    made = make_promise(client, protect="days", k="3", epsilon="0,5", delta="1e-9", allow="paper")
    assert made.headers["location"] == "/curator/datasets/roofs/analysts"
    assert running.service.ledger.dataset("roofs").promise.to_dict() == {
        "unit": "days:3",
        "epsilon": 0.5,
        "delta": 1e-9,
        "measure": "rho",
        "conditional": ["paper"],
        "meters": 1,
        "conversion": "tight",
    }
    page = text_of(client.get("/curator/datasets/roofs/promise"))
    assert "A promise can never be changed." in page
    again = client.post(
        "/curator/datasets/roofs/promise",
        data={"csrf": csrf(client, "/curator"), "protect": "system", "epsilon": "9", "sure": "yes"},
    )
    assert (again.status_code, "can never be changed" in text_of(again)) == (422, True)
    assert running.service.ledger.dataset("roofs").promise.epsilon == 0.5


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"epsilon": "much"}, "The total ε is a number"),
        ({"epsilon": "nan"}, "finite"),
        ({"epsilon": "0"}, "above 0"),
        ({"epsilon": "1e9"}, "at most 1000"),
        ({"delta": "0.5"}, "delta is 0, or from"),
        ({"protect": "nothing"}, "choose what is protected"),
        ({"protect": "days", "k": "0"}, "1 or more"),
        ({"protect": "days", "k": "x"}, "is none of these"),
    ],
)
def test_a_promise_that_means_nothing_is_refused_in_one_sentence(fleet, changes, why):
    answer = make_promise(login(fleet), **changes)
    assert (answer.status_code, why.lower() in text_of(answer).lower()) == (422, True)
    assert fleet.service.ledger.names() == []


def test_systems_that_are_another_household_in_another_dataset_are_warned_of(serve):
    running = serve()
    client, ledger = login(running), running.service.ledger
    table = inferred(running) / "systems.csv"
    table.write_text("system_id,latitude,longitude,household\na,40,-105,7\nb,40,-105,40031\n")
    ledger.create_dataset("walls", Promise(System(), 2.0))
    ledger.register("walls", [SystemHome("a", "7.0"), SystemHome("b", "0040031")])
    make_promise(client)
    warning = "1 system is one household in 'roofs' and another in another dataset"
    assert warning in text_of(client.get("/curator/datasets/roofs/analysts"))
    ledger.register("roofs", read_households(table))
    assert warning in text_of(client.get("/curator/datasets/roofs/ledger"))


def test_public_groups_are_chosen_from_the_table_of_systems(serve):
    running = serve()
    client = login(running)
    inferred(running)
    page = "/curator/datasets/roofs/promise"
    post(client, "/curator/datasets/roofs/groups", page=page, group="feeder")
    assert served_of(running).keys == {"feeder": ["F1", "F2"]}
    refused = post(client, "/curator/datasets/roofs/groups", page=page, group="latitude")
    assert refused.status_code == 422
    post(client, "/curator/datasets/roofs/groups", page=page)
    assert served_of(running).keys == {}


def test_only_columns_that_give_every_system_a_group_are_offered(tmp_path):
    path = tmp_path / "systems.csv"
    path.write_text(
        "system_id,latitude,longitude,feeder,zip,half,same,name,household,Meter\n"
        "a,40,-105,F1,80401,x,s,Ann,k1,m1\n"
        "b,40,-105,F2,80402,,s,Bob,k2,m2\n"
        "c,,-105,F3,80401,y,s,Cid,k2,m3\n"
    )
    assert public_groups(path) == {
        "feeder": ["F1", "F2", "F3"],  # of the system without a place too
        "zip": ["80401", "80402"],
        "name": ["Ann", "Bob", "Cid"],
    }


# -- analysts


@pytest.fixture(scope="module")
def promised(start) -> Running:
    running = start()
    inferred(running)
    make_promise(login(running))
    return running


def invite(client: httpx.Client, name: str, share: str = "1.5") -> httpx.Response:
    fields = {"analyst": name, "share": share}
    page = "/curator/datasets/roofs/analysts"
    return post(client, "/curator/datasets/roofs/invite", page=page, **fields)


def token_of(answer: httpx.Response) -> str:
    return re.search(r"sv_[0-9a-f]{16}_[\w-]{43}", answer.text)[0]


def test_an_analyst_is_invited_with_a_token_that_is_shown_once_and_opens(promised):
    client = login(promised)
    token = token_of(invite(client, "Ada"))
    assert promised.client(token).get("/datasets").status_code == 200
    for path in ("/curator/datasets/roofs/analysts", "/curator/analysts", "/curator"):
        page = client.get(path).text
        assert token not in page
        assert token.split("_", 2)[2] not in page
    assert "Ada" in client.get("/curator/analysts").text


def test_a_revoked_token_opens_nothing_any_more(promised):
    client = login(promised)
    token = token_of(invite(client, "Edith"))
    api, browser = promised.client(token), promised.client()
    assert post(browser, "/analyst/login", token=token).status_code == 303
    assert browser.get("/analyst").status_code == 200
    public = token.split("_")[1]
    post(client, "/curator/analysts/revoke", page="/curator/analysts", token=public)
    assert api.get("/datasets").status_code == 401
    assert browser.get("/analyst").headers["location"] == "/analyst/login"
    again = post(client, "/curator/analysts/revoke", page="/curator/analysts", token=public)
    assert again.status_code == 404
    other = post(client, "/curator/analysts/token", page="/curator/analysts", analyst="Edith")
    assert promised.client(token_of(other)).get("/datasets").status_code == 200


def test_shares_are_set_within_the_promise(promised):
    client = login(promised)
    invite(client, "Grace")
    page = "/curator/datasets/roofs/analysts"

    def set_share(share: str, analyst: str = "Grace") -> httpx.Response:
        path = "/curator/datasets/roofs/share"
        return post(client, path, page=page, analyst=analyst, share=share)

    assert set_share("0.75").headers["location"] == page
    facts = promised.service.ledger.entries("roofs")[-1].facts()
    assert (facts["analyst"], facts["share"]) == ("Grace", 750_000_000)
    assert "at most the dataset's 2" in text_of(set_share("2.5"))
    assert set_share("-1").status_code == 422
    assert set_share("much").status_code == 422
    assert set_share("1", analyst="Nobody").status_code == 404


@pytest.mark.parametrize(
    ("name", "share", "why"),
    [
        ("", "1", "The name of an analyst"),
        ("a\nb", "1", "printable"),
        ("Mary", "1", "an analyst named Mary already"),
        ("Emmy", "9", "at most the dataset's 2"),
    ],
)
def test_an_invitation_that_cannot_hold_is_refused_without_a_token(promised, name, share, why):
    client = login(promised)
    invite(client, "Mary")
    before = client.get("/curator/analysts").text.count("sv_")
    answer = invite(client, name, share)
    assert (answer.status_code, why.lower() in text_of(answer).lower()) == (422, True)
    assert "sv_" not in answer.text
    assert client.get("/curator/analysts").text.count("sv_") == before


def test_nobody_is_invited_before_the_promise(serve):
    running = serve()
    inferred(running)
    client = login(running)
    assert "before inviting analysts" in text_of(client.get("/curator/datasets/roofs/analysts"))
    answer = post(client, "/curator/datasets/roofs/invite", page="/curator", analyst="a", share="1")
    assert answer.status_code == 409


# -- the ledger


@pytest.fixture(scope="module")
def asked(start) -> Running:
    return ask_twice(start())


def ask_twice(running: Running) -> Running:
    """Return a service whose dataset was asked twice, by an analyst and by the curator."""
    add_dataset(running.service, shares={"=cmd()": 2.0})
    for analyst, epsilon in (("=cmd()", 0.5), (None, 0.25)):
        guarantee = Guarantee(System(), epsilon, 0.0, "docs/proofs/counts.md")
        question = Question(
            "fleet-tables", {"n": epsilon}, "fleet-tables", guarantee, None, analyst
        )
        running.service.ledger.ask("roofs", question, lambda: 1)
    return running


def test_the_ledger_shows_who_asked_what_and_that_it_holds(asked):
    client = login(asked)
    page = text_of(client.get("/curator/datasets/roofs/ledger"))
    assert "Verification verified" in page
    assert "6 entries checked: 2 charges. Spent" in page
    assert "=cmd() 1 0.5" in page
    assert "the curator 1 0.25" in page
    assert "fleet-tables about all systems at ε = 0.5" in page
    verdict = asked.service.ledger.verify("roofs")
    mark = f"{verdict.entries}:{verdict.head}"
    assert mark in page
    held = client.get("/curator/datasets/roofs/ledger", params={"mark": mark})
    assert "Verification verified" in text_of(held)
    held = client.get("/curator/datasets/roofs/ledger", params={"mark": f"9:{verdict.head}"})
    assert "Verification not valid" in text_of(held)
    held = client.get("/curator/datasets/roofs/ledger", params={"mark": "nonsense"})
    assert "A checkpoint is a number of entries" in text_of(held)


def test_the_ledger_names_what_was_published(served):
    question = {"kind": "totals", "epsilon": 0.5}
    served.api().post("/datasets/roofs/releases", json=question, headers=key()).raise_for_status()
    page = text_of(login(served).get("/curator/datasets/roofs/ledger"))
    assert re.search(r"ann .*Total capacity.*: fleet-tables about all systems at ε = 0.5", page)


def test_a_ledger_that_was_changed_is_shown_to_be_so(serve):
    asked = ask_twice(serve())
    with asked.service.store.changing() as connection:
        connection.connection().exec_driver_sql("UPDATE datasets SET fleet_spent = 1")
    client = login(asked)
    page = text_of(client.get("/curator/datasets/roofs/ledger"))
    assert "Verification not valid" in page
    assert "The counters do not add up to the charges." in page
    assert "not valid" in text_of(client.get("/curator/ledger"))


def test_the_ledger_is_exported_whole(asked):
    client = login(asked)
    answer = client.get("/curator/datasets/roofs/ledger.json")
    assert 'filename="roofs-ledger.json"' in answer.headers["content-disposition"]
    (exported,) = answer.json()["datasets"]
    entries = asked.service.ledger.entries("roofs")
    assert [each["digest"] for each in exported["entries"]] == [each.digest for each in entries]
    assert exported["verdict"]["holds"] is True
    table = list(csv.DictReader(io.StringIO(client.get("/curator/datasets/roofs/ledger.csv").text)))
    assert [row["kind"] for row in table] == [entry.kind for entry in entries]
    assert [row["cost"] for row in table if row["cost"]] == ["0.500000000", "0.250000000"]


def test_a_name_is_no_formula_in_the_exported_table(asked):
    text = login(asked).get("/curator/datasets/roofs/ledger.csv").text
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert "'=cmd()" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]


def test_all_datasets_of_the_ledger_are_verified_together(asked):
    page = text_of(login(asked).get("/curator/ledger"))
    assert "roofs verified 0.75 4 2 2" in page


def test_the_whole_way_works_on_postgresql_too(serve, database):
    running = serve(database=database)
    client = login(running)
    assert upload(client).status_code == 303
    write_results(running.service.settings.datasets / "roofs" / "inferred", systems=9)
    ended(running, "roofs", "")
    wait_for(lambda: served_of(running).state == "ready")
    assert len(rows(client.get("/curator/datasets/roofs/systems"))) == 9
    make_promise(client)
    page = "/curator/datasets/roofs/promise"
    post(client, "/curator/datasets/roofs/groups", page=page, group="feeder")
    token = token_of(invite(client, "Ada"))
    assert running.client(token).get("/datasets").status_code == 200
    assert "Verification verified" in text_of(client.get("/curator/datasets/roofs/ledger"))
    public = token.split("_")[1]
    post(client, "/curator/analysts/revoke", page="/curator/analysts", token=public)
    assert running.client(token).get("/datasets").status_code == 401


ROW = {
    "surface_azimuth": 200.0,
    "surface_tilt": 30.0,
    "dc_capacity_kw": 5.0,
    "plane_error_degrees": 2.0,
    "ac_limit_kw": None,
    "clock_offset_minutes": 0.0,
    "clock_label": "start",
    "clock_daylight_saving": "as_declared",
    "agreement": 0.9,
    "flags": [],
    **dict.fromkeys(("haze_summer", "haze_winter", "heat", "clear_hours", "skyline", "years")),
    **dict.fromkeys(("trend_percent_per_year", "planes", "tracker", "household_load")),
    "clock_steps": [],
    **{
        f"{name}_{end}": 1.0
        for name in ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
        for end in ("low", "high")
    },
}


@pytest.mark.parametrize("layout", ["a csv on a local clock", "parquet in long form", "lists"])
def test_the_report_of_a_system_is_made_from_its_readings(
    serve, clear_power, golden_site, layout, monkeypatch
):
    service = serve().service
    folder = service.settings.datasets / "roofs"
    (folder / "meters").mkdir(parents=True)
    power = clear_power(200.0, 30.0, dc_capacity_kw=5.0)
    stamps = power.index.tz_convert("UTC")
    place = f"{golden_site.latitude},{golden_site.longitude},1795,UTC-07:00"
    (folder / "systems.csv").write_text(
        f"system_id,latitude,longitude,altitude,timezone\nother,{place}\nmine,{place}\n"
    )
    (folder / "inferred").mkdir()
    assumed = {"settings": run_settings(MeterOptions(), InferOptions())}
    (folder / "inferred" / "run.json").write_text(json.dumps(assumed))
    if layout == "lists":
        lists = {
            "system_id": ["mine"],
            "start": [stamps[0].to_pydatetime()],
            "interval_minutes": [60.0],
            "power_kw": [power.tolist()],
        }
        pq.write_table(pa.table(lists), folder / "meters" / "a.parquet")
    else:
        frame = pd.DataFrame({"system_id": "mine", "time": stamps, "power_kw": power.to_numpy()})
        if layout == "parquet in long form":
            frame.to_parquet(folder / "meters" / "a.parquet", index=False)
        else:
            frame["time"] = stamps.tz_convert("Etc/GMT+7").tz_localize(None)
            frame.to_csv(folder / "meters" / "a.csv", index=False)
    made = Served(
        name="roofs",
        title="Roofs",
        folder="roofs",
        meters="meters",
        extra={"systems_table": "systems.csv", "options": {"label": "start"}},
    )
    year = {"first": "2019-01-01", "surface_azimuth": 201.0, "surface_tilt": 29.0}
    seen = {"skyline": [0.0] * 29 + [10.0], "years": [{**year, "dc_capacity_kw": 5.0}]}
    row = {"system_id": "mine", **ROW, **seen, "clear_hours": 900.0}
    drawn = []
    monkeypatch.setattr(
        "sunveil.plots.html_report.draw_clear_days",
        lambda data, axes: drawn.append((data.power, data.modelled)),
    )
    report = system_report(service, made, estimate_of(service, made, row))
    measured, modelled = drawn[0]
    assert len(measured) >= 300
    assert np.median(np.abs(measured - modelled)) < 0.15 * measured.max()
    assert "Based on 900 hours of clear days." in report["facts"]
    assert "The sun is hidden below 10° in the north (348 to 360°)." in report["facts"]
    assert report["years"] is not None
    assert report["skyline"] is not None
    with pytest.raises(SourceError, match="not there any more"):
        system_report(service, made, estimate_of(service, made, {**row, "system_id": "other"}))


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

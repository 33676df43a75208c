from __future__ import annotations

import fcntl
import io
import os
import re
import subprocess
import sys
import zipfile

import pytest
from page_checks import Watch, check_everywhere
from playwright.sync_api import expect
from service_makers import add_dataset, key, new_token, post, quick_settings, running

from sunveil.client import AnswerRefused, Client
from sunveil.service.backup.write import _files_below
from sunveil.service.power_orders import MOST_ROWS, PowerOrder, PowerRefused, groups_in
from sunveil.service.powering import runs as runs_module
from sunveil.service.powering.runs import PowerRuns, run_id

PLACE = {"latitude": 39.74, "longitude": -105.17, "zone": "America/Denver"}
DAYS = {"start": "2023-06-20", "end": "2023-06-23", "step_minutes": 60}
ORDER = PowerOrder(**PLACE, **DAYS)
TABLES = {"kind": "fleet-table", "epsilon": 1.0, "tables": ["planes", "totals"],
          "group_by": "feeder"}  # fmt: skip


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Return a service with a release of tables and one of quantiles, and its client."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("marks")))
        found = running(quick_settings(tmp_path_factory.mktemp("service")))
        add_dataset(found.service, shares={"ann": 2.0, "bob": 1.0})
        add_dataset(found.service, "barns", shares={"bob": 1.0}, ids="other")
        client = Client(found.base, new_token(found.service))
        release = client.ask("roofs", **TABLES)
        quantiles = client.ask("roofs", kind="quantiles", epsilon=0.1)
        power = release.power(**PLACE, **DAYS)
        yield found, client, release, quantiles, power
        client.close()
        found.stop()


def test_a_program_gets_power_with_a_band_in_one_call(served, tmp_path):
    _, _, _, _, power = served
    frame = power.frame()
    assert list(frame.columns) == ["time", "group", "power_kw", "low", "high"]
    assert sorted(set(frame["group"])) == ["F1", "F2", "F3"]
    assert len(frame) == 3 * 72
    lit = frame[frame["power_kw"] > 0.0]
    assert len(lit) > 90
    assert ((lit["low"] <= lit["power_kw"]) & (lit["power_kw"] <= lit["high"])).mean() > 0.99
    names = set(power.answers()["name"])
    assert "West-facing roofs from 17 to 20 h in summer" in names
    assert any(each.startswith("Highest power, on 2023-06-2") for each in names)
    assert [path.name for path in power.save(tmp_path)] == power.files
    with zipfile.ZipFile(io.BytesIO(power.file("opendss.zip"))) as packed:
        assert sorted(packed.namelist()) == ["F1.csv", "F2.csv", "F3.csv", "loadshapes.dss"]


def test_power_charges_nothing_and_is_made_once(served):
    found, _, release, _, power = served
    before = found.service.ledger.dataset("roofs").spent
    again = release.power(**PLACE, **DAYS)
    assert again.id == power.id == run_id(release.id, ORDER)
    assert again.file("power.csv") == power.file("power.csv")
    assert found.service.ledger.dataset("roofs").spent == before
    (run,) = found.service.power.runs_of(release.id)
    assert (run.id, run.state) == (power.id, "done")


def test_nothing_of_a_run_is_private_and_no_path_of_the_server_is_told(served):
    found, _, release, _, power = served
    folder = found.service.settings.data / "power" / power.id
    kept = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert b"secret-" not in kept
    told = found.client(new_token(found.service)).get(f"/releases/{release.id}/power/{power.id}")
    assert str(found.service.settings.data) not in told.text
    backed_up = [str(path) for path in _files_below(found.service.settings.data)]
    assert backed_up
    assert not [path for path in backed_up if power.id in path]
    page = found.analyst().get(f"/analyst/releases/{release.id}/power/{power.id}").text
    assert str(found.service.settings.data) not in page
    assert "Planners&#39; answers" in page or "Planners' answers" in page


def test_who_may_not_read_a_release_has_no_power_of_it(served):
    found, _, release, _, power = served
    other = found.api("cyd")
    for path in ("power/" + power.id, f"power/{power.id}/files/power.csv"):
        assert other.get(f"/releases/{release.id}/{path}").status_code == 404
    order = ORDER.model_dump(mode="json")
    assert other.post(f"/releases/{release.id}/power", json=order).status_code == 404
    mine = found.api("ann")
    assert mine.get(f"/releases/{release.id}/power/{'0' * 32}").status_code == 404
    assert mine.get(f"/releases/{release.id}/power/{power.id}/files/order.json").status_code == 404
    # a run is found below its own release alone
    barns = found.api("bob").post(
        "/datasets/barns/releases", json={"kind": "totals", "epsilon": 0.1}, headers=key()
    )
    wrong = f"/releases/{barns.json()['id']}/power/{power.id}"
    assert found.api("bob").get(wrong).status_code == 404


def test_what_cannot_be_ordered_is_refused_in_a_sentence(served):
    found, _, release, quantiles, _ = served
    with pytest.raises(AnswerRefused, match="No power can be made of quantiles"):
        quantiles.power(**PLACE, **DAYS)
    with pytest.raises(AnswerRefused, match="366 days at most"):
        release.power(39.74, -105.17, start="2022-01-01", end="2024-01-01")
    with pytest.raises(AnswerRefused, match="no weather of this name"):
        release.power(39.74, -105.17, start="2022-01-01", end="2022-01-03", weather="../x.csv")
    with pytest.raises(AnswerRefused, match="no time zone"):
        release.power(39.74, -105.17, start="2022-01-01", end="2022-01-03", zone="../etc/passwd")
    browser = found.analyst()
    page = f"/analyst/releases/{release.id}/power"
    wrong = post(browser, page, **{**PLACE, **DAYS, "latitude": "91"})
    assert wrong.status_code == 422
    assert "latitude: Input should be less than or equal to 66." in wrong.text


def test_a_browser_orders_power_and_is_shown_it(served):
    found, _, release, quantiles, power = served
    browser = found.analyst()
    assert f"/analyst/releases/{release.id}/power" in browser.get(
        f"/analyst/releases/{release.id}").text  # fmt: skip
    assert "/power" not in browser.get(f"/analyst/releases/{quantiles.id}").text
    page = f"/analyst/releases/{release.id}/power"
    sent = post(browser, page, **{**PLACE, **DAYS})
    assert sent.headers["location"] == f"{page}/{power.id}"
    shown = browser.get(f"{page}/{power.id}").text
    assert len(re.findall('class="plot-area"', shown)) == 3 * 4
    file = browser.get(f"{page}/{power.id}/files/power.parquet")
    assert file.content[:4] == b"PAR1"


def test_an_analyst_orders_power_by_hand_on_a_screen_and_on_a_phone(served, browser):
    found, _, release, _, _ = served
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(180_000)
    watch = Watch(context, found.base)
    page = context.new_page()
    page.goto(f"{found.base}/analyst/login")
    page.get_by_label("Token").fill(new_token(found.service))
    page.get_by_role("button", name="Log in").click()
    page.goto(f"{found.base}/analyst/releases/{release.id}")
    page.get_by_role("link", name="Power from this release").click()
    picture(page, "power-order")
    check_everywhere(page)
    for label, text in (("Latitude", "39.74"), ("Longitude", "-105.17"),
                        ("First day", DAYS["start"]), ("Day after the last", DAYS["end"]),
                        ("Time zone", PLACE["zone"])):  # fmt: skip
        page.get_by_label(label).fill(text)
    page.get_by_label("Length of an interval").select_option("60")
    page.get_by_role("button", name="Make the power").click()
    expect(page.locator(".plot-area.drawn")).to_have_count(3 * 4, timeout=180_000)
    picture(page, "power-run")
    check_everywhere(page)
    page.set_viewport_size({"width": 360, "height": 740})
    picture(page, "power-run-phone")
    with page.expect_download() as download:
        page.get_by_role("link", name="power.csv").click()
    assert download.value.suggested_filename.endswith("power.csv")
    watch.check()
    context.close()


def picture(page, name: str) -> None:
    """Keep a picture of a page where SUNVEIL_PICTURES names a folder, for people to look at."""
    folder = os.environ.get("SUNVEIL_PICTURES")
    if folder:
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


def test_runs_are_bounded_in_size_and_number(served, tmp_path, monkeypatch):
    found, _, release, _, _ = served
    body = found.app.state.release_cache.find(found.service, release.id, "ann").body
    assert groups_in(body) == 3
    maker = PowerRuns(tmp_path / "power", weather=tmp_path)
    assert maker.runs_of(release.id) == []
    monkeypatch.setattr(runs_module, "MOST_ROWS", 200)
    with pytest.raises(PowerRefused, match="216 intervals of all groups together"):
        maker.start(release.id, body, ORDER, analyst="ann")
    monkeypatch.setattr(runs_module, "MOST_ROWS", MOST_ROWS)
    # those that wait for their turn hold the queue
    with (tmp_path / "power" / "turn").open("w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        for day in ("21", "22"):
            order = PowerOrder(**PLACE, start="2023-06-20", end=f"2023-06-{day}")
            waiting = maker.start(release.id, body, order, analyst="ann")
            assert waiting.state == "running"
        with pytest.raises(PowerRefused, match="2 runs of power that are not done"):
            maker.start(release.id, body, ORDER, analyst="ann")
        monkeypatch.setattr(runs_module, "MOST_WAITING", 2)
        with pytest.raises(PowerRefused, match="Too many runs of power are waiting"):
            maker.start(release.id, body, ORDER, analyst="bob")
        jobs = runs_module.BackgroundJobs(tmp_path / "power" / "jobs")
        for job in jobs.all():
            jobs.cancel(job.job_id)
    stopped = maker.runs_of(release.id)
    assert {each.state for each in stopped} == {"failed"}
    # the oldest go when there are more than are kept
    monkeypatch.setattr(runs_module, "MOST_KEPT", 1)
    maker._make_room(jobs.all(), jobs, "ann")
    assert maker.runs_of(release.id) == []
    assert sorted(path.name for path in (tmp_path / "power").iterdir()) == ["jobs", "turn"]


def test_weather_that_whoever_runs_the_service_put_there_is_offered(served):
    found, _, release, _, _ = served
    folder = found.service.settings.data / "weather"
    folder.mkdir()
    (folder / "broken.csv").write_text("not,weather\n1,2\n")
    assert found.service.power.weathers() == ["broken.csv"]
    page = found.analyst().get(f"/analyst/releases/{release.id}/power").text
    assert '<option value="broken.csv">' in page
    with pytest.raises(AnswerRefused, match="weather of this name does not hold the whole span"):
        release.power(**PLACE, **DAYS, weather="broken.csv")


@pytest.mark.parametrize(
    ("limits", "work", "words"),
    [
        ("job.SECONDS = 1", "time.sleep(60)", "longer than the service allows"),
        (
            "job.CPU_SECONDS = 2",
            "all(True for _ in iter(int, 1))",
            "longer than the service allows",
        ),
        ("job.MEMORY = 1 << 29", "bytearray(1 << 30)", "more memory than the service allows, 512"),
    ],
)
def test_a_run_that_takes_too_much_says_of_what(tmp_path, limits, work, words):
    run = tmp_path / "run"
    run.mkdir()
    (run / "order.json").write_text("{}")
    text = (
        "import sys, time; from pathlib import Path; from sunveil.service.powering import job;"
        f" {limits}; job.make = lambda *_: {work}; sys.exit(job.main(Path(sys.argv[1])))"
    )
    line = [sys.executable, "-c", text, str(run)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, words in done.stderr) == (3, True), done.stderr
    assert "take a shorter span" in done.stderr
    assert not (run / "found.json").exists()

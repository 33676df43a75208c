"""The curator's way from an empty service to an invited analyst, in a real browser."""

from __future__ import annotations

import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_makers import write_fleet
from page_checks import Watch, check_everywhere, check_page, tab_to
from playwright.sync_api import Browser, Page, expect
from service_makers import PASSWORD, Running, new_curator

from sunveil.service.curator.inference import job_id, jobs_of
from sunveil.service.security.tokens import random_secret
from sunveil.service.store.accounts import new_setup_secret

DESK = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
LONG = 60_000


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a zip of a small fleet's readings and its table of systems."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder, 4, days=60)
    path = folder / "fleet.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("readings.parquet", "systems.csv"):
            archive.write(folder / name, name)
    return path


@pytest.fixture
def opened(browser: Browser, serve: Callable[..., Running]) -> Iterator[Callable[..., Any]]:
    """Return what opens a page on a new service, and watches what the browser does."""
    watched = []

    def open_page(**options: Any) -> tuple[Running, Page]:
        running = serve()
        context = browser.new_context(**{"viewport": DESK, **options})
        watched.append((context, Watch(context, running.base)))
        context.set_default_timeout(LONG)
        return running, context.new_page()

    yield open_page
    for context, watch in watched:
        context.close()
        watch.check()


def setup_link(running: Running) -> str:
    secret = random_secret()
    with running.service.store.changing() as connection:
        new_setup_secret(connection, secret)
    return f"{running.base}/setup/{secret}"


def log_in(running: Running, page: Page) -> None:
    new_curator(running.service)
    page.goto(f"{running.base}/curator")
    page.get_by_label("Name", exact=True).fill("cora")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/curator")


def test_a_new_curator_uploads_infers_promises_and_invites(opened, readings):
    running, page = opened()
    _sets_up(running, page)
    _uploads(page, readings)
    _infers(page)
    _looks_at_estimates(page)
    _promises(page)
    token = _invites(page)
    assert running.client(token).get("/datasets").json()["datasets"][0]["name"] == "roofs"
    _sees_the_ledger(page)
    _adds_an_edition(page, readings)
    _revokes(page)
    assert running.client(token).get("/datasets").status_code == 401


def _sets_up(running: Running, page: Page) -> None:
    link = setup_link(running)
    page.goto(link)
    check_everywhere(page)
    page.get_by_label("Name", exact=True).fill("Cora")
    page.get_by_label("Password").fill("a long and winding sentence")
    page.get_by_role("button", name="Make the account").click()
    page.wait_for_url("**/curator")
    expect(page.get_by_text("Nothing here yet")).to_be_visible()
    check_everywhere(page)
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("does not hold")
    page.goto(f"{running.base}/curator")


def _uploads(page: Page, readings: Path) -> None:
    page.get_by_role("link", name="Add a dataset").click()
    check_everywhere(page)
    form = page.locator("form", has=page.get_by_role("heading", name="Upload files"))
    form.get_by_label("Name", exact=True).fill("Roofs")
    form.get_by_label("Readings", exact=True).set_input_files(readings)
    form.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/curator/datasets/roofs")
    expect(page.get_by_role("status")).to_contain_text("4 systems are listed")
    check_everywhere(page)


def _infers(page: Page) -> None:
    page.get_by_role("button", name="Infer now").click()
    expect(page.get_by_role("progressbar", name="How much is inferred")).to_be_visible()
    check_page(page)
    # the page renews itself until the work is done
    expect(page.get_by_text("4 systems are inferred")).to_be_visible(timeout=LONG)
    check_everywhere(page)


def _looks_at_estimates(page: Page) -> None:
    page.get_by_role("link", name="Look at the estimates").click()
    check_everywhere(page)
    assert page.locator("#map .points path").count() == 4
    assert page.locator("#planes .points path").count() == 4
    page.get_by_role("link", name="Systems", exact=True).click()
    check_everywhere(page)
    page.get_by_role("link", name="h0", exact=True).click()
    expect(page.get_by_role("heading", name="Clear days")).to_be_visible()
    assert page.locator("[data-figure]").count() >= 1
    check_everywhere(page)
    dots, line = page.locator("#day-1 .points path"), page.locator("#day-1 .js-line")
    assert dots.count() > 5
    assert line.count() == 1


def _promises(page: Page) -> None:
    page.get_by_role("link", name="Promise", exact=True).click()
    page.get_by_label("any so many days").check()
    page.get_by_label("How many days or readings").fill("2")
    page.get_by_role("button", name="Preview").click()
    page.wait_for_url("**/promise?*")
    expect(page.get_by_text("on any 2 days changes")).to_be_visible()
    check_everywhere(page)
    page.get_by_label("the whole record").check()
    page.get_by_label("Total ε", exact=True).fill("3")
    page.get_by_role("button", name="Make the promise").click()
    expect(page.get_by_role("alert")).to_contain_text("meant for ever")
    page.get_by_label("I mean this for ever").check()
    page.get_by_role("button", name="Make the promise").click()
    page.wait_for_url("**/analysts")
    check_everywhere(page)


def _invites(page: Page) -> str:
    form = page.locator("form", has=page.get_by_role("heading", name="Invite an analyst"))
    form.get_by_label("Name", exact=True).fill("Ann Analyst")
    form.get_by_label("Share of ε").fill("1.5")
    form.get_by_role("button", name="Invite").click()
    token = page.get_by_label("Token").input_value()
    assert re.fullmatch(r"sv_[0-9a-f]{16}_[\w-]{43}", token)
    check_everywhere(page)
    page.get_by_role("link", name="It is handed over").click()
    page.get_by_label("Share of Ann Analyst").fill("2")
    page.get_by_role("button", name="Set").click()
    expect(page.get_by_role("status")).to_contain_text("Ann Analyst may spend 2 in all")
    check_everywhere(page)
    assert token not in page.content()
    return token


def _sees_the_ledger(page: Page) -> None:
    page.get_by_role("navigation", name="This dataset").get_by_role("link", name="Ledger").click()
    expect(page.get_by_text("the ledger holds")).to_be_visible()
    check_everywhere(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert download.value.suggested_filename == "roofs-ledger.json"
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Ledger").click()
    check_everywhere(page)


def _adds_an_edition(page: Page, readings: Path) -> None:
    page.goto(page.url.replace("/curator/ledger", "/curator/datasets/roofs"))
    page.get_by_role("link", name="Add another edition").click()
    check_everywhere(page)
    form = page.locator("form", has=page.get_by_role("heading", name="Upload files"))
    form.get_by_label("Public name of the edition").fill("2027")
    form.get_by_label("Readings", exact=True).set_input_files(readings)
    form.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/curator/datasets/roofs")
    expect(page.get_by_role("status")).to_contain_text("Edition 2027 is here: 4 systems")
    check_everywhere(page)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Drop this edition").click()
    expect(page.get_by_role("link", name="Add another edition")).to_be_visible()


def _revokes(page: Page) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Analysts").click()
    check_everywhere(page)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status")).to_contain_text("was revoked")
    check_everywhere(page)


def test_everything_can_be_reached_by_the_keyboard(opened):
    running, page = opened()
    log_in(running, page)
    page.reload()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the content"
    tab_to(page, "a[href='/curator/add']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/add")
    for selector in ("#u-title", "#u-meters", "#u-systems", "summary", "#n-meters"):
        tab_to(page, selector)


def test_a_phone_without_scripts_is_enough(opened, readings):
    """Forms are sent and work is watched by plain pages that load themselves again."""
    running, page = opened(viewport=PHONE, java_script_enabled=False)
    log_in(running, page)
    page.goto(f"{running.base}/curator/add")
    form = page.locator("form", has=page.get_by_role("heading", name="Upload files"))
    form.get_by_label("Name", exact=True).fill("Roofs")
    form.get_by_label("Readings", exact=True).set_input_files(readings)
    form.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/curator/datasets/roofs")
    gate = running.service.settings.data / "gate"
    script = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)"
    jobs_of(running.service).start(
        job_id("roofs"), [sys.executable, "-c", script], kind="infer", about="roofs"
    )
    page.reload()
    expect(page.get_by_role("progressbar", name="How much is inferred")).to_be_visible()
    gate.touch()
    expect(page.get_by_text("has finished and left no estimate")).to_be_visible(timeout=LONG)


def test_a_fault_on_a_page_is_found(opened):
    """The checks themselves can fail: each of these pages has one fault."""
    running, page = opened()
    page.goto(f"{running.base}/curator/login")
    check_page(page)
    faults = {
        "no label": "document.querySelector('label').remove()",
        "not one h1": "document.querySelector('h1').remove()",
        "to 1:": "const faint = new CSSStyleSheet(); faint.replaceSync('label { color: #888 }');"
        "document.adoptedStyleSheets = [faint]",
        "wider than": "document.querySelector('main').append("
        "Object.assign(document.createElement('img'), {alt: '', width: 3000}))",
    }
    for fault, script in faults.items():
        page.goto(f"{running.base}/curator/login")
        page.evaluate(script)
        with pytest.raises(AssertionError, match=fault):
            check_page(page)

"""The curator's way from an empty service to an invited analyst, in a real browser."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from curator_makers import write_fleet
from page_checks import Watch, check_everywhere, tab_to, wait_for_figures
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from service_makers import PASSWORD, Running, key, new_curator

from sunveil.service.passwords_and_tokens import random_secret
from sunveil.service.store.accounts import new_setup_secret

DESK = {"width": 1280, "height": 900}
PHONE = {"width": 360, "height": 740}
LONG = 180_000
expect.set_options(timeout=LONG)


@pytest.fixture(scope="module")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a zip of a small fleet's readings and its table of systems."""
    folder = tmp_path_factory.mktemp("fleet")
    write_fleet(folder, 4, days=60)
    path = folder / "fleet.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("readings.parquet", "systems.csv"):
            archive.write(folder / name, {"systems.csv": "where.csv"}.get(name, name))
    (folder / "dropped" / "year").mkdir(parents=True)
    for name, below in (("readings.parquet", "year"), ("systems.csv", ".")):
        shutil.copy(folder / name, folder / "dropped" / below / name)
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
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/curator")


def press(page: Page, selector: str, key: str = "Enter") -> None:
    """Reach a control by the keyboard alone, and press a key on it."""
    tab_to(page, selector)
    page.keyboard.press(key)


def write(page: Page, selector: str, text: str) -> None:
    """Reach a field by the keyboard alone, and write into it."""
    tab_to(page, selector)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def choose(page: Page, selector: str, *paths: Path) -> None:
    """Reach a field for files by the keyboard alone, and choose some."""
    with page.expect_file_chooser() as chooser:
        press(page, selector)
    chooser.value.set_files(list(paths))


def drop(page: Page, selector: str, path: Path) -> None:
    """Drag a file or a folder from outside of the browser, and drop it."""
    area = page.locator(selector).first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    place = {"x": box["x"] + box["width"] / 2.0, "y": box["y"] + box["height"] / 2.0}
    data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, **place, "data": data})
    session.detach()


def test_a_new_curator_uploads_infers_promises_and_invites(opened, readings):
    """The way to the first invitation, by the keyboard alone; its second half on a phone."""
    running, page = opened()
    _sets_up(running, page)
    _uploads(page, readings)
    _infers(page)
    _looks_at_estimates(page)
    _looks_at_the_map(page)
    page.set_viewport_size(PHONE)
    _promises(page)
    token = _invites(page)
    page.set_viewport_size(DESK)
    _chooses_groups(page)
    _asks_by_groups(running, token)
    _sees_the_ledger(page)
    _adds_an_edition(page, readings)
    _revokes(page)
    assert running.client(token).get("/datasets").status_code == 401


def _sets_up(running: Running, page: Page) -> None:
    link = setup_link(running)
    page.goto(link)
    check_everywhere(page)
    page.keyboard.type("Cora")
    write(page, "#f-password", "a long and winding sentence")
    page.keyboard.press("Enter")
    page.wait_for_url("**/curator")
    expect(page.get_by_text("Nothing here yet")).to_be_visible()
    check_everywhere(page)
    page.goto(link)
    expect(page.get_by_role("alert")).to_contain_text("is not valid")
    page.goto(f"{running.base}/curator")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.textContent") == "Skip to the content"


def _uploads(page: Page, readings: Path) -> None:
    press(page, "a[href='/curator/add']")
    page.wait_for_url("**/add")
    check_everywhere(page)
    choose(page, "#u-meters", readings)
    write(page, "#u-title", "屋根")  # no letter of it can stand in a link
    expect(page.locator("[data-chosen]")).to_contain_text("1 file chosen")
    press(page, "form[data-upload] button[type=submit]")
    # what was sent is still here, and is not sent again
    page.wait_for_url("**/add?kept=*")
    expect(page.get_by_role("alert")).to_contain_text("needs a letter from a to z")
    expect(page.get_by_label("Use the 1 file sent before")).to_be_checked()
    check_everywhere(page)
    write(page, "#u-title", "Roofs")
    press(page, "form[data-upload] button[type=submit]")
    page.wait_for_url("**/curator/datasets/roofs")
    expect(page.get_by_text("Roofs was added with 4 systems")).to_be_visible()
    expect(page.get_by_text("4 systems in both the files and the table")).to_be_visible()
    expect(page.get_by_text("4 systems in 1 file")).to_be_visible()
    check_everywhere(page)


def _infers(page: Page) -> None:
    # nothing is open, so it begins by itself, and the page renews itself until it is done
    expect(page.get_by_text("4 systems inferred")).to_be_visible()
    check_everywhere(page)


def _looks_at_estimates(page: Page) -> None:
    press(page, ".steps a[href$='/estimates']")
    page.wait_for_url("**/estimates")
    check_everywhere(page)
    assert page.locator("#planes .points path").count() == 4
    press(page, ".tabs a[href$='/systems']")
    page.wait_for_url("**/systems")
    check_everywhere(page)
    press(page, "a.sort[href*='dc_capacity_kw']")
    page.wait_for_url("**/systems?*")
    expect(page.locator("th[aria-sort=ascending]")).to_contain_text("DC capacity")
    with page.expect_download() as download:
        press(page, "a[href*='systems.csv']")
    assert download.value.suggested_filename == "roofs-systems.csv"
    press(page, "a[href$='system_id=h0']")
    expect(page.get_by_role("img", name="Measured and modelled power of h0")).to_be_visible()
    check_everywhere(page)


def _looks_at_the_map(page: Page) -> None:
    press(page, ".tabs a[href$='/map']")
    page.wait_for_url("**/map")
    assert shade(page, "#map") > 1  # the points are drawn: there is more than the ground
    check_everywhere(page)


def shade(page: Page, selector: str) -> int:
    """Return how many colours the middle of a map has once it is drawn."""
    wait_for_figures(page)
    canvas = page.locator(f"{selector} canvas.maplibregl-canvas")
    found: set[object] = set()
    for _ in range(50):
        with Image.open(io.BytesIO(canvas.screenshot())) as picture:
            found = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24)}
        if len(found) > 1:
            break
        page.wait_for_timeout(100)
    return len(found)


def _promises(page: Page) -> None:
    press(page, ".tabs a[href$='/promise']")
    page.wait_for_url("**/promise")
    tab_to(page, "input[name=protect][value=system]")
    page.keyboard.press("ArrowDown")
    write(page, "#f-k", "2")
    press(page, "button[formmethod=get]")
    page.wait_for_url("**/promise?*")
    expect(page.get_by_text("on any 2 days change")).to_be_visible()
    check_everywhere(page)
    tab_to(page, "input[name=protect][value=days]")
    page.keyboard.press("ArrowUp")
    write(page, "#f-epsilon", "3")
    press(page, "button:not([formmethod]):not(.second):not(.link)")
    expect(page.get_by_role("alert")).to_contain_text("can never be changed")
    press(page, "input[name=sure]", "Space")
    press(page, "button:not([formmethod]):not(.second):not(.link)")
    page.wait_for_url("**/analysts")
    check_everywhere(page)


def _invites(page: Page) -> str:
    write(page, "#i-name", "Ann Analyst")
    write(page, "#i-share", "1.5")
    page.keyboard.press("Enter")
    token = page.get_by_label("Token").input_value()
    assert re.fullmatch(r"sv_[0-9a-f]{16}_[\w-]{43}", token)
    check_everywhere(page)
    page.get_by_role("link", name="Done").click()
    page.get_by_label("Share of Ann Analyst").fill("2")
    page.get_by_role("button", name="Set").click()
    expect(page.get_by_role("status")).to_contain_text("Ann Analyst may spend 2 in all")
    check_everywhere(page)
    assert token not in page.content()
    return token


def _chooses_groups(page: Page) -> None:
    """Columns of truths, dates and decimals divide a fleet as texts do."""
    press(page, ".tabs a[href$='/promise']")
    page.wait_for_url("**/promise")
    for column in ("billed", "since", "band"):
        press(page, f"input[name=group][value={column}]", "Space")
    press(page, "form[action$='/groups'] button")
    expect(page.get_by_role("status")).to_contain_text("billed, since, band")


def _asks_by_groups(running: Running, token: str) -> None:
    client = running.client(token)
    assert client.get("/datasets").json()["datasets"][0]["name"] == "roofs"
    for column in ("billed", "since", "band"):
        asked = {"kind": "totals", "epsilon": 0.1, "group_by": column}
        answer = client.post("/datasets/roofs/releases", json=asked, headers=key())
        assert answer.status_code in (200, 201), answer.text


def _sees_the_ledger(page: Page) -> None:
    page.get_by_role("navigation", name="This dataset").get_by_role("link", name="Ledger").click()
    expect(page.get_by_text("verified", exact=True)).to_be_visible()
    check_everywhere(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="JSON").click()
    assert download.value.suggested_filename == "roofs-ledger.json"
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Ledger").click()
    check_everywhere(page)


def _adds_an_edition(page: Page, readings: Path) -> None:
    page.goto(page.url.replace("/curator/ledger", "/curator/datasets/roofs"))
    page.get_by_role("link", name="Add a new version").click()
    check_everywhere(page)
    form = page.locator("form[data-upload]")
    form.get_by_label("Name of the version").fill("2027")
    drop(page, "[data-drop]", readings.with_name("dropped"))
    expect(page.locator("[data-chosen]").first).to_contain_text("2 files chosen")
    expect(page.locator("[data-chosen]").first).to_contain_text("dropped/year/readings.parquet")
    form.get_by_role("button", name="Upload").click()
    page.wait_for_url("**/curator/datasets/roofs")
    expect(page.get_by_text("Version 2027 was added with 4 systems.", exact=True)).to_be_visible()
    expect(page.get_by_text("4 systems in 1 file")).to_be_visible()
    check_everywhere(page)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete this version").click()
    expect(page.get_by_role("link", name="Add a new version")).to_be_visible()


def _revokes(page: Page) -> None:
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Analysts").click()
    check_everywhere(page)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status")).to_contain_text("was revoked")
    check_everywhere(page)


def test_a_phone_without_scripts_is_enough(opened, readings):
    """Forms are sent and work is watched by plain pages that load themselves again."""
    running, page = opened(viewport=PHONE, java_script_enabled=False)
    log_in(running, page)
    page.goto(f"{running.base}/curator/add")
    form = page.locator("form[data-upload]")
    form.get_by_label("Meter files and table of systems").set_input_files(readings)
    form.get_by_role("button", name="Upload").click()
    # named as its file is, with its table of systems found by its columns
    page.wait_for_url("**/curator/datasets/fleet")
    expect(page.get_by_role("heading", level=1)).to_have_text("Fleet")
    expect(page.get_by_text("4 systems in 1 file")).to_be_visible()
    expect(page.get_by_text("4 systems inferred")).to_be_visible()

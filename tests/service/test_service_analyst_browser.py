"""The analyst's way in a real browser: look, ask, overspend, be refused, download."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_checks import Watch, check_axe, check_everywhere, check_page, tab_to
from playwright.sync_api import Browser, Page, Route, expect
from service_makers import Running, add_dataset, key, new_token

# A machine that does much else draws figures slowly.
expect.set_options(timeout=180_000)


@pytest.fixture
def page(browser: Browser, served: Running) -> Iterator[Page]:
    """Return a page in which an analyst has logged in by hand, and watch what it does."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    context.set_default_timeout(180_000)
    watch = Watch(context, served.base)
    page = context.new_page()
    page.goto(f"{served.base}/analyst/login")
    log_in(page, new_token(served.service))
    yield page
    watch.check()
    context.close()


def log_in(page: Page, token: str) -> None:
    page.get_by_label("Token").fill(token)
    page.get_by_role("button", name="Sign in", exact=True).click()


def ask(page: Page, kind: str, epsilon: str) -> None:
    page.get_by_role("link", name=re.compile(f"^{kind}")).click()
    page.get_by_label("Privacy loss ε", exact=True).fill(epsilon)
    expect(page.locator("#plan .cost")).to_have_text(f"ε = {epsilon}")


def review(page: Page) -> None:
    page.get_by_role("button", name="Review and confirm").click()
    page.wait_for_url("**/confirm?*")


def spend(page: Page) -> None:
    review(page)
    if page.locator("#noise").count():
        page.locator("#noise").check()
    page.get_by_role("button", name=re.compile("^Spend ")).click()


def test_an_analyst_sees_cost_and_error_asks_downloads_and_is_refused_what_is_not_left(
    page: Page, served: Running
) -> None:
    page.get_by_role("button", name="Sign out").click()
    check_everywhere(page)
    page.get_by_role("link", name=re.compile("^Analysts")).click()
    check_everywhere(page)
    log_in(page, "sv_wrong")
    expect(page.get_by_role("alert")).to_contain_text("not known")
    log_in(page, new_token(served.service))
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    check_everywhere(page)
    page.get_by_role("link", name="API and help").click()
    check_everywhere(page)
    page.go_back()
    page.get_by_role("link", name="Roofs").click()
    expect(page.locator("section", has=page.locator("#promise"))).to_contain_text(
        "factor of at most 54.6"
    )
    expect(page.get_by_text("0 of 4 spent")).to_have_count(2)
    check_everywhere(page)

    ask(page, "Total capacity", "1")
    page.get_by_label("Groups").select_option("feeder")
    expect(page.locator("#plan")).to_contain_text("in 3 groups")
    far = error_of(page)
    page.locator("#epsilon-slider").focus()
    page.keyboard.press("End")
    expect(page.locator("#plan .cost")).to_have_text("ε = 4")
    assert error_of(page) < far / 1.5
    check_everywhere(page)
    page.get_by_label("Privacy loss ε", exact=True).fill("3")
    review(page)
    expect(page.locator(".facts").first).to_contain_text("by feeder")
    expect(page.locator("#plan")).to_contain_text("4 left, 1 after this")
    check_everywhere(page)
    assert served.service.ledger.dataset("roofs").spent == 0.0

    page.get_by_role("button", name="Spend ε = 3").click()
    expect(page.get_by_role("status")).to_contain_text("This is a new answer")
    expect(page.locator("#fig-totals .bars").first.locator(".point")).to_have_count(3)
    expect(page.get_by_text("lowers the total by about")).to_be_visible()
    check_everywhere(page)
    assert served.service.ledger.dataset("roofs").spent == 3.0
    rows = list(csv.reader(io.StringIO(download(page, "totals.csv").decode())))
    assert [row[0] for row in rows] == ["feeder", "F1", "F2", "F3"]
    shown = page.locator("table tbody tr td:first-child").all_text_contents()
    assert shown == ["F1", "F2", "F3"]
    assert download(page, "totals.parquet")[:4] == b"PAR1"
    assert b"privacy_loss" in download(page, "release-card.yaml")
    assert b'"tables"' in download(page, "release.json")
    rows = json.loads(download(page, "totals.json"))["rows"]
    assert [row["feeder"] for row in rows] == ["F1", "F2", "F3"]
    with zipfile.ZipFile(io.BytesIO(download(page, "All files (zip)"))) as packed:
        names = {Path(name).name for name in packed.namelist()}
    assert {"totals.csv", "totals.parquet", "README.md", "release.json"} <= names

    page.get_by_role("link", name="Roofs").click()
    expect(page.get_by_text("3 of 4 spent")).to_have_count(2)
    ask(page, "Percentiles", "1.5")
    expect(page.get_by_role("alert")).to_contain_text("exceeds the budget")
    check_everywhere(page)
    review(page)
    expect(page.get_by_role("alert")).to_contain_text("Costs 1.5, but 1 is left. Lower ε")
    expect(page.get_by_role("button", name=re.compile("^Spend"))).to_have_count(0)
    check_everywhere(page)
    assert served.service.ledger.dataset("roofs").spent == 3.0


def error_of(page: Page) -> float:
    text = page.locator("#plan tbody tr td:nth-child(2)").first.text_content()
    return float(re.findall(r"[\d.]+", str(text))[0])


def download(page: Page, name: str) -> bytes:
    with page.expect_download() as found:
        page.get_by_role("link", name=name, exact=True).click()
    return Path(found.value.path()).read_bytes()


def test_without_scripts_the_same_can_be_asked_and_read(browser: Browser, served: Running) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{served.base}/analyst/login")
    log_in(page, new_token(served.service))
    page.goto(f"{served.base}/analyst/datasets/roofs/ask/totals")
    page.get_by_label("Privacy loss ε", exact=True).fill("2.5")
    page.keyboard.press("Enter")
    expect(page.locator("#plan .cost")).to_have_text("ε = 2.5")
    assert served.service.ledger.dataset("roofs").spent == 0.0
    spend(page)
    expect(page.locator("table tbody tr")).to_have_count(1)
    assert served.service.ledger.dataset("roofs").spent == 2.5
    context.close()


HOSTILE = ["<b>F1</b><br><a href='https://x.test'>x</a>", "=HYPERLINK(1)&lt;", "%{x}"]


def published(served: Running, dataset: str = "roofs", **question: object) -> dict[str, Any]:
    """Ask over the API, and return the answer."""
    path = f"/datasets/{dataset}/releases"
    asked = {"kind": "fleet-table", "group_by": None, **question}
    return served.api().post(path, json=asked, headers=key()).raise_for_status().json()


def test_percentiles_and_a_synthetic_table_are_drawn(page: Page) -> None:
    for kind, epsilon in (("Percentiles", "1"), ("Synthetic table", "3")):
        page.get_by_role("link", name="Roofs").first.click()
        ask(page, kind, epsilon)
        spend(page)
        expect(page.get_by_role("status")).to_contain_text("This is a new answer")
        expect(page.locator("[data-drawn] .main-svg").first).to_be_visible()
        expect(page.locator("[data-drawn]")).to_have_count(2)
        check_page(page)
    expect(page.get_by_text("120 rows")).to_be_visible()


def test_what_is_typed_before_the_page_is_ready_has_its_cost_and_enter_spends_nothing(
    page: Page, served: Running
) -> None:
    held: list[Route] = []
    page.route("**/static/ask.js", lambda route: held.append(route))
    page.get_by_role("link", name="Roofs").click()
    page.get_by_role("link", name=re.compile("^Fleet table")).click(no_wait_after=True)
    page.get_by_label("Privacy loss ε", exact=True).fill("2")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(page.locator("#plan .cost")).to_have_text("ε = 2")
    page.unroute("**/static/ask.js")
    page.goto(f"{served.base}/analyst/datasets/roofs/ask/fleet-table?epsilon=1&tables=totals")
    page.get_by_text("More options").click()
    for label in ("Privacy loss ε", "Cap on capacity", "Percentiles"):
        page.get_by_label(label, exact=not label.startswith("Cap")).press("Enter")
        expect(page.get_by_role("heading", name="Cost and errors")).to_be_visible()
    page.get_by_label("Privacy loss ε", exact=True).fill("2.25")
    page.keyboard.press("Enter")
    expect(page.locator("#plan .cost")).to_have_text("ε = 2.25")
    assert "/confirm" not in page.url
    review(page)
    page.keyboard.press("Enter")
    assert "/confirm" in page.url
    assert served.service.ledger.dataset("roofs").spent == 0.0


def test_all_of_it_can_be_done_by_the_keyboard(page: Page, served: Running) -> None:
    tab_to(page, "main .card a")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Promise to households")).to_be_visible()
    expect(page.get_by_role("link", name="Cost and errors")).to_be_visible()
    tab_to(page, "a[href$='/ask/totals']")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Cost and errors")).to_be_visible()
    tab_to(page, "#epsilon-slider")
    page.keyboard.press("PageUp")
    tab_to(page, "#review")
    page.keyboard.press("Enter")
    expect(page.locator("#spend")).to_be_visible()
    assert served.service.ledger.dataset("roofs").spent == 0.0
    tab_to(page, "#spend")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("This is a new answer")
    assert served.service.ledger.dataset("roofs").spent > 0.0


def test_names_and_texts_of_a_curator_are_drawn_as_they_are_never_run_and_files_hold_no_formula(
    page: Page, served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    monkeypatch.setattr("service_makers.FEEDERS", HOSTILE)
    add_dataset(served.service, "odd", title=evil, about=evil, keys={"feeder": HOSTILE})
    page.goto(f"{served.base}/analyst/datasets/odd")
    expect(page.get_by_role("heading", level=1)).to_have_text(evil)
    tables = ["sectors", "capacities", "totals"]
    release = published(served, "odd", epsilon=3.0, tables=tables, group_by="feeder")
    page.goto(f"{served.base}/analyst/releases/{release['id']}")
    expect(page.locator("[data-drawn]")).to_have_count(3)
    assert page.evaluate("() => window.ran") is None
    assert page.locator("svg a, .bold, svg [style*='bold']").count() == 0
    assert page.locator("#fig-totals .xtick text").all_text_contents() == HOSTILE
    legend = page.locator("#fig-capacities .legendtext").all_text_contents()
    assert legend[:3] == HOSTILE
    check_axe(page)
    lines = list(csv.reader(io.StringIO(download(page, "totals.csv").decode())))
    assert [line[0] for line in lines] == ["feeder", HOSTILE[0], "'" + HOSTILE[1], HOSTILE[2]]
    exact = json.loads(download(page, "totals.json"))["rows"]
    assert [row["feeder"] for row in exact] == HOSTILE


def test_more_than_four_groups_get_a_chart_each_on_one_scale(
    page: Page, served: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeders = [f"F{number}" for number in range(6)]
    monkeypatch.setattr("service_makers.FEEDERS", feeders)
    add_dataset(served.service, "many", keys={"feeder": feeders})
    tables = ["sectors", "quantiles"]
    release = published(served, "many", epsilon=3.0, tables=tables, group_by="feeder")
    assert release["title"] == "Systems by direction; percentiles, by feeder"
    page.goto(f"{served.base}/analyst/releases/{release['id']}")
    expect(page.locator(".multiples .plot")).to_have_count(18)
    names = page.locator(".multiples").first.locator("figcaption").all_text_contents()
    assert names == feeders
    ranges = page.evaluate(
        "() => [...document.querySelectorAll('[id^=fig-sectors]')].filter((e) => e.layout)"
        ".map((e) => e.layout.yaxis.range.join())"
    )
    assert len(set(ranges)) == 1
    check_everywhere(page)


def test_what_may_be_noise_is_pale_and_the_question_of_a_release_is_asked_again(
    page: Page, served: Running
) -> None:
    release = published(served, epsilon=0.1, tables=["capacities"])
    page.goto(f"{served.base}/analyst/releases/{release['id']}")
    legend = page.locator("#fig-capacities .legendtext")
    expect(legend).to_have_text("pale: indistinguishable from noise")
    (table,) = release["tables"]
    pale = [abs(row[2]) < 2.0 * row[3] for row in table["rows"][:-1]]
    bars = page.locator("#fig-capacities .bars").first
    drawn = bars.locator(".point path").evaluate_all(
        "paths => paths.map((path) => Number(getComputedStyle(path).opacity) < 0.5)"
    )
    assert drawn == pale
    assert any(pale)
    page.get_by_text("In Python").click()
    shown = page.get_by_role("region", name="This answer in Python")
    expect(shown).to_contain_text(f'client.release("{release["id"]}")')
    check_everywhere(page)
    page.get_by_role("link", name="Change this question and ask again").click()
    expect(page.get_by_label("Capacity class", exact=True)).to_be_checked()
    review(page)
    expect(page.locator("#spend")).to_have_text("Show the answer")
    assert served.service.ledger.dataset("roofs").spent == 0.1


def test_tables_are_bought_by_their_boxes_and_all_of_them_are_drawn(page: Page) -> None:
    page.get_by_role("link", name="Roofs").click()
    page.get_by_role("link", name=re.compile("^Fleet table")).click()
    plan = page.locator("#plan")
    expect(plan).to_contain_text("Direction")
    page.get_by_label("Privacy loss ε", exact=True).fill("0.5")
    boxes = ("Direction, tilt and capacity combined", "Percentiles of capacity and tilt")
    for words in (*boxes, "Total and mean"):
        page.get_by_label(words).check()
    expect(page.locator("#plan .cost")).to_have_text("ε = 0.5")
    expect(plan).to_contain_text("Percentiles of tilt")
    expect(plan.locator(".advice li").first).to_contain_text("useful")
    review(page)
    check_everywhere(page)
    page.go_back()
    for name in boxes:
        page.get_by_label(name).uncheck()
    expect(plan).not_to_contain_text("Percentiles")
    expect(plan).not_to_contain_text("tilt")
    spend(page)
    expect(page.get_by_role("heading", name="Systems by direction; total capacity")).to_be_visible()
    expect(page.locator("dl.facts").first).to_contain_text("Direction; Total and mean capacity")
    assert page.locator("summary").all_inner_texts()[:2] == ["sectors 9 rows", "totals 1 row"]
    page.get_by_role("link", name="Roofs").click()
    ask(page, "Fleet table", "2")
    for words in (*boxes, "Total and mean"):
        page.get_by_label(words).check()
    spend(page)
    expect(page.locator("[data-drawn]")).to_have_count(7)
    check_everywhere(page)

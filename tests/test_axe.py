"""Pages for the curator, looked at by axe-core in a real browser, in light and in dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from plot_makers import estimate_of, pair_of, sunny
from sunveil.estimates import Flag
from sunveil.plots import Case
from sunveil.plots.html_report import render_fleet_page, render_report
from test_report import RUN, SUMMARY

CHROMIUM = "/usr/bin/chromium"


def report() -> str:
    record, weather = sunny()
    estimate = estimate_of(flags=(Flag.LABEL_UNKNOWN,))
    return render_report([Case(None, record, weather, estimate)], title="What the meters say")


def notebook() -> str:
    cells = estimate_of()._repr_html_() + pair_of()._repr_html_()
    style = "<style>:root{color-scheme:light dark}body{font-family:sans-serif}</style>"
    head = f"<head><meta charset='utf-8'><title>A notebook</title>{style}</head>"
    return f"<!doctype html><html lang='en'>{head}<body><main><h1>Cells</h1>{cells}</main></body>"


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    texts = {"report": report(), "fleet": render_fleet_page(SUMMARY, RUN), "notebook": notebook()}
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return {name: folder / f"{name}.html" for name in texts}


def test_nothing_serious_is_wrong_with_the_pages_in_light_or_dark(pages):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        found = []
        for scheme in ("light", "dark"):
            context = browser.new_context(color_scheme=scheme)
            for name, path in pages.items():
                page = context.new_page()
                page.goto(path.as_uri())
                found += [
                    (name, scheme, each["id"], each["nodes"][0]["html"][:200])
                    for each in Axe().run(page).response["violations"]
                    if each["impact"] in ("serious", "critical")
                ]
        browser.close()
    assert found == []

"""Checks in a real browser that any page must pass: names, contrast, width, no strangers."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import axe_playwright_python

# axe-core, as its own wheel brings it.
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
SEVERE = ("serious", "critical")
# Axe's rules that look at colours: of the others none finds more in the dark.
COLOURS = ("color-contrast", "link-in-text-block")
SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8").strip()
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 360, "height": 740}
CHECKS = ("names", "contrast", "width", "sizes")


class Watch:
    """What a browser's context asked for of other hosts, and complained of, since it was made."""

    def __init__(self, context: Any, address: str) -> None:
        self._host = urlsplit(address).netloc
        self.strangers: list[str] = []
        self.complaints: list[str] = []
        context.on("request", self._asked)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.complaints.append(str(error.error)))

    def check(self) -> None:
        """Refuse any request that left the machine, and anything the browser complained of."""
        assert self.strangers == []
        assert self.complaints == []

    def _asked(self, request: Any) -> None:
        url = urlsplit(request.url)
        if url.scheme not in ("data", "blob") and url.netloc != self._host:
            self.strangers.append(request.url)
        # histories and logs keep addresses
        if "csrf" in url.query:
            self.complaints.append(f"the token of a form is in an address: {url.path}")

    def _said(self, message: Any) -> None:
        # a refused form is a 4xx that the browser notes; scripts and policies are errors of ours
        if (
            message.type == "error"
            and "the server responded with a status of 4" not in message.text
        ):
            self.complaints.append(message.text)


def check_page(page: Any) -> None:
    """Refuse a page without names, with faint letters, wider than its window or hard to press."""
    wait_for_figures(page)
    for name in CHECKS:
        faults = page.evaluate(f"() => ({SCRIPT}).{name}()")
        assert faults == [], f"{name} of {page.url}: {faults}"


def check_axe(page: Any, *rules: str) -> None:
    """Refuse a page in which axe-core finds something severe, by some of its rules or all."""
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = page.evaluate("(options) => axe.run(options)", options)
    severe = [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in found["violations"]
        if each["impact"] in SEVERE
    ]
    assert severe == [], f"axe of {page.url}: {severe}"


def check_everywhere(page: Any) -> None:
    """Check a page on a desk and on a phone, in the light and in the dark."""
    before = page.viewport_size
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            check_page(page)
            # what axe finds hangs on names and colours, and it takes a second
            if size == WIDE:
                check_axe(page, *(COLOURS if scheme == "dark" else ()))
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(before)


def wait_for_figures(page: Any) -> None:
    """Wait until every figure of a page is drawn in the page's own colours."""
    page.wait_for_function(f"() => ({SCRIPT}).drawn()")


def tab_to(page: Any, selector: str, *, most: int = 80) -> None:
    """Reach a control by the keyboard alone, and see that the focus shows."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(s) => document.activeElement === document.querySelector(s)", selector):
            outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"the focus on {selector} does not show"
            return
    raise AssertionError(f"{selector} cannot be reached by the keyboard")

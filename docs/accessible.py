"""Look at built pages with axe-core, in light and in dark.

``docs/accessible.py FOLDER`` looks at all of them, or at those that are named after it, such as
``tutorial`` or ``reference/plots``. It ends with 1 and a line for each finding that is serious or
critical. It needs Chromium, whose place ``CHROMIUM`` may name, and the extra ``test``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
SCHEMES = ("light", "dark")
GRAVE = ("serious", "critical")
# Rules are looked at on every page in light; what differs in dark is contrast alone.
OPTIONS = {
    "light": {"resultTypes": ["violations"]},
    "dark": {
        "resultTypes": ["violations"],
        "runOnly": {"type": "rule", "values": ["color-contrast"]},
    },
}


def findings(page: Page, scheme: str) -> Iterator[str]:
    """Yield what is grave on the page that is open, one line for each rule."""
    page.emulate_media(color_scheme=scheme)
    for each in Axe().run(page, options=OPTIONS[scheme]).response["violations"]:
        if each["impact"] in GRAVE:
            first = each["nodes"][0]["html"].replace("\n", " ")[:160]
            yield f"{scheme}: {each['id']} ({len(each['nodes'])} times), first at {first}"


def main(folder: Path, names: list[str]) -> int:
    """Look at pages of a folder, print what was found and return the exit code.

    Parameters
    ----------
    folder
        Where Sphinx has built the pages.
    names
        Which pages, without their ending; all when there are none.
    """
    found = 0
    pages = [folder / f"{name}.html" for name in names] or sorted(folder.rglob("*.html"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        for path in pages:
            page.goto(path.resolve().as_uri())
            for scheme in SCHEMES:
                for line in findings(page, scheme):
                    print(f"{path.relative_to(folder)}: {line}", flush=True)
                    found += 1
        browser.close()
    print(f"{len(pages)} pages, {found} grave findings")
    return int(bool(found or not pages))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))

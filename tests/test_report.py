from __future__ import annotations

import base64
import datetime
import json
import re
import stat
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

from plot_makers import (
    EAST,
    WEST,
    estimate_of,
    net_of,
    net_sunny,
    pair_of,
    sunny,
    tracker_of,
    truth_of,
)
from sunveil.errors import TooLittleData
from sunveil.estimates import ClockFinding, Estimate, Flag, Interval, YearEstimate
from sunveil.estimates.planes_and_intervals import ClockStep, DaylightSaving
from sunveil.meters import Label
from sunveil.plots import Case, write_report
from sunveil.plots.fleet_figures import plot_fleet_azimuths
from sunveil.plots.html_report import (
    clock_words,
    facts,
    render_fleet_page,
    render_report,
    summary,
    worth_drawing,
    write_fleet_page,
)
from sunveil.plots.style import loose_figure
from sunveil.simulate import SystemTruth, Tracker
from sunveil.site import Plane

WESTERN = (0.0,) * 15 + (30.0,) * 5 + (0.0,) * 10
YEARS = tuple(YearEstimate(datetime.date(year, 1, 1), 201.0, 30.0, 5.0) for year in (2018, 2019))
NASTY = "<script>alert('1')</script>&\"roof\""


class Page(HTMLParser):
    """What a browser would see of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.text = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def pictures(self) -> list[str]:
        sources = [str(image["src"]) for image in self.all("img")]
        assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
        return [base64.b64decode(source.partition(",")[2]).decode() for source in sources]


def of_estimate(estimate: Estimate, truth: SystemTruth | None = None) -> Case:
    record, weather = net_sunny() if estimate.household else sunny()
    return Case(truth, replace(record, system_id=estimate.system_id), weather, estimate)


def case(
    name: str = "roof",
    *,
    plane: Plane | None = None,
    truth: SystemTruth | None = None,
    **changes: object,
) -> Case:
    return of_estimate(estimate_of(plane or Plane(202.0, 31.0), system_id=name, **changes), truth)


RIDGE = truth_of(planes=((WEST, 0.5), (EAST, 0.5)))


def read(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of systems of every kind, one with a nasty name."""
    cases = [
        case(NASTY, truth=truth_of(), years=YEARS, skyline=WESTERN, trend_percent_per_year=-0.7),
        case(
            "flat-one",
            plane=Plane(10.0, 1.0),
            azimuth_interval=Interval(0.0, 360.0),
            ac_limit_kw=1234.4,
            clock=ClockFinding(60.0, Label.START),
            flags=(Flag.CLIPPING, Flag.CLOCK_REPAIRED),
        ),
        case("follower", truth=truth_of(tracker=Tracker()), flags=(Flag.NOT_ONE_PLANE,)),
        of_estimate(pair_of(system_id="ridge"), truth=RIDGE),
        of_estimate(tracker_of(system_id="farm")),
        of_estimate(net_of(system_id="home")),
    ]
    path = tmp_path_factory.mktemp("full") / "report.html"
    write_report(path, cases, title="A <b>title</b>")
    return path


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of one system of which nothing is known."""
    path = tmp_path_factory.mktemp("bare") / "report.html"
    path.write_text("old", encoding="utf-8")
    write_report(path, [case()])
    return path


def test_a_report_needs_nothing_but_itself(full: Path) -> None:
    page = read(full)
    assert "http" not in re.sub(r"base64,[^\"]+", "", full.read_text(encoding="utf-8"))
    assert not page.all("link")
    for _, attributes in page.tags:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert str(attributes.get(name, "data:")).startswith("data:")
    assert list(full.parent.iterdir()) == [full]
    assert full.stat().st_size < 4_000_000


def test_every_figure_has_words_for_those_who_cannot_see_it(full: Path) -> None:
    words = [str(image.get("alt", "")) for image in read(full).all("img")]
    # errors, three of the site's light, clear days and the map of each of six systems, the years
    # and the skyline of one, and the typical days and the load of a net meter
    assert len(words) == 20
    assert all(len(one) > 20 for one in words)
    assert len(set(words)) == 20


def test_names_of_systems_and_titles_cannot_inject_markup(full: Path) -> None:
    page = read(full)
    assert not page.all("script")
    assert not page.all("b")
    assert page.text.count(NASTY) == 2  # in the table, and over its figures
    assert "A <b>title</b>" in page.text
    assert any(NASTY in str(image["alt"]) for image in page.all("img"))


SAID = {
    "Private to the curator": 2,
    "Azimuth 10.0° (any)": 1,
    "cuts the power off at 1,234 kW, so that": 1,
    "good The plane is known to within 3 degrees.": 3,
    "poor More than one roof plane, and": 1,
    "falls by 0.7% per year": 1,
    "The sun is hidden below 30° in the southwest (180 to 240°)": 1,
    "No single plane explains these readings": 1,
    "was repaired: 60 min fast": 1,
    "not one fixed plane: more than one roof plane": 1,
    "In truth this is a tracker.": 1,
    "One more is not one fixed plane": 1,
    "System losses of 5% (soiling 2%": 1,
    "modules on an unknown mount": 1,
    "weather from clearsky": 1,
    "From the readings of 6 systems": 1,
    "One is a net meter.": 1,
    "net meter: the readings include household consumption": 1,
    "Net meter: the household consumes 0.525 kW on average": 1,
    "In 90% of bright hours its generation is within 15% of a clear sky's.": 1,
    "the dots lie below the line by that much": 1,
    "private, and never part of a publication": 1,
    # in the table beside the true plane, whichever of both is named first there
    "60% of it 92.0° 92.0°87° to 97° 31.0° 31.0°28° to 34° 2.50 3.002.76 to 3.24": 1,
    "40% of it 271.0° 271.0°266° to 276°": 1,
    "Azimuth 271.0° (266° to 276°) Tilt 30.0° (27° to 33°) 2.00 kW": 1,
    "In truth the worse of them is 0.0° off.": 1,
    "good Each of the two planes is known to within 3 degrees.": 1,
    "Axis 178.0° (176° to 180°) Turns ±55° (45° to 60°) Backtracking (97% likely)": 1,
    "Rows cover 38% of the ground (33% to 43%) 5.00 kW": 1,
    "truth for 3 of 3 azimuths, 3 of 3 tilts and 2 of 2 capacities.": 1,
}


def test_every_system_is_described_with_what_to_know_of_it(full: Path, bare: Path) -> None:
    page = read(full)
    assert {words: page.text.count(words) for words in SAID} == SAID
    # pictures with readings are marked private, the four others are not
    marked = ["sunveil-private" in picture for picture in page.pictures()]
    assert marked == [False] * 4 + [True] * 16
    words = [str(image["alt"]) for image in page.all("img")]
    assert "Generation and load of home on typical days of four seasons" in words
    other = read(bare)
    assert "From the generation readings of one system" in other.text
    assert "net meter" not in other.text


def test_no_radius_is_claimed_where_a_load_hides_the_generation() -> None:
    hidden = of_estimate(net_of(flags=(Flag.NET_METER, Flag.HEAVY_LOAD)))
    told = " ".join(facts(hidden))
    assert "are a guess" in told
    assert "confidence of 90%" not in told
    other = " ".join(facts(case(flags=(Flag.SEASONAL_HAZE,))))
    assert "confidence of 90%" in other


def test_a_report_replaces_the_old_one_for_its_owner_only_with_the_same_bytes_each_time(
    bare: Path, tmp_path: Path
) -> None:
    assert bare.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert stat.S_IMODE(bare.stat().st_mode) == 0o600
    write_report(tmp_path / "again.html", [case()])
    assert (tmp_path / "again.html").read_bytes() == bare.read_bytes()


def test_a_failed_report_leaves_the_old_one_alone(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    good = case()
    dark = replace(good, record=replace(good.record, power_kw=0.0 * good.record.power_kw))
    with pytest.raises(TooLittleData):
        write_report(path, [dark])
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_six_systems_are_drawn_with_flagged_ones_among_them() -> None:
    cases = [case(f"system-{i}") for i in range(8)]
    cases.append(case("odd-one", flags=(Flag.NOT_ONE_PLANE,)))
    drawn = [one.estimate.system_id for one in worth_drawing(cases)]
    assert drawn == [*(f"system-{i}" for i in range(5)), "odd-one"]
    assert len(worth_drawing([cases[-1]] * 9)) == 6


def test_the_summary_counts_errors_against_known_truths() -> None:
    roof = Plane(200.0, 30.0)
    found = summary(
        [
            case("a", plane=Plane(201.0, 30.0), truth=truth_of(roof)),
            case("b", plane=Plane(202.0, 31.0), truth=truth_of(roof)),
            case("c", plane=Plane(209.0, 36.0), truth=truth_of(roof)),
            # flat: counts for tilt and capacity, not in the median of azimuths
            case("d", plane=Plane(20.0, 2.0), truth=truth_of(Plane(200.0, 1.0), dc_capacity_kw=4)),
            case("e", truth=truth_of(tracker=Tracker())),
            case("f"),
            of_estimate(pair_of(), truth=RIDGE),
            of_estimate(tracker_of(), truth=truth_of(tracker=Tracker())),
        ]
    )
    assert (found["systems"], found["known"], found["unresolved"]) == (8, 5, 1)
    assert (found["azimuth"], found["tilt"], found["capacity"]) == ("1.0°", "0.5°", "0.0%")
    assert found["covered"] == [("azimuths", 4, 6), ("tilts", 5, 6), ("capacities", 5, 6)]


SAVING = DaylightSaving


@pytest.mark.parametrize(
    ("clock", "words"),
    [
        ((60.0, Label.START), "60 min fast"),
        ((-30.0, Label.START), "30 min slow"),
        ((0.0, Label.END), "stamps name the end of their interval"),
        ((0.0, Label.START, SAVING.LEFT_IN), "daylight saving left in"),
        ((60.0, Label.START, SAVING.APPLIED_TWICE), "60 min fast, daylight saving taken out twice"),
        (
            (0.0, Label.START, SAVING.AS_DECLARED, 0.0, (ClockStep.parse("2019-10-27 -60"),)),
            "right, from 2019-10-27 on 60 min slow",
        ),
    ],
)
def test_a_repaired_clock_is_said_in_words(clock: tuple[Any, ...], words: str) -> None:
    assert clock_words(case(clock=ClockFinding(*clock), flags=(Flag.CLOCK_REPAIRED,))) == words
    assert clock_words(case()) == ""


RUN = {
    "settings": {
        "weather": "clearsky", "cell_degrees": 0.1, "system_losses": 0.087, "mount": "unknown",
        "inverter_efficiency": 0.96, "albedo": 0.2, "clock": "repair",
    }
}  # fmt: skip
SUMMARY = {
    "inferred": 1998, "refused": 2, "cells": 25, "unread_files": [], "notes": [],
    "quality": {"good": 1500, "fair": 400, "poor": 98},
    "planes": {"one": 1700, "two": 250, "tracker": 30, "unresolved": 18},
    "flags": {flag.value: number for number, flag in enumerate(Flag)},
    "refused_by_kind": {"no readings": 1, "unknown": 1},
    "total_dc_capacity_kw": 27_218.4,
    "medians": {"surface_tilt": 25.94},
    "azimuth": {"edges": list(range(0, 361, 10)), "counts": [5] * 36},
    "tilt": {"edges": list(range(0, 91, 5)), "counts": [111] * 18},
    "capacity": {"edges": [0.0, 1.0, 10.0, 1e9], "counts": [18, 980, 1000]},
}  # fmt: skip


def test_the_page_says_what_a_run_came_to(tmp_path):
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    (tmp_path / "run.json").write_text(json.dumps(RUN))
    write_fleet_page(tmp_path)
    page = (tmp_path / "summary.html").read_text()
    assert (tmp_path / "summary.html").stat().st_mode & 0o777 == 0o600
    for words in ("Private to the curator", "1,998", "27.2 MW", "25.9°", "no readings", "8.7%",
                  "75.1%"):  # fmt: skip
        assert words in page
    assert "two planes</th><td>250</td><td>12.5%</td>" in page
    net = SUMMARY["flags"]["net_meter"]
    assert f"<dt>Net meters among them</dt><dd>{net}</dd>" in page
    none = render_fleet_page({**SUMMARY, "flags": {"clipping": 3}}, RUN)
    assert "Net meters" not in none
    assert page.count("data:image/svg+xml;base64,") == 3
    assert "every system has an estimate" not in page


def test_the_page_takes_names_as_words_not_as_markup():
    unread = [f"<b>{number}</b>.csv & others" for number in range(25)]
    page = render_fleet_page({**SUMMARY, "unread_files": unread, "notes": ["1 < 2"]}, RUN)
    assert "&lt;b&gt;19&lt;/b&gt;.csv &amp; others" in page
    assert "<b>" not in page
    assert "and 5 more" in page
    assert "1 &lt; 2" in page


def test_a_fleet_without_refusals_or_without_estimates_has_a_page():
    everybody = render_fleet_page({**SUMMARY, "refused": 0, "refused_by_kind": {}}, RUN)
    assert "every system has an estimate" in everybody
    nobody = {
        **SUMMARY,
        "inferred": 0,
        "flags": {flag.value: 0 for flag in Flag},
        "total_dc_capacity_kw": 0.0,
        "medians": {"surface_tilt": None},
        "azimuth": {"edges": SUMMARY["azimuth"]["edges"], "counts": [0] * 36},
    }
    page = render_fleet_page(nobody, RUN)
    assert "0 kW" in page
    assert "<dd>–</dd>" in page


@pytest.mark.parametrize("counts", [[0, 0], [1, 0], [3, 9], [12345, 678]])
def test_the_area_of_a_petal_is_a_count_and_every_petal_is_within_the_rings(counts):
    ax = plot_fleet_azimuths(
        counts, ax=loose_figure(3.0, 3.0).subplots(subplot_kw={"projection": "polar"})
    )
    heights = [patch.get_height() for patch in ax.patches]
    assert [height**2 for height in heights] == pytest.approx(counts)
    assert max(heights) <= ax.get_rmax()


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

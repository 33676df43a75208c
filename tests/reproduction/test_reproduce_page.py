from __future__ import annotations

import base64
import json
import re
import stat
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from plot_makers import sunny
from reproduction.artefact import Artefact, Statement, over_subjects
from reproduction.files import write_artefact
from reproduction.page import DrawGuarantees, Section, render_page
from reproduction.subject import Subject
from sunveil.errors import SunveilError
from sunveil.plots.style import loose_figure
from sunveil.privacy import ConditionalGuarantee, Readings

NASTY = "<script>alert('1')</script>&\"roof\""
FILES = ["1a-one.png", "1a-one.svg", "1a-one.json", "statements.json"]
VOID = {"meta", "img", "br", "link", "hr", "input"}


class Page(HTMLParser):
    """What a browser would see of a page; every element must be closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.open == []
        self.text = re.sub(r"\s+", " ", self.text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.text += " "

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def artefact(name: str, width: float = 4.0, **data: object) -> Artefact:
    figure = loose_figure(width, 2.5)
    figure.subplots().plot([0.0, 1.0], [1.0, 0.0])
    return Artefact(name, f"Title of {name}", f"Words of {name}.", figure, data)


def guarantee(draws: int) -> ConditionalGuarantee:
    return ConditionalGuarantee(
        unit=Readings(1),
        epsilon=draws * 0.1,
        delta=draws * 0.1,
        proof="docs/reproduction.md",
        condition="It holds if pigs fly.",
        caveats=("The pigs were not asked.",),
    )


def subject(*, private: bool = False) -> Subject:
    record, weather = sunny(3)
    return Subject(record, weather, None, f"a system named {NASTY}", private)


ONE, OTHER = (Statement("It rains", f"{day} mm", day > 1) for day in (1, 2))
STATEMENTS = (
    over_subjects([("Monday", ONE), ("Tuesday", OTHER)]),
    Statement("The sky is blue", "480 nm", True),
    Statement("The moon is near", f"{NASTY} km", False, "it is far"),
    Statement("Grass grows", "nothing", None, "nobody looked"),
)


def render(count: int = 10_000, *, private: bool = False) -> str:
    sections = (
        Section("First part", "About it.", (artefact("1a-one"), artefact("1b-two", 8.0))),
        Section("Second part", "More.", (artefact("2-three"),)),
    )
    return render_page(
        subject(private=private),
        sections,
        statements=STATEMENTS,
        draws=DrawGuarantees(count, guarantee(1), guarantee(count)),
        files=FILES,
    )


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render())


def test_a_page_needs_nothing_but_itself(page):
    assert "http" not in re.sub(r"base64,[^\"]+", "", render())
    assert not page.all("link")
    assert not page.all("script")
    for image in page.all("img"):
        assert str(image["src"]).startswith("data:image/svg+xml;base64,")
        assert base64.b64decode(str(image["src"]).partition(",")[2]).startswith(b"<?xml")
    # the files beside it are named, and nothing of them is needed
    assert [link["href"] for link in page.all("a")] == FILES


def test_every_figure_and_statement_stands_beside_its_words(page):
    names = ("1a-one", "1b-two", "2-three")
    images = page.all("img")
    assert [image["alt"] for image in images] == [f"Title of {n}. Words of {n}." for n in names]
    assert [image.get("class") for image in images] == [None, "broad", None]
    for name in names:
        assert page.text.count(f"Title of {name} ") == 1
        assert page.text.count(f"Words of {name}.") == 1
    assert page.text.index("First part") < page.text.index("Second part")
    assert "The sky is blue 480 nm yes The moon is near" in page.text
    assert "km no it is far" in page.text
    assert "Grass grows nothing cannot be told nobody looked" in page.text
    counts = "Statements that hold ?1 ?Statements that do not ?1 ?Hold in part ?1 ?Cannot be told"
    assert re.search(f"{counts} ?1", page.text)
    kinds = [tag["class"] for tag in page.all("span")]
    assert kinds == ["verdict part", "verdict yes", "verdict no", "verdict open"]


def test_the_guarantee_is_marked_as_conditional_with_its_condition(page):
    assert "Conditional, not worst case." in page.text
    assert "ε = 0.1 and δ = 0.1 for any one reading. It holds if pigs fly." in page.text
    assert "The pigs were not asked." in page.text
    assert "the 10,000 shown here would cost ε = 1,000 and δ = 1,000 together" in page.text
    assert "promises nothing" in page.text
    assert "promises nothing" not in Page(render(count=2)).text


def test_what_comes_from_a_file_cannot_inject_markup_and_makes_a_page_private(page):
    assert page.text.count(NASTY) == 2
    assert "Private to the curator" not in page.text
    assert Page(render(private=True)).text.count("Private to the curator") == 2


def test_an_artefact_becomes_two_pictures_and_its_numbers_the_same_bytes_each_time(tmp_path):
    (tmp_path / "again").mkdir()
    paths, again = (
        write_artefact(folder, artefact("line", 3.0, y=[1.0, 0.0], unit="W/m²"))
        for folder in (tmp_path, tmp_path / "again")
    )
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
    assert [path.name for path in paths] == ["line.png", "line.svg", "line.json"]
    png, svg, numbers = (path.read_bytes() for path in paths)
    assert png.startswith(b"\x89PNG")
    assert int.from_bytes(png[16:20], "big") == 450  # 3 inches at 150 dots each
    assert ET.fromstring(svg).tag.endswith("svg")
    told = {"name": "line", "title": "Title of line", "words": "Words of line."}
    assert json.loads(numbers) == told | {"data": {"y": [1.0, 0.0], "unit": "W/m²"}}


def test_numbers_that_json_does_not_know_leave_no_file_at_all(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        write_artefact(tmp_path, artefact("line", bad=float("nan")))
    assert not list(tmp_path.iterdir())


def test_files_of_private_readings_are_for_their_owner_only(tmp_path):
    for path in write_artefact(tmp_path, artefact("line"), private=True):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_is_said_in_one_sentence(tmp_path):
    (tmp_path / "line.svg").mkdir()
    with pytest.raises(SunveilError, match=r"line\.svg cannot be written"):
        write_artefact(tmp_path, artefact("line"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["line.png", "line.svg"]

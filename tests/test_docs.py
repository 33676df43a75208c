from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

import sunveil
from benchmarks import csv_tables, totals
from plot_makers import estimate_of, tracker_of
from public_names import PACKAGES
from sunveil._extras import EXTRAS
from sunveil.estimates import Flag, HouseholdEstimate
from sunveil.estimates.intervals_and_rounding import with_pairs
from sunveil.estimates.planes_and_intervals import DaylightSaving

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PACKAGE = ROOT / "src" / "sunveil"
PROOFS = sorted(DOCS.glob("proofs/*.md"))
REFERENCE = sorted(DOCS.glob("reference/*.md"))
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
PAGES = [*TOP, *sorted(DOCS.glob("*.md")), *PROOFS, *REFERENCE]
# What tools make, and what git does not keep.
MADE = {"__pycache__", "_build", "build", "demo", "dist", "htmlcov", "report.html"}


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return what stands under a heading of the second level."""
    parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[heading]


def first_cells(text: str) -> set[str]:
    """Return the names in the first cells of tables."""
    cells = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"\w+", cell)}


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


examples = load(DOCS / "examples.py")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    examples.write_fleet(folder)
    return folder


@pytest.mark.parametrize("path", examples.PAGES, ids=lambda path: path.name)
def test_the_examples_print_what_the_page_says(path, fleet):
    page = read(path)
    found = examples.renewed(page, fleet)
    assert len(examples.BLOCK.findall(page)) >= 2
    assert examples.alike(page, found), (
        f"{path.name} is out of date; run docs/examples.py:\n{found}"
    )


@pytest.mark.parametrize(
    ("told", "found", "same"),
    [
        ("azimuth 180.0°  x", "azimuth 180.4° x", True),
        ("azimuth 180.0°", "azimuth 190.0°", False),
        ("tilt 20.0°", "tilt 21.6°", False),
        ("3.95 kW", "4.20 kW", False),
        ("12 systems", "14 systems", False),
        ("flags: clipping", "flags: -", False),
        ("1.0 to 2.0", "1.0", False),
        ("a  ------  b", "a  --------  b", True),
    ],
)
def test_outputs_are_alike_when_their_words_are_equal_and_their_numbers_close(told, found, same):
    assert examples.alike(told, found) is same


def test_renewing_puts_the_real_output_in_place_and_passes_over_no_failure(tmp_path):
    with pytest.raises(ZeroDivisionError):
        examples.renewed("```python\n1 / 0\n```\n", tmp_path)
    page = "```python\nx = 2\nprint(x)\n```\n\n```text\n3\n```\n\n```python\ny = x\n```\n\ntext\n"
    assert examples.renewed(page, tmp_path) == page.replace("3", "2")


def names_in_reference() -> list[str]:
    """Return the dotted names that the pages of the reference document."""
    directive = re.compile(r"^\.\. auto\w+:: ([\w.]+)(?:\(\))?$", re.MULTILINE)
    return [name for path in REFERENCE for name in directive.findall(read(path))]


def test_every_package_of_the_reference_has_a_page_with_all_its_names():
    told = names_in_reference()
    assert {path.stem for path in REFERENCE} == {name.rpartition(".")[2] for name in PACKAGES}
    for package in PACKAGES:
        page = DOCS / "reference" / f"{package.rpartition('.')[2]}.md"
        assert f"# {package}\n" in read(page)
        exported = {
            f"{package}.{name}" for name in getattr(importlib.import_module(package), "__all__", ())
        }
        assert {name for name in told if name.rpartition(".")[0] == package} <= exported
    assert {f"sunveil.{name}" for name in sunveil.__all__} <= set(told)


def test_functions_in_the_reference_describe_their_parameters():
    lacking = []
    for name in names_in_reference():
        function = found(name)
        many = inspect.isfunction(function) and len(inspect.signature(function).parameters) > 2
        if many and "Parameters\n----------\n" not in inspect.getdoc(function):
            lacking.append(name)
    assert lacking == []


def test_the_reference_is_short_and_no_two_names_in_it_are_alike():
    # a type in a docstring is found by its short name, which must then mean one thing
    names = names_in_reference()
    short = [name.rpartition(".")[2] for name in names]
    assert [name for name in names if short.count(name.rpartition(".")[2]) > 1] == []
    assert len(names) <= 90


def test_every_page_is_in_the_sidebar():
    listed = set()
    for tree in re.findall(r"```{toctree}\n(.*?)```", read(DOCS / "index.md"), re.DOTALL):
        for line in tree.splitlines():
            listed.add((re.search(r"<(.+)>", line) or re.search(r"(.*)", line))[1])
    pages = {str(path.relative_to(DOCS).with_suffix("")) for path in PAGES if DOCS in path.parents}
    assert pages - {f"proofs/{path.stem}" for path in PROOFS} - {"index"} <= listed


def test_the_documentation_is_short():
    pages = [path for path in PAGES if DOCS in path.parents and path not in PROOFS]
    assert len(pages) <= 36
    assert sum(len(read(path).split()) for path in pages) <= 45_000


def test_every_table_of_measurements_has_its_command():
    text = read(DOCS / "measured.md")
    shown = set(re.findall(r":file: measured/([\w-]+)\.csv", text))
    patterns = re.findall(r"`([\w*-]+)\.csv`", section(text, "All tables"))
    written = {path.stem for path in (DOCS / "measured").glob("*.csv")}
    assert shown <= written
    unnamed = {name for name in written if not any(fnmatch(name, each) for each in patterns)}
    assert unnamed == set()


def test_a_benchmark_writes_the_tables_that_the_page_shows(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_tables.save, "__defaults__", (tmp_path,))
    monkeypatch.setattr(sys, "argv", ["totals", "--write"])
    totals.main()
    written = {path.name: read(path) for path in tmp_path.glob("*.csv")}
    assert written == {path.name: read(path) for path in DOCS.glob("measured/totals-*.csv")}


def test_the_layers_are_told_as_they_are_kept():
    contracts = tomllib.loads(read(ROOT / "pyproject.toml"))["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each["type"] == "layers"]
    text = section(read(ROOT / "ARCHITECTURE.md"), "Who may import whom")
    told = re.search(r"```text\n(.*?)```", text, re.DOTALL)[1].splitlines()
    assert told == [layer.replace("sunveil.", "") for layer in layers]


def test_every_flag_is_explained():
    flags = section(read(DOCS / "flags.md"), "Flags")
    entry = r"^### `(\w+)`\n\n.+ \*\*What to do:\*\* .+$"
    assert set(re.findall(entry, flags, re.MULTILINE)) == set(Flag)


def test_every_json_field_is_explained():
    estimate = estimate_of().to_dict()
    told = section(read(DOCS / "results.md"), "Fields of an estimate")
    turned = tracker_of().tracker
    assert turned is not None
    home = HouseholdEstimate(0.5, 0.5, 0.5, ((0.5,) * 24,) * 4).to_row()
    parts = (estimate["assumptions"], estimate["planes"][0], with_pairs(turned.to_row()), home)
    fields = {*estimate, "error", *(name for part in parts for name in part)}
    assert first_cells(told) == fields
    for kind in DaylightSaving:
        assert f"`{kind.value}`" in told


def test_every_error_and_extra_is_explained_and_options_are_those_of_help():
    errors = {name for name in sunveil.__all__ if name in dir(sunveil.errors)}
    assert first_cells(section(read(DOCS / "flags.md"), "Errors in Python")) == errors
    assert first_cells(read(DOCS / "install.md")) == {*EXTRAS, "all"}
    page = read(DOCS / "cli.md")
    assert load(DOCS / "commands.py").renewed(page) == page, "run docs/commands.py"


def test_every_proof_that_the_code_names_is_a_page_and_every_page_is_named():
    code = {path: read(path) for path in sorted(PACKAGE.rglob("*.py"))}
    named = {page for text in code.values() for page in re.findall(r"docs/[\w/-]+\.md", text)}
    assert [page for page in sorted(named) if not (ROOT / page).is_file()] == []
    pages = {f"docs/proofs/{path.name}" for path in PROOFS if path.name != "index.md"}
    assert len(pages) >= 6
    assert pages <= named


def test_every_module_and_test_that_a_proof_names_exists():
    for path in PROOFS:
        for test in re.findall(r"`(tests/[\w/]+\.py)`", read(path)):
            assert (ROOT / test).is_file(), f"{path.name} names {test}"
        for name in re.findall(r"`(sunveil\.[\w.]+)`", read(path)):
            assert found(name), f"{path.name} names {name}"


def found(name: str) -> object:
    """Return the module, or what is in one, of a dotted name; None where there is none."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part, None)
        return thing
    return None


def targets() -> set[str]:
    (phony,) = re.findall(r"^\.PHONY: (.*)$", read(ROOT / "Makefile"), re.MULTILINE)
    return set(phony.split())


def test_the_readme_opens_with_two_commands():
    opening = r"# Sunveil\n\n.+?\n\n```sh\n(.+?)```"
    commands = re.match(opening, read(ROOT / "README.md"), re.DOTALL)[1]
    found = [line.split()[:2] for line in commands.splitlines()]
    assert found == [["make", "demo"], ["make", "test"]]


def test_every_make_target_is_explained():
    told = re.findall(r"^\| `make (\w+)` \|", read(ROOT / "CONTRIBUTING.md"), re.MULTILINE)
    assert set(told) == targets()
    for target in targets():
        assert re.search(rf"^{target}:", read(ROOT / "Makefile"), re.MULTILINE)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_to_files_lead_somewhere_and_make_targets_exist(path):
    for link in re.findall(r"\]\(([^)#\s]+)", read(path)):
        if "://" not in link:
            assert (path.parent / link).exists(), link
    code = re.findall(r"`make (\w+)|^make (\w+)", read(path), re.MULTILINE)
    assert {one or other for one, other in code} <= targets()


def test_the_changelog_has_this_version_and_our_headings():
    entry = section(read(ROOT / "CHANGELOG.md"), f"[{sunveil.__version__}] - unreleased")
    for heading in ("Added", "Changes answers", "Privacy"):
        assert f"\n### {heading}\n" in entry


def texts() -> list[Path]:
    """Return the text files of the project, without what tools make."""
    found = []
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = any(part.startswith(".") and part not in {".ci", ".gitignore"} for part in parts)
        if hidden or MADE & set(parts) or not path.is_file():
            continue
        if b"\0" not in path.read_bytes():
            found.append(path)
    return found


def test_no_file_names_a_path_of_a_machine_or_the_host_of_a_package_registry():
    machine = r"(?<![\w.~}])/(?:home|Users|root|work|mnt)/\w|[A-Z]:\\\\?Users"
    # put together here, so that this file does not name them
    names = ("py" + r"pi\.org", "python" + "hosted", "index" + "-url", "conda" + r"\.anaconda")
    wrong, paths = re.compile("|".join((machine, *names))), texts()
    assert {ROOT / "README.md", ROOT / ".ci" / "run", PACKAGE / "site.py"} <= set(paths)
    assert [path for path in paths if wrong.search(read(path))] == []

from __future__ import annotations

import contextlib
import io
import json
import re
import signal
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from reproduction import run as running
from reproduction.__main__ import MOST_DRAWS as OFFERED_DRAWS
from reproduction.__main__ import reproduce_command, show_reproduction
from reproduction.artefact import Statement
from reproduction.experiment import run_experiment
from reproduction.figure4 import simulate_homes
from reproduction.fleet_search import fleet_search
from reproduction.page import DrawGuarantees
from reproduction.run import MOST_DRAWS, Reproduction
from reproduction.steps import steps_figure
from sunveil.cli import main
from sunveil.cli._options import NO_OPTION
from sunveil.grids import plane_grid
from sunveil.meters import MeterOptions
from sunveil.privacy import ConditionalGuarantee, Readings
from sunveil.releases import Choices
from sunveil.releases.score_kernels import Capacities

DRAWS = 300
PLACE = ("--latitude", "39.742", "--longitude", "-105.1727", "--altitude", "1795")
FIGURES = 14


def run(*arguments: object) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([*map(str, arguments)], command=reproduce_command)
    return code, out.getvalue(), err.getvalue()


def assert_whole(path: Path) -> None:
    """Refuse a file that was cut off on its way, and any that is none of ours."""
    content = path.read_bytes()
    if path.suffix == ".png":
        with Image.open(path) as picture:
            picture.load()
        assert content.endswith(b"IEND\xaeB`\x82")
    elif path.suffix == ".svg":
        assert ET.fromstring(content).tag.endswith("svg")
    elif path.suffix == ".json":
        json.loads(content)
    else:
        assert path.name == "report.html"
        assert content.rstrip().endswith(b"</html>")


@pytest.fixture(scope="module")
def fewer():
    """Have fewer systems simulated, fewer candidates and fewer steps.

    What is made of simulated systems, whatever file is given, is made once for all tests.
    """
    coarse = Choices(step=15.0, capacities=Capacities(1.0, 30.0, 0.1), mounts=None)
    grid = plane_grid(10.0, 10.0, highest_tilt=80.0)
    makers = {
        "fleet_search": partial(fleet_search, systems=2),
        "simulate_homes": partial(simulate_homes, 40),
        "steps_figure": partial(steps_figure, 1, choices=coarse),
        "embedded_subjects": running.embedded_subjects,
        "run_experiment": partial(run_experiment, grid=grid, steps=(20, 40)),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, make in makers.items():
            patch.setattr(running, name, cache(make))
        yield


# A run takes a while: what is to be said of one is said in one test.


@pytest.mark.usefixtures("fewer")
def test_a_simulated_system_gives_every_figure_its_numbers_and_a_page(tmp_path):
    folder = tmp_path / "new" / "out"
    code, out, err = run("--out", folder, "--draws", DRAWS, "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    names = sorted(path.name for path in folder.iterdir())
    figures = {f"{name}.{end}" for name in found["artefacts"] for end in ("png", "svg", "json")}
    assert set(names) == figures | {"statements.json", "report.html"}
    assert len(found["artefacts"]) == FIGURES
    assert sorted(found["files"]) == [str(folder / name) for name in names]
    assert found["files"][-1] == str(folder / "report.html")
    for path in folder.iterdir():
        assert_whole(path)
    assert_conditional(found)
    assert_told(folder, found["statements"])
    assert found["private"] is False
    assert all(b"sunveil-private" not in path.read_bytes() for path in folder.glob("*.svg"))


def assert_conditional(found: dict[str, Any]) -> None:
    """Refuse a guarantee that could be taken for one in the worst case."""
    one, together = found["guarantee"], found["guarantee_of_all_draws"]
    assert found["draws"] == DRAWS
    assert (one["kind"], one["epsilon"], one["delta"]) == ("conditional", 0.1, 0.1)
    assert "prior" in one["condition"]
    assert together["kind"] == "conditional"
    assert together["epsilon"] == pytest.approx(DRAWS * 0.1)


def assert_told(folder: Path, statements: list[dict[str, Any]]) -> None:
    """Refuse statements that are not in their own file and in the page."""
    assert len(statements) >= 20
    assert all(each["paper"] and each["section"] and each["verdict"] for each in statements)
    assert {each["verdict"] for each in statements} <= {"yes", "no", "in part", "cannot be told"}
    held = [each for each in statements if each["subjects"]]
    assert all(each["numbers"] or each["subjects"] for each in statements)
    assert {len(each["subjects"]) for each in held} == {2, 3}
    assert {each["holds"] for each in statements} <= {True, False, None}
    own = json.loads((folder / "statements.json").read_text(encoding="utf-8"))
    assert own["statements"] == statements
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count('class="verdict') == len(statements)
    assert page.count("<img") == FIGURES
    assert "Private to the curator" not in page


@pytest.mark.usefixtures("fewer")
def test_a_meter_file_gives_figures_that_are_private(tmp_path, three_systems, place, weather_file):
    folder = tmp_path
    code, out, err = run(
        "--out", folder, "--draws", 50, "--meters", three_systems, *place, "--system", "west",
        "--azimuth", 250, "--tilt", 20, "--weather", weather_file(2019),
    )  # fmt: skip
    assert (code, err) == (0, "")
    marked = {path.stem for path in folder.glob("*.svg") if b"sunveil-private" in path.read_bytes()}
    free = {path.stem for path in folder.glob("*.svg")} - marked
    # drawings, public light, and simulated systems
    simulated = {"fleet-search", "steps-to-a-useful-mechanism"}
    assert simulated < free
    assert {name[0] for name in free - simulated} == {"1", "2", "3", "4"}
    assert {name[:2] for name in marked} == {"5a", "5b", "5c", "6-", "re"}
    assert len(marked) == FIGURES - 8
    for path in folder.iterdir():
        assert_whole(path)
        own = path.stem in marked or path.stem in {"statements", "report"}
        assert (stat.S_IMODE(path.stat().st_mode) == 0o600) is own
    assert "Private to the curator" in (folder / "report.html").read_text(encoding="utf-8")
    assert_table(out, folder)


def assert_table(out: str, folder: Path) -> None:
    """Refuse a table without what it is about, verdicts, the guarantee, and where the page is."""
    assert out.splitlines()[-1] == f"Report: {folder / 'report.html'}"
    assert out.startswith("On the system west of meters.csv")
    text = " ".join(out.split())
    assert "weather from sky2019.csv" in text
    assert "δ = 0.1 for any one reading, conditional." in text
    assert re.search(r"^(yes|no|cannot be told) +paper: ", out, re.MULTILINE)


def reproduction(*statements: Statement) -> Reproduction:
    one = ConditionalGuarantee(Readings(1), 0.1, 0.1, "proof", "It holds if pigs fly.")
    return Reproduction(
        "a roof", False, (), statements, DrawGuarantees(1, one, one), (Path("report.html"),)
    )


def test_the_table_is_wrapped_to_the_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    long = "word " * 60
    shown = show_reproduction(
        reproduction(
            Statement(long, long, True, "left out"),
            Statement("b\x1b[2J", long, False, "because"),
            Statement("c", "d", None),
        )
    )
    assert max(map(len, shown.splitlines())) <= 60
    assert "left out" not in shown
    assert "why: because" in shown
    assert "\x1b" not in shown
    assert re.search(r"^cannot be told  paper: c$", shown, re.MULTILINE)


@pytest.fixture
def refused(tmp_path):
    """Run a command that must fail, and return its one sentence."""

    def once(*arguments: object, out: Path | None = None) -> str:
        folder = tmp_path / "new" if out is None else out
        code, said, err = run("--out", folder, *arguments)
        assert (code, said) == (2, "")
        assert err.startswith("sunveil: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert not (tmp_path / "new").exists()
        return err

    return once


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *((("--draws", draws), ["--draws"]) for draws in ("0", "-5", "1000001", "many", "1.5")),
        # options about a file, without one
        *(((name, value), [name, "--meters"])
          for name, value in [("--latitude", "40"), ("--longitude", "5"), ("--system", "a"),
                              ("--azimuth", "180"), ("--power-unit", "W"), ("--negate", "--json")]),
        # weather for figure 3 must be of its year
        (("--weather", "{weather}"), ["not a day in common"]),
        (("--weather", "nowhere.csv"), ["no weather file"]),
        # a file needs its place, one system and a whole plane
        (("--meters", "{one}", "--longitude", "5"), ["--latitude"]),
        (("--meters", "{one}", "--latitude", "40"), ["--longitude"]),
        (("--meters", "{one}", "--latitude", "95", "--longitude", "5"), ["latitude"]),
        (("--meters", "{one}", *PLACE, "--azimuth", "20"), ["both"]),
        (("--meters", "{one}", *PLACE, "--tilt", "20"), ["both"]),
        (("--meters", "{one}", *PLACE, "--azimuth", "20", "--tilt", "91"), ["surface_tilt"]),
        (("--meters", "nowhere.csv", *PLACE), ["no file"]),
        (("--meters", "{three}", *PLACE), ["--system"]),
        (("--meters", "{three}", *PLACE, "--system", "north"), ["no system 'north'"]),
        (("--meters", "{dark}", *PLACE), ["short"]),
    ],
)  # fmt: skip
def test_what_cannot_be_reproduced_is_said_in_one_sentence(
    refused, three_systems, one_system, weather_file, clear_power, write_long, tmp_path, words, said
):
    dark = write_long(tmp_path / "short.csv", {"short": 0.0 * clear_power(days=10)})
    names = {"one": one_system, "three": three_systems, "dark": dark, "weather": weather_file(2019)}
    err = refused(*(word.format(**names) for word in words))
    assert all(each in err for each in said)


def test_an_out_that_cannot_be_a_folder_is_refused(refused, tmp_path):
    (tmp_path / "taken").write_text("")
    for out in (tmp_path / "taken", tmp_path / "taken" / "below"):
        assert "taken is a file" in refused(out=out)
    assert (tmp_path / "taken").read_text() == ""


def test_the_options_are_the_library_s_own():
    assert OFFERED_DRAWS == MOST_DRAWS
    reading = set(MeterOptions.__dataclass_fields__) - set(NO_OPTION)
    assert reading | {"schema"} <= {each.name for each in reproduce_command.params}


CODE = """
import signal, sys
# a background job may have been started with interrupts ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
from functools import partial
from sunveil.cli import main
from sunveil.grids import plane_grid
from reproduction import run
grid = plane_grid(10.0, 10.0, highest_tilt=80.0)
run.run_experiment = partial(run.run_experiment, grid=grid, steps=(20, 40))
run.simulate_homes = partial(run.simulate_homes, 40)
print("ready", flush=True)
from reproduction.__main__ import reproduce_command
sys.exit(main(["--draws", "50", "--out", sys.argv[1]], command=reproduce_command))
"""


def test_an_interrupt_at_any_time_leaves_whole_files_only(tmp_path):
    # how many files stand when it comes, those on their way among them
    instants = {"early": -1, "later": 4}
    children = {
        name: subprocess.Popen(
            [sys.executable, "-c", CODE, str(tmp_path / name)],
            cwd=Path(__file__).parents[2],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in instants
    }
    for name, child in children.items():
        assert child.stdout.readline() == b"ready\n", name
    time.sleep(0.5)
    waiting = dict(instants)
    while waiting:
        for name, count in list(waiting.items()):
            there = (tmp_path / name).exists()
            files = len(list((tmp_path / name).iterdir())) if there else -1
            if files >= count or children[name].poll() is not None:
                children[name].send_signal(signal.SIGINT)
                del waiting[name]
        time.sleep(0.002)
    for name, child in children.items():
        out, err = child.communicate(timeout=120)
        assert (child.returncode, out) == (130, b""), (name, err)
        # an interrupt within a destructor is told by Python, and comes true at the next step
        assert not err.strip() or b"Exception ignored" in err, name
        files = list((tmp_path / name).iterdir()) if (tmp_path / name).exists() else []
        assert len(files) >= instants[name] - 1
        assert not (tmp_path / name / "report.html").exists()
        for path in files:
            assert_whole(path)

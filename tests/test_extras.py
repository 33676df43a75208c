"""What is installed with Sunveil is what it imports; what is missing is said with its remedy."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sunveil._extras import EXTRAS, require_extras
from sunveil.cli import main
from sunveil.errors import MissingExtra, ParameterError

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sunveil"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
# What is imported under another name than it is installed by.
INSTALLED_AS = {
    "yaml": "pyyaml",
    "prometheus_client": "prometheus-client",
    "python_multipart": "python-multipart",
}
# What a package that is declared brings and stands for.
BROUGHT_BY = {"llvmlite": "numba"}
# What is needed and not imported: time zones for zoneinfo, SQLAlchemy's driver, a script for pages.
NOT_IMPORTED = {"tzdata", "psycopg", "plotly"}
# Who may import what extras bring; all others make do with the core. The longest prefix holds.
ROOMS = {
    "inference/workers.py": {"dask"},
    "fleet/": {"files"},
    "simulate/": {"files"},
    "weather/weather_files.py": {"files"},
    "meters/csv_parquet_excel.py": {"files"},
    "estimates/estimates_table.py": {"plots"},
    "plots/": {"plots"},
    "publication/": {"plots", "files"},
    "power/": {"plots", "files"},
    "ledger/": {"publish"},
    "privacy/": {"publish"},
    "cli/": {"service"},
    "publish/": {"publish"},
    "publish/fit_synthetic.py": {"synthetic"},
    "service/": {"service"},
}
CHARGED = ("--ledger", "{}/none", "--dataset", "d", "--epsilon", "1")
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(requirement: str) -> str:
    return re.match(r"[\w.-]+", requirement)[0]


def declared_by(extra: str) -> set[str]:
    """Return what an extra installs, extras of ours that it names among them."""
    found = set()
    for each in PROJECT["optional-dependencies"][extra]:
        if ours := re.fullmatch(r"sunveil\[(.+)\]", each):
            found |= {name for inner in ours[1].split(",") for name in declared_by(inner)}
        else:
            found.add(name_of(each))
    return found


CORE = {name_of(each) for each in PROJECT["dependencies"]}


def imported_by(path: Path) -> set[str]:
    """Return the packages that a module imports anywhere in it, by what installs them."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module)
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            names |= {each.value for each in node.args if isinstance(each, ast.Constant)}
    tops = {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - {"sunveil"}
    return {INSTALLED_AS.get(name, BROUGHT_BY.get(name, name)) for name in tops}


def allowed(path: Path) -> set[str]:
    inside = path.relative_to(PACKAGE).as_posix()
    rooms = [room for room in ROOMS if inside.startswith(room)]
    extras = ROOMS[max(rooms, key=len)] if rooms else set()
    return CORE.union(*(declared_by(extra) for extra in extras))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_a_module_imports_what_its_room_may(path):
    assert imported_by(path) <= allowed(path)


def test_what_is_declared_is_needed():
    needed = set.union(*map(imported_by, MODULES)) | NOT_IMPORTED
    assert CORE | declared_by("all") == needed


def test_the_extras_are_those_of_the_project():
    for extra, names in EXTRAS.items():
        own = [each for each in PROJECT["optional-dependencies"][extra] if "sunveil[" not in each]
        assert {INSTALLED_AS.get(name, name) for name in names} == set(map(name_of, own))
    tools = {"all", "test", "check", "docs", "package", "peers"}
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"]) - tools


def test_the_core_and_all_commands_load_without_any_extra():
    blocked = sorted({name for names in EXTRAS.values() for name in names})
    inside = {path.relative_to(PACKAGE).as_posix() for path in MODULES}
    whole = ("service/", "plots/", "ledger/", "publish/", "example_publication")
    needing = {name for name in inside if name.startswith(whole)}
    names = [
        f"sunveil.{name.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")
        for name in sorted(inside - needing)
        if name != "__main__.py"
    ]
    script = (
        "import importlib, sys\n"
        f"sys.modules.update(dict.fromkeys({blocked}))\n"
        f"for name in {names}: importlib.import_module(name)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "sunveil.cli.publish" in names


BLOCKED = "import sys; sys.modules.update(dict.fromkeys({!r}))\n"
SERIES = """
import numpy as np, pandas as pd, sunveil
times = pd.date_range("2024-06-01", periods=24 * 40, freq="1h", tz="UTC")
sun = np.clip(np.cos((times.hour.to_numpy() - 19) / 12 * np.pi), 0, None)
power = pd.Series(4 * sun, times, name="power_kw")
place = dict(latitude=39.74, longitude=-104.99, altitude=1600)
found = sunveil.infer(power, **place, force=True, clock="given")
print(found.dc_capacity_kw > 0)
"""


def test_the_core_infers_a_series_and_names_the_extra_of_all_else():
    blocked = [name for extra in ("plots", "files", "publish") for name in EXTRAS[extra]]
    script = (
        BLOCKED.format(blocked)
        + SERIES
        + """
from sunveil.errors import MissingExtra
def tried(call):
    try: call()
    except MissingExtra as error: print(error)
def ledger():
    from sunveil.ledger import Ledger
tried(ledger)
tried(lambda: sunveil.release(power, protect="days:1", epsilon=1, **place))
"""
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "True", done.stderr
    assert lines[1].endswith("pip install 'sunveil[publish]'")
    assert lines[2].startswith("a private release needs opendp")


def test_figures_without_matplotlib_say_what_to_install():
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from sunveil.errors import MissingExtra\n"
        "try: import sunveil.plots.style\n"
        "except MissingExtra as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    said = "a figure needs matplotlib, which is not installed: pip install 'sunveil[plots]'\n"
    assert (done.stdout, done.stderr) == (said, "")


def without(monkeypatch, *extras):
    for extra in extras:
        for name in EXTRAS[extra]:
            monkeypatch.setitem(sys.modules, name, None)


@pytest.mark.parametrize(
    ("words", "extras"),
    [
        (["demo", "--out", "{}/new"], "publish"),
        (["utility", "--out", "{}/new.png"], "plots"),
        (["serve", "--data", "{}/new", "--port", "0"], "service"),
        (["serve", "--data", "{}/new", "--port", "0", "--demo"], "service"),
        (["publish", "fleet", "{}/none", *CHARGED, "--out", "{}/new"], "publish"),
        (["publish", "synthetic", "{}/none", *CHARGED, "--out", "{}/new"], "publish,synthetic"),
        (["ledger", "show", "--ledger", "postgresql://127.0.0.1:1/none"], "postgres"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value,
)
def test_a_command_without_its_extra_says_which_before_it_does_anything(
    words, extras, tmp_path, monkeypatch, capsys
):
    without(monkeypatch, *extras.split(","))
    assert main([word.format(tmp_path) for word in words]) == 2
    said = capsys.readouterr()
    assert said.err.endswith(f"not installed: pip install 'sunveil[{extras}]'\n")
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_missing_is_named(monkeypatch):
    require_extras("plots", "files", purpose="a page")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    said = r"^a page needs jinja2, which is not installed: pip install 'sunveil\[plots\]'$"
    with pytest.raises(MissingExtra, match=said):
        require_extras("plots", "files", purpose="a page")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match="needs jinja2 and matplotlib, which are not installed"):
        require_extras("plots", "files", purpose="a page")


def test_an_extra_that_there_is_not_is_refused():
    with pytest.raises(ParameterError, match="there is no extra report; use plots"):
        require_extras("report", purpose="a page")

"""What is installed is what is imported, when it is imported, and how what is missing is said."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

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


def run(code: str, *, heed_warnings: bool = False, **env: str) -> str:
    """Return what a fresh interpreter prints; its errors are an error here."""
    options = ["-W", "error::ImportWarning"] if heed_warnings else []
    done = subprocess.run(
        [sys.executable, *options, "-c", code], env={**os.environ, **env}, capture_output=True,
        text=True, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


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
    run(script)
    assert "sunveil.cli.publish" in names


SERIES = """
import sys
sys.modules.update(dict.fromkeys({!r}))
import numpy as np, pandas as pd, sunveil
times = pd.date_range("2024-06-01", periods=24 * 40, freq="1h", tz="UTC")
sun = np.clip(np.cos((times.hour.to_numpy() - 19) / 12 * np.pi), 0, None)
power = pd.Series(4 * sun, times, name="power_kw")
place = dict(latitude=39.74, longitude=-104.99, altitude=1600)
found = sunveil.infer(power, **place, force=True, clock="given")
print(found.dc_capacity_kw > 0)
from sunveil.errors import MissingExtra
def tried(call):
    try: call()
    except MissingExtra as error: print(error)
def ledger():
    from sunveil.ledger import Ledger
tried(ledger)
tried(lambda: sunveil.release(power, protect="days:1", epsilon=1, **place))
"""


def test_the_core_infers_a_series_and_names_the_extra_of_all_else():
    blocked = [name for extra in ("plots", "files", "publish") for name in EXTRAS[extra]]
    script = SERIES.format(blocked)
    lines = run(script).splitlines()
    assert lines[0] == "True"
    assert lines[1].endswith("pip install 'sunveil[publish]'")
    assert lines[2].startswith("a private release needs opendp")


def test_figures_without_matplotlib_say_what_to_install():
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from sunveil.errors import MissingExtra\n"
        "try: import sunveil.plots.style\n"
        "except MissingExtra as error: print(error)"
    )
    said = "a figure needs matplotlib, which is not installed: pip install 'sunveil[plots]'\n"
    assert run(script) == said


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
    for name in (name for extra in extras.split(",") for name in EXTRAS[extra]):
        monkeypatch.setitem(sys.modules, name, None)
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

    with pytest.raises(ParameterError, match="there is no extra report; use plots"):
        require_extras("report", purpose="a page")


FIRST = (
    "import sunveil",
    "import sunveil.inference.infer",
    "from sunveil.estimates.inference_options import InferOptions",
    "from sunveil import infer_frame",
    "import sunveil; sunveil.infer; import sunveil.inference.infer",
    "import importlib; importlib.import_module('sunveil.inference.infer')",
)


def test_infer_is_the_function_whatever_was_imported_before():
    code = f"""
import importlib, sys
for first in {FIRST!r}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "sunveil"]:
        del sys.modules[name]
    exec(first, {{}})
    import sunveil
    from sunveil import infer
    assert type(sunveil.infer) is type(infer) is type(lambda: 0), first
    assert sys.modules["sunveil.inference.infer"].infer is infer is sunveil.infer, first
print("seen", len({FIRST!r}))
"""
    assert run(code, heed_warnings=True) == f"seen {len(FIRST)}\n"


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import sunveil", {"numpy", "pandas", "pvlib", "scipy", "numba", "llvmlite"}),
        ("from sunveil.cli import main; main(['--help'])", {"pvlib", "numba", "llvmlite"}),
        ("from sunveil.cli import main; main(['infer', '--help'])", {"numba", "llvmlite"}),
    ],
)
def test_importing_the_package_or_asking_for_help_brings_nothing_heavy(code, heavy, tmp_path):
    code = f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\nprint('---', *sys.modules)"
    brought = set(run(code, NUMBA_CACHE_DIR=str(tmp_path)).rpartition("---")[2].split())
    assert "sunveil" in brought
    assert not heavy & brought
    # nothing was compiled, nor kept
    assert list(tmp_path.rglob("*")) == []


LAZY = sorted(
    ".".join(path.parent.relative_to(PACKAGE.parent).parts)
    for path in PACKAGE.rglob("__init__.py")
    if "lazy_names(" in path.read_text(encoding="utf-8")
)
HEAVY = ("pandas", "pvlib", "numba", "duckdb", "matplotlib", "opendp")


@pytest.mark.parametrize("name", LAZY)
def test_a_package_offers_what_it_lists(name: str) -> None:
    package = importlib.import_module(name)
    assert package.__file__ is not None
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name
        for guarded in tree.body
        if isinstance(guarded, ast.If) and ast.unparse(guarded.test) == "TYPE_CHECKING"
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert typed == set(package.__all__) - {"__version__"} <= set(dir(package))
    for each in package.__all__:
        assert not isinstance(getattr(package, each), ModuleType)
    with pytest.raises(AttributeError, match="nonesuch"):
        package.nonesuch  # noqa: B018


@pytest.mark.parametrize(
    "first",
    [
        *(f"import {name}" for name in LAZY),
        "from sunveil.cli import main",
        "import sunveil.service.app",
        "import sunveil.privacy.mechanisms",
    ],
)
def test_what_starts_first_stays_light(first: str) -> None:
    code = f"{first}\nimport sys\nprint(*[name for name in {HEAVY} if name in sys.modules])"
    assert run(code).split() == []


# Modules and functions that Windows lacks.
WITHOUT = """
import os, signal, sys
import duckdb, filelock, numba, pandas, pvlib, pyarrow, scipy.optimize, sqlalchemy, tqdm
import h5py, openpyxl, opendp.prelude, requests, matplotlib.pyplot, multiprocessing.util
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for owner, name in (
    (os, "fork"), (os, "getuid"), (os, "killpg"), (os, "sysconf"), (os, "sched_getaffinity"),
    (signal, "SIGKILL"), (signal, "SIGHUP"), (signal, "SIGALRM"), (signal, "pthread_sigmask"),
):
    delattr(owner, name)
"""
WORK = """
import importlib, pkgutil, warnings
from pathlib import Path
import sunveil
for module in pkgutil.walk_packages(sunveil.__path__, "sunveil."):
    if not {"service", "__main__"} & set(module.name.split(".")):
        importlib.import_module(module.name)
from sunveil.cli import main
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.promises import Promise, Question
from sunveil.privacy.guarantees import Guarantee
from sunveil.privacy.guarantees import System
os.chdir(sys.argv[1])
simulate = "simulate --systems 2 --out fleet".split()
assert main(simulate) == 0
infer = "infer fleet/readings --systems fleet/systems.parquet --out out --workers 1".split()
assert main(infer) == 0
with Ledger("ledger.db", create=True) as ledger:
    ledger.create_dataset("d", Promise(System(), 1.0))
    asked = Question("k", {}, "m", Guarantee(System(), 0.5, 0.0, "p"))
    assert ledger.ask("d", asked, lambda: 1).value == 1
print("done")
"""


def test_everything_but_the_service_runs_without_what_unix_alone_has(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT + WORK, tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("done\n"), done.stderr

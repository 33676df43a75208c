from __future__ import annotations

import os
import subprocess
import sys

import pytest

FIRST = (
    "import sunveil",
    "import sunveil.inference.infer",
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
    done = subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", code],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout == f"seen {len(FIRST)}\n", done.stderr


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import sunveil", {"numpy", "pandas", "pvlib", "scipy", "numba", "llvmlite"}),
        ("from sunveil.cli import main; main(['--help'])", {"pvlib", "numba", "llvmlite"}),
        ("from sunveil.cli import main; main(['infer', '--help'])", {"numba", "llvmlite"}),
    ],
)
def test_importing_the_package_or_asking_for_help_brings_nothing_heavy(code, heavy, tmp_path):
    code = f"""
import sys
try:
    {code}
except SystemExit:
    pass
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    brought = set(done.stderr.split())
    assert "sunveil" in brought
    assert not heavy & brought
    # nothing was compiled, nor kept
    assert list(tmp_path.rglob("*")) == []

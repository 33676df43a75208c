"""What a fleet loads is loaded when a fleet is inferred, and not before."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "code",
    [
        "import sunveil",
        "import sunveil.fleet",
        "from sunveil.cli import main; main(['--help'])",
        "from sunveil.cli import main; main(['infer', '--help'])",
    ],
)
def test_what_infers_no_fleet_does_not_load_the_compiler(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('LOADED', *sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    loaded = done.stdout.partition("LOADED")[2].split()
    assert "sunveil" in loaded
    assert not {"numba", "llvmlite"} & set(loaded)

"""A PostgreSQL server of the system's package, for tests."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = Path("/usr/lib/postgresql")


@contextmanager
def postgres_server(place: str | Path | None = None) -> Iterator[str]:
    """Start a server that keeps its files in a folder, and yield its URL."""
    tools = sorted(PROGRAMS.glob("*/bin"))[-1]
    # short, since a socket's path must be
    folder = Path(tempfile.mkdtemp(prefix="pg", dir=place))
    as_owner: list[str] = []
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, "postgres", "postgres")
        as_owner = ["runuser", "-u", "postgres", "--"]

    def run(tool: str, *arguments: str) -> None:
        subprocess.run(
            [*as_owner, str(tools / tool), "-D", str(folder / "data"), *arguments],
            check=True,
            cwd=folder,
            stdout=subprocess.DEVNULL,
        )

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        run("initdb", "-U", "postgres", "-A", "trust", "--no-sync")
        # the machine does not lose its power in a test
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {folder}"
        run("pg_ctl", "-w", "-l", str(folder / "log"), "-o", settings, "start")
        yield f"postgresql://postgres@127.0.0.1:{port}"
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            run("pg_ctl", "stop", "-m", "immediate")
        shutil.rmtree(folder)

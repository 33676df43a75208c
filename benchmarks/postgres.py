"""A PostgreSQL server of its own for a benchmark, from Debian's package."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server:
    """A server that can be killed and started again.

    Parameters
    ----------
    url
        Of an empty database.
    run
        Runs one of the server's tools.
    start
        Arguments of ``pg_ctl`` that start it.
    """

    def __init__(self, url: str, run: Callable[..., None], start: tuple[str, ...]) -> None:
        self.url, self._run, self._start = url, run, start

    def kill(self, away: float = 0.0) -> None:
        """End the server and all its connections at once, and start it again a while later."""
        self._run("pg_ctl", "stop", "-m", "immediate")
        time.sleep(away)
        self._run("pg_ctl", *self._start)


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server with its usual settings, and yield the URL of an empty database."""
    with postgres_server() as server:
        yield server.url


@contextmanager
def postgres_server() -> Iterator[Server]:
    """Start a server with its usual settings."""
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short, since a socket's path must be
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

    port = free_port()
    try:
        run("initdb", "-U", "postgres", "-A", "trust")
        settings = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder}"
        start = ("-w", "-l", str(folder / "log"), "-o", settings, "start")
        run("pg_ctl", *start)
        yield Server(f"postgresql://postgres@127.0.0.1:{port}/postgres", run, start)
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            run("pg_ctl", "stop", "-m", "immediate")
        shutil.rmtree(folder)

"""How fast the service is: ``python -m benchmarks.service [--write]``.

A service is started by its command, with its usual limits, over a small made-up fleet. Clients run
on the same machine, and share its cores with it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.csv_tables import save

CLIENTS, SECONDS, STARTS, ASKS = 32, 20.0, 8, 5
SYSTEMS = 2000
FEEDERS = ("F1", "F2", "F3")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A folder to serve.

    Parameters
    ----------
    folder
        The service's data.
    tokens
        One for each client.
    releases
        Ids of two releases: a small and a large one.
    """

    folder: Path
    tokens: tuple[str, ...]
    releases: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Load:
    """What clients saw.

    Parameters
    ----------
    rate
        Answers per second.
    median, worst
        The middle and the 99th percentile of the times that answers took. [ms]
    size
        Of an answer. [bytes]
    failed
        How many were not 200.
    """

    rate: float
    median: float
    worst: float
    size: int
    failed: int


def prepare(folder: Path) -> Prepared:
    """Make a fleet, its promise, tokens and two releases."""
    from sunveil.ledger.promises import Promise
    from sunveil.privacy.guarantees import System
    from sunveil.service.app import open_service
    from sunveil.service.questions import FleetTableQuestion, TotalsQuestion
    from sunveil.service.settings import ServiceSettings
    from sunveil.service.store.accounts import issue_token
    from sunveil.service.store.datasets import READY, Served, add_served

    service = open_service(ServiceSettings(data=folder))
    path = service.settings.datasets / "roofs"
    path.mkdir()
    write_estimates(path / "estimates.json")
    with service.store.changing() as connection:
        add_served(
            connection,
            Served(
                name="roofs",
                title="Roofs",
                folder="roofs",
                estimates="estimates.json",
                systems=SYSTEMS,
                keys={"feeder": list(FEEDERS)},
                state=READY,
            ),
        )
        tokens = tuple(issue_token(connection, "ann").text for _ in range(CLIENTS))
    service.ledger.create_dataset("roofs", Promise(System(), 900.0))
    service.ledger.set_share("roofs", "ann", 900.0)
    service.broker.warm()
    asked = (
        TotalsQuestion(kind="totals", epsilon=1.0, group_by="feeder"),
        FleetTableQuestion(kind="fleet-table", epsilon=1.0, sectors=8, group_by="feeder"),
    )
    small, large = (
        service.broker.ask("roofs", each, analyst="ann", key=f"prepared {i}").release
        for i, each in enumerate(asked)
    )
    service.close()
    return Prepared(folder, tokens, (small, large))


def write_estimates(path: Path) -> None:
    """Write the table of a fleet that does not exist."""
    rng = np.random.default_rng(1)
    told = [
        {
            "system_id": f"s{number}",
            "surface_azimuth": float(rng.normal(180.0, 50.0) % 360.0),
            "surface_tilt": float(rng.uniform(5.0, 45.0)),
            "dc_capacity_kw": float(rng.lognormal(1.7, 0.5)),
            "feeder": FEEDERS[number % 3],
        }
        for number in range(SYSTEMS)
    ]
    path.write_text(json.dumps(told))


class Served:
    """The service, run by its command.

    Parameters
    ----------
    folder
        Its data.
    """

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        options = ["--data", str(folder), "--port", str(self.port)]
        self._command = [sys.executable, "-m", "sunveil", "serve", *options]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start it, and return how long it took until it answered. [s]"""
        begun = time.perf_counter()
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5):
                    return time.perf_counter() - begun
            except OSError:
                time.sleep(0.005)

    def kill(self) -> None:
        """Kill it, as a power cut would."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()


async def one_client(port: int, path: str, token: str, until: float) -> list[tuple[float, int]]:
    """Ask again and again on one connection; return the time and the status of each answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = (
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
    ).encode()
    found = []
    while time.perf_counter() < until:
        begun = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        await reader.readexactly(length)
        found.append((time.perf_counter() - begun, int(head.split()[1])))
    writer.close()
    await writer.wait_closed()
    return found


def load(port: int, path: str, tokens: tuple[str, ...], *, seconds: float = SECONDS) -> Load:
    """Return what clients see that read an address at the same time."""

    async def all_clients() -> list[list[tuple[float, int]]]:
        until = time.perf_counter() + seconds
        return await asyncio.gather(*(one_client(port, path, token, until) for token in tokens))

    begun = time.perf_counter()
    found = [each for client in asyncio.run(all_clients()) for each in client]
    passed = time.perf_counter() - begun
    times = np.array([took for took, _ in found]) * 1e3
    headers = {"Authorization": f"Bearer {tokens[0]}"}
    asked = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    with urllib.request.urlopen(asked) as answer:
        size = len(answer.read())
    return Load(
        rate=len(found) / passed,
        median=float(np.median(times)),
        worst=float(np.percentile(times, 99.0)),
        size=size,
        failed=sum(status != 200 for _, status in found),
    )


def ask_times(folder: Path) -> dict[str, float]:
    """Return how long each kind of question takes without its padding. [s]"""
    from sunveil.service.answer_questions import QUESTIONS
    from sunveil.service.app import open_service
    from sunveil.service.settings import ServiceSettings

    service = open_service(ServiceSettings(data=folder))
    service.broker.warm()
    found = {}
    for kind in ("fleet-table", "totals", "quantiles", "synthetic"):
        taken = []
        for number in range(ASKS):
            asked = QUESTIONS.validate_python({"kind": kind, "epsilon": 1.1 + number / 10.0})
            begun = time.perf_counter()
            service.broker.ask("roofs", asked, analyst="ann", key=f"timed {kind} {number}")
            taken.append(time.perf_counter() - begun)
        found[kind] = statistics.median(taken)
    service.close()
    return found


def report(starts: list[float], loads: dict[str, Load], asks: dict[str, float]) -> list[str]:
    """Return the tables of all that was measured."""
    from sunveil.service.settings import ANSWER_SECONDS

    lines = ["## Reading what was released", ""]
    lines += ["| what | bytes | answers/s | median [ms] | 99th percentile [ms] | failed |"]
    lines += ["|---|---|---|---|---|---|"]
    lines += [
        f"| {name} | {each.size:,} | {each.rate:.0f} | {each.median:.0f} | {each.worst:.0f} |"
        f" {each.failed} |"
        for name, each in loads.items()
    ]
    lines += ["", "## Starting again", "", "| after kill -9 | until the first answer [s] |"]
    lines += ["|---|---|", f"| median of {len(starts)} | {statistics.median(starts):.1f} |"]
    lines += [f"| longest | {max(starts):.1f} |", "", "## Asking", ""]
    lines += ["| kind | without padding [ms] | padded to [ms] |", "|---|---|---|"]
    return lines + [
        f"| {kind} | {1e3 * took:.0f} | {1e3 * ANSWER_SECONDS[kind]:.0f} |"
        for kind, took in asks.items()
    ]


def main() -> None:
    """Measure, print, and write where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write its tables to docs/measured")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        prepared = prepare(Path(folder) / "data")
        served = Served(prepared.folder)
        starts = []
        for _ in range(STARTS):
            starts.append(served.start())
            served.kill()
        served.start()
        time.sleep(5.0)  # until what draws is loaded
        small, large = prepared.releases
        loads = {
            name: load(served.port, path, prepared.tokens, seconds=given.seconds)
            for name, path in (
                ("a release of three totals", f"/api/v1/releases/{small}"),
                ("a release of fleet tables by feeder", f"/api/v1/releases/{large}"),
                ("a table of it as CSV", f"/api/v1/releases/{large}/files/planes.csv"),
                ("the dataset and what is left", "/api/v1/datasets/roofs"),
            )
        }
        served.kill()
        lines = report(starts, loads, ask_times(prepared.folder))
    print("\n".join(lines))
    if given.write:
        save(lines, "service")


if __name__ == "__main__":
    main()

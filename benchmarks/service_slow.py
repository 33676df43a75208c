"""Whether slow connections keep others out: ``python -m benchmarks.service_slow [--files 256]``.

A service is started by its command, with as many open files as said. Slow connections are opened
within ten seconds, and again a second after the service has closed them, by a process of their own,
each in one of four ways: it sends nothing, a request's head byte by byte, a form's body byte by
byte, or asks for a large file and does not read it. Meanwhile somebody else asks for the front
page, each time on a new connection. The aim: every answer within 1 s, and less than 1 MB of log.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.service_bars import put_reached

WAYS = ("nothing", "head", "body", "unread")
CONNECTIONS, SECONDS, AIM_SECONDS, AIM_BYTES = 1000, 45.0, 1.0, 1_000_000
# How often a slow connection sends a byte, and how often somebody else asks. [s]
PAUSE, BETWEEN = 1.0, 0.05
# How long it takes to open all of them: many requests at one instant are another matter. [s]
OPENING = 10.0
LONG = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\n"
FIRST = {
    "nothing": b"",
    "head": b"GET / HTTP/1.1\r\nHost: here\r\nX-Slow: ",
    "body": b"POST /curator/login HTTP/1.1\r\nHost: here\r\n" + LONG,
    "unread": b"GET /static/plotly.min.js HTTP/1.1\r\nHost: here\r\n\r\n",
}


@dataclass
class Attack:
    """What slow connections have done so far.

    Parameters
    ----------
    opened, open, most_open
        How many were opened in all, are open now, and were at once.
    """

    opened: int = 0
    open: int = 0
    most_open: int = 0


async def slow(port: int, way: str, done: Attack, until: float) -> None:
    """Keep one slow connection open, again and again."""
    while time.perf_counter() < until:
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
            done.opened, done.open = done.opened + 1, done.open + 1
            done.most_open = max(done.open, done.most_open)
            try:
                await _hold(made, way, until)
            finally:
                done.open -= 1
        except OSError:
            pass
        finally:
            made.close()
        await asyncio.sleep(PAUSE)


async def _hold(made: socket.socket, way: str, until: float) -> None:
    """Send next to nothing until the service closes the connection."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(made, FIRST[way])
    while time.perf_counter() < until:
        if way in ("head", "body"):
            await loop.sock_sendall(made, b"x")
        if way == "unread":  # to read would be to let it go on; an error tells of the end
            await asyncio.sleep(PAUSE)
            if made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                return
            continue
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PAUSE):
                if not await loop.sock_recv(made, 4096):
                    return


def attack(port: int, *, connections: int, ways: tuple[str, ...], seconds: float) -> Attack:
    """Keep slow connections open for a while, and return what came of it."""

    async def all_of_them() -> Attack:
        done, until = Attack(), time.perf_counter() + seconds
        held = []
        for number in range(connections):
            way = ways[number % len(ways)]
            held.append(asyncio.create_task(slow(port, way, done, until)))
            await asyncio.sleep(OPENING / connections)
        await asyncio.gather(*held)
        return done

    return asyncio.run(all_of_them())


def ask(port: int) -> float:
    """Ask for the front page on a new connection, and return how long it took. [s]"""
    begun = time.perf_counter()
    # from an address of their own, as others have
    source = ("127.0.0.2", 0)
    with socket.create_connection(("127.0.0.1", port), 30.0, source) as made:
        made.sendall(b"GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n")
        with made.makefile("rb") as answer:
            if not answer.read().startswith(b"HTTP/1.1 200"):
                raise OSError("not answered")
    return time.perf_counter() - begun


def others(port: int, until: float) -> list[float]:
    """Return how long answers take to somebody who is not slow; infinite for none. [s]"""
    times = []
    while time.perf_counter() < until:
        try:
            times.append(ask(port))
        except OSError:
            times.append(float("inf"))
        time.sleep(BETWEEN)
    return times


def trial(
    folder: Path, *, files: int, connections: int, way: str, seconds: float
) -> tuple[float, float]:
    """Start a service, attack it and print what happened.

    Returns
    -------
    tuple
        How long others waited at most [s], and the size of the log [MB].
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / f"{way}-{files}.log"
    command = [sys.executable, "-m", "sunveil", "serve", "--data", str(folder / way)]
    with log.open("wb") as lines:
        process = subprocess.Popen(
            [*command, "--port", str(port), "--access-log"],
            stdout=subprocess.DEVNULL,
            stderr=lines,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)),
        )
    try:
        _wait(port)
        _settle(process.pid)
        ways = WAYS if way == "mixed" else (way,)
        with ProcessPoolExecutor(1) as apart:
            attacker = apart.submit(
                attack, port, connections=connections, ways=ways, seconds=seconds
            )
            times = others(port, time.perf_counter() + seconds)
            done = attacker.result()
        memory = _peak_memory(process.pid)
    finally:
        process.kill()
        process.wait()
    size = log.stat().st_size
    held = max(times) <= AIM_SECONDS and size < AIM_BYTES
    print(
        f"| {way} | {files:,} | {done.opened:,} | {done.most_open:,} | {len(times)} |"
        f" {np.median(times) * 1e3:.0f} | {max(times) * 1e3:.0f} | {size / 1e3:.0f} |"
        f" {memory:.0f} | {'held' if held else 'NOT held'} |",
        flush=True,
    )
    return max(times), size / 1e6


def _peak_memory(process: int) -> float:
    """Return the most memory that a process has had. [MB]"""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return float(line.split()[1]) / 1e3
    return 0.0


def _wait(port: int) -> None:
    for _ in range(3000):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5):
                return
        except OSError:
            time.sleep(0.01)
    raise SystemExit("the service did not start")


def _settle(process: int) -> None:
    """Wait until a service has loaded what it loads in the background, and rests."""
    rested = 0
    while rested < 3:
        before = _processor_seconds(process)
        time.sleep(0.5)
        rested = rested + 1 if _processor_seconds(process) - before < 0.05 else 0


def _processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Try every way, and end with 1 if one of them kept others out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, nargs="+", default=[256, 4096])
    parser.add_argument("--ways", nargs="+", default=[*WAYS, "mixed"])
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--page", type=Path, help="the page to write the longest and largest into")
    given = parser.parse_args()
    columns = (
        *("way", "open files", "opened", "most open", "asked", "median [ms]", "longest [ms]"),
        *("log [kB]", "memory [MB]", ""),
    )
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    with tempfile.TemporaryDirectory() as folder:
        found = [
            trial(
                Path(folder),
                files=files,
                connections=given.connections,
                way=way,
                seconds=given.seconds,
            )
            for files in given.files
            for way in given.ways
        ]
    longest, largest = (max(each) for each in zip(*found, strict=True))
    put_reached(given.page, "slow", f"{longest:.2f} s at most; {largest:.2f} MB")
    sys.exit(longest > AIM_SECONDS or 1e6 * largest >= AIM_BYTES)


if __name__ == "__main__":
    main()

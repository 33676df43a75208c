"""Whether slow clients keep others out: ``python -m benchmarks.service_slow``.

A service is started by its command behind nginx with the configuration of ``deploy/``. Slow
connections over TLS, from ten addresses, are opened within ten seconds, and again a second after
they were closed, by a process of their own. Each is slow in one way: it sends a request's head byte
by byte, or a form's body. Meanwhile somebody else asks for the front page, each time on a new
connection; and before, which says what the machine does by itself. The aim: every answer within
0.3 s, and less than 1 MB of log.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from http.client import HTTPSConnection
from pathlib import Path

import numpy as np

from benchmarks.nginx import nginx
from benchmarks.postgres import free_port
from benchmarks.service_bars import put_reached

WAYS = ("head", "body")
CONNECTIONS, SECONDS, AIM_SECONDS, AIM_BYTES = 600, 45.0, 0.3, 1_000_000
# nginx lets one address have 100 connections with requests. [addresses]
ADDRESSES = 10
# How often a slow connection sends a byte, and how often somebody else asks. [s]
PAUSE, BETWEEN = 1.0, 0.05
# How long it takes to open all of them: many handshakes at one instant are another matter. [s]
OPENING = 10.0
LONG = b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\n"
FIRST = {
    "head": b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
    "body": b"POST /curator/login HTTP/1.1\r\nHost: localhost\r\n" + LONG,
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


# Believes the certificate that was made for the trial.
UNCHECKED = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
UNCHECKED.check_hostname, UNCHECKED.verify_mode = False, ssl.CERT_NONE


async def slow(port: int, way: str, number: int, done: Attack, until: float) -> None:
    """Keep one slow connection open, again and again."""
    source = (f"127.0.1.{1 + number % ADDRESSES}", 0)
    while time.perf_counter() < until:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", port, ssl=UNCHECKED, server_hostname="localhost", local_addr=source
            )
            done.opened, done.open = done.opened + 1, done.open + 1
            done.most_open = max(done.open, done.most_open)
            try:
                writer.write(FIRST[way])
                while time.perf_counter() < until and not reader.at_eof():
                    writer.write(b"x")
                    await writer.drain()
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(PAUSE):
                            await reader.read(4096)
            finally:
                done.open -= 1
                writer.close()
        await asyncio.sleep(PAUSE)


def attack(port: int, *, connections: int, way: str, seconds: float) -> Attack:
    """Keep slow connections open for a while, and return what came of it."""

    async def all_of_them() -> Attack:
        done, until = Attack(), time.perf_counter() + seconds
        held = []
        for number in range(connections):
            held.append(asyncio.create_task(slow(port, way, number, done, until)))
            await asyncio.sleep(OPENING / connections)
        await asyncio.gather(*held)
        return done

    return asyncio.run(all_of_them())


def ask(port: int) -> float:
    """Ask for the front page on a new connection, and return how long it took. [s]"""
    begun = time.perf_counter()
    made = HTTPSConnection("localhost", port, timeout=30.0, context=UNCHECKED)
    with contextlib.closing(made):
        made.request("GET", "/")
        answer = made.getresponse()
        answer.read()
        if answer.status != 200:
            raise OSError("not answered")
    return time.perf_counter() - begun


def others(port: int, seconds: float) -> list[float]:
    """Return how long answers take to somebody who is not slow; infinite for none. [s]"""
    times, until = [], time.perf_counter() + seconds
    while time.perf_counter() < until:
        try:
            times.append(ask(port))
        except OSError:
            times.append(float("inf"))
        time.sleep(BETWEEN)
    return times


def trial(folder: Path, *, connections: int, way: str, seconds: float) -> tuple[float, float]:
    """Start a service, attack it and print what happened.

    Returns
    -------
    tuple
        How long others waited at most [s], and the size of the log [MB].
    """
    port, plain, secure = free_port(), free_port(), free_port()
    log = folder / f"{way}.log"
    options = ["--data", folder / way, "--port", port, "--access-log"]
    proxy = ["--address", f"https://localhost:{secure}", "--trusted-proxy", "127.0.0.1"]
    with log.open("wb") as lines:
        process = subprocess.Popen(
            [sys.executable, "-m", "sunveil", "serve", *map(str, options), *proxy],
            stdout=subprocess.DEVNULL,
            stderr=lines,
        )
    try:
        _wait(port)
        _settle(process.pid)
        with (
            nginx(folder / f"nginx-{way}", f"127.0.0.1:{port}", plain=plain, secure=secure),
            ProcessPoolExecutor(1) as apart,
        ):
            before = others(secure, seconds / 3.0)
            attacker = apart.submit(
                attack, secure, connections=connections, way=way, seconds=seconds
            )
            times = others(secure, seconds)
            done = attacker.result()
    finally:
        process.kill()
        process.wait()
    size = log.stat().st_size
    held = max(times) <= AIM_SECONDS and size < AIM_BYTES
    print(
        f"| {way} | {done.opened:,} | {done.most_open:,} | {len(times)} |"
        f" {np.median(times) * 1e3:.0f} | {max(times) * 1e3:.0f} |"
        f" {np.median(before) * 1e3:.0f} | {max(before) * 1e3:.0f} | {size / 1e3:.0f} |"
        f" {'held' if held else 'NOT held'} |",
        flush=True,
    )
    return max(times), size / 1e6


def _wait(port: int) -> None:
    for _ in range(3000):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=5):
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
    """Try both ways, and end with 1 if one of them kept others out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--connections", type=int, default=CONNECTIONS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--write", action="store_true", help="write its row to docs/measured")
    given = parser.parse_args()
    columns = (
        *("way", "opened", "most open", "asked", "median [ms]", "longest [ms]"),
        *("median before [ms]", "longest before [ms]", "log [kB]", ""),
    )
    print("| " + " | ".join(columns) + " |\n" + "|---" * len(columns) + "|")
    with tempfile.TemporaryDirectory() as folder:
        found = [
            trial(Path(folder), connections=given.connections, way=way, seconds=given.seconds)
            for way in given.ways
        ]
    longest, largest = (max(each) for each in zip(*found, strict=True))
    put_reached(given.write, "slow", f"{longest:.2f} s at most; {largest:.2f} MB")
    sys.exit(longest > AIM_SECONDS or 1e6 * largest >= AIM_BYTES)


if __name__ == "__main__":
    main()

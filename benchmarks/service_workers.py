"""Several workers: ``python -m benchmarks.service_workers reading|race|kills``.

A service is started by ``sunveil serve --workers`` over a PostgreSQL server of its own.

- ``reading`` needs ``wrk`` (Debian's package): 32 connections read a release, from one worker and
  then from two, in turns; the clients take time of the same cores. The first requests, in which
  each of the 32 tokens is looked up for the first time, count.
- ``race``: 64 clients ask different questions at once, for a promise that holds ten of them.
- ``kills``: clients ask under load while workers are killed, and the database too if it is asked
  for; they ask again, under the same key, until they are answered.

``race`` and ``kills`` end with an error unless the grants are exactly the budget and the charges
are the answers.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count, cycle
from pathlib import Path

import httpx

from benchmarks.postgres import Server, free_port, postgres_server
from benchmarks.service import FEEDERS, SYSTEMS, write_estimates
from benchmarks.service_bars import put_reached

RACERS, ASKERS = 64, 8


def prepare(folder: Path, database: str, *, epsilon: float, shares: dict[str, float]) -> list[str]:
    """Serve a made-up fleet under a promise, and return a token for each analyst."""
    from sunveil.ledger.promises import Promise
    from sunveil.privacy.guarantees import System
    from sunveil.service.app import open_service
    from sunveil.service.settings import ServiceSettings
    from sunveil.service.store.accounts import issue_token
    from sunveil.service.store.datasets import READY, Served, add_served

    service = open_service(ServiceSettings(data=folder, database=database))
    path = service.settings.datasets / "roofs"
    path.mkdir()
    write_estimates(path / "estimates.json")
    made = Served(
        name="roofs",
        title="Roofs",
        folder="roofs",
        estimates="estimates.json",
        systems=SYSTEMS,
        keys={"feeder": list(FEEDERS)},
        state=READY,
    )
    with service.store.changing() as connection:
        add_served(connection, made)
        tokens = [issue_token(connection, name).text for name in shares]
    service.ledger.create_dataset("roofs", Promise(System(), epsilon))
    for name, share in shares.items():
        service.ledger.set_share("roofs", name, share)
    service.close()
    return tokens


@contextmanager
def serving(folder: Path, database: str, workers: int) -> Iterator[tuple[str, int]]:
    """Run the command, and yield its address and the parent's process id."""
    port = free_port()
    options = ["--data", str(folder), "--database", database, "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", "sunveil", "serve", *options, "--workers", str(workers)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    base = f"http://127.0.0.1:{port}"
    try:
        while True:
            try:
                with urllib.request.urlopen(f"{base}/healthz", timeout=5):
                    break
            except OSError:
                assert process.poll() is None, "the service has ended"
                time.sleep(0.05)
        yield base, process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def workers_of(parent: int) -> list[int]:
    """Return the process ids of a service's workers."""
    found = subprocess.run(
        ["pgrep", "-f", "-P", str(parent), "spawn_main"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(each) for each in found.stdout.split() if _is_up(int(each))]


def _is_up(worker: int) -> bool:
    """Return whether a worker has its event loop."""
    try:
        links = [os.readlink(each) for each in Path(f"/proc/{worker}/fd").iterdir()]
    except OSError:
        return False
    return "anon_inode:[eventpoll]" in links


def reading(folder: Path, database: str, *, seconds: int, rounds: int) -> str:
    """Return how many releases a second 32 connections read, from one worker and from two."""
    from sunveil.service.app import open_service
    from sunveil.service.questions import TotalsQuestion
    from sunveil.service.settings import ServiceSettings

    tokens = prepare(folder, database, epsilon=10.0, shares={f"a{n}": 10.0 for n in range(32)})
    service = open_service(ServiceSettings(data=folder, database=database))
    service.broker.warm()
    asked = TotalsQuestion(kind="totals", epsilon=1.0, group_by="feeder")
    release = service.broker.ask("roofs", asked, analyst="a0", key="prepared").release
    service.close()
    script = folder / "tokens.lua"
    listed = ", ".join(f'"{token}"' for token in tokens)
    script.write_text(
        f"local tokens = {{{listed}}}\nlocal n = 0\n"
        "request = function()\n  n = n % #tokens + 1\n"
        '  return wrk.format("GET", nil, {["Authorization"] = "Bearer " .. tokens[n]})\nend\n'
    )
    rates: dict[int, list[float]] = {1: [], 2: []}
    latest: list[str] = []
    for number in range(2 * rounds):
        workers = 1 + number % 2
        with serving(folder, database, workers) as (base, _):
            time.sleep(8.0)  # until what draws is loaded
            wrk = ["wrk", "-t1", "-c32", "-s", str(script), f"{base}/api/v1/releases/{release}"]
            done = subprocess.run(
                [*wrk, f"-d{seconds}s", "--latency"], capture_output=True, text=True, check=True
            ).stdout
        rate = float(re.search(r"Requests/sec:\s+([\d.]+)", done)[1])  # type: ignore[index]
        late = re.search(r"^\s+99%\s+(\S+)", done, re.MULTILINE)[1]  # type: ignore[index]
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", done)
        rates[workers].append(rate)
        if workers == 1:
            latest.append(late)
        print(
            f"{workers} worker(s): {rate:.0f} a second, 99th percentile {late},"
            f" {bad[1] if bad else 0} refused"
        )
    one, two = (statistics.median(rates[each]) for each in (1, 2))
    return f"{', '.join(latest)} at {one:,.0f} a second; {two / one:.2f} times as many"


def race(folder: Path, database: str) -> str:
    """Have 64 clients ask at once for a promise that holds ten questions."""
    shares = {f"analyst {number}": 1.0 for number in range(RACERS)}
    tokens = prepare(folder, database, epsilon=1.05, shares=shares)
    start = threading.Barrier(RACERS)
    with serving(folder, database, 2) as (base, _):

        def ask(number: int) -> int:
            headers = {
                "Authorization": f"Bearer {tokens[number]}",
                "Idempotency-Key": secrets.token_hex(16),
            }
            question = {"kind": "totals", "epsilon": 0.1, "clip_kw": 10.0 + number}
            with httpx.Client(base_url=f"{base}/api/v1", headers=headers, timeout=300.0) as api:
                api.get("/me")
                start.wait()
                return api.post("/datasets/roofs/releases", json=question).status_code

        with ThreadPoolExecutor(RACERS) as pool:
            found = list(pool.map(ask, range(RACERS)))
    granted = found.count(201)
    print(f"race: {granted} granted, {found.count(403)} refused of {len(found)}")
    assert granted == 10
    assert set(found) == {201, 403}
    charges = check(database, answers=10, epsilon=0.1)
    return f"{granted} granted, {found.count(403)} refused; {charges}"


class Load:
    """Clients that ask, and ask again under the same key until they are answered.

    Parameters
    ----------
    base, tokens
        The service's address, and a token for each client.
    """

    def __init__(self, base: str, tokens: list[str]) -> None:
        self._base, self._over = base, threading.Event()
        self.answers: dict[str, bytes] = {}
        self.strange: list[tuple[int, str]] = []
        self.lost = 0
        self._threads = [
            threading.Thread(target=self._run, args=(n, token)) for n, token in enumerate(tokens)
        ]
        for each in self._threads:
            each.start()

    def finish(self) -> None:
        """Let every client have its last answer."""
        self._over.set()
        for each in self._threads:
            each.join()

    def _run(self, client: int, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=self._base, headers=headers, timeout=120.0) as api:
            for number in count():
                if self._over.is_set():
                    return
                clip = 1.0 + client + number / 1000.0
                question = {"kind": "totals", "epsilon": 0.01, "clip_kw": clip}
                self._until_answered(api, question, secrets.token_hex(16))

    def _until_answered(self, api: httpx.Client, question: dict[str, object], key: str) -> None:
        while True:
            try:
                answer = api.post(
                    "/api/v1/datasets/roofs/releases",
                    json=question,
                    headers={"Idempotency-Key": key},
                )
            except httpx.TransportError:
                self.lost += 1
                time.sleep(0.05)
                continue
            if answer.status_code == 503:  # the database is away
                self.lost += 1
                time.sleep(0.2)
                continue
            if answer.status_code in (200, 201):
                self.answers[answer.json()["id"]] = answer.content
            else:
                self.strange.append((answer.status_code, answer.text))
            return


def kills(folder: Path, server: Server, *, times: int, database: int, workers: int) -> str:
    """Kill workers and the database under load, and check that charges are answers."""
    shares = {f"analyst {number}": 900.0 for number in range(ASKERS)}
    tokens = prepare(folder, server.url, epsilon=900.0, shares=shares)
    chance = random.Random(5)
    victims = ["worker"] * times + ["database"] * database
    chance.shuffle(victims)
    with serving(folder, server.url, workers) as (base, parent):
        load = Load(base, tokens)
        for number, victim in enumerate(victims):
            print(f"  {number + 1}: {victim}, {len(load.answers)} answers", file=sys.stderr)
            # soon after the one before, or once some have been answered again
            more = len(load.answers) + chance.choice((0, 4, 8, 16))
            while len(load.answers) < more:
                time.sleep(0.01)
            time.sleep(chance.uniform(0.0, 0.6))
            if victim == "database":
                server.kill(away=chance.uniform(0.0, 1.0))
                continue
            # one that dies as it starts is missed by uvicorn for a minute
            while len(running := workers_of(parent)) < workers:
                time.sleep(0.05)
            os.kill(chance.choice(running), signal.SIGKILL)
        load.finish()
        with httpx.Client(base_url=base, timeout=60.0) as api:
            # by all tokens, so that none reads too often
            for (name, body), token in zip(load.answers.items(), cycle(tokens), strict=False):
                headers = {"Authorization": f"Bearer {token}"}
                again = api.get(f"/api/v1/releases/{name}", headers=headers)
                assert again.status_code == 200, again.text
                assert again.content == body, "an answer has become another"
    assert load.strange == [], load.strange[:3]
    charges = check(server.url, answers=len(load.answers), epsilon=0.01)
    return f"{charges}, {len(load.answers)} at the clients; {load.lost} requests cut off"


def check(database: str, *, answers: int, epsilon: float) -> str:
    """Check that the ledger holds, and that charges are the answers; return how many there are."""
    from sunveil.ledger.ledger import Ledger

    with Ledger(database) as ledger:
        verdict = ledger.verify("roofs")
        assert verdict.holds, verdict.faults
        spent = ledger.dataset("roofs").spent
    print(f"  the ledger holds: {verdict.charges} charges, {verdict.answered} answers, ε {spent:g}")
    assert verdict.charges == verdict.answered == answers
    assert round(spent / epsilon) == answers
    return f"{verdict.charges} charges, {verdict.answered} answers"


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["reading", "race", "kills"])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--times", type=int, default=50, help="how many workers are killed")
    parser.add_argument("--database", type=int, default=0, help="how often the database is")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="write its row to docs/measured")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, postgres_server() as server:
        os.environ["XDG_STATE_HOME"] = f"{name}/state"
        folder = Path(name) / "data"
        if given.what == "reading":
            reached = reading(folder, server.url, seconds=given.seconds, rounds=given.rounds)
        elif given.what == "race":
            reached = race(folder, server.url)
        else:
            reached = kills(
                folder, server, times=given.times, database=given.database, workers=given.workers
            )
    put_reached(given.write, given.what, reached)


if __name__ == "__main__":
    main()

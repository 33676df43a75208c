"""A running service for tests: real HTTP on a free port, over a small fleet."""

from __future__ import annotations

import json
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import uvicorn
from fastapi import FastAPI

from sunveil.ledger import Promise
from sunveil.privacy import System
from sunveil.privacy.guarantees import Unit
from sunveil.publish import fleet_tables
from sunveil.service.app import bind, create_app, server_of
from sunveil.service.context import Service
from sunveil.service.settings import Rates, ServiceSettings
from sunveil.service.store.accounts import issue_token, set_password
from sunveil.service.store.datasets import READY, Served, add_served

# Short, so that tests are quick; the time of an answer is a multiple of it all the same.
PAD = 0.05
ANSWER_SECONDS = dict.fromkeys(("fleet-table", "totals", "quantiles", "synthetic", "systems"), PAD)
WIDE = Rates(1e6, 1e6, 1e6, 1e6, 1e6, 1e6)
FEEDERS = ["F1", "F2", "F3"]
PASSWORD = "correct horse battery staple"
SYSTEMS = 120
# Of those who ask under load: how many there are, and what each of their questions costs.
CLIENTS, EPSILON = 4, 0.01


def quick_settings(folder: Path, **changes: Any) -> ServiceSettings:
    """Return settings without waiting and without limits of rate."""
    return ServiceSettings(
        **{"data": folder, "answer_seconds": ANSWER_SECONDS, "rates": WIDE, "port": 0, **changes}
    )


def write_estimates(
    path: Path, systems: int = SYSTEMS, *, seed: int = 1, ids: str = "secret"
) -> None:
    """Write the inferred table of a fleet; its ids and values differ from all else."""
    rng = np.random.default_rng(seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "system_id": f"{ids}-{number}",
            "surface_azimuth": float(rng.normal(180.0, 50.0) % 360.0),
            "surface_tilt": float(rng.uniform(5.0, 45.0)),
            "dc_capacity_kw": float(rng.lognormal(1.7, 0.5)),
            "feeder": FEEDERS[number % 3],
        }
        for number in range(systems)
    ]
    path.write_text(json.dumps(rows))


def add_dataset(
    service: Service,
    name: str = "roofs",
    *,
    epsilon: float = 4.0,
    unit: Unit | None = None,
    delta: float = 0.0,
    ids: str = "secret",
    shares: dict[str, float] | None = None,
    **changes: Any,
) -> Served:
    """Serve a dataset under a promise, with analysts' shares of it."""
    write_estimates(service.settings.datasets / name / "estimates.json", ids=ids)
    made = Served(
        **{
            "name": name,
            "title": "Roofs",
            "folder": name,
            "estimates": "estimates.json",
            "systems": SYSTEMS,
            "keys": {"feeder": FEEDERS},
            "state": READY,
            **changes,
        }
    )
    with service.store.changing() as connection:
        add_served(connection, made)
    service.ledger.create_dataset(name, Promise(unit or System(), epsilon, delta))
    for analyst, share in (shares or {"ann": epsilon}).items():
        service.ledger.set_share(name, analyst, share)
    return made


def new_token(service: Service, analyst: str = "ann") -> str:
    with service.store.changing() as connection:
        return issue_token(connection, analyst).text


def new_curator(service: Service, name: str = "cora") -> None:
    with service.store.changing() as connection:
        set_password(connection, name, PASSWORD)


def key() -> dict[str, str]:
    """Return the header of a new idempotency key."""
    return {"Idempotency-Key": secrets.token_hex(16)}


@dataclass
class Running:
    app: FastAPI
    server: uvicorn.Server = field(init=False)
    thread: threading.Thread = field(init=False)
    socket: socket.socket = field(init=False)
    clients: list[httpx.Client] = field(default_factory=list)

    @property
    def service(self) -> Service:
        return self.app.state.service

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def start(self) -> Running:
        self.socket = bind(self.service.settings)
        self.server = server_of(self.app)
        self.thread = threading.Thread(target=self.server.run, args=([self.socket],))
        self.thread.start()
        while not self.server.started:
            assert self.thread.is_alive()
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        for client in self.clients:
            client.close()
        self.server.should_exit = True
        self.thread.join()
        self.socket.close()

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        """Return a client of the pages, or with a token of the API."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        base = self.base if token is None else f"{self.base}/api/v1"
        # without TLS to check: loading authorities takes 60 ms of every client
        made = httpx.Client(base_url=base, headers=headers, timeout=60.0, verify=False, **options)
        self.clients.append(made)
        return made

    def api(self, analyst: str = "ann") -> httpx.Client:
        return self.client(new_token(self.service, analyst))

    def analyst(self, name: str = "ann") -> httpx.Client:
        """Return a browser in which an analyst has logged in."""
        found = self.client()
        answer = post(found, "/analyst/login", token=new_token(self.service, name))
        assert answer.headers["location"] == "/analyst"
        return found

    def curator(self, name: str = "cora") -> httpx.Client:
        """Return a browser in which a curator has logged in."""
        new_curator(self.service, name)
        found = self.client()
        answer = post(found, "/curator/login", name=name, password=PASSWORD)
        assert answer.headers["location"] == "/curator"
        return found


def csrf(client: httpx.Client, path: str) -> str:
    return re.search(r'name="csrf" value="([0-9a-f]+)"', client.get(path).text)[1]


def post(client: httpx.Client, path: str, *, page: str | None = None, **fields: Any) -> Any:
    """Load a page, and send its form."""
    return client.post(path, data={"csrf": csrf(client, page or path), **fields})


def ask_confirmed(browser: httpx.Client, path: str, **fields: str) -> int:
    """Ask a question on its page, confirm it, and return the status of the answer."""
    shown = browser.get(f"{path}/confirm", params=fields).text
    found = re.findall(
        r'<input type="(?:hidden|checkbox)"[^>]*? name="(\w+)" value="([^"]*)"', shown
    )
    return browser.post(path, data={name: unescape(text) for name, text in found}).status_code


def token_in(text: str) -> str:
    return re.search(r"sv_[0-9a-f]{16}_[\w-]{43}", text)[0]


def wait_for(happened: Callable[[], object], seconds: float = 120.0) -> None:
    last = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < last, "it never happened"
        time.sleep(0.01)


def running(settings: ServiceSettings) -> Running:
    return Running(create_app(settings)).start()


class Killed(BaseException):
    """What ends a request without a word."""


def raises(error: BaseException) -> Callable[..., None]:
    """Return what raises an error whatever it is given."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    return fail


@contextmanager
def held_draw(patch: Any, after: Callable[[], object] = lambda: None) -> Iterator[SimpleNamespace]:
    """Hold draws until they may go on, and then do something."""
    held = SimpleNamespace(drawing=threading.Event(), go_on=threading.Event(), drawn=[])
    real = fleet_tables.fleet_tables

    def draw(*args: Any, **options: Any) -> Any:
        held.drawn.append(1)
        held.drawing.set()
        assert held.go_on.wait(60.0)
        after()
        return real(*args, **options)

    patch.setattr(fleet_tables, "fleet_tables", draw)
    yield held


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class KillableService:
    """Services in processes of their own over one folder, which can be killed."""

    def __init__(self, folder: Path, *, pad: float = PAD) -> None:
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        script = Path(__file__).with_name("killable_service.py")
        self._process = subprocess.Popen(
            [sys.executable, script, folder, str(port), str(pad)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> KillableService:
        assert self._process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def start(self) -> None:
        """Start a service, and wait until it answers."""
        self._tell("start")
        for _ in range(3000):
            try:
                with urllib.request.urlopen(f"{self.base}/healthz", timeout=5.0):
                    return
            except OSError:
                time.sleep(0.01)
        raise AssertionError("the service did not come back")

    def kill(self) -> None:
        self._tell("kill")

    def _tell(self, word: str) -> None:
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()
        assert self._process.stdout.readline() == "done\n"


@contextmanager
def serving(*options: Any, stderr: int = subprocess.PIPE, last: int = signal.SIGKILL):
    """Run the command, and yield its process; end it by a signal."""
    command = [sys.executable, "-u", "-m", "sunveil", "serve", "--port", "0", *map(str, options)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        try:
            yield process
        finally:
            process.send_signal(last)
            process.stdout.read()


def links(process: subprocess.Popen[str], count: int) -> tuple[dict[str, str], list[str]]:
    """Return the links in the first lines that the command says, and the lines."""
    said = [process.stdout.readline() for _ in range(count)]
    return dict(re.findall(r"(\w+): (http\S+)", "".join(said))), said


class Load:
    """Clients that ask, and ask again under the same key until they are answered."""

    def __init__(self, base: str, token: str) -> None:
        self._base, self._token = base, token
        self._over = threading.Event()
        self.answers: dict[str, bytes] = {}
        self.strange: list[tuple[int, str]] = []
        self.lost = 0
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CLIENTS)]

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def finish(self) -> None:
        self._over.set()
        for each in self._threads:
            each.join()

    def _ask(self, client: int) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx.Client(base_url=self._base, headers=headers, timeout=20.0) as api:
            for number in count():
                if self._over.is_set():
                    return
                clip = 1.0 + client + CLIENTS * number / 1000.0
                question = {"kind": "totals", "epsilon": EPSILON, "clip_kw": clip}
                self._until_answered(api, question, key())

    def _until_answered(
        self, api: httpx.Client, question: dict[str, object], mine: dict[str, str]
    ) -> None:
        while True:
            try:
                answer = api.post("/api/v1/datasets/roofs/releases", json=question, headers=mine)
            except httpx.TransportError:
                self.lost += 1
                time.sleep(0.01)
                continue
            if answer.status_code in (429, 503):  # too fast for the service, or no database
                self.lost += answer.status_code == 503
                time.sleep(0.05)
                continue
            if answer.status_code in (200, 201):
                self.answers[answer.json()["id"]] = answer.content
            else:
                self.strange.append((answer.status_code, answer.text))
            return

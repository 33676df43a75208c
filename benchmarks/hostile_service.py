"""A service that is sent hostile fleets over HTTP, and asked what releases of them would cost."""

from __future__ import annotations

import atexit
import io
import re
import secrets
import tempfile
import threading
import time
import zipfile
from functools import cache
from pathlib import Path

import httpx

from benchmarks.hostile_ways import Outcome
from sunveil.ledger.promises import Promise
from sunveil.privacy.guarantees import Readings
from sunveil.service.app import bind, create_app, server_of
from sunveil.service.context import Service
from sunveil.service.settings import Rates, ServiceSettings
from sunveil.service.store.accounts import issue_token, set_password
from sunveil.service.store.datasets import READY, change_served

PASSWORD = "correct horse battery staple"
WIDE = Rates(1e6, 1e6, 1e6, 1e6, 1e6, 1e6)


class HostileService:
    """A service of its own on a free port, with a curator and an analyst who are logged in."""

    def __init__(self, folder: Path) -> None:
        settings = ServiceSettings(data=folder / "data", port=0, rates=WIDE)
        app = create_app(settings)
        self.service: Service = app.state.service
        bound = bind(settings)
        self._server = server_of(app)
        self._thread = threading.Thread(target=self._server.run, args=([bound],), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        base = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with self.service.store.changing() as connection:
            set_password(connection, "cora", PASSWORD)
            token = issue_token(connection, "ann").text
        self.curator = httpx.Client(base_url=base, timeout=120.0)
        self._post("/curator/login", name="cora", password=PASSWORD)
        self.analyst = httpx.Client(
            base_url=f"{base}/api/v1", timeout=120.0, headers={"Authorization": f"Bearer {token}"}
        )

    def stop(self) -> None:
        """End the service."""
        self.curator.close()
        self.analyst.close()
        self._server.should_exit = True
        self._thread.join()

    def upload(self, name: str, meters: tuple[str, bytes], systems: bytes) -> httpx.Response:
        """Send a dataset."""
        files = [("meters", meters), ("systems", ("systems.csv", systems))]
        return self.curator.post(
            "/curator/add/upload",
            data={"csrf": self._csrf("/curator/add"), "title": name},
            files=files,
        )

    def promise(self, name: str, systems: int) -> None:
        """Promise what a dataset may cost, give the analyst all of it, and serve it."""
        with self.service.store.changing() as connection:
            change_served(connection, name, state=READY, systems=systems)
        self.service.ledger.create_dataset(name, Promise(Readings(1), 10.0))
        self.service.ledger.set_share(name, "ann", 10.0)

    def _post(self, path: str, **fields: str) -> httpx.Response:
        return self.curator.post(path, data={"csrf": self._csrf(path), **fields})

    def _csrf(self, path: str) -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.curator.get(path).text)
        assert found is not None
        return found[1]


@cache
def running() -> HostileService:
    """Return the service of this process, which ends with it."""
    folder = tempfile.TemporaryDirectory()
    service = HostileService(Path(folder.name))
    atexit.register(folder.cleanup)
    atexit.register(service.stop)
    return service


def upload_and_plan(meters: Path, systems: Path) -> Outcome:
    """Send a fleet, and ask what a release of its systems would cost."""
    service, name = running(), f"fleet-{secrets.token_hex(6)}"
    sent = service.upload(name, _packed(meters), systems.read_bytes())
    if sent.status_code != 303:
        return Outcome(sent.status_code, said=re.sub("<[^>]*>", " ", sent.text))
    service.promise(name, len(systems.read_text().splitlines()) - 1)
    asked = {"kind": "systems", "epsilon": 1.0}
    answer = service.analyst.post(f"/datasets/{name}/plans", json=asked)
    text = answer.text.replace(name, "")
    return Outcome(answer.status_code, shared=text, said=text)


def _packed(meters: Path) -> tuple[str, bytes]:
    """Return a file as it is, and a folder as an archive."""
    if meters.is_file():
        return meters.name, meters.read_bytes()
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for path in meters.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(meters))
    return "meters.zip", made.getvalue()

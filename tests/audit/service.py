"""The service as an entry point: HTTP on a port of this machine, asked as an analyst asks."""

from __future__ import annotations

import contextlib
import json
import logging
import secrets
import shutil
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests
import uvicorn

from audit.datasets import SITE
from audit.entries import PROMISED, Entry, Workplace
from audit.outcomes import Outcome, masked_json, masked_text, rows_of
from sunveil.errors import SunveilError
from sunveil.ledger import Promise
from sunveil.ledger.promises import SystemHome
from sunveil.privacy.guarantees import parse_unit
from sunveil.service.app import create_app
from sunveil.service.context import Service
from sunveil.service.curator.inference import infer_now
from sunveil.service.question_data import Data
from sunveil.service.settings import ANSWER_SECONDS, Rates, ServiceSettings
from sunveil.service.store.accounts import issue_token
from sunveil.service.store.database import Served
from sunveil.service.store.datasets import READY, add_served, find_served

# Answers are padded to a time, as ever, but to a short one.
_PAD = 0.05
_UNLIMITED = Rates(*[1e6] * 6)
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class AuditedService:
    """A service that listens."""

    service: Service
    base: str

    def ask(self, path: str, question: Mapping[str, Any], *, token: str) -> requests.Response:
        """Post an analyst's question."""
        headers = {"Authorization": f"Bearer {token}", "Idempotency-Key": secrets.token_hex(16)}
        return requests.post(
            f"{self.base}{path}", json=dict(question), headers=headers, timeout=_PATIENCE
        )


@contextlib.contextmanager
def open_service(place: Workplace) -> Iterator[AuditedService]:
    """Yield a service that listens on a free port of this machine, until it is left."""
    settings = ServiceSettings(
        data=place.folder / "service",
        port=0,
        rates=_UNLIMITED,
        answer_seconds=dict.fromkeys(ANSWER_SECONDS, _PAD),
    )
    # what it logs is for the curator's own eyes, and here there is none
    logging.getLogger("sunveil.service").addHandler(logging.NullHandler())
    app = create_app(settings)
    bound = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.005)
        service: Service = app.state.service
        service.broker.warm()
        yield AuditedService(service, f"http://127.0.0.1:{bound.getsockname()[1]}/api/v1")
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


def served_systems(
    place: Workplace,
    listening: AuditedService,
    *,
    unit: str,
    epsilon: float,
    systems: int,
    options: Mapping[str, str | bool] | None = None,
) -> Entry:
    """Return an analyst's question for single systems of a dataset that is new in every run."""
    question = {"kind": "systems", "epsilon": epsilon}

    def run(path: Path) -> Outcome:
        where = {"latitude": SITE.latitude, "longitude": SITE.longitude, "timezone": "UTC"}
        extra = {"options": dict(options or {})}
        told = {"meters": path.name, "state": READY, "extra": extra, **where}
        dataset = _added(place, listening, path.parent, systems=systems, **told)
        return _asked(listening, dataset, unit, question)

    return run


def served_tables(
    place: Workplace, listening: AuditedService, *, epsilon: float, systems: int
) -> Entry:
    """Return an analyst's question for the tables of a fleet that is new in every run."""
    question = {"kind": "totals", "epsilon": epsilon}

    def run(path: Path) -> Outcome:
        told = {"estimates": path.name, "state": READY}
        dataset = _added(place, listening, path.parent, systems=systems, **told)
        return _asked(listening, dataset, "system", question)

    return run


def served_inference(
    place: Workplace, listening: AuditedService, *, epsilon: float, systems: int
) -> Entry:
    """Return an analyst's question for totals of a fleet that was inferred by the service first."""
    question = {"kind": "totals", "epsilon": epsilon}

    def run(path: Path) -> Outcome:
        # what an inference leaves is taken up again, so each run has files of its own
        folder = place.new_folder()
        shutil.copytree(path.parent, folder, dirs_exist_ok=True)
        told = {"meters": path.name, "extra": {"systems_table": "systems.csv"}}
        dataset = _added(place, listening, folder, systems=systems, **told)
        state = infer_now(listening.service, dataset).state
        found = _asked(listening, dataset, "system", question)
        return Outcome({"state": state, **found.public}, found.drawn)

    return run


def _added(place: Workplace, listening: AuditedService, folder: Path, **told: Any) -> str:
    """Return the name of a new dataset of the service."""
    dataset = Served(name=place.new_name(), title="Audit", folder=str(folder), **told)
    with listening.service.store.changing() as connection:
        add_served(connection, dataset)
    return dataset.name


def _register(service: Service, name: str) -> None:
    """Register a dataset's systems as households of its own: their ids come again in every run."""
    data = Data(service.settings.datasets)
    with service.store.reading() as connection:
        dataset = find_served(connection, name)
    with contextlib.suppress(SunveilError):  # what cannot be read is refused when it is asked for
        known = dataset.estimates is not None
        ids = data.rows(dataset).system_ids if known else data.systems(dataset).about()
        service.ledger.register(name, [SystemHome(each, f"{name} {each}") for each in ids])


def _asked(listening: AuditedService, name: str, unit: str, question: Mapping[str, Any]) -> Outcome:
    service = listening.service
    service.ledger.create_dataset(name, Promise(parse_unit(unit), PROMISED))
    # an analyst for each dataset: of one with thousands of shares every answer would be slow
    analyst = f"auditor of {name}"
    with service.store.changing() as connection:
        token = issue_token(connection, analyst).text
    service.ledger.set_share(name, analyst, PROMISED)
    _register(service, name)
    public: dict[str, str] = {}
    drawn: list[Mapping[str, Any]] = []
    for path in ("plans", "releases"):
        answer = listening.ask(f"/datasets/{name}/{path}", question, token=token)
        what = f"{path} of {question['kind']}"
        public[f"status of {what}"] = str(answer.status_code)
        public[f"headers of {what}"] = " ".join(sorted(map(str.lower, answer.headers)))
        try:
            body = answer.json()
        except ValueError:
            public[f"body of {what}"] = masked_text(answer.text, name)
            continue
        public[f"body of {what}"] = masked_text(json.dumps(masked_json(body)), name)
        drawn += rows_of(body)
    return Outcome(public, tuple(drawn))

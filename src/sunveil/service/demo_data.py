"""Demo data."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from sunveil import simulate
from sunveil.errors import SunveilError
from sunveil.ledger.promises import Promise
from sunveil.privacy.guarantees import System
from sunveil.service.context import Service
from sunveil.service.curator.inference import infer_now, job_of
from sunveil.service.questions import FleetTableQuestion
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.accounts import (
    DEMO,
    fact,
    has_curator,
    issue_token,
    set_fact,
    set_password,
)
from sunveil.service.store.database import Served
from sunveil.service.store.datasets import READY, add_served, all_served, find_served, releases_of

NAME, CITY, YEAR = "demo-town", "Denver", 2019
CURATOR, ANALYST, EARLIER = "curator", "Ada", "planner"
SYSTEMS, SEED = 300, 7
PROMISED, SHARE, FIRST = 6.0, 3.0, 1.0

# Nobody who waits is left without a word for longer. [s]
SILENCE = 2.0

NOT_A_DEMO = (
    "this folder or database holds something else than a demo; take an empty --data, and no"
    " --database, for the demo"
)

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Demo:
    curator: str  # of the curator
    password: str  # of the curator
    token: str  # of the analyst


@contextmanager
def telling(
    say: Say, doing: str, *, far: Callable[[], str] = lambda: "", silence: float = SILENCE
) -> Iterator[None]:
    """Say what is being done, and every few seconds how far it is and for how long it has been."""
    begun, over = time.monotonic(), threading.Event()

    def remind() -> None:
        while not over.wait(silence):
            words = far()
            say(f"  {time.monotonic() - begun:.0f} s{', ' * bool(words)}{words}")

    say(f"{doing} ...")
    reminder = threading.Thread(target=remind, daemon=True)
    reminder.start()
    try:
        yield
    finally:
        over.set()
        reminder.join()


def check_demo_folder(settings: ServiceSettings) -> None:
    """Refuse a folder for a demo that holds other things and no database of a demo."""
    if settings.data.is_dir() and not (settings.data / "sunveil.db").exists():
        own = {"datasets", "jobs"}
        if any(each.name not in own or any(each.iterdir()) for each in settings.data.iterdir()):
            raise SunveilError(NOT_A_DEMO)


def refuse_demo(service: Service) -> None:
    """Refuse to serve a demo in earnest: its accounts and its fleet are made up."""
    with service.store.reading() as db:
        found = fact(db, DEMO)
    if found is not None:
        raise SunveilError(
            "this folder or database holds a demo; add --demo to look at it, or take another"
            " --data and --database"
        )


def make_demo(service: Service, *, say: Say, systems: int = SYSTEMS) -> Demo:
    """Make the fleet, its promise and two accounts, or go on where it was interrupted."""
    # Every step looks whether it was done before, so that a demo may be stopped at any instant and
    # started again. What holds anything but a demo is refused.
    name = _claim(service)
    _add_fleet(service, name, systems, say=say)
    with service.store.reading() as db:
        ready = find_served(db, name).state == READY
    if not ready:
        doing = "Inferring them from their meters, compiling first what was never run here"
        with telling(say, doing, far=lambda: _far(service, name)):
            _infer(service, name)
    _promise(service, name)
    first = FleetTableQuestion(kind="fleet-table", epsilon=FIRST)
    with service.store.reading() as db:
        published = releases_of(db, name, limit=1)
    if not published:
        with telling(say, "Publishing a first table of them"):
            service.broker.warm()
            service.broker.ask(name, first, analyst=EARLIER, key="the demo's first")
    password = secrets.token_urlsafe(12)
    with service.store.changing() as db:
        set_password(db, CURATOR, password)
        token = issue_token(db, ANALYST)
    return Demo(CURATOR, password, token.text)


def _claim(service: Service) -> str:
    """Mark the database as a demo's, and return the name of its dataset."""
    taken = {*service.ledger.names(), *service.ledger.forgotten()}
    with service.store.changing() as db:
        known = fact(db, DEMO)
        served = {each.name for each in all_served(db)}
        if known is None and (served or service.ledger.names() or has_curator(db)):
            raise SunveilError(NOT_A_DEMO)
        if known is not None and (known in served or known not in taken):
            return known
        # a name that the ledger never had: a demo's folder may have been removed before
        tried = [NAME, *(f"{NAME}-{number}" for number in range(2, 1000))]
        name = next(each for each in tried if each not in taken)
        set_fact(db, DEMO, name)
    return name


def _add_fleet(service: Service, name: str, systems: int, *, say: Say) -> None:
    """Simulate the fleet and serve it, unless that was done."""
    with service.store.reading() as db:
        if any(each.name == name for each in all_served(db)):
            return
    folder = service.settings.datasets / name
    aside = folder.with_name(f".{name}.part")
    with telling(say, f"Simulating a year of {systems} systems"):
        for left in (aside, folder):  # of a start that was interrupted
            shutil.rmtree(left, ignore_errors=True)
        keys = write_fleet(aside, systems)
        aside.rename(folder)
    dataset = Served(
        name=name,
        title="Demo town",
        about="Simulated roofs of one town, with the faults of real ones, inferred from a year of"
        " hourly meters.",
        folder=name,
        meters="readings",
        systems=systems,
        keys={"feeder": keys},
        edition=str(YEAR),
        extra={"systems_table": "systems.parquet"},
    )
    with service.store.changing() as db:
        add_served(db, dataset)


def _promise(service: Service, name: str) -> None:
    """Make the promise and both shares, unless that was done."""
    if name not in service.ledger.names():
        service.ledger.create_dataset(name, Promise(System(), PROMISED))
    known = {each.analyst for each in service.ledger.shares(name)}
    for analyst, share in ((ANALYST, SHARE), (EARLIER, FIRST)):
        if analyst not in known:
            service.ledger.set_share(name, analyst, share)


def _far(service: Service, name: str) -> str:
    job = job_of(service, name)
    return "" if job is None or job.progress is None else job.progress.words


def _infer(service: Service, name: str) -> None:
    if infer_now(service, name).state != READY:
        raise SunveilError(
            "the demo's fleet could not be inferred; look at its job in the curator's console"
        )


def write_fleet(folder: Path, systems: int) -> list[str]:
    """Write the meters of a simulated fleet, and return its public groups."""
    city = next(city for city in simulate.CITIES if city.name == CITY)
    town = simulate.Place(city.name, city.site, city.timezone)
    spec = simulate.FleetSpec.of(
        systems, seed=SEED, places=[town], cells=1, year=YEAR, rates=simulate.PLAIN_FLEET
    )
    for _ in simulate.write_fleet(folder, spec):
        pass
    # what is true of them is for measuring, and no curator has it
    (folder / "truth.parquet").unlink()
    feeders = pq.read_table(folder / "systems.parquet", columns=["feeder"])["feeder"]
    return sorted(map(str, feeders.unique().to_pylist()))

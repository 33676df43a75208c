"""A simulated fleet to try the service with: its meters are inferred as real ones are."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sunveil.errors import SunveilError
from sunveil.ledger.promise import Promise
from sunveil.privacy.units import System
from sunveil.service.broker import FleetTableQuestion
from sunveil.service.context import Service
from sunveil.service.curator.inference import job_of, start_inference, update_states
from sunveil.service.store.accounts import issue_token, set_password
from sunveil.service.store.datasets import READY, Served, add_served, all_served, find_served

NAME, CITY, YEAR = "demo-town", "Denver", 2019
CURATOR, ANALYST, EARLIER = "curator", "Ada", "planner"
SYSTEMS, SEED = 300, 7
PROMISED, SHARE, FIRST = 6.0, 3.0, 1.0
# Nobody who waits is left without a word for longer. [s]
SILENCE = 4.0


@dataclass(frozen=True, slots=True)
class Demo:
    """Ready credentials.

    Parameters
    ----------
    curator, password
        Of the curator.
    token
        Of the analyst.
    """

    curator: str
    password: str
    token: str


@contextmanager
def telling(say: Callable[[str], None], doing: str, *, silence: float = SILENCE) -> Iterator[None]:
    """Say what is being done, and every few seconds for how long it has been.

    Parameters
    ----------
    say
        What prints a line.
    doing
        What is being done.
    silence
        How long nothing is said. [s]
    """
    begun, over = time.monotonic(), threading.Event()

    def remind() -> None:
        while not over.wait(silence):
            say(f"  {time.monotonic() - begun:.0f} s")

    say(f"{doing} ...")
    reminder = threading.Thread(target=remind, daemon=True)
    reminder.start()
    try:
        yield
    finally:
        over.set()
        reminder.join()


def make_demo(service: Service, *, say: Callable[[str], None], systems: int = SYSTEMS) -> Demo:
    """Make the fleet, its promise and two accounts; a fleet that is there is used again.

    Parameters
    ----------
    service
        Where.
    say
        What prints a line.
    systems
        How many systems.
    """
    with service.store.reading() as connection:
        there = any(each.name.startswith(NAME) for each in all_served(connection))
    if not there:
        _add_fleet(service, systems, say=say)
    password = secrets.token_urlsafe(12)
    with service.store.changing() as connection:
        set_password(connection, CURATOR, password)
        token = issue_token(connection, ANALYST)
    return Demo(CURATOR, password, token.text)


def _add_fleet(service: Service, systems: int, *, say: Callable[[str], None]) -> None:
    name = _free_name(service)
    with telling(say, f"Simulating a year of {systems} systems"):
        keys = write_fleet(service.settings.datasets / name, systems)
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
    with service.store.changing() as connection:
        add_served(connection, dataset)
    with telling(say, "Inferring them from their meters, compiling first what was never run here"):
        _infer(service, name)
    service.ledger.create_dataset(name, Promise(System(), PROMISED))
    service.ledger.set_share(name, ANALYST, SHARE)
    service.ledger.set_share(name, EARLIER, FIRST)
    with telling(say, "Publishing a first table of them"):
        service.broker.warm()
        first = FleetTableQuestion(kind="fleet-table", epsilon=FIRST)
        service.broker.ask(name, first, analyst=EARLIER, key="the demo's first")


def _infer(service: Service, name: str) -> None:
    """Infer the fleet as a curator would, by a job, and wait for it."""
    job = start_inference(service, name)
    while not job.state.over:
        time.sleep(0.1)
        job = job_of(service, name) or job
    update_states(service)
    with service.store.reading() as connection:
        if find_served(connection, name).state != READY:
            raise SunveilError(
                "the demo's fleet could not be inferred; look at its job in the curator's console"
            )


def _free_name(service: Service) -> str:
    """Return a name that the ledger never had: a demo's folder may have been removed before."""
    taken = {*service.ledger.names(), *service.ledger.forgotten()}
    tried = [NAME, *(f"{NAME}-{number}" for number in range(2, 1000))]
    return next(name for name in tried if name not in taken)


def write_fleet(folder: Path, systems: int) -> list[str]:
    """Write the meters of a simulated fleet, and return its public groups."""
    import duckdb

    from sunveil.simulate import CITIES
    from sunveil.simulate.fault_rates import PLAIN_FLEET
    from sunveil.simulate.fleet_spec import FleetSpec
    from sunveil.simulate.places import Place
    from sunveil.simulate.writing import write_fleet as simulate

    city = next(each for each in CITIES if each.name == CITY)
    town = Place(city.name, city.site, city.timezone)
    order = FleetSpec.of(systems, seed=SEED, places=[town], cells=1, year=YEAR, rates=PLAIN_FLEET)
    for _ in simulate(folder, order):
        pass
    # what is true of them is for measuring, and no curator has it
    (folder / "truth.parquet").unlink()
    with duckdb.connect() as connection:
        rows = connection.execute(
            "SELECT DISTINCT feeder FROM read_parquet($1) ORDER BY feeder",
            [str(folder / "systems.parquet")],
        ).fetchall()
    return [str(row[0]) for row in rows]

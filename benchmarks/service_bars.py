"""The bars of the service that commands of their own measure, as rows of one table.

Each command writes what it reached into its own row of ``docs/measured/service-bars.csv``
(``--write``).
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks import csv_tables

NOT_MEASURED, TESTED = "not measured", "tested"
HEAD = ["what", "bar", "reached", "by"]
TABLE = csv_tables.FOLDER / "service-bars.csv"


@dataclass(frozen=True, slots=True)
class Bar:
    """What the service has to reach.

    Parameters
    ----------
    what, bar
        What is tried, and what has to come of it.
    command
        What measures or tests it.
    """

    what: str
    bar: str
    command: str

    @property
    def tested(self) -> bool:
        """Whether tests show it, and no number is measured."""
        return self.command.startswith("pytest")

    def row(self, reached: str) -> list[str]:
        """Return its row of the table."""
        return [self.what, self.bar, TESTED if self.tested else reached, self.command]


BARS = {
    "slow": Bar(
        "600 half-open requests and 600 dribbled bodies, behind nginx",
        "others answered within 0.3 s; log under 1 MB",
        "python -m benchmarks.service_slow",
    ),
    "logins": Bar(
        "60 sign-ins with forged addresses; 1,000 users behind one proxy",
        "limited as one; none locked out by another",
        "python -m benchmarks.service_logins",
    ),
    "reading": Bar(
        "32 clients read over PostgreSQL, from the first request of a new service on",
        "99 of 100 within 100 ms with 1 worker; 1.4 times as many with 2",
        "python -m benchmarks.service_workers reading",
    ),
    "race": Bar(
        "64 clients race, 2 workers",
        "grants exactly the budget",
        "python -m benchmarks.service_workers race",
    ),
    "kills": Bar(
        "50 workers and 5 times the database killed under load, 2 workers",
        "charges equal answers in the ledger and at clients",
        "python -m benchmarks.service_workers kills --times 50 --database 5",
    ),
    "demo": Bar(
        "first `sunveil serve --demo`, nothing compiled",
        "progress within 1 s, ready under 60 s of the processor",
        "python -m benchmarks.service_demo",
    ),
    "journeys": Bar(
        "journeys in Chromium, desktop and phone, keyboard only",
        "no dead end; axe-core reports nothing serious",
        "pytest tests/service/test_service_curator_browser.py"
        " tests/service/test_service_analyst_browser.py",
    ),
    "described": Bar(
        "schemathesis on the whole API, local accounts and single sign-on",
        "no 5xx",
        "pytest tests/service/test_service_routes.py tests/service/test_service_oidc.py",
    ),
    "backup": Bar(
        "backup during load, restored in another folder",
        "ledger verifies, no charge lost, no old token works",
        "pytest tests/service/test_service_operations.py",
    ),
}


def put_reached(keep: bool, name: str, reached: str) -> None:
    """Print what was reached, and where asked keep it in its row of the table."""
    bar = BARS[name]
    print(f"{bar.what}: {reached}")
    if not keep:
        return
    known = {row[0]: row[2] for row in csv_tables.read(TABLE)} | {bar.what: reached}
    rows = [each.row(known.get(each.what, NOT_MEASURED)) for each in BARS.values()]
    csv_tables.write(TABLE, [HEAD, *rows])

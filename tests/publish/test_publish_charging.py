"""Every kind of publication is charged once, taken up after a stop, kept, and refused unpaid."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fleet_makers import KEYS, fleet, random_fleet
from roof_fleets import CHOICES, in_memory

from sunveil.errors import BudgetExceeded, MissingExtra, ParameterError, WeatherError
from sunveil.ledger import Ledger, Promise
from sunveil.meters import from_pandas
from sunveil.meters.record import Cleaning
from sunveil.privacy import Days, Readings, System
from sunveil.publication.published_tables import Bins
from sunveil.publish.fleet_tables import FleetTables, TableChoices
from sunveil.publish.publisher import Publisher
from sunveil.publish.synthetic_table import SyntheticTable
from sunveil.publish.system_rows import SystemRows
from sunveil.releases.fleet_releases import ReleaseTerms
from sunveil.weather import clearsky

ROWS = random_fleet(200)
PAST = np.timedelta64(2, "D") * 365
BINS = Bins(4, (0.0, 30.0, 90.0), (0.5, 5.0, 30.0))


@pytest.fixture(scope="module")
def records(clear_power):
    power = clear_power(200.0, 30.0, start="2019-03-10", days=6)
    one = from_pandas(power, label="start", cleaning="each", power_unit="kW")
    return [replace(one, system_id=f"customer-{number}") for number in range(3)]


@pytest.fixture(scope="module")
def weather(golden_site):
    return clearsky(golden_site, "2019-03-01", "2019-04-01")


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "ledger.db", create=True) as made:
        made.create_dataset("pure", Promise(System(), 2.5))
        made.create_dataset("delta", Promise(System(), 9.0, 1e-6))
        yield made


@pytest.fixture
def make(records, weather):
    """Return the maker of each kind of product, of what a kind is published of."""

    def tables(epsilon=1.0, rows=ROWS, **options):
        return FleetTables(TableChoices(**{"bins": BINS, "epsilon": epsilon, **options}), rows)

    def synthetic(epsilon=1.0, rows=ROWS):
        return SyntheticTable(epsilon, rows, bins=BINS)

    def of_systems(epsilon=1.0, systems=records, *, unit=None, standing=False, **options):
        terms = ReleaseTerms.of(unit or System(), epsilon, choices=CHOICES, **options)
        return SystemRows(in_memory(systems, weather), terms, standing=standing)

    def standing(epsilon=1.0):
        return of_systems(epsilon, standing=True)

    return SimpleNamespace(tables=tables, synthetic=synthetic, rows=of_systems, standing=standing)


@pytest.mark.parametrize(("dataset", "cost"), [("pure", 1.0), ("delta", 0.5)])
@pytest.mark.parametrize(
    ("kind", "proof"),
    [("tables", "counts"), ("synthetic", "discrete-"), ("rows", "window"), ("standing", "window")],
)
def test_it_is_charged_once_also_when_stopped_and_the_same_comes_back(
    ledger, make, monkeypatch, kind, proof, dataset, cost
):
    product, publisher = getattr(make, kind)(), Publisher(ledger, dataset)
    total = ledger.dataset(dataset).remaining
    plan = publisher.plan(product)
    assert (plan.cost, plan.remaining, plan.kept) == (pytest.approx(cost), total, False)
    assert ledger.dataset(dataset).remaining == total
    with monkeypatch.context() as patch:
        patch.setattr(type(product), "draw", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            publisher.publish(product)
    left = ledger.dataset(dataset).remaining
    assert left == pytest.approx(total - cost)
    plan = publisher.plan(product)
    assert (plan.cost, plan.remaining, plan.kept) == (0.0, left, False)
    first = publisher.publish(product)
    assert first.guarantee.proof.startswith(f"docs/proofs/{proof}")
    with monkeypatch.context() as patch:
        patch.setattr(type(product), "draw", lambda *_, **__: pytest.fail("drawn again"))
        again = publisher.publish(product)
    for name in ("name", "rows", "columns"):
        assert [getattr(t, name) for t in again.tables] == [getattr(t, name) for t in first.tables]
    assert (again.guarantee, again.mechanism) == (first.guarantee, first.mechanism)
    plan = publisher.plan(product)
    assert (plan.cost, plan.remaining, plan.kept) == (0.0, left, True)
    verdict = ledger.verify(dataset)
    assert (verdict.holds, verdict.charges, verdict.answered) == (True, 1, 1)
    (charge,) = [e.facts() for e in ledger.entries(dataset) if e.kind == "charge"]
    systems = None if kind in ("tables", "synthetic") else 3
    assert (None if charge["systems"] is None else len(charge["systems"])) == systems
    with pytest.raises(BudgetExceeded):
        publisher.publish(getattr(make, kind)(8.0))
    with pytest.raises(ParameterError, match="epsilon"):
        publisher.publish(getattr(make, kind)(0.0))
    assert ledger.verify(dataset).charges == 1


def test_what_cannot_be_published_is_refused_before_the_charge(ledger, make, records, monkeypatch):
    before = ledger.entries("pure")
    one, cleaned = records[0], replace(records[0], cleaning=Cleaning.RECORD)
    dark = replace(one, system_id="z", times=one.times - PAST, rows_span=None)
    refused = [
        (lambda: make.tables(key="feeder", keys=KEYS[:1]), ParameterError, r"F[23]"),
        (lambda: make.synthetic(rows=fleet([])), ParameterError, "at least one system"),
        (lambda: make.rows(systems=[cleaned]), ParameterError, "cleaning each"),
        (lambda: make.rows(systems=[*records, dark]), WeatherError, "not a day in common"),
        (lambda: make.rows(systems=[one, one]), ParameterError, "named twice"),
        (lambda: make.rows(systems=[replace(one, system_id=name) for name in ("7", "7.0")]),
         ParameterError, "named twice"),
        (lambda: make.rows(systems=[]), ParameterError, "no systems"),
        (lambda: make.rows(mechanism="paper"), ParameterError, "single releases"),
        (lambda: make.rows(mechanism="exponential"), ParameterError, "by the window"),
        *[(lambda unit=unit: make.rows(unit=unit), ParameterError, "protects only")
          for unit in (Readings(1), Days(1))],
    ]  # fmt: skip
    for product, error, said in refused:
        with pytest.raises(error, match=said):
            Publisher(ledger, "pure").publish(product())
    monkeypatch.setitem(sys.modules, "mbi", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sunveil\[synthetic\]'"):
        Publisher(ledger, "pure").publish(make.synthetic())
    assert ledger.entries("pure") == before

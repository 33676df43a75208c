from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from roof_fleets import in_memory

from sunveil.errors import BudgetExceeded, ParameterError, WeatherError
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.meters import from_pandas
from sunveil.meters.record import Cleaning
from sunveil.privacy import Days, Guarantee, Readings, System
from sunveil.publication import write_publication
from sunveil.publish.publisher import Publisher
from sunveil.publish.system_rows import SystemRows
from sunveil.releases import Choices, fleet_releases, release
from sunveil.releases.fleet_releases import ReleaseTerms, release_systems
from sunveil.releases.score_kernels import Capacities
from sunveil.weather import clearsky

CHOICES = Choices(step=15.0, capacities=Capacities(1.0, 30.0, 0.05))


@pytest.fixture(scope="module")
def weather(golden_site):
    return clearsky(golden_site, "2019-03-01", "2019-04-15")


@pytest.fixture(scope="module")
def records(clear_power):
    """Five systems of 5 kW at (200, 30), under the curator's own names."""
    power = clear_power(200.0, 30.0, dc_capacity_kw=5.0, start="2019-03-10", days=20)
    one = from_pandas(power, label="start", cleaning="each", power_unit="kW")
    return [replace(one, system_id=f"customer-{number}") for number in range(5)]


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "l.db", create=True, marks=HighWaterMarks(tmp_path / "mark")) as book:
        book.create_dataset("d", Promise(System(), 30.0))
        book.create_dataset("days", Promise(Days(1), 30.0))
        yield book


@pytest.fixture
def publish(ledger, records, weather):
    def make(records=records, *, plan=False, dataset="d", **options):
        options = {"unit": System(), "epsilon": 20.0, "choices": CHOICES, **options}
        terms = ReleaseTerms.of(options.pop("unit"), options.pop("epsilon"), **options)
        publisher = Publisher(ledger, dataset)
        product = SystemRows(in_memory(records, weather), terms)
        return publisher.plan(product) if plan else publisher.publish(product)

    return make


def test_the_errors_to_expect_of_a_register_are_those_of_half_the_epsilon(records, weather):
    def found(systems, epsilon):
        terms = ReleaseTerms.of(Readings(1), epsilon, choices=CHOICES)
        return in_memory(systems, weather).expected(terms)

    register, plain = replace(records[0], differenced=True), records[1]
    assert found([register], 0.2) == found([plain], 0.1) != found([plain], 0.2)
    mixed, apart = found([register, plain], 0.2), [found([plain], e) for e in (0.1, 0.2)]
    assert mixed.tilt.mean == pytest.approx(np.mean([each.tilt.mean for each in apart]))
    assert mixed.tilt.within == pytest.approx(np.mean([each.tilt.within for each in apart]))


def charges(ledger, dataset="d"):
    return [entry.facts() for entry in ledger.entries(dataset) if entry.kind == "charge"]


def test_every_system_is_one_row_near_the_truth_under_a_random_name(publish, records):
    found = publish()
    table, _ = found.tables
    assert len(table.rows) == 5
    assert len(set(table.column("release_id"))) == 5
    assert table.column("release_id") == sorted(table.column("release_id"))
    assert all(abs(azimuth - 200.0) <= 10.0 for azimuth in table.column("surface_azimuth"))
    assert np.allclose(table.column("dc_capacity_kw"), 5.0, rtol=0.25)
    assert found.guarantee == Guarantee(System(), 20.0, 0.0, "docs/proofs/window.md")
    assert found.public["window_candidates"] == CHOICES.window(20.0).inside
    told = json.dumps([table.rows, found.public, found.title, found.mechanism])
    assert not any(record.system_id in told for record in records)


def test_nothing_in_a_row_depends_on_the_record_but_the_draw(publish, records, monkeypatch):
    """So that rows of two publications can be linked by their values alone."""
    short = replace(records[1], times=records[1].times[:480], power_kw=records[1].power_kw[:480])
    register = replace(records[2], differenced=True)

    def draw(scored, frame, **options):
        drawn = real(scored, frame, **options)
        return replace(drawn, surface_azimuth=190.0, surface_tilt=20.0, dc_capacity_kw=4.0)

    real = release.draw_release
    monkeypatch.setattr(fleet_releases, "draw_release", draw)
    for systems in ([records[0], short, register], [register, records[0]]):
        table, errors = publish(systems, unit=System(), epsilon=2.0).tables
        names = {column.name for column in table.columns}
        assert names == {"release_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw"}
        assert {row[1:] for row in table.rows} == {(190.0, 20.0, 4.0)}
        assert len(errors.rows) == 3


def test_all_systems_are_charged_once_before_the_first_is_drawn(publish, ledger, monkeypatch):
    seen = []
    real = release.draw_release

    def watch(*args, **options):
        seen.append([(each["cost"], len(each["systems"])) for each in charges(ledger)])
        return real(*args, **options)

    monkeypatch.setattr(fleet_releases, "draw_release", watch)
    publish()
    assert seen == [[(20 * 10**9, 5)]] * 5
    assert ledger.verify("d").holds


def test_asked_again_the_kept_answer_comes_back_at_no_cost(publish, ledger, records):
    first = publish()
    again = publish(records[::-1])
    assert again.tables[0].rows == first.tables[0].rows
    assert len(charges(ledger)) == 1
    assert ledger.dataset("d").largest_spent == 20.0


def test_a_call_that_dies_between_charge_and_answer_is_taken_up_on_its_charge(
    publish, ledger, monkeypatch
):
    def die(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(fleet_releases, "draw_release", die)
        with pytest.raises(KeyboardInterrupt):
            publish()
    assert len(charges(ledger)) == 1
    plan = publish(plan=True)
    assert (plan.cost, plan.kept, plan.remaining) == (0.0, False, 10.0)
    assert len(publish().tables[0].rows) == 5
    assert len(charges(ledger)) == 1
    assert ledger.verify("d").holds


def test_systems_hide_their_readings(records, weather):
    assert repr(in_memory(records, weather)) == "SystemsToRelease(5 systems, private)"


def test_another_question_is_another_charge(publish, ledger, records):
    publish(epsilon=3.0)
    publish(epsilon=4.0)
    publish(epsilon=3.0, choices=replace(CHOICES, step=20.0))
    publish(records[:4], epsilon=3.0)
    later = [
        replace(r, times=r.times[24:], power_kw=r.power_kw[24:], rows_span=None) for r in records
    ]
    publish(later, epsilon=3.0)
    assert len(charges(ledger)) == 5
    assert ledger.dataset("d").largest_spent == 16.0


def test_what_exceeds_the_promise_is_refused_for_all_and_draws_nothing(
    publish, ledger, records, monkeypatch
):
    ledger.register("d", [record.system_id for record in records])
    publish(records[:1])
    before = ledger.entries("d")
    monkeypatch.setattr(fleet_releases, "draw_release", lambda *_, **__: pytest.fail("drawn"))
    with pytest.raises(BudgetExceeded):
        publish(epsilon=11.0)
    assert ledger.entries("d") == before


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"unit": Days(1)}, "permute-and-flip"),
        ({"unit": Days(2), "mechanism": "exponential"}, "exponential"),
        ({"unit": System()}, "window"),
    ],
)
def test_every_unit_and_mechanism_is_charged_as_it_is_drawn(publish, ledger, options, name):
    found = publish(dataset="days", **options)
    (charge,) = charges(ledger, "days")
    assert charge["mechanism"] == name
    assert found.guarantee.unit == options["unit"]
    assert name in found.mechanism


def test_a_unit_smaller_than_promised_is_refused(publish, ledger):
    with pytest.raises(ParameterError, match="protects only"):
        publish(unit=Readings(1))
    assert charges(ledger) == []


def test_records_that_cannot_be_released_are_refused_before_the_charge(publish, ledger, records):
    cleaned = replace(records[0], cleaning=Cleaning.RECORD)
    past = np.timedelta64(2, "D") * 365
    dark = replace(records[0], times=records[0].times - past, rows_span=None)
    with pytest.raises(ParameterError, match="cleaning each"):
        publish([cleaned])
    with pytest.raises(WeatherError, match="not a day in common"):
        publish([*records, replace(dark, system_id="z")])
    with pytest.raises(ParameterError, match="named twice"):
        publish([records[0], records[0]])
    with pytest.raises(ParameterError, match="named twice"):
        publish([replace(records[0], system_id=name) for name in ("7", "7.0")])
    with pytest.raises(ParameterError, match="no systems"):
        publish([])
    with pytest.raises(ParameterError, match="single releases"):
        publish(mechanism="paper")
    with pytest.raises(ParameterError, match="by the window"):
        publish(mechanism="exponential")
    assert charges(ledger) == []


def test_a_plan_says_cost_and_error_and_spends_nothing(publish, ledger):
    plan = publish(plan=True, epsilon=4.0)
    assert (plan.drawn, plan.cost, plan.remaining, plan.kept) == (5, 4.0, 30.0, False)
    assert charges(ledger) == []
    errors = publish(epsilon=4.0).tables[1]
    spreads = plan.expected.azimuth, plan.expected.tilt, plan.expected.capacity
    assert errors.column("mean") == [round(each.mean, 3) for each in spreads]
    assert errors.column("within_90_percent") == [round(each.within, 3) for each in spreads]
    assert errors.column("quantity") == ["surface_azimuth", "surface_tilt", "dc_capacity_kw"]
    assert errors.column("basis") == [plan.expected.basis] * 3
    after = publish(plan=True, epsilon=4.0)
    assert (after.cost, after.remaining, after.kept) == (0.0, 26.0, True)
    with pytest.raises(ParameterError, match="protects only"):
        publish(plan=True, unit=Days(1))


def test_the_rows_can_be_written_as_a_folder_with_orange_button(publish, tmp_path):
    found = publish()
    write_publication(tmp_path / "out", found)
    told = json.loads((tmp_path / "out" / "systems.orange-button.json").read_text())
    assert len(told["PVSystems"]) == 5


def test_each_release_is_counted_and_their_frame_is_made_once(records, weather, monkeypatch):
    real, frames, counted = fleet_releases.make_frame, [], []
    monkeypatch.setattr(
        fleet_releases, "make_frame", lambda *a, **o: frames.append(1) or real(*a, **o)
    )
    terms = ReleaseTerms.of(Days(1), 1.0, choices=CHOICES)
    systems = in_memory(records, weather)
    release_systems(systems, terms=terms, on_progress=lambda *each: counted.append(each))
    assert counted == [(done, 5) for done in range(1, 6)]
    assert len(frames) == 1

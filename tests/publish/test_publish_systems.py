"""Rows of systems, from a fleet of files and from records in memory."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from roof_fleets import (
    CHOICES,
    PLANES,
    TERMS,
    in_memory,
    long_frame,
    open_to_release,
    write_files,
    write_layouts,
    write_systems,
)

from sunveil.errors import BudgetExceeded, ParameterError, SourceError
from sunveil.fleet.open import HeldRecord
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.meters import MeterOptions, from_pandas
from sunveil.privacy import Days, Guarantee, Readings, System
from sunveil.publish.publisher import Publisher
from sunveil.publish.system_rows import SystemRows
from sunveil.releases import fleet_releases, release
from sunveil.releases.candidate_frame import make_frame
from sunveil.releases.expected_errors import typical_errors
from sunveil.releases.fleet_releases import FrameCache, ReleaseTerms, release_systems
from sunveil.releases.prior_and_votes import VOTE_RULES
from sunveil.releases.release import score_record
from sunveil.weather import clearsky

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def frame(clear_power):
    """Readings of six roofs, one of which begins ten days late."""
    options = {"start": "2019-03-10", "days": 20}
    roofs = {name: clear_power(*plane, **options) for name, plane in PLANES.items()}
    roofs["b1"] = roofs["b1"].iloc[240:]
    return long_frame(roofs)


@pytest.fixture(scope="module")
def fleet(frame, tmp_path_factory):
    return write_files(tmp_path_factory.mktemp("roofs") / "readings", frame)


@pytest.fixture(scope="module")
def systems(tmp_path_factory):
    return write_systems(tmp_path_factory.mktemp("table") / "systems.csv")


@pytest.fixture
def ledger(tmp_path):
    where = tmp_path / "l.db"
    with Ledger(where, create=True, marks=HighWaterMarks(Path(f"{where}.mark"))) as book:
        book.create_dataset("d", Promise(System(), 30.0))
        book.create_dataset("days", Promise(Days(1), 30.0))
        yield book


def publish(ledger, fleet, terms=TERMS):
    return Publisher(ledger, "d").publish(SystemRows(fleet, terms))


def charges(ledger, dataset="d"):
    return [entry.facts() for entry in ledger.entries(dataset) if entry.kind == "charge"]


def opened(fleet, systems, **options):
    return open_to_release(fleet, systems, part_rows=1, **options)


def kinds(opened_fleet):
    return {each.system_id: each.kind for each in opened_fleet.refused}


def test_every_system_is_one_row_near_the_truth_and_charged_before_the_first_draw(
    fleet, systems, ledger, monkeypatch
):
    seen, real = [], release.draw_release

    def watch(*args, **options):
        told = [(each["cost"], len(each["systems"])) for each in charges(ledger)]
        seen.append((told, threading.current_thread() is threading.main_thread()))
        return real(*args, **options)

    monkeypatch.setattr(fleet_releases, "draw_release", watch)
    with opened(fleet, systems) as one:
        found = publish(ledger, one)
        assert one.refused == ()
    # and no other thread draws
    assert seen == [([(28 * 10**9, 6)], True)] * 6
    assert ledger.verify("d").holds
    table, _ = found.tables
    names = table.column("release_id")
    assert len(set(names)) == 6
    assert names == sorted(names)
    drawn = sorted(table.column("surface_azimuth"))
    truth = sorted(azimuth for azimuth, _ in PLANES.values())
    assert np.abs(np.subtract(drawn, truth)).max() <= 15.0
    told = json.dumps([table.rows, found.public, found.title, found.mechanism])
    assert not any(name in told.replace("-", " ").split() for name in PLANES)


@pytest.mark.parametrize("draws", [0, 4])
def test_a_run_that_is_killed_goes_on_with_what_it_drew_and_is_charged_once(
    fleet, systems, ledger, tmp_path, draws
):
    work = tmp_path / "work"
    script = [sys.executable, str(HERE / "publication_killer.py"), str(tmp_path / "l.db")]
    done = subprocess.run(
        [*script, str(fleet), str(systems), str(work), str(draws)], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert len(charges(ledger)) == 1
    before = [row for path in work.glob("*/drawn-*/*.json") for row in json.loads(path.read_text())]
    assert len(before) == draws
    with opened(fleet, systems, work=work) as one:
        plan = Publisher(ledger, "d").plan(SystemRows(one, TERMS))
        assert (plan.cost, plan.kept, plan.remaining) == (0.0, False, 2.0)
        found = publish(ledger, one)
    rows = found.tables[0].rows
    assert len(rows) == 6
    assert {tuple(row) for row in before} <= set(rows)
    assert len(charges(ledger)) == 1
    assert ledger.verify("d").holds
    assert not work.exists()


def test_asked_again_the_kept_answer_comes_back_whatever_the_layout(
    frame, fleet, systems, ledger, tmp_path, monkeypatch
):
    with opened(fleet, systems) as one:
        first = publish(ledger, one)
    monkeypatch.setattr(fleet_releases, "draw_release", lambda *_, **__: pytest.fail("drawn"))
    for path in write_layouts(tmp_path / "layouts", frame).values():
        with opened(path, systems, reading=MeterOptions(label="start")) as other:
            assert other.refused == ()
            assert publish(ledger, other).tables[0].rows == first.tables[0].rows
            assert Publisher(ledger, "d").plan(SystemRows(other, TERMS)).kept
    assert len(charges(ledger)) == 1


def test_too_small_a_budget_refuses_all_and_leaves_nothing_behind(
    fleet, systems, ledger, tmp_path, monkeypatch
):
    monkeypatch.setattr(fleet_releases, "draw_release", lambda *_, **__: pytest.fail("drawn"))
    large = ReleaseTerms.of(System(), 31.0, choices=CHOICES)
    work = tmp_path / "work"
    with pytest.raises(BudgetExceeded), opened(fleet, systems, work=work) as one:
        publish(ledger, one, large)
    assert charges(ledger) == []
    assert not work.exists()
    days = ReleaseTerms.of(Days(1), 1.0)
    with pytest.raises(ParameterError, match="protects only"):
        Publisher(ledger, "d").affordable(days.guarantee, days.mechanism)


def test_a_work_folder_is_new_and_removed_at_the_end(fleet, systems, tmp_path):
    kept = tmp_path / "work" / "kept.txt"
    kept.parent.mkdir()
    kept.write_text("mine", encoding="utf-8")
    for folder, error in (("work", ParameterError), ("other", SourceError)):
        said = "work must be a new or an empty folder" if folder == "work" else None
        with pytest.raises(error, match=said), opened(tmp_path / "no-fleet", systems,
                                                      work=tmp_path / folder):  # fmt: skip
            pass
    assert kept.read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("value", [np.nan, np.inf, -999.0])
def test_who_is_released_does_not_depend_on_any_reading(
    frame, fleet, systems, ledger, tmp_path, value
):
    blank = frame.copy()
    blank.loc[blank.system_id == "a2", "power_kw"] = value
    other = write_files(tmp_path / "readings", blank)
    with opened(fleet, systems) as one, opened(other, systems) as two:
        assert two.roster.refused == one.roster.refused == ()
        told = [
            {name: (each.frame, each.time_grid) for name, each in each.roster.members.items()}
            for each in (one, two)
        ]
        assert told[0] == told[1]
        assert len(publish(ledger, two).tables[0].rows) == 6


def test_a_row_without_a_time_is_no_row_with_or_without_a_reading(frame, systems, tmp_path):
    abouts = []
    for number, value in enumerate((1.5, np.nan)):
        torn = frame.copy()
        row = torn.index[torn.system_id == "b1"][5]
        torn["time"] = torn["time"].astype(object).where(torn.index != row, None)
        torn["time"] = torn["time"].astype(frame["time"].dtype)
        torn.loc[row, "power_kw"] = value
        with opened(write_files(tmp_path / str(number), torn), systems) as one:
            assert one.refused == ()
            abouts.append(one.about())
    assert abouts[0] == abouts[1]
    assert len(abouts[0]) == 6


def test_systems_without_place_or_readings_and_damaged_files_are_listed(frame, tmp_path):
    kept = frame[frame.system_id != "a1"]
    folder = write_files(tmp_path / "readings", kept)
    table = write_systems(tmp_path / "systems.csv", [name for name in PLANES if name != "a2"])
    table.write_text(table.read_text() + "b9,,,F-b\n")
    with opened(folder, table) as one:
        assert kinds(one) == {"a1": "no readings", "a2": "unknown", "b9": "location"}
        assert set(one.roster.members) == {"a3", "b1", "b2", "b3"}
    path = folder / "b2.parquet"
    body = bytearray(path.read_bytes())
    body[4 : len(body) // 2] = bytes(len(body) // 2 - 4)
    path.write_bytes(body)
    with opened(folder, table) as one:
        assert kinds(one)["b2"] == "unreadable"
        assert any(
            each.reason == "b2.parquet cannot be read: it is damaged" for each in one.refused
        )
        assert set(one.roster.members) == {"a3", "b1", "b3"}


def test_a_fleet_of_which_nothing_can_be_released_is_refused(fleet, tmp_path):
    table = write_systems(tmp_path / "systems.csv", ["z1"])
    with pytest.raises(SourceError, match="no system of the fleet"), opened(fleet, table):
        pass


@pytest.mark.parametrize(("day", "kind"), [("2019-03-10", "meter"), ("2019-09-10", None)])
def test_a_system_in_two_files_is_joined_unless_it_has_a_time_in_both(
    frame, systems, tmp_path, day, kind
):
    folder = write_layouts(tmp_path / "layouts", frame)["csv"]
    text = [f"a1,{day}T{hour:02}:00Z,1" for hour in range(24)]
    (folder / "more.csv").write_text("\n".join(["system_id,time,power_kw", *text]) + "\n")
    with opened(folder, systems) as one:
        assert kinds(one) == ({} if kind is None else {"a1": kind})
        if kind is not None:
            assert "a1.csv, more.csv" in one.refused[0].reason


def test_how_a_systems_days_vote_depends_on_its_own_days_alone(fleet, systems):
    with opened(fleet, systems) as one:
        member = one.roster.members["b1"]
        shared = one.roster.time_grids[member.frame]
        # between what its own days and those of the frame are worth, a second vote begins
        epsilon = 2.0 * 0.25 * 365.0 / (member.time_grid.days + shared.days)
        terms = ReleaseTerms.of(Days(1), epsilon, choices=CHOICES)
        frames = {name: frame for part in one.parts(terms) for name, frame, _ in part.scores()}
    assert frames["b1"].choices.votes == 1
    assert CHOICES.resolved(Days(1), epsilon, shared, differenced=False).votes == 2


@pytest.mark.parametrize("unit", [Readings(1), Days(1), System()])
def test_a_frame_shared_by_a_year_scores_a_late_record_as_its_own_frame_does(fleet, systems, unit):
    with opened(fleet, systems) as one:
        member = one.roster.members["b1"]
        shared = FrameCache(
            one.roster, one.weather, ReleaseTerms.of(unit, 1.0, choices=CHOICES)
        ).of(member.frame)
        assert shared.time_grid.count > member.time_grid.count
        assert member.frame == one.roster.members["b2"].frame
        weather = one.weather.over(member.frame.cell, shared.time_grid)
        own = make_frame(weather, member.time_grid, CHOICES)
        (record,) = (
            each.record
            for part in one.fleet.parts
            for each in one.fleet.records(part)
            if isinstance(each, HeldRecord) and each.number == member.number
        )
    frames = (shared.resolved(unit, 1.0, time_grid=member.time_grid), own.resolved(unit, 1.0))
    ours, theirs = (score_record(each, record, unit) for each in frames)
    if isinstance(unit, System):
        assert ours.place == theirs.place
    else:
        assert (ours.levels == theirs.levels).all()


def test_frames_are_kept_as_long_as_there_is_room(fleet, systems):
    with opened(fleet, systems) as one:
        first, second = {member.frame for member in one.roster.members.values()}
        terms = ReleaseTerms.of(Days(1), 1.0, choices=CHOICES)
        roomy = FrameCache(one.roster, one.weather, terms)
        assert roomy.of(first) is not roomy.of(second)
        assert len(roomy) == 2
        narrow = FrameCache(one.roster, one.weather, terms, kept=1)
        again = narrow.of(first)
        assert narrow.of(first) is again
        narrow.of(second)
        assert len(narrow) == 1


def test_errors_to_expect_are_averaged_over_records_of_their_own_lengths(fleet, systems):
    terms = ReleaseTerms.of(Days(1), 1.0, choices=CHOICES)
    with opened(fleet, systems) as one:
        found = one.expected(terms)
        asked = {"clear": True, "protect": Days(1), "epsilon": 1.0, "latitude": 40.0}
        errors = [
            typical_errors(each.time_grid, CHOICES, **asked, shifts=each.shifts)
            for each in one.roster.members.values()
        ]
    assert len({each.azimuth for each in errors}) > 1
    assert found.azimuth.mean == pytest.approx(np.mean([each.azimuth.mean for each in errors]))


@pytest.mark.parametrize("mechanism", ["default", "exponential"])
def test_releases_without_a_ledger_come_in_random_order_with_all_that_is_public(
    fleet, systems, mechanism
):
    terms = ReleaseTerms.of(Readings(1), 20.0, mechanism=mechanism, choices=CHOICES)
    with opened(fleet, systems) as one:
        found = release_systems(one, terms=terms)
    names = [each.release_id for each in found]
    assert len(set(names)) == 6
    assert names == sorted(names)
    assert {each.guarantee.epsilon for each in found} == {20.0}
    assert all(each.public == CHOICES.to_dict() and each.expected for each in found)
    drawn = sorted(each.surface_azimuth for each in found)
    truth = sorted(azimuth for azimuth, _ in PLANES.values())
    assert np.abs(np.subtract(drawn, truth)).max() <= 25.0


def test_releases_of_records_of_different_lengths_tell_the_rule_by_which_their_days_vote(
    fleet, systems
):
    terms = ReleaseTerms.of(Days(1), 20.0, choices=CHOICES)
    with opened(fleet, systems) as one:
        grids = {member.time_grid for member in one.roster.members.values()}
        found = release_systems(one, terms=terms)
    own = [CHOICES.resolved(Days(1), 20.0, grid, differenced=False) for grid in grids]
    assert len({each.thresholds for each in own}) > 1
    for each in found:
        assert each.public["thresholds"] is None
        assert each.public["votes_by_worth"] == [rule.to_dict() for rule in VOTE_RULES]


def test_a_fleet_that_changes_while_it_is_read_is_noticed(frame, systems, ledger, tmp_path):
    folder = write_files(tmp_path / "readings", frame)
    with opened(folder, systems) as one:
        (folder / "a1.parquet").write_bytes((folder / "a2.parquet").read_bytes())
        with pytest.raises(SourceError, match="was changed"):
            publish(ledger, one)


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
def publish_records(ledger, records, weather):
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


def test_nothing_in_a_row_depends_on_the_record_but_the_draw(publish_records, records, monkeypatch):
    """So that rows of two publications can be linked by their values alone."""
    short = replace(records[1], times=records[1].times[:480], power_kw=records[1].power_kw[:480])
    register = replace(records[2], differenced=True)

    def draw(scored, frame, **options):
        drawn = real(scored, frame, **options)
        return replace(drawn, surface_azimuth=190.0, surface_tilt=20.0, dc_capacity_kw=4.0)

    real = release.draw_release
    monkeypatch.setattr(fleet_releases, "draw_release", draw)
    for systems in ([records[0], short, register], [register, records[0]]):
        table, errors = publish_records(systems, unit=System(), epsilon=2.0).tables
        names = {column.name for column in table.columns}
        assert names == {"release_id", "surface_azimuth", "surface_tilt", "dc_capacity_kw"}
        assert {row[1:] for row in table.rows} == {(190.0, 20.0, 4.0)}
        assert len(errors.rows) == 3


def test_another_question_is_another_charge_and_none_names_a_system(
    publish_records, ledger, records
):
    found = publish_records(epsilon=3.0)
    told = json.dumps([found.tables[0].rows, found.public, found.title, found.mechanism])
    assert not any(record.system_id in told for record in records)
    assert found.guarantee == Guarantee(System(), 3.0, 0.0, "docs/proofs/window.md")
    assert found.public["window_candidates"] == CHOICES.window(3.0).inside
    publish_records(epsilon=4.0)
    again = publish_records(records[::-1], epsilon=3.0)
    assert again.tables[0].rows == found.tables[0].rows
    publish_records(epsilon=3.0, choices=replace(CHOICES, step=20.0))
    publish_records(records[:4], epsilon=3.0)
    later = [
        replace(r, times=r.times[24:], power_kw=r.power_kw[24:], rows_span=None) for r in records
    ]
    publish_records(later, epsilon=3.0)
    assert len(charges(ledger)) == 5
    assert ledger.dataset("d").largest_spent == 16.0


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"unit": Days(1)}, "permute-and-flip"),
        ({"unit": Days(2), "mechanism": "exponential"}, "exponential"),
        ({"unit": System()}, "window"),
    ],
)
def test_every_unit_and_mechanism_is_charged_as_it_is_drawn(publish_records, ledger, options, name):
    found = publish_records(dataset="days", **options)
    (charge,) = charges(ledger, "days")
    assert charge["mechanism"] == name
    assert found.guarantee.unit == options["unit"]
    assert name in found.mechanism


def test_a_plan_states_the_errors_that_the_rows_then_state(publish_records):
    plan = publish_records(plan=True, epsilon=4.0)
    assert (plan.drawn, plan.cost) == (5, 4.0)
    errors = publish_records(epsilon=4.0).tables[1]
    spreads = plan.expected.azimuth, plan.expected.tilt, plan.expected.capacity
    assert errors.column("mean") == [round(each.mean, 3) for each in spreads]
    assert errors.column("within_90_percent") == [round(each.within, 3) for each in spreads]
    assert errors.column("quantity") == ["surface_azimuth", "surface_tilt", "dc_capacity_kw"]
    assert errors.column("basis") == [plan.expected.basis] * 3


def test_each_release_is_counted_and_their_frame_is_made_once(records, weather, monkeypatch):
    real, frames, counted = fleet_releases.make_frame, [], []
    monkeypatch.setattr(
        fleet_releases, "make_frame", lambda *a, **o: frames.append(1) or real(*a, **o)
    )
    terms = ReleaseTerms.of(Days(1), 1.0, choices=CHOICES)
    systems = in_memory(records, weather)
    assert repr(systems) == "SystemsToRelease(5 systems, private)"
    release_systems(systems, terms=terms, on_progress=lambda *each: counted.append(each))
    assert counted == [(done, 5) for done in range(1, 6)]
    assert len(frames) == 1

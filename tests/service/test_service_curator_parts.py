"""The parts that the curator's pages are made of, without a service."""

from __future__ import annotations

import json
import math

import plotly.graph_objects as go
import pyarrow.parquet as pq
import pytest
from curator_makers import add_planes, write_results

from sunveil.errors import ParameterError, SourceError
from sunveil.ledger.chain import GENESIS, Entry
from sunveil.ledger.promise import Promise
from sunveil.privacy.guarantee import Guarantee
from sunveil.privacy.units import Days, Readings, System
from sunveil.service.curator.ledger_text import as_csv, asker_totals, describe_entry
from sunveil.service.curator.promise_errors import (
    answer_errors,
    epsilon_each,
    system_curves,
    table_curves,
)
from sunveil.service.curator.promises import parse_promise, promise_sentences
from sunveil.service.curator.results import FleetResults
from sunveil.service.figures.days import DayCurve, day_curve
from sunveil.service.figures.error_curves import ErrorCurve, error_figure
from sunveil.service.figures.fleet import bars, place_map, plane_map, rose

# -- what a promise would be worth


@pytest.mark.parametrize("promise", [Promise(System(), 2.0), Promise(Days(1), 1.5, 1e-6)])
@pytest.mark.parametrize("questions", [1, 5, 20])
def test_equal_questions_use_a_promise_up_and_never_more(promise, questions):
    epsilon = epsilon_each(promise, questions)
    guarantee = Guarantee(System(), epsilon, 0.0, "docs/proofs/counts.md")
    cost = promise.cost(guarantee, mechanism="fleet-tables")
    assert questions * cost <= promise.total + questions  # each is rounded up by a billionth
    assert questions * cost >= 0.999 * promise.total


def test_more_privacy_loss_is_worth_more():
    curves = (*table_curves(), *system_curves(System()))
    for curve in (*curves, *system_curves(Readings(1))):
        assert all(b <= a * 1.001 for a, b in zip(curve.errors, curve.errors[1:], strict=False))
        # what is left of single releases at a large ε is the model's own error
        assert curve.errors[-1] < (0.5 if curve in curves else 0.55) * curve.errors[0]


def test_errors_of_whole_records_are_at_the_limit_that_nothing_can_beat():
    azimuth = system_curves(System(), [1.0, 4.0])[0]
    limits = [180.0 / (1.0 + math.exp(epsilon / 2.0)) for epsilon in azimuth.epsilons]
    assert all(error >= limit for error, limit in zip(azimuth.errors, limits, strict=True))


def test_fewer_questions_are_worth_more_each():
    found = answer_errors(Promise(Days(1), 2.0))
    assert [each.questions for each in found] == [1, 5, 20]
    assert [each.epsilon for each in found] == [2.0, 0.4, 0.1]
    for name in ("sector", "total", "azimuth", "tilt", "capacity"):
        errors = [getattr(each, name) for each in found]
        assert errors == sorted(errors)


# -- the promise in words


def test_a_promise_says_what_it_does_not_hide():
    assert "does not hide" not in " ".join(promise_sentences(Promise(System(), 1.0)))
    assert "does not hide" in " ".join(promise_sentences(Promise(Readings(2), 1.0)))
    assert "any 2 readings" in promise_sentences(Promise(Readings(2), 1.0))[0]
    assert "any one day" in promise_sentences(Promise(Days(1), 1.0))[0]
    assert "a thousand times" in promise_sentences(Promise(System(), 9.0))[0]


def test_a_form_is_read_as_people_write_numbers():
    given = {"unit": "days", "k": " 3 ", "epsilon": "0,5", "delta": "", "allow": "paper"}
    assert parse_promise(given) == Promise(Days(3), 0.5, 0.0, ("paper",))


# -- entries


def entry(kind: str, body: dict[str, object], place: int = 1) -> Entry:
    facts = {"at": "2026-01-02T03:04:05+00:00", **body}
    return Entry(place, kind, json.dumps(facts), GENESIS)


CHARGE = {
    "cost": 250_000_000,
    "kind": "system",
    "mechanism": "window",
    "analyst": "ann",
    "guarantee": {"epsilon": 0.25},
    "question": "q",
}


def test_entries_are_told_in_words():
    charge = entry("charge", {**CHARGE, "systems": ["x", "y"]})
    text = describe_entry(charge)
    assert (text.at, text.who, text.cost) == ("2026-01-02 03:04:05", "ann", 0.25)
    assert text.what == "system about 2 systems at ε = 0.25, by window"
    promise = entry("promise", {"unit": "days:2", "epsilon": 1.0, "delta": 1e-6})
    assert describe_entry(promise).what == "promised ε = 1, δ = 1e-06 for days:2"
    share = entry("analyst", {"analyst": "ann", "share": 500_000_000})
    assert describe_entry(share).what == "gave ann a share of 0.5"
    assert describe_entry(entry("answer", {"charge": 7})).what == "answer of entry 7"


@pytest.mark.parametrize(
    "broken", [Entry(1, "charge", "{", GENESIS), entry("charge", {}), entry("surprise", {})]
)
def test_an_entry_that_cannot_be_understood_is_told_to_be_so(broken):
    assert describe_entry(broken).what == "changed: it cannot be understood"
    assert broken.digest in as_csv([broken])


def test_askers_are_told_with_what_they_spent_the_dearest_first():
    charges = [
        entry("charge", {**CHARGE, "systems": None}),
        entry("charge", {**CHARGE, "analyst": None, "cost": 900_000_000, "systems": None}),
        entry("charge", {**CHARGE, "systems": None}),
        entry("answer", {"charge": 1}),
    ]
    found = [(each.who, each.questions, each.cost) for each in asker_totals(charges)]
    assert found == [("the curator", 1, 0.9), ("ann", 2, 0.5)]


# -- results


def test_a_folder_without_estimates_is_empty_and_not_an_error(tmp_path):
    results = FleetResults(tmp_path)
    assert not results.exist
    assert results.summary().inferred == 0
    assert results.estimates().rows == []
    assert results.refused().rows == []
    assert results.find_system("a") is None


def test_counts_of_bars_hold_every_system(tmp_path):
    results = FleetResults(write_results(tmp_path / "r", 200))
    assert sum(results.sectors()) == sum(results.tilts()) == sum(results.capacities()) == 200
    summary = results.summary()
    assert (summary.inferred, summary.refused, summary.listed) == (200, 3, 202)
    assert summary.flagged <= sum(summary.flags.values())


def test_estimates_are_counted_and_found_by_quality(tmp_path):
    results = FleetResults(write_results(tmp_path / "r", 20))
    assert results.summary().qualities == {"good": 7, "fair": 7, "poor": 6}
    poor = results.estimates(quality="poor").rows
    assert [row["system_id"] for row in poor] == [f"s{n:03d}" for n in range(2, 20, 3)]
    assert {row["quality"] for row in poor} == {"poor"}


def test_tables_of_a_version_without_quality_are_read(tmp_path):
    folder = write_results(tmp_path / "r", 20)
    for part in folder.glob("estimates/*.parquet"):
        pq.write_table(pq.read_table(part).drop_columns(["quality"]), part)
    results = FleetResults(folder)
    assert results.summary().qualities == {}
    assert {row["quality"] for row in results.estimates().rows} == {None}
    assert results.estimates(quality="good").total == 0
    assert results.summary().inferred == sum(results.tilts()) == 20


def test_planes_count_by_their_shares_and_trackers_do_not_face_anywhere(tmp_path):
    folder = write_results(tmp_path / "r", 20)
    before = FleetResults(folder).sectors()
    add_planes(folder)
    results = FleetResults(folder)
    assert results.summary().inferred == sum(results.capacities()) == 22
    assert sum(results.tilts()) == 21
    more = [round(after - was, 2) for after, was in zip(results.sectors(), before, strict=True)]
    # 92° is east, 271° west
    assert {place: each for place, each in enumerate(more) if each} == {4: 0.6, 12: 0.4}
    planes = results.sample_planes()
    faces = dict(zip(planes["system_id"], planes["surface_azimuth"], strict=True))
    assert len(planes["system_id"]) == 22
    assert "farm" not in faces
    drawn = results.sample()
    axes = dict(zip(drawn["system_id"], drawn["axis"], strict=True))
    assert (axes["farm"], axes["ridge"]) == (178.0, None)
    assert drawn["surface_azimuth"][drawn["system_id"].index("ridge")] == 92.0


def test_the_same_systems_are_drawn_each_time(tmp_path):
    results = FleetResults(write_results(tmp_path / "r", 50))
    assert results.sample() == results.sample()
    assert sorted(results.sample()["system_id"]) == [f"s{n:03d}" for n in range(50)]


def test_damaged_estimates_are_told_in_one_sentence(tmp_path):
    results = FleetResults(write_results(tmp_path / "r", 10))
    (tmp_path / "r" / "estimates" / "part-00000.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match="infer it again"):
        results.summary()


def test_a_folder_whose_name_is_a_pattern_is_read(tmp_path):
    assert FleetResults(write_results(tmp_path / "r[1]*'?", 10)).summary().inferred == 10


# -- figures: plotly itself refuses what its script would not understand


@pytest.mark.parametrize(
    "made",
    [
        place_map(
            [-105.0, -104.9], [40.0, 40.1], [90.0, 180.0], names=["a", "b"], facing=["E", "S"]
        ),
        place_map([], [], [], names=[], facing=[]),
        plane_map([90.0], [20.0], names=["a"]),
        rose([0] * 15 + [3]),
        bars([0.0, 1.0, 2.0], [4, 5], title="Tilt", unit="°"),
        day_curve(DayCurve("1 May", (11.0, 12.0), (1.0, 2.0), (1.1, 1.9)), top=2.5),
        day_curve(DayCurve("1 May", (12.0,), (2.0,), (1.9,), ((1.0,), (0.9,))), top=2.5),
        error_figure([ErrorCurve("a", (0.1, 1.0), (9.0, 1.0))], unit="Error [°]", marked=0.5),
        error_figure([ErrorCurve(n, (0.1, 1.0), (9.0, 1.0)) for n in "abcd"], unit="Error [°]"),
    ],
)
def test_a_figure_is_one_that_plotly_understands(made):
    figure = go.Figure(made)
    assert len(figure.data) >= 1
    json.dumps(made, allow_nan=False)


def test_figures_of_readings_hide_them_in_repr():
    assert "1.25" not in repr(DayCurve("1 May", (12.0,), (1.25,), (1.25,)))


def test_a_form_may_promise_over_years_with_a_part_at_once():
    given = {"unit": "system", "k": "", "epsilon": "2", "delta": "0", "allow": "", "meters": "1"}
    assert parse_promise(given).schedule is None
    made = parse_promise({**given, "years": "10", "start": "1,5"})
    assert (made.schedule.years, made.schedule.start) == (10, 1.5)
    assert "over 10 years" in " ".join(promise_sentences(made))
    for wrong, why in (
        ({"years": "ten"}, "whole number"),
        ({"start": "1"}, "over some years"),
        ({"years": "10", "start": "3"}, "at most what is promised"),
    ):
        with pytest.raises(ParameterError, match=why):
            parse_promise({**given, **wrong})

"""The parts that the curator's pages are made of, without a service."""

from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal

import pandas as pd
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_makers import add_planes, write_results

from sunveil.errors import ParameterError, SourceError
from sunveil.estimates.read_write import read_fleet
from sunveil.ledger import Promise
from sunveil.ledger.hash_chain import GENESIS, Entry
from sunveil.meters import MeterOptions
from sunveil.privacy import Days, Guarantee, Readings, System
from sunveil.publish.noisy_counts import groups_of
from sunveil.releases.fleet_releases import ReleaseTerms
from sunveil.service.curator.datasets import public_groups
from sunveil.service.curator.figures import (
    ErrorCurve,
    bars,
    error_figure,
    plane_map,
    rose,
    system_map,
)
from sunveil.service.curator.promise_errors import (
    answer_errors,
    epsilon_each,
    system_curves,
    system_epsilon_each,
    table_curves,
)
from sunveil.service.curator.promises import (
    as_csv,
    asker_totals,
    describe_entry,
    parse_promise,
)
from sunveil.service.curator.results import EstimateFilter, FleetResults, csv_lines
from sunveil.service.promise_text import promise_sentences
from sunveil.service.upload_checks import preview

# -- what a promise would be worth


@pytest.mark.parametrize(
    "promise",
    [Promise(System(), 2.0), Promise(Days(1), 1.5, 1e-6), Promise(Days(1), 3.0, 1e-6, meters=2)],
)
@pytest.mark.parametrize("questions", [1, 5, 20])
@pytest.mark.parametrize("rows", [False, True])
def test_equal_questions_use_a_promise_up_and_never_more(promise, questions, rows):
    mechanism = ReleaseTerms.of(promise.unit, 1.0, promise=promise).mechanism
    epsilon = (system_epsilon_each if rows else epsilon_each)(promise, questions)
    guarantee = Guarantee(System(), epsilon, 0.0, "docs/proofs/counts.md")
    cost = promise.cost(guarantee, mechanism=mechanism if rows else "fleet-tables")
    spent = questions * promise.cost_of_all(cost)
    # each is rounded up by a billionth, for every meter
    assert spent <= promise.total + questions * promise.meters**2
    assert spent >= 0.999 * promise.total


def test_questions_that_are_too_small_to_be_asked_are_not_shown():
    assert [each.questions for each in answer_errors(Promise(System(), 0.1))] == [1, 5]
    assert answer_errors(Promise(System(), 0.02, meters=3)) == []


def test_more_privacy_loss_is_worth_more():
    curves = (*table_curves(), *system_curves(System()))
    for curve in (*curves, *system_curves(Readings(1))):
        assert all(b <= a * 1.001 for a, b in zip(curve.errors, curve.errors[1:], strict=False))
        # what is left of single releases at a large ε is the model's own error
        assert curve.errors[-1] < (0.5 if curve in curves else 0.55) * curve.errors[0]


def test_errors_of_whole_records_are_at_the_limit_that_nothing_can_beat():
    azimuth = system_curves(System(), (1.0, 4.0))[0]
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
    assert "are not protected" not in " ".join(promise_sentences(Promise(System(), 1.0)))
    assert "are not protected" in " ".join(promise_sentences(Promise(Readings(2), 1.0)))
    assert "Any 2 readings" in promise_sentences(Promise(Readings(2), 1.0))[0]
    assert "any one day" in promise_sentences(Promise(Days(1), 1.0))[0]
    assert "a factor of at most 8,100" in promise_sentences(Promise(System(), 9.0))[0]


def test_a_delta_is_added_to_the_probability_of_every_set_of_answers():
    said = " ".join(promise_sentences(Promise(System(), 1.0, 1e-6)))
    assert "at most 2.72 times (ε = 1) its value without them, plus 1e-06" in said
    assert "a factor of" not in said
    assert "probability of at most" not in said


def test_a_form_is_read_as_people_write_numbers():
    given = {"protect": "days", "k": " 3 ", "epsilon": "0,5", "delta": "", "allow": "paper"}
    assert parse_promise(given) == Promise(Days(3), 0.5, 0.0, ("paper",))


# -- entries


def entry(kind: str, body: dict[str, object], place: int = 1) -> Entry:
    facts = {"at": "2026-01-02T03:04:05+00:00", **body}
    return Entry(place, kind, json.dumps(facts), GENESIS)


CHARGE = {
    "cost": 250_000_000,
    "meters": 1,
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
    assert describe_entry(promise).what == "promised ε = 1, δ = 1e-06 per 2 days of a household"
    share = entry("analyst", {"analyst": "ann", "share": 500_000_000})
    assert describe_entry(share).what == "gave ann a share of 0.5"
    assert describe_entry(entry("answer", {"charge": 7})).what == "answer to entry 7"


@pytest.mark.parametrize(
    "broken", [Entry(1, "charge", "{", GENESIS), entry("charge", {}), entry("surprise", {})]
)
def test_an_entry_that_cannot_be_understood_is_told_to_be_so(broken):
    assert describe_entry(broken).what == "damaged entry"
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
    assert results.estimates(EstimateFilter()).rows == []
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
    poor = results.estimates(EstimateFilter(quality="poor")).rows
    assert [row["system_id"] for row in poor] == [f"s{n:03d}" for n in range(2, 20, 3)]
    assert {row["quality"] for row in poor} == {"poor"}


def test_tables_of_another_version_are_refused(tmp_path):
    folder = write_results(tmp_path / "r", 20)
    for part in folder.glob("estimates/*.parquet"):
        pq.write_table(pq.read_table(part).drop_columns(["quality"]), part)
    results = FleetResults(folder)
    for read in (results.summary, results.tilts, lambda: results.estimates(EstimateFilter())):
        with pytest.raises(SourceError, match="cannot be read; infer it again"):
            read()


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
        system_map(
            [-105.0, -104.9],
            [40.0, 40.1],
            azimuth=[90.0, 180.0],
            qualities=["good", None],
            labels=["a", "b"],
            by_quality=False,
        ),
        system_map([], [], azimuth=[], qualities=[], labels=[], by_quality=True),
        plane_map([90.0], [20.0], names=["a"]),
        rose([0] * 15 + [3]),
        bars([0.0, 1.0, 2.0], [4, 5], title="Tilt", unit="°"),
        error_figure([ErrorCurve("a", (0.1, 1.0), (9.0, 1.0))], unit="Error [°]", marked=0.5),
        error_figure([ErrorCurve(n, (0.1, 1.0), (9.0, 1.0)) for n in "abcd"], unit="Error [°]"),
    ],
)
def test_a_figure_is_one_that_plotly_understands(made):
    figure = go.Figure(made)
    assert len(figure.data) >= 1
    json.dumps(made, allow_nan=False)


@pytest.mark.parametrize(
    ("errors", "labelled"),
    [
        ((95.0, 3.0), [5.0, 10.0, 20.0, 50.0]),
        ((1200.0, 0.3), [1.0, 10.0, 100.0, 1000.0]),
        ((5.0, 4.0), [4.0, 5.0]),
    ],
)
def test_labels_of_an_axis_of_errors_do_not_stand_in_one_anothers_way(errors, labelled):
    made = error_figure([ErrorCurve("a", (0.1, 1.0), errors)], unit="Error [°]")
    assert made["layout"]["yaxis"]["tickvals"] == labelled


def test_a_form_may_promise_over_years_with_a_part_at_once():
    given = {"protect": "system", "k": "", "epsilon": "2", "delta": "0", "allow": "", "meters": "1"}
    assert parse_promise(given).schedule is None
    made = parse_promise({**given, "years": "10", "start": "1,5"})
    assert (made.schedule.years, made.schedule.start) == (10, 1.5)
    assert "over 10 years" in " ".join(promise_sentences(made))
    for wrong, why in (
        ({"years": "ten"}, "whole number"),
        ({"start": "1"}, "a number of years"),
        ({"years": "10", "start": "3"}, "at most what is promised"),
    ):
        with pytest.raises(ParameterError, match=why):
            parse_promise({**given, **wrong})


# -- the table of estimates: sorted, filtered, exported


def test_estimates_are_sorted_and_limited_by_their_numbers(tmp_path):
    results = FleetResults(write_results(tmp_path / "r", 40))
    wanted = EstimateFilter(sort="dc_capacity_kw", descending=True, column="surface_tilt", low=20.0)
    rows = results.estimates(wanted).rows
    sizes = [row["dc_capacity_kw"] for row in rows]
    assert 0 < len(rows) < 40
    assert sizes == sorted(sizes, reverse=True)
    assert min(row["surface_tilt"] for row in rows) >= 20.0
    again = results.export(wanted)
    assert again.column("system_id").to_pylist() == [row["system_id"] for row in rows]
    assert again.column_names == ["system_id", *EstimateFilter().shown]


def test_a_filter_is_a_link_that_says_what_differs():
    wanted = EstimateFilter(text="a&b", sort="quality", low=1.5, column="agreement")
    assert wanted.query() == "text=a%26b&column=agreement&low=1.5&sort=quality"
    assert "descending=yes" in wanted.sorted_by("quality")
    assert "descending" not in wanted.sorted_by("agreement")
    assert EstimateFilter().query() == ""
    for wrong in ({"sort": "password"}, {"shown": ("x",)}, {"column": "quality"}):
        with pytest.raises(ParameterError):
            EstimateFilter(**wrong)


def test_a_csv_file_has_no_formulas_and_keeps_its_numbers():
    rows = [["=HYPERLINK()", -1.5, None], ["+1", float("nan"), ["a", "b"]], ["\r=x", 2, True]]
    lines = list(csv_lines(["system_id", "n", "flags"], rows))
    assert lines[:3] == ["system_id,n,flags\r\n", "'=HYPERLINK(),-1.5,\r\n", "'+1,,a b\r\n"]
    assert lines[3].startswith('"\'\r=x",2,')


# -- one text for each value of a public key


def test_typed_columns_divide_a_fleet_by_the_texts_that_its_rows_have(tmp_path):
    """Of Parquet tables: lists divide nothing, and every other value has one text."""
    keys = {
        "billed": pa.array([True, False]),
        "since": pa.array([date(2024, 1, 31), date(2023, 1, 1)]),
        "band": pa.array([Decimal("1.50"), Decimal("0.50")]),
        "zone": pa.array([1, 2], pa.int16()),
        "feeders": pa.array([["a"], ["b"]]),
        "blob": pa.array([b"\xff", b"a"]),
    }
    places = {"latitude": pa.array([40.0, 41.0]), "longitude": pa.array([-105.0, -104.0])}
    table = pa.table({"system_id": pa.array(["a", "b"]), **places, **keys})
    pq.write_table(table, tmp_path / "systems.parquet")
    groups = public_groups(tmp_path / "systems.parquet")
    assert groups == {
        "billed": ["false", "true"],
        "since": ["2023-01-01", "2024-01-31"],
        "band": ["0.50", "1.50"],
        "zone": ["1", "2"],
    }
    values = {
        name: pa.array([1.0, 2.0]) for name in ("surface_azimuth", "surface_tilt", "dc_capacity_kw")
    }
    pq.write_table(
        pa.table({"system_id": pa.array(["a", "b"]), **values, **keys}), tmp_path / "e.parquet"
    )
    rows = read_fleet(tmp_path / "e.parquet", keys=list(groups))
    for name, listed in groups.items():
        assert len(groups_of(rows, key=name, keys=listed).names) == 2


# -- the preview of what was read


def test_a_preview_says_what_is_in_the_files_and_what_is_not_in_the_table(tmp_path):
    meters = tmp_path / "meters"
    meters.mkdir()
    hours = pd.date_range("2024-06-01", periods=72, freq="h")
    good = "time,power_kw\n" + "".join(
        f"{hour:%Y-%m-%d %H:%M},{max(0, 6 - abs(hour.hour - 12))}.{hour.day}\n" for hour in hours
    )
    for name in ("a", "b", "stranger"):
        (meters / f"{name}.csv").write_text(good)
    (meters / "broken.csv").write_text("no,table\n1,2\n")
    table = tmp_path / "systems.csv"
    table.write_text("system_id,latitude,longitude\na,40,-105\nb,40,-105\nmissing,40,-105\n")
    said: list[tuple[int, int]] = []
    found = preview(
        meters, table, MeterOptions(timezone="UTC-07:00"), tell=lambda *far: said.append(far)
    )
    assert (found["files"], found["systems"], found["in_both"]) == (4, 3, 2)
    assert found["only_files"] == {"count": 1, "names": ["stranger"]}
    assert found["only_table"] == {"count": 1, "names": ["missing"]}
    assert (found["first"], found["last"]) == ("2024-06-01", "2024-06-04")
    assert found["intervals"] == [("60 minutes", 3)]
    assert found["zones"] == [("UTC-07:00", 3)]
    assert found["units"] == [("kW", 3)]
    assert [each["count"] for each in found["refused"]] == [1]
    assert said[0] == (0, 4)
    assert said[-1] == (4, 4)
    # without a time zone nobody can be read, and one reason is given for all
    found = preview(meters, table, MeterOptions(), tell=lambda *_: None)
    assert sorted(each["count"] for each in found["refused"]) == [1, 3]
    json.dumps(found)

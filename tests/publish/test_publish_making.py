from __future__ import annotations

import json

import pytest
from fleet_makers import random_fleet

from sunveil.ledger import Promise
from sunveil.privacy import Days, Guarantee, System
from sunveil.publication import Publication
from sunveil.publication.published_tables import Bins, Column, PublishedTable
from sunveil.publish.fleet_tables import fleet_tables
from sunveil.publish.publisher import (
    ASKED,
    NO_ACCOUNT,
    THEIRS,
    composition,
    data_domain,
    mechanisms,
    post_processing,
    preprocessing,
    statement,
    unprotected,
)
from sunveil.publish.release_card import PublicationAccount
from sunveil.releases import Choices

ROWS = random_fleet(40)
ONE = PublishedTable("systems", "Systems.", (Column("release_id", "string", ""),), (("a",),))


def tables(**options):
    bins = options.pop("bins", Bins())
    return fleet_tables(ROWS, bins=bins, epsilon=1.0, **options)


def systems(choices):
    guarantee = Guarantee(Days(1), 1.0, 0.0, "docs/proofs/window.md")
    # as a service keeps them
    public = {"systems": 1, "choices": json.loads(json.dumps(choices.to_dict()))}
    return Publication("Systems", (ONE,), guarantee, "by hand", public)


def test_bins_are_told_as_the_programs_own_or_the_curators():
    assert "constants of the program" in preprocessing(tables(tables=("sectors",)), None)
    other = preprocessing(tables(bins=Bins(sectors=4), tables=("sectors",)), None)
    assert f"Bins were chosen for it; {THEIRS}" in other
    assert "constants" not in other


def test_a_clip_is_told_as_drawn_or_as_given():
    drawn = preprocessing(tables(tables=("totals",)), None)
    assert "drawn privately from a public ladder, and paid for" in drawn
    given = preprocessing(tables(tables=("totals",), clip_kw=(0.0, 25.0)), None)
    assert f"Bounds of capacity in totals were given; {THEIRS}" in given
    assert "privately" not in given
    assert "totals" not in preprocessing(tables(tables=("sectors",)), None)
    larger = preprocessing(tables(tables=("totals",), largest_kw=100.0), None)
    assert "The largest capacity of a system was given" in larger


def test_choices_of_systems_are_named_where_they_are_the_curators():
    assert "Chosen for it" not in preprocessing(systems(Choices()), None)
    assert "Chosen for it: planes_step_degrees;" in preprocessing(systems(Choices(step=6.0)), None)


@pytest.mark.parametrize(
    ("bought", "said", "not_said"),
    [
        (("sectors",), "the column noisy", "by mount"),
        (("mounts",), "public number of systems alone", "with each other"),
        (("quantiles",), "put in order", "noisy"),
        (("totals",), "Means are totals", "noisy"),
    ],
)
def test_what_was_done_after_the_draw_is_told_by_the_tables(bought, said, not_said):
    text = post_processing(tables(tables=bought))
    assert said in text
    assert not_said not in text


def test_rows_of_systems_are_as_they_were_drawn():
    made = systems(Choices())
    assert post_processing(made).startswith("None")
    assert data_domain(made).startswith("Meter readings")
    assert "times of their readings" in unprotected(made)
    assert statement(made) == f"Each row: {made.guarantee}."
    assert mechanisms(made) == "By hand."


def test_groups_are_public_where_there_are_some():
    made = tables(tables=("sectors",), key="feeder", keys=("F1", "F2", "F3"))
    assert unprotected(made).endswith("which of them are in each feeder.")
    assert statement(made).startswith("All tables together: ")


def test_without_an_account_nothing_is_said_of_a_ledger():
    assert NO_ACCOUNT in composition(systems(Choices()), None)
    unknown = Publication("A", (), Guarantee(System(), 1.0, 0.0, "p"), "by hand")
    assert preprocessing(unknown, None) is None


def test_choices_of_an_analyst_are_told_as_the_questions():
    promise = Promise(System(), 2.0)
    asked = PublicationAccount("d", promise, 2.0, 1.0, 1.0, 1.0, 1.0, 1, "2:ab", interactive=True)
    told = preprocessing(tables(bins=Bins(sectors=4), tables=("sectors",)), asked)
    assert f"Bins were chosen for it; {ASKED}." in told
    assert THEIRS not in told

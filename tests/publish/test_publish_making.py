from __future__ import annotations

from types import SimpleNamespace

import pytest
import yaml
from fleet_makers import PublicSystems, random_fleet

from sunveil.ledger import Promise
from sunveil.privacy import Days, Guarantee, System
from sunveil.publication import Publication, write_publication
from sunveil.publication.published_tables import Bins
from sunveil.publication.readme_and_card import BY_ANALYST, BY_CURATOR, NO_ACCOUNT
from sunveil.publish import PublicationAccount, SystemRows, TableChoices
from sunveil.publish.fleet_tables import fleet_tables
from sunveil.releases import Choices
from sunveil.releases.fleet_releases import ReleaseTerms

PLANES = 200.0, 30.0, 5.0


def tables(**options):
    return fleet_tables(random_fleet(40), TableChoices(**options))


def systems(choices):
    """One row, as it comes back from the ledger."""
    rows = SystemRows(PublicSystems(), ReleaseTerms.of(Days(1), 1.0, choices=choices))
    return rows.publication(None, [SimpleNamespace(value=[["a", *PLANES]])], None)


@pytest.fixture
def written(tmp_path):
    """Write a publication; return its README and the card's parts that tell how it was made."""

    def write(made, account=None):
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        write_publication(folder, made, account=account)
        card = yaml.safe_load((folder / "release-card.yaml").read_text())["deployment"]
        return (folder / "README.md").read_text(), {**card["implementation"], **card["dp_variant"]}

    return write


BEFORE = "preprocessing_and_hyperparameter_tuning"


@pytest.mark.parametrize(
    ("options", "said", "not_said"),
    [
        ({"tables": ("sectors",)}, "constants of the program", "totals"),
        ({"bins": Bins(sectors=4), "tables": ("sectors",)},
         f"Bins were chosen for it; {BY_CURATOR}.", "constants"),
        ({"tables": ("totals",)}, "drawn privately from a public ladder", "were given;"),
        ({"tables": ("totals",), "clip_kw": (0.0, 25.0)},
         f"Bounds of capacity in totals were given; {BY_CURATOR}.", "privately"),
        ({"tables": ("totals",), "largest_kw": 100.0},
         "The largest capacity of a system was given", "Bounds"),
    ],
)  # fmt: skip
def test_choices_are_the_programs_own_or_the_curators(written, options, said, not_said):
    readme, card = written(tables(**options))
    assert said in card[BEFORE]
    assert not_said not in card[BEFORE]
    assert card[BEFORE] in readme


@pytest.mark.parametrize(
    ("bought", "said", "not_said"),
    [
        (("sectors",), "the column noisy", "by mount"),
        (("mounts",), "public number of systems alone", "with each other"),
        (("quantiles",), "put in order", "noisy"),
        (("totals",), "Means are totals", "noisy"),
    ],
)
def test_what_was_done_after_the_draw_depends_on_the_tables(written, bought, said, not_said):
    readme, card = written(tables(tables=bought))
    assert said in card["post_processing"]
    assert not_said not in card["post_processing"]
    assert f"Post-processing: {card['post_processing']}" in readme


def test_rows_of_systems_are_as_they_were_drawn(written):
    made = systems(Choices())
    readme, card = written(made)
    assert card["post_processing"].startswith("None")
    assert card["data_domain"].startswith("Meter readings")
    assert "times of their readings" in card["unprotected_quantities"]
    assert f"Each row: {made.guarantee}." in readme
    assert "Chosen for it" not in card[BEFORE]
    _, card = written(systems(Choices(step=6.0)))
    assert f"Chosen for it: planes_step_degrees; {BY_CURATOR}." in card[BEFORE]


def test_groups_are_public_where_there_are_some(written):
    made = tables(tables=("sectors",), key="feeder", keys=("F1", "F2", "F3"))
    readme, card = written(made)
    assert card["unprotected_quantities"].endswith("which of them are in each feeder.")
    assert f"All tables together: {made.guarantee}." in readme


def test_without_an_account_nothing_is_said_of_a_ledger_nor_of_an_unknown_product(written):
    assert NO_ACCOUNT in written(systems(Choices()))[1]["composition"]
    (table,) = tables(tables=("sectors",)).tables
    guarantee = Guarantee(System(), 1.0, 0.0, "p")
    _, card = written(Publication("A", (table,), guarantee, "by hand"))
    assert BEFORE not in card
    assert card["mechanisms"].startswith("By hand.")


def test_choices_of_an_analyst_are_the_questions(written):
    promise = Promise(System(), 2.0)
    asked = PublicationAccount("d", promise, 2.0, 1.0, 1.0, 1.0, 1.0, 1, "2:ab", interactive=True)
    _, card = written(tables(bins=Bins(sectors=4), tables=("sectors",)), asked)
    assert f"Bins were chosen for it; {BY_ANALYST}." in card[BEFORE]
    assert BY_CURATOR not in card[BEFORE]

"""What README, release card and data package say; golden files have the whole texts."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import yaml
from fleet_makers import PublicSystems, random_fleet

from sunveil.errors import ParameterError
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import HighWaterMark
from sunveil.ledger.promises import SystemHome
from sunveil.meters import MeterOptions
from sunveil.meters.schema_files import schema_digest
from sunveil.privacy import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    Days,
    Guarantee,
    Readings,
    System,
)
from sunveil.privacy.guarantees import rho_to_epsilon
from sunveil.publication import Publication, write_publication
from sunveil.publication.published_tables import Bins, Column, HowMade, PublishedTable
from sunveil.publication.readme_and_card import (
    BY_ANALYST,
    BY_CURATOR,
    NO_ACCOUNT,
    Curator,
    card_yaml,
    household_loss,
    readme,
    release_card,
    slug,
)
from sunveil.publish import PublicationAccount, SystemRows, TableChoices
from sunveil.publish.fleet_tables import FleetTables, fleet_tables
from sunveil.publish.publisher import Publisher
from sunveil.releases import Choices
from sunveil.releases.fleet_releases import ReleaseTerms

DAY = datetime.date(2026, 3, 1)
# What the registry asks of a record, and the words it has for some fields.
REQUIRED = {
    "basic": "name data_curators description intended_use data_product_type data_product_region"
    " publication_date",
    "administrative": "status registry_authors tier",
}
ALLOWED = {
    "basic": REQUIRED["basic"] + " data_product_sector",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units privacy_parameters"
    " privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type"
    " release_type_details data_source_type data_source_type_details access_type"
    " access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition"
    " post_processing justification utility additional_information",
    "administrative": REQUIRED["administrative"] + " evidence_sources",
}
WORDS = {
    ("basic", "data_product_type"): {"Summary statistics", "Dataset", "Synthetic data"},
    ("basic", "data_product_sector"): {"Energy"},
    ("dp_variant", "variant_name"): {"Pure DP"},
    ("deployment_model", "model_name"): {"Central"},
    ("deployment_model", "release_type"): {None},  # known to a ledger alone
    ("deployment_model", "data_source_type"): {"Static", "Dynamic"},
    ("deployment_model", "access_type"): {"Interactive", "Non-interactive"},
    ("administrative", "status"): {"Draft"},
    ("administrative", "tier"): {1, 2, 3},
}
COUNTS = PublishedTable(
    "counts",
    "Counts by sector.",
    (Column("n", "integer", "Systems."), Column("n_error", "number", "Its standard error.")),
    ((3, 1.5), (4, 1.5)),
)
PURE = Guarantee(System(), 1.5, 0.0, "docs/proofs/window.md")
MANY = ConcentratedGuarantee(System(), 0.5, "docs/proofs/counts.md")
WEAK = ConditionalGuarantee(Readings(1), 1.0, 0.1, "docs/proofs/window.md", "If it rains.")
BARE = Publication("A fleet", (COUNTS,), PURE, "discrete Laplace noise", {"systems": 900})
BEFORE, AFTER = "preprocessing_and_hyperparameter_tuning", "post_processing"


def card_of(made: Publication = BARE, curator: Curator | None = None):
    card = yaml.safe_load(card_yaml(release_card(made, curator or Curator(), published=DAY)))
    assert set(card) == {"url_slug", "deployment"}
    assert card["url_slug"] == "a-fleet-2026"
    return card["deployment"]


def test_the_card_has_the_form_of_the_registry():
    parts = card_of(curator=Curator("Example Power", "Industry", "Nowhere"))
    assert list(parts) == list(ALLOWED)
    for name, fields in parts.items():
        required, allowed = (set(each.get(name, "").split()) for each in (REQUIRED, ALLOWED))
        assert required <= set(fields) <= allowed
    for (part, field), words in WORDS.items():
        assert parts[part].get(field) in words
    assert parts["basic"]["publication_date"] == "2026-03-01"
    assert parts["basic"]["data_curators"] == [
        {"data_curator_name": "Example Power", "data_curator_type": "Industry"}
    ]


@pytest.mark.parametrize(
    ("guarantee", "name", "parameters"),
    [
        (PURE, "Pure DP", {"epsilon": 1.5}),
        (replace(PURE, delta=1e-6), "Approximate DP", {"epsilon": 1.5, "delta": 1e-6}),
        (MANY, "Zero-concentrated DP",
         {"epsilon": MANY.epsilon_at(1e-6), "delta": 1e-6, "rho": 0.5}),
        (WEAK, "Custom", {"epsilon": 1.0, "delta": 0.1}),
    ],
)  # fmt: skip
def test_the_card_says_which_kind_of_privacy_it_is(guarantee, name, parameters):
    card = card_of(replace(BARE, guarantee=guarantee))
    assert card["dp_variant"]["variant_name"] == name
    assert card["privacy_loss"]["privacy_parameters"] == parameters
    details = card["privacy_loss"]["privacy_parameters_details"]
    assert ("If it rains." in details) == (guarantee is WEAK)


@pytest.mark.parametrize(
    ("unit", "words", "many"),
    [
        (System(), "the whole record of any one system", 900),
        (Days(1), f"{Days(1)} of any one system", None),
        (Readings(3), f"{Readings(3)} of any one system", None),
    ],
)
def test_units_are_named_and_counted_only_where_their_number_is_known(unit, words, many):
    made = replace(BARE, guarantee=replace(PURE, unit=unit))
    loss = card_of(made)["privacy_loss"]
    assert (loss["privacy_unit"], loss.get("number_of_privacy_units")) == (words, many)
    text = readme(made, [], published=DAY)
    assert ("A whole record is protected less" in text) == (many is None)


def test_without_a_ledger_or_a_curator_nothing_is_said_of_one():
    card = card_of()
    assert "nothing here says that it was recorded" in card["implementation"]["composition"]
    assert NO_ACCOUNT in readme(BARE, [], published=DAY)
    assert "promise" not in card["privacy_loss"]["privacy_parameters_details"]
    assert BEFORE not in card["implementation"]
    basic = card["basic"]
    assert basic["data_curators"] == [{"data_curator_name": "not stated"}]
    assert basic["intended_use"] == basic["data_product_region"] == "not stated"
    how = HowMade("Each row", "Readings.", "Places.", "None.", "None.", "Rows.", "Dataset")
    assert card_of(replace(BARE, how=how))["basic"]["data_product_type"] == "Dataset"


def test_a_curator_is_named_and_of_a_kind_that_the_registry_knows():
    with pytest.raises(ParameterError, match="Government, Industry, Nonprofit"):
        Curator("Example", "Utility")
    with pytest.raises(ParameterError, match="name is empty"):
        Curator(" ")
    assert [slug(text) for text in ("Ä & b/2", "")] == ["b-2", "publication"]


def test_the_readme_says_a_condition_and_what_not_to_conclude():
    public = {**BARE.public, "cautions": ["Mind the gap."]}
    text = readme(replace(BARE, public=public, guarantee=WEAK), ["a.csv"], published=DAY)
    for words in ("If it rains.", "holds only under the condition", "- `a.csv`",
                  "Errors are stated in `n_error`.", "- Mind the gap.",
                  "## What not to conclude"):  # fmt: skip
        assert words in text


@pytest.mark.parametrize(
    ("guarantee", "meters", "unit", "parameters"),
    [
        (Guarantee(Days(2), 0.5, 0.0, "p"), None,
         "any 2 days of any one system", {"epsilon": 0.5}),
        (Guarantee(Days(2), 0.5, 0.0, "p"), 1,
         "any 2 days of any one household", {"epsilon": 0.5}),
        (Guarantee(Days(2), 0.5, 0.0, "p"), 3,
         "any 2 days of each meter of any one household, 3 meters at most", {"epsilon": 1.5}),
        # each meter has its δ
        (ConditionalGuarantee(Readings(1), 0.5, 0.01, "p", "If it rains."), 3,
         "any one reading of each meter of any one household, 3 meters at most",
         {"epsilon": 1.5, "delta": pytest.approx(0.03)}),
    ],
)  # fmt: skip
def test_a_household_loses_by_each_of_its_meters(guarantee, meters, unit, parameters):
    account = None
    if meters:
        promise = Promise(guarantee.unit, 2.0, conditional=("paper",), meters=meters)
        cost = meters * guarantee.epsilon
        account = PublicationAccount(
            "d", promise, 2.0, cost, 2.0 - cost, cost, None, 1, "2:ab", cost=cost, meters=meters
        )
    found = household_loss(replace(BARE, guarantee=guarantee), account)
    assert (found.unit, found.parameters) == (unit, parameters)


# -- what was chosen, and by whom


def written(folder, made, account=None):
    write_publication(folder, made, account=account)
    card = yaml.safe_load((folder / "release-card.yaml").read_text())["deployment"]
    return (folder / "README.md").read_text(), card


def tables(**options):
    return fleet_tables(random_fleet(40), TableChoices(**options))


@pytest.mark.parametrize(
    ("options", "field", "said", "not_said"),
    [
        ({"tables": ("totals",), "largest_kw": 100.0}, BEFORE,
         "The largest capacity of a system was given", "Bounds"),
        ({"tables": ("mounts",)}, AFTER, "public number of systems alone", "with each other"),
        ({"tables": ("quantiles",)}, AFTER, "put in order", "noisy"),
        ({"tables": ("totals",)}, AFTER, "Means are totals", "noisy"),
    ],
)  # fmt: skip
def test_choices_and_later_steps_are_those_of_the_tables(tmp_path, options, field, said, not_said):
    text, card = written(tmp_path / "out", tables(**options))
    found = card["implementation"][field]
    assert said in found
    assert not_said not in found
    assert found in text


def test_choices_of_an_analyst_are_the_questions(tmp_path):
    promise = Promise(System(), 2.0)
    asked = PublicationAccount("d", promise, 2.0, 1.0, 1.0, 1.0, 1.0, 1, "2:ab", interactive=True)
    _, card = written(tmp_path / "out", tables(bins=Bins(sectors=4), tables=("sectors",)), asked)
    assert f"Bins were chosen for it; {BY_ANALYST}." in card["implementation"][BEFORE]
    assert BY_CURATOR not in card["implementation"][BEFORE]


@pytest.mark.parametrize("step", [Choices().step, 6.0])
def test_rows_of_systems_are_as_they_were_drawn(tmp_path, step):
    terms = ReleaseTerms.of(Days(1), 1.0, choices=Choices(step=step))
    row = SimpleNamespace(value=[["a", 200.0, 30.0, 5.0]])
    made = SystemRows(PublicSystems(), terms).publication(None, [row], None)
    text, card = written(tmp_path / "out", made)
    assert card["implementation"][AFTER].startswith("None")
    assert card["dp_variant"]["data_domain"].startswith("Meter readings")
    assert "times of their readings" in card["dp_variant"]["unprotected_quantities"]
    assert f"Each row: {made.guarantee}." in text
    chosen = f"Chosen for it: planes_step_degrees; {BY_CURATOR}." in card["implementation"][BEFORE]
    assert chosen == (step == 6.0)


# -- the account of the ledger

ROWS = random_fleet(60)


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Ledger(tmp_path / "ledger.db", create=True) as made:
        made.create_dataset("homes", Promise(System(), 2.5))
        yield made


def publish(ledger, epsilon=0.5, *, dataset="homes", rows=ROWS, **options):
    choices = TableChoices(bins=Bins(), epsilon=epsilon, tables=("sectors",))
    made = Publisher(ledger, dataset, **options).publish(FleetTables(choices, rows))
    return made, Publisher(ledger, dataset).account(made)


def test_an_account_says_what_the_ledger_says_and_its_mark_holds_later(ledger, tmp_path):
    marks = []
    for number, (epsilon, spent) in enumerate(((0.5, 0.5), (1.0, 1.5)), 1):
        made, account = publish(ledger, epsilon)
        known, chain = ledger.dataset("homes"), ledger.entries("homes")
        assert (account.total, account.spent, account.remaining) == (2.5, spent, 2.5 - spent)
        assert (account.promise, account.spent_epsilon) == (known.promise, spent)
        assert account.mark == f"{len(chain)}:{chain[-1].digest}"
        charge = chain[account.charge - 1]
        assert charge.kind == "charge"
        assert charge.facts()["question"] == account.question == made.question.digest("homes")
        assert (account.cost, account.meters, account.charges) == (epsilon, 1, number)
        account = replace(account, schema=schema_digest(MeterOptions()))
        text, _ = written(tmp_path / str(number), made, account)
        package = json.loads((tmp_path / str(number) / "datapackage.json").read_text())
        assert PublicationAccount.from_dict(package["sunveil:account"]) == account
        assert f"--mark {account.mark}" in text
        length, _, head = account.mark.partition(":")
        marks.append(HighWaterMark(int(length), head))
    assert all(ledger.verify("homes", mark=mark).holds for mark in marks)
    assert not ledger.verify("homes", mark=replace(marks[1], head="0" * 64)).holds
    write_publication(tmp_path / "bare", made)
    package = json.loads((tmp_path / "bare" / "datapackage.json").read_text())
    assert "sunveil:account" not in package


def test_a_promise_with_delta_is_told_as_rho_as_epsilon_and_never_as_a_false_sum(ledger, tmp_path):
    ledger.create_dataset("many", Promise(System(), 2.5, 1e-9))
    made, account = publish(ledger, 0.2, dataset="many")
    assert account.spent == pytest.approx(0.02)
    epsilon = pytest.approx(rho_to_epsilon(0.02, 1e-9))
    assert (account.spent_epsilon, account.plain_epsilon) == (epsilon, None)
    _, card = written(tmp_path / "out", made, account)
    # ε is that at the promise's own δ
    found = card["privacy_loss"]["privacy_parameters"]
    assert found == {"epsilon": epsilon, "delta": 1e-9, "rho": pytest.approx(0.02)}


def test_a_household_with_several_meters_is_told_all_that_it_loses_and_is_not_named(
    ledger, tmp_path
):
    ledger.create_dataset("twins", Promise(System(), 1.0, meters=2))
    ledger.set_share("twins", "ann-the-analyst", 1.0)
    homes = [SystemHome(name, f"key-of-{n // 2}") for n, name in enumerate(ROWS.system_ids)]
    made, account = publish(ledger, dataset="twins", homes=homes, analyst="ann-the-analyst")
    assert (account.cost, account.meters) == (1.0, 2)
    text, card = written(tmp_path / "out", made, account)
    loss = card["privacy_loss"]
    assert loss["privacy_unit"].endswith("any one household, 2 meters at most")
    assert loss["privacy_parameters"] == {"epsilon": 1.0}
    assert "number_of_privacy_units" not in loss
    assert "up to 2 meters" in loss["privacy_unit_details"]
    assert "2.72 times" in text
    # nothing is left of the promise
    assert card["deployment_model"]["release_type"] == "One release"
    for path in (tmp_path / "out").glob("*.[jym]*"):
        assert not any(word in path.read_text() for word in ("ann-the", "secret-", "key-of"))


def test_rows_that_all_stand_are_told_without_a_charge_and_as_data_that_change(ledger, tmp_path):
    made, _ = publish(ledger)
    account = Publisher(ledger, "homes").account(replace(made, question=None))
    assert (account.charge, account.cost, account.spent) == (None, None, 0.5)
    assert account.record.startswith("Nothing was charged for this publication")
    made = replace(made, public={**made.public, "drawn": [{"year": 2026}]})
    account = Publisher(ledger, "homes").account(made)
    assert (account.meters, account.cost) == (None, 0.5)
    _, card = written(tmp_path / "out", made, account)
    assert card["privacy_loss"]["privacy_unit"] == "the whole record of any one system"
    assert card["deployment_model"]["data_source_type"] == "Dynamic"

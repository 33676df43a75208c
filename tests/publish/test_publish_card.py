from __future__ import annotations

import datetime
from dataclasses import replace

import pytest
import yaml

from sunveil.errors import ParameterError
from sunveil.privacy import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    Days,
    Guarantee,
    Readings,
    System,
)
from sunveil.publication import Publication
from sunveil.publication.published_tables import Column, HowMade, PublishedTable
from sunveil.publication.readme_and_card import Curator, card_yaml, release_card, slug

DAY = datetime.date(2026, 3, 1)
# What the registry asks of a record, and the words it has for some fields.
REQUIRED = {
    "basic": {
        "name",
        "data_curators",
        "description",
        "intended_use",
        "data_product_type",
        "data_product_region",
        "publication_date",
    },
    "administrative": {"status", "registry_authors", "tier"},
}
ALLOWED = {
    "basic": REQUIRED["basic"] | {"data_product_sector"},
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit",
        "privacy_unit_details",
        "number_of_privacy_units",
        "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name",
        "model_name_details",
        "trust_assumptions",
        "actors",
        "release_type",
        "release_type_details",
        "data_source_type",
        "data_source_type_details",
        "access_type",
        "access_type_details",
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning",
        "mechanisms",
        "composition",
        "post_processing",
        "justification",
        "utility",
        "additional_information",
    },
    "administrative": REQUIRED["administrative"] | {"evidence_sources"},
}
WORDS = {
    ("basic", "data_product_type"): {"Summary statistics", "Dataset", "Synthetic data"},
    ("basic", "data_product_sector"): {"Energy"},
    ("dp_variant", "variant_name"): {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Custom"},
    ("deployment_model", "model_name"): {"Central"},
    ("deployment_model", "release_type"): {"One release", "Many releases"},
    ("deployment_model", "data_source_type"): {"Static", "Dynamic"},
    ("deployment_model", "access_type"): {"Interactive", "Non-interactive"},
    ("administrative", "status"): {"Draft"},
    ("administrative", "tier"): {1, 2, 3},
}
# Known to a ledger alone, and left out without one.
RELEASES = ("deployment_model", "release_type")
COUNTS = PublishedTable(
    "counts",
    "Counts by sector.",
    (Column("n", "integer", "Systems."), Column("n_error", "number", "Its standard error.")),
    ((3, 1.5), (4, 1.5)),
)


@pytest.fixture
def publication() -> Publication:
    guarantee = Guarantee(System(), 1.5, 0.0, "docs/proofs/window.md")
    return Publication("A fleet", (COUNTS,), guarantee, "Discrete Laplace noise", {"systems": 900})


def test_the_card_has_the_form_of_the_registry(publication):
    curator = Curator("Example Power", "Industry", "Nowhere")
    card = yaml.safe_load(card_yaml(release_card(publication, curator, published=DAY)))
    assert set(card) == {"url_slug", "deployment"}
    parts = card["deployment"]
    assert list(parts) == list(ALLOWED)
    for name, fields in parts.items():
        assert REQUIRED.get(name, set()) <= set(fields) <= ALLOWED[name]
    for (part, field), words in WORDS.items():
        assert parts[part].get(field) in words or (part, field) == RELEASES
    assert parts["basic"]["publication_date"] == "2026-03-01"
    assert parts["basic"]["data_curators"] == [
        {"data_curator_name": "Example Power", "data_curator_type": "Industry"}
    ]
    assert parts["privacy_loss"]["number_of_privacy_units"] == 900
    assert card["url_slug"] == "a-fleet-2026"


def test_the_card_says_which_kind_of_privacy_it_is(publication):
    def card(guarantee):
        told = release_card(replace(publication, guarantee=guarantee), Curator(), published=DAY)
        return told["deployment"]["dp_variant"]["variant_name"], told["deployment"]["privacy_loss"]

    assert card(publication.guarantee)[0] == "Pure DP"
    name, loss = card(Guarantee(System(), 1.0, 1e-6, "docs/proofs/window.md"))
    assert (name, loss["privacy_parameters"]) == ("Approximate DP", {"epsilon": 1.0, "delta": 1e-6})
    many = ConcentratedGuarantee(System(), 0.5, "docs/proofs/counts.md")
    name, loss = card(many)
    assert name == "Zero-concentrated DP"
    told = {"epsilon": many.epsilon_at(1e-6), "delta": 1e-6, "rho": 0.5}
    assert loss["privacy_parameters"] == told
    weak = ConditionalGuarantee(Readings(1), 1.0, 0.1, "docs/proofs/window.md", "If it rains.")
    assert card(weak)[0] == "Custom"
    assert "If it rains." in card(weak)[1]["privacy_parameters_details"]


def test_units_are_counted_only_where_their_number_is_known(publication):
    def loss(guarantee):
        told = release_card(replace(publication, guarantee=guarantee), Curator(), published=DAY)
        return told["deployment"]["privacy_loss"]

    whole = loss(publication.guarantee)
    assert whole["number_of_privacy_units"] == 900
    assert whole["privacy_unit"] == "the whole record of any one system"
    for unit in (Days(1), Readings(3)):
        few = loss(replace(publication.guarantee, unit=unit))
        assert "number_of_privacy_units" not in few
        assert few["privacy_unit"] == f"{unit} of any one system"


def test_without_a_ledger_nothing_is_said_of_one(publication):
    card = release_card(publication, Curator(), published=DAY)["deployment"]
    assert "release_type" not in card["deployment_model"]
    assert "nothing here says that it was recorded" in card["implementation"]["composition"]
    assert "promise" not in card["privacy_loss"]["privacy_parameters_details"]


def test_what_a_curator_did_not_state_is_not_asserted(publication):
    basic = release_card(publication, Curator(), published=DAY)["deployment"]["basic"]
    assert basic["data_curators"] == [{"data_curator_name": "not stated"}]
    assert basic["intended_use"] == basic["data_product_region"] == "not stated"


def test_the_product_names_its_type(publication):
    def product(changed):
        return release_card(changed, Curator(), published=DAY)["deployment"]["basic"][
            "data_product_type"
        ]

    assert product(publication) == "Summary statistics"
    how = HowMade("Each row", "Readings.", "Places.", "None.", "None.", "Rows.", "Dataset")
    assert product(replace(publication, how=how)) == "Dataset"


def test_a_curator_is_named_and_of_a_kind_that_the_registry_knows():
    with pytest.raises(ParameterError, match="Government, Industry, Nonprofit"):
        Curator("Example", "Utility")
    with pytest.raises(ParameterError, match="name is empty"):
        Curator(" ")


@pytest.mark.parametrize(("text", "found"), [("Ä & b/2", "b-2"), ("", "publication")])
def test_a_slug_is_small_letters_digits_and_hyphens(text, found):
    assert slug(text) == found

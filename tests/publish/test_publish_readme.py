from __future__ import annotations

import datetime
import math
from dataclasses import replace

import pytest

from sunveil.privacy import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    Days,
    Guarantee,
    Readings,
    System,
)
from sunveil.publication import Publication
from sunveil.publication.published_tables import Column, PublishedTable
from sunveil.publication.readme_and_card import NO_ACCOUNT, readme

DAY = datetime.date(2026, 3, 1)
COUNTS = PublishedTable(
    "counts",
    "Counts by sector.",
    (Column("n", "integer", "Systems."), Column("n_error", "number", "Its standard error.")),
    ((3, 1.5), (4, 1.5)),
)


@pytest.fixture
def publication() -> Publication:
    guarantee = Guarantee(System(), 1.5, 0.0, "docs/proofs/window.md")
    return Publication("A fleet", (COUNTS,), guarantee, "discrete Laplace noise", {"systems": 900})


def test_the_readme_says_what_was_protected_how_and_how_well(publication):
    public = {**publication.public, "cautions": ["Mind the gap."]}
    text = readme(replace(publication, public=public), ["a.csv"], published=DAY)
    for words in (
        "**the whole record of any one system**",
        "ε = 1.5",
        "4.48 times",
        "Discrete Laplace noise",
        "docs/proofs/window.md",
        "Errors are stated in `n_error`.",
        "2 rows",
        "- `a.csv`",
        "- Mind the gap.",
        "## What not to conclude",
        NO_ACCOUNT,
    ):
        assert words in text
    assert "protected less" not in text
    smaller = replace(publication, guarantee=replace(publication.guarantee, unit=Days(7)))
    assert "A whole record is protected less" in readme(smaller, [], published=DAY)


def test_rho_is_told_as_a_factor_and_an_additive_delta_and_a_condition_is_named(publication):
    many = ConcentratedGuarantee(System(), 0.5, "docs/proofs/counts.md")
    said = readme(replace(publication, guarantee=many), [], published=DAY)
    assert f"{math.exp(many.epsilon_at(1e-6)):.3g} times" in said
    assert "times as likely as it is, plus 1e-06, and the other way round" in said
    assert "but with a probability" not in said
    weak = ConditionalGuarantee(Readings(1), 1.0, 0.1, "docs/proofs/window.md", "If it rains.")
    said = readme(replace(publication, guarantee=weak), [], published=DAY)
    assert "If it rains." in said
    assert "holds only under the condition" in said

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from sunveil.errors import ParameterError
from sunveil.plots.publication_figures import (
    plot_published_systems,
    plot_shares,
    plot_survival,
    publication_figures,
)
from sunveil.privacy import Guarantee, System
from sunveil.publication import Publication, write_publication
from sunveil.publication.published_tables import Column, PublishedTable


def table(name: str, columns: str, rows: list[tuple]) -> PublishedTable:
    kinds = {"group": "string", "quantity": "string", "kind": "string", "of": "string"}
    made = tuple(Column(c, kinds.get(c, "number"), "") for c in columns.split())
    return PublishedTable(name, "A table.", made, tuple(rows))


SYSTEMS = table(
    "systems",
    "surface_azimuth surface_tilt dc_capacity_kw",
    [(180.0, 20.0, 5.0), (90.0, 45.0, 10.0), (270.0, 0.0, None)],
)
SHARES = table(
    "shares",
    "quantity group share share_error",
    [
        ("surface_azimuth", "0°", 0.0, 0.1),
        ("surface_azimuth", "180°", 1.0, 0.1),
        ("surface_tilt", "below 20°", 1.0, 0.1),
    ],
)
SURVIVAL = table(
    "survival",
    "kind of measured synthetic difference noise_error",
    [
        ("distance", "surface_tilt", None, None, 0.02, 0.01),
        ("correlation", "a and b", 0.5, 0.4, -0.1, 0.05),
    ],
)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def test_every_published_system_is_a_dot_where_its_plane_is():
    ax = plot_published_systems(SYSTEMS)
    (dots,) = ax.collections
    assert dots.get_offsets()[:, 1].tolist() == [20.0, 45.0, 0.0]
    assert np.degrees(dots.get_offsets()[:, 0]).tolist() == pytest.approx([180.0, 90.0, 270.0])
    sizes = dots.get_sizes()
    assert sizes[1] == pytest.approx(2.0 * sizes[0])


def test_shares_are_drawn_in_percent_with_their_errors():
    ax = plot_shares(SHARES, "surface_azimuth")
    assert [bar.get_height() for bar in ax.patches] == [0.0, 100.0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["0°", "180°"]
    assert ax.get_ylabel() == "Share of systems [%]"
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([0.0, 100.0])


def test_survival_draws_distances_only():
    ax = plot_survival(SURVIVAL)
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([2.0, 1.0])


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ParameterError, match="no column dc_capacity_kw"):
        plot_published_systems(SHARES)
    with pytest.raises(ParameterError, match="no shares of wind"):
        plot_shares(SHARES, "wind")
    with pytest.raises(ParameterError, match="no distances"):
        plot_survival(PublishedTable("survival", "", SURVIVAL.columns, SURVIVAL.rows[1:]))
    with pytest.raises(ParameterError, match="polar axes"):
        plot_published_systems(SYSTEMS, ax=plt.figure().add_subplot())


def test_a_folder_has_the_figures_that_its_tables_can_be_drawn_as(tmp_path):
    guarantee = Guarantee(System(), 1.0, 0.0, "docs/proofs/window.md")
    found = Publication("All", (SYSTEMS, SHARES, SURVIVAL), guarantee, "By hand")
    figures = publication_figures(found)
    assert set(figures) == {"systems-planes", "shares-azimuth", "survival-distances"}
    paths = write_publication(tmp_path / "out", found, figures=figures)
    assert len([path for path in paths if path.suffix in (".png", ".svg")]) == 6
    assert plt.get_fignums() == []

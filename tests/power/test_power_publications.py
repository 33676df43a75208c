from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest

from sunveil import Site, example_publication
from sunveil.cli import main
from sunveil.errors import ParameterError, SourceError
from sunveil.estimates.read_write import FleetRows
from sunveil.example_publication import example_tables
from sunveil.power.compute_power import fleet_power as power
from sunveil.power.from_system_rows import (
    RowErrors,
    channel,
    lossy_mixture,
    moved_rows,
    places_of,
    row_grid,
    row_law,
    seen_shares,
    unmixed,
    window_of,
)
from sunveil.power.from_tables import margin_matrix, mixture_of
from sunveil.power.posterior import CellGrid, Observation, ObservedTotal, cell_prior, draw_cells
from sunveil.privacy.discrete_noise import Spending
from sunveil.privacy.mechanisms import Axis, Placement
from sunveil.privacy.two_level_window import Window
from sunveil.publication import write_publication
from sunveil.publication.publication_folder import (
    PublishedFleet,
    frame_of_table,
    published_fleet,
    read_publication,
)
from sunveil.publication.published_tables import Bins, Column, PublishedTable
from sunveil.publish.fit_synthetic import noisy_counts
from sunveil.publish.fleet_tables import TableChoices, fleet_tables
from sunveil.publish.synthetic_table import bins_of_rows, draw_counts
from sunveil.releases import Choices
from sunveil.releases.score_kernels import Capacities

SITE = Site(39.74, -105.17)
DAY = {"start": "2023-06-20T06:00", "end": "2023-06-21T06:00"}


def homes(many: int, seed: int = 1) -> FleetRows:
    rng = np.random.default_rng(seed)
    return FleetRows(
        tuple(map(str, range(many))),
        rng.normal(200.0, 45.0, many) % 360.0,
        rng.uniform(8.0, 40.0, many),
        np.clip(rng.lognormal(1.9, 0.4, many), 1.0, 20.0),
        {"feeder": rng.choice(["F1", "F2"], many)},
    )


def tables(rows: FleetRows, epsilon: float = 1.0, key: str | None = None, **options):
    keys = None if key is None else ("F1", "F2")
    chosen = {"tables": ("planes", "totals"), **options}
    return fleet_tables(
        rows, TableChoices(epsilon=epsilon, key=key, keys=keys, largest_kw=20.0, **chosen)
    )


@pytest.fixture(scope="module")
def truth():
    rows = homes(3000)
    planes = pd.DataFrame(
        {"surface_azimuth": rows.surface_azimuth, "surface_tilt": rows.surface_tilt,
         "dc_capacity_kw": rows.dc_capacity_kw}
    )  # fmt: skip
    return rows, power(planes, SITE, **DAY, draws=20).power_kw[0]


def test_private_tables_of_3000_homes_give_their_power(truth):
    rows, true = truth
    found = power(tables(rows), SITE, **DAY, draws=100)
    lit = true > 1.0
    assert abs(found.power_kw.sum() / true.sum() - 1.0) < 0.05
    # the truth here has none of the model's error, so that nearly all of it is in the band
    inside = (found.low_kw[0] <= true) & (true <= found.high_kw[0])
    assert inside[lit].mean() > 0.5


def drawn_totals(largest_kw: float, counted: np.ndarray, total: ObservedTotal | None) -> np.ndarray:
    """Draw the capacity of 300 systems whose classes were counted, and whose total may be told."""
    prior = cell_prior(CellGrid.of(Bins()), largest_kw=largest_kw)
    classes = len(counted)
    where = np.indices(prior.grid.shape).reshape(3, -1)[2]
    matrix = np.hstack(
        [(where == np.arange(classes)[:, None]).astype(float), np.zeros((classes, 1))]
    )
    observed = [Observation(matrix, counted, np.full(classes, 5.0))]
    rng = np.random.default_rng(4)
    found = draw_cells(prior, 300.0, observed, total=total, draws=400, rng=rng, unknown=False)
    return found.capacity_kw.sum(axis=1)


def test_a_total_that_is_all_noise_leaves_what_classes_tell_and_a_sure_one_sets_it():
    edges = np.array(Bins().capacity_edges_kw)
    counted = np.histogram(homes(300).dc_capacity_kw, edges)[0].astype(float)
    alone = drawn_totals(2000.0, counted, None)
    noise = drawn_totals(2000.0, counted, ObservedTotal(90_000.0, 1e6))
    assert np.median(noise) == pytest.approx(np.median(alone), rel=0.02)
    sure = drawn_totals(2000.0, counted, ObservedTotal(1500.0, 10.0))
    assert np.quantile(sure, (0.05, 0.95)) == pytest.approx((1484.0, 1516.0), abs=8.0)


def test_homes_are_not_taken_for_plants_where_the_largest_system_is_not_said():
    edges = np.array(Bins().capacity_edges_kw)
    rows = homes(300)
    counted = np.histogram(rows.dc_capacity_kw, edges)[0].astype(float)
    # no system is larger than 20 kW, and 300 of the lists' would have 20 MW by their few large ones
    found = np.median(drawn_totals(2000.0, counted, None))
    assert found == pytest.approx(rows.dc_capacity_kw.sum(), rel=0.25)


def test_less_epsilon_makes_a_wider_band():
    rows = homes(300)

    def width(epsilon: float) -> float:
        found = power(tables(rows, epsilon), SITE, **DAY, draws=60)
        return float((found.high_kw - found.low_kw).sum())

    assert width(0.1) > 2.0 * width(10.0)


def test_draws_are_non_negative_and_add_up_to_the_public_number_of_systems():
    bins = Bins()
    prior = cell_prior(CellGrid.of(bins), largest_kw=20.0)
    matrix = margin_matrix(bins, "sectors")
    rng = np.random.default_rng(1)
    values = np.array([-9.0, -3.0, 20.0, 30.0, 150.0, 60.0, 40.0, 5.0, 4.0])
    seen = Observation(matrix, values, np.full(9, 8.5))
    total = ObservedTotal(2000.0, 50.0)
    found = draw_cells(prior, 300.0, [seen], total=total, draws=400, rng=rng)
    assert (found.systems >= 0.0).all()
    assert (found.systems.sum(axis=(1, 2)) <= 300.0 + 1e-6).all()
    sectors = found.systems.sum(axis=2).reshape(400, 8, 6).sum(axis=2)
    assert sectors.mean(axis=0)[4] == pytest.approx(150.0, abs=12.0)
    assert found.capacity_kw.sum(axis=1).std() == pytest.approx(50.0, rel=0.2)


def test_a_folder_is_read_as_the_publication_that_it_was(tmp_path):
    drawn = tables(homes(400), key="feeder")
    write_publication(tmp_path / "published", drawn)
    one, other = (
        mixture_of(each, draws=20, rng=np.random.default_rng(1))
        for each in (read_publication(tmp_path / "published"), published_fleet(drawn))
    )
    assert one.groups == other.groups == ("F1", "F2")
    assert one.weights == pytest.approx(other.weights, rel=1e-3)
    (tmp_path / "published" / "planes.parquet").unlink()
    with pytest.raises(SourceError, match="is no publication"):
        read_publication(tmp_path / "published")


def test_a_fleet_is_divided_by_what_was_published_alone():
    found = tables(homes(50), key="feeder")
    with pytest.raises(ParameterError, match="is divided by feeder"):
        power(found, SITE, **DAY, by="postcode")
    assert power(found, SITE, **DAY, by="all", draws=20).groups == ("all",)


def test_stated_errors_say_which_share_of_rows_tells_nothing():
    def law(azimuth, tilt=(5.1, 13.2), capacity=(5.4, 11.2)):
        return RowErrors.stated(
            {"surface_azimuth": azimuth, "surface_tilt": tilt, "dc_capacity_kw": capacity}
        )

    assert law((3.6, 8.2)).lost < 0.02
    assert 0.2 < law((23.0, 55.2), (11.8, 25.6), (1522.0, 348.0)).lost < 0.6
    assert law((46.2, 105.2), (17.3, 36.2), (6442.0, 18435.0)).lost > 0.9


def test_moved_rows_keep_the_fleet_and_lost_rows_are_seen_through():
    rows, rng = homes(1500), np.random.default_rng(2)
    planes = rows.surface_azimuth, rows.surface_tilt, rows.dc_capacity_kw
    near = moved_rows(*planes, RowErrors(0.0, 4.0, 4.0, 0.05), draws=20, rng=rng)
    assert near.weights.sum(axis=2).mean() == pytest.approx(rows.dc_capacity_kw.sum(), rel=0.02)
    lost = rng.random(1500) < 0.3
    noisy = [
        np.where(lost, rng.normal(180.0, 50.0, 1500) % 360.0, planes[0]),
        np.where(lost, rng.uniform(8.0, 45.0, 1500), planes[1]),
        np.where(lost, np.exp(rng.uniform(np.log(0.5), np.log(200.0), 1500)), planes[2]),
    ]
    law = RowErrors(0.3, 4.0, 4.0, 0.05)
    seen = lossy_mixture(*noisy, law, capacities_kw=(0.5, 200.0), draws=20, rng=rng)
    true = rows.dc_capacity_kw.sum()
    away, before = seen.weights.sum(axis=2).mean() / true - 1.0, noisy[2].sum() / true - 1.0
    assert before > 0.8
    assert abs(away) < 0.5 * before


def test_counts_beside_a_synthetic_table_give_its_fleet():
    rows, bins = homes(2000), Bins(8, (0, 10, 20, 30, 90), (0.5, 3, 6, 9, 12, 20))
    drawn = noisy_counts(draw_counts(bins_of_rows(rows, bins), Spending(4.0), bins), bins)
    public = {"systems": 2000, "bins": asdict(bins)}
    read = {"synthetic-systems": pd.DataFrame(), "noisy-counts": frame_of_table(drawn)}
    rng = np.random.default_rng(3)
    found = mixture_of(PublishedFleet(read, {}, public), draws=40, rng=rng)
    made, true = found.weights.sum(axis=2), rows.dc_capacity_kw.sum()
    assert made.mean() == pytest.approx(true, rel=0.1)
    # what the band is made of has a width, and holds the fleet within three of its deviations
    assert abs(made.mean() - true) < 3.0 * made.std() + 0.02 * true
    with pytest.raises(ParameterError, match="publish it again, which costs nothing"):
        mixture_of(PublishedFleet({"synthetic-systems": pd.DataFrame()}, {}, public), draws=20,
                   rng=rng)  # fmt: skip
    other = public | {"bins": asdict(Bins())}
    with pytest.raises(ParameterError, match="none of the publication's bins"):
        mixture_of(PublishedFleet(read, {}, other), draws=20, rng=rng)
    for name in public:
        less = {key: value for key, value in public.items() if key != name}
        with pytest.raises(ParameterError, match=f"has no {name}; give its folder as it was"):
            mixture_of(PublishedFleet(read, {}, less), draws=20, rng=rng)


def test_a_law_that_is_not_quite_known_makes_draws_spread_however_many_rows_there_are():
    rows, rng = homes(20_000), np.random.default_rng(4)
    grid = row_grid((0.5, 20.0))
    prior = cell_prior(grid, largest_kw=20.0)
    cells = grid.places(rows.surface_azimuth, rows.surface_tilt, rows.dc_capacity_kw)
    true = np.bincount(np.ravel_multi_index(cells, grid.shape), minlength=prior.shares.size)
    stated = RowErrors(0.3, 15.0, 8.0, 0.05)
    law, more = (row_law(prior, each) for each in (stated, stated.moved([1.0, 0.0, 0.0, 0.0])))
    seen = np.round(law @ true)
    sure, unsure = (
        unmixed(prior, law, seen, draws=60, rng=rng, drifts=drifts).weights.sum(axis=2).std()
        for drifts in ((), (more - law,))
    )
    assert unsure > 2.0 * sure


def test_the_command_writes_tables_shapes_and_a_page(tmp_path, capsys):
    """Files and numbers of every kind of publication are in the golden file of power."""
    write_publication(tmp_path / "published", tables(homes(300), key="feeder"))
    out = tmp_path / "out"
    options = "--latitude 39.74 --longitude -105.17 --start 2023-06-20 --end 2023-06-22"
    arguments = ["power", str(tmp_path / "published"), *options.split(), "--draws", "20",
                 "--opendss", "--out", str(out)]  # fmt: skip
    assert main(arguments) == 0
    assert "MWh in 2 groups" in capsys.readouterr().out
    frame = pd.read_parquet(out / "power.parquet")
    assert len(pd.read_csv(out / "power.csv")) == len(frame) == 2 * 192
    assert "<figure" in (out / "report.html").read_text()
    assert (out / "opendss" / "loadshapes.dss").read_text().count("New LoadShape") == 2
    for given, said in ((arguments, "name a new folder"),
                        (["power", str(tmp_path), *arguments[2:-1], str(tmp_path / "other")],
                         "is no publication")):  # fmt: skip
        assert main(given) == 2
        assert said in capsys.readouterr().err


def test_a_publication_that_does_not_state_its_choices_is_refused():
    made = example_tables()
    less = {key: value for key, value in made.public.items() if key != "largest_kw"}
    with pytest.raises(ParameterError, match="has no largest_kw; give its folder as it was"):
        power(replace(made, public=less), Site(39.7, -105.0), start="2023-06-20", end="2023-06-21")


FORBIDDEN = ("meters", "fleet", "estimates", "engine", "inference", "releases", "publish", "ledger")
COMPUTE = """
import sunveil
site = sunveil.Site(39.74, -105.17)
day = sunveil.fleet_power(sys.argv[1], site, start="2023-06-21", end="2023-06-22", draws=20)
assert day.power_kw.max() > 0.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    target = tmp_path_factory.mktemp("power") / "published"
    write_publication(target, example_publication.example_tables(60))
    return target


@pytest.mark.parametrize("steps", ["import sunveil.power", COMPUTE])
def test_power_loads_publications_alone(folder, steps):
    program = f"import json, sys\n{steps}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    loaded = json.loads(done.stdout)
    private = [name for name in loaded if name.split(".")[:1] == ["sunveil"] and
               name.split(".")[1:2] and name.split(".")[1] in FORBIDDEN]  # fmt: skip
    assert private == []
    assert not {"numba", "sqlalchemy", "opendp", "matplotlib"} & set(loaded)
    assert "sunveil.power" in loaded


AXES = (Axis(24, 15.0, wraps=True), Axis(10, 10.0), Axis(12, 0.25))
WINDOW = Window(4.0, AXES, 105)
NAMES = ("surface_azimuth", "surface_tilt", "dc_capacity_kw")


def test_the_channel_is_the_windows_own_where_every_value_is_a_cell():
    small = Window(1.3, (Axis(6, wraps=True), Axis(4), Axis(3)), 17)
    found = channel(small)
    for number, place in enumerate(np.ndindex(6, 4, 3)):
        law = small.probabilities(Placement(place, small.axes))
        assert found[:, number] == pytest.approx(law.ravel(), rel=1e-12)


def test_the_channel_of_cells_counts_what_the_window_holds_in_each():
    found = channel(WINDOW)
    cells = (12, 10, 12)  # of 24, 10 and 12 values
    assert found.shape == (1440, 1440)
    assert found.sum(axis=0) == pytest.approx(1.0)
    for at in ((0, 0, 0), (7, 3, 5), (11, 9, 11)):
        place = (2 * at[0], at[1], at[2])  # the middle of two values is the first
        law = WINDOW.probabilities(Placement(place, AXES)).reshape(12, 2, 10, 12).sum(axis=1)
        column = np.ravel_multi_index(at, cells)
        assert found[:, column] == pytest.approx(law.ravel(), rel=1e-9)


@pytest.fixture(scope="module")
def published() -> tuple[np.ndarray, PublishedTable, dict]:
    """Return fifty places, the rows published of them, and the public choices."""
    choices = Choices(capacities=Capacities(1.0, 30.0, 0.05))
    window = choices.window(4.0)
    public = {"choices": choices.to_dict(), "epsilon": 4.0, "window_candidates": window.inside}
    assert window_of(public) == window
    places = np.random.default_rng(0).integers([axis.size for axis in window.axes], size=(50, 3))
    azimuth, tilt, logs = (
        axis.step * place for axis, place in zip(window.axes, places.T, strict=True)
    )
    columns = tuple(Column(name, "number", "") for name in NAMES)
    rows = zip(azimuth.tolist(), tilt.tolist(), np.exp(logs).tolist(), strict=True)
    return places, PublishedTable("systems", "", columns, tuple(rows)), public


def test_published_rows_are_taken_back_to_their_places(published):
    places, table, public = published
    np.testing.assert_array_equal(places_of(table, public), places)


def test_what_is_no_release_of_whole_systems_is_refused(published):
    _, table, public = published
    with pytest.raises(ParameterError, match="no window"):
        places_of(table, {"choices": public["choices"], "epsilon": 1.0})
    small = replace(table, rows=((400.0, 20.0, 5.0),))
    with pytest.raises(ParameterError, match="outside the axes"):
        seen_shares(small, public)
    with pytest.raises(ParameterError, match="one row of places"):
        seen_shares(replace(table, rows=()), public)
    boxes = {name: each for name, each in public.items() if name != "window_candidates"}
    with pytest.raises(ParameterError, match="no window"):  # a window of another shape
        places_of(table, {**boxes, "window_widths": [3, 3, 3]})

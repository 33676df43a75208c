from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from curator_makers import (
    PAGE,
    add_planes,
    inferred,
    login,
    rows_of,
    served_of,
    text_of,
    write_results,
    write_rows,
)
from service_makers import SYSTEMS, Running, add_dataset, key, wait_for

from plot_makers import estimate_of, pair_of
from sunveil.errors import ParameterError, SourceError
from sunveil.estimates.inference_options import InferOptions
from sunveil.estimates.planes_and_intervals import SEASONS
from sunveil.fleet.run_plan import run_settings
from sunveil.meters import MeterOptions
from sunveil.service import figures
from sunveil.service.analyst.asking import net_sentence
from sunveil.service.curator.results import EstimateFilter, FleetResults, csv_lines
from sunveil.service.curator.system_report import system_report
from sunveil.service.store.datasets import Served, add_served
from sunveil.site import Plane

PLACES = {"azimuth": [90.0, 180.0], "qualities": ["good", None], "labels": ["a", "b"]}
NOWHERE = {"azimuth": [], "qualities": [], "labels": []}


@pytest.fixture(scope="module")
def fleet(start) -> Running:
    found = start()
    inferred(found, systems=120, refused=3)
    wait_for(lambda: served_of(found).state == "ready")
    return found


def test_estimates_are_drawn_and_counted(fleet):
    answer = login(fleet).get(f"{PAGE}/estimates")
    figures = {
        name: json.loads(made)
        for name, made in re.findall(r'json" id="(\w+)-data">(.*?)</script>', answer.text)
    }
    assert set(figures) == {"planes", "rose", "tilts", "capacities"}
    for name, axis in (("rose", "r"), ("tilts", "y"), ("capacities", "y")):
        assert sum(figures[name]["data"][0][axis]) == 120
    assert "Systems inferred 120" in text_of(answer)
    for quality in ("good", "fair", "poor"):
        assert f'systems?quality={quality}">40 {quality}</a>' in answer.text


@pytest.fixture
def with_planes(fleet) -> Iterator[Running]:
    part = add_planes(fleet.service.settings.datasets / "roofs" / "inferred")
    yield fleet
    part.unlink()


def test_planes_and_trackers_are_shown_in_the_list_and_on_their_pages(with_planes):
    client = login(with_planes)
    two = client.get(f"{PAGE}/systems?show=flagged&flag=two_planes")
    assert rows_of(two) == ["ridge"]
    assert "92.0°<br>271.0°" in two.text
    assert "31.0°<br>30.0°" in two.text
    assert "axis 178.0° ±55.0°" in text_of(client.get(f"{PAGE}/systems?text=farm"))
    assert client.get(f"{PAGE}/estimates").status_code == 200
    ridge = text_of(client.get(f"{PAGE}/system?system_id=ridge"))
    assert "Azimuth 271.0° (266° to 276°) Tilt 30.0° (27° to 33°) 2.00 kW (1.84 to 2.16)" in ridge
    farm = text_of(client.get(f"{PAGE}/system?system_id=farm"))
    assert "Single-axis tracker Axis 178.0°" in farm
    assert "Turns ±55° (45° to 60°)" in farm
    assert "Rows cover 38% of the ground" in farm


ROW = estimate_of(Plane(200.0, 30.0), plane_error_degrees=2.0).to_row()


@pytest.mark.parametrize("layout", ["a csv on a local clock", "parquet in long form", "lists"])
def test_the_report_of_a_system_is_made_from_its_readings(
    shared, clear_power, golden_site, layout, monkeypatch
):
    name = f"fit-{layout.split()[0]}"
    folder = shared.service.settings.datasets / name
    for each in ("meters", "inferred"):
        (folder / each).mkdir(parents=True)
    place = f"{golden_site.latitude},{golden_site.longitude},1795,UTC-07:00"
    (folder / "systems.csv").write_text(
        f"system_id,latitude,longitude,altitude,timezone\nother,{place}\nmine,{place}\n"
    )
    assumed = {"settings": run_settings(MeterOptions(), InferOptions())}
    (folder / "inferred" / "run.json").write_text(json.dumps(assumed))
    write_meters(folder / "meters", clear_power(200.0, 30.0, dc_capacity_kw=5.0), layout)
    extra = {"systems_table": "systems.csv", "options": {"label": "start"}}
    made = Served(name, "Roofs", name, meters="meters", extra=extra)
    drawn = []
    monkeypatch.setattr(
        "sunveil.plots.html_report.draw_clear_days",
        lambda data, axes: drawn.append((data.power, data.modelled)),
    )

    def report(**more):
        return system_report(shared.service, made, {**ROW, **more})

    year = {"first": "2019-01-01", "surface_azimuth": 201.0, "surface_tilt": 29.0}
    seen = {"skyline": [0.0] * 29 + [10.0], "years": [{**year, "dc_capacity_kw": 5.0}]}
    found = report(system_id="mine", **seen, clear_hours=900.0)["one"]
    ((measured, modelled),) = drawn
    assert len(measured) >= 300
    assert np.median(np.abs(measured - modelled)) < 0.15 * measured.max()
    assert "Based on 900 hours of clear days." in found["facts"]
    assert "The sun is hidden below 10° in the north (348 to 360°)." in found["facts"]
    assert None not in (found["years"], found["skyline"])
    assert "not there any more" in report(system_id="other")["problem"]


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
    planes, drawn = results.sample_planes(), results.sample()
    assert (len(planes["system_id"]), "farm" in planes["system_id"]) == (22, False)
    axes = dict(zip(drawn["system_id"], drawn["axis"], strict=True))
    assert (axes["farm"], axes["ridge"]) == (178.0, None)
    assert drawn["surface_azimuth"][drawn["system_id"].index("ridge")] == 92.0


@pytest.mark.parametrize(
    "made",
    [
        figures.system_map([-105.0, -104.9], [40.0, 40.1], **PLACES, by_quality=False),
        figures.system_map([], [], **NOWHERE, by_quality=True),
        figures.plane_map([90.0], [20.0], names=["a"]),
        figures.rose([0] * 15 + [3]),
        figures.bars([0.0, 1.0, 2.0], [4, 5], title="Tilt", unit="°"),
        figures.error_figure(
            [figures.ErrorCurve("a", (0.1, 1.0), (9.0, 1.0))], unit="Error [°]", marked=0.5
        ),
        figures.error_figure(
            [figures.ErrorCurve(n, (0.1, 1.0), (9.0, 1.0)) for n in "abcd"], unit="Error [°]"
        ),
    ],
)
def test_a_figure_is_one_that_plotly_understands(made):
    assert len(go.Figure(made).data) >= 1
    json.dumps(made, allow_nan=False)


def test_labels_of_an_axis_of_errors_do_not_stand_in_one_anothers_way():
    for errors, labelled in (
        ((95.0, 3.0), [5.0, 10.0, 20.0, 50.0]),
        ((1200.0, 0.3), [1.0, 10.0, 100.0, 1000.0]),
        ((5.0, 4.0), [4.0, 5.0]),
    ):
        made = figures.error_figure([figures.ErrorCurve("a", (0.1, 1.0), errors)], unit="Error [°]")
        assert made["layout"]["yaxis"]["tickvals"] == labelled


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


def test_systems_are_shown_by_pages_and_filtered_by_name_flag_and_refusal(fleet):
    client = login(fleet)

    def systems(query: str) -> httpx.Response:
        return client.get(f"{PAGE}/systems?{query}")

    pages = [systems(f"page={n}") for n in (1, 2, 3, 99)]
    assert [len(rows_of(page)) for page in pages] == [50, 50, 20, 20]
    assert rows_of(pages[0])[:2] == ["s000", "s001"]
    assert "Page 1 of 3" in text_of(pages[0])
    assert rows_of(systems("text=S01")) == [f"s01{n}" for n in range(10)]
    flagged = systems("show=flagged&flag=clipping")
    assert 0 < len(rows_of(flagged)) < 30
    assert all("clipping" in row for row in flagged.text.split('<th scope="row">')[1:])
    fair = systems("quality=fair")
    assert rows_of(fair)[:3] == ["s001", "s004", "s007"]
    assert "40 systems" in text_of(fair)
    assert len(rows_of(systems("quality=%27--"))) == 50
    refused = systems("show=refused")
    assert rows_of(refused) == ["r000", "r001", "r002"]
    assert "too little data: 3" in text_of(refused)
    assert "has 4 daylight readings" in text_of(refused)
    assert systems("show=all%27--").status_code == 404
    for text in ("%27%20OR%201=1", "%25", "%5C", "%00x", "<b>"):
        answer = systems(f"text={text}")
        assert (answer.status_code, rows_of(answer)) == (200, [])
        assert "<b>" not in answer.text


def test_a_system_says_why_it_was_refused_and_logs_hold_no_system(fleet, caplog):
    client = login(fleet)
    with caplog.at_level(logging.DEBUG):
        answer = client.get(f"{PAGE}/system?system_id=r001")
        assert "This system has no estimate: system r001 has 4" in text_of(answer)
        assert client.get(f"{PAGE}/system?system_id=nobody").status_code == 404
        # its readings are not there in this fleet, which is said, and the rest is shown
        answer = client.get(f"{PAGE}/system?system_id=s001")
        assert (answer.status_code, "s001" in text_of(answer)) == (200, True)
        client.get(f"{PAGE}/systems?text=s001")
    said = "\n".join(record.getMessage() for record in caplog.records if "sunveil" in record.name)
    assert not any(name in said for name in ("s001", "r001", "nobody"))
    for path in ("", "/estimates", "/systems", "/promise", "/analysts", "/ledger", "/progress"):
        assert client.get(f"/curator/datasets/nothing{path}").status_code == 404


def test_tables_that_are_missing_damaged_or_of_another_version_are_refused_in_a_sentence(tmp_path):
    folder = write_results(tmp_path / "r[1]*'?", 10)  # a name that would be a pattern
    results = FleetResults(folder)
    assert results.summary().inferred == 10
    assert results.sample() == results.sample()
    for part in folder.glob("estimates/*.parquet"):
        pq.write_table(pq.read_table(part).drop_columns(["quality"]), part)
    for read in (results.summary, results.tilts, lambda: results.estimates(EstimateFilter())):
        with pytest.raises(SourceError, match="cannot be read; infer it again"):
            read()
    part.write_bytes(b"PAR1")
    with pytest.raises(SourceError, match="infer it again"):
        results.summary()
    nothing = FleetResults(tmp_path)
    assert (nothing.exist, nothing.summary().inferred, nothing.refused().rows) == (False, 0, [])
    assert nothing.estimates(EstimateFilter()).rows == []
    assert nothing.find_system("a") is None


def write_meters(folder: Path, power: pd.Series, layout: str) -> None:
    """Write the readings of a system called mine."""
    stamps = power.index.tz_convert("UTC")
    if layout == "lists":
        lists = {"system_id": ["mine"], "start": [stamps[0].to_pydatetime()]}
        lists |= {"interval_minutes": [60.0], "power_kw": [power.tolist()]}
        pq.write_table(pa.table(lists), folder / "a.parquet")
        return
    frame = pd.DataFrame({"system_id": "mine", "time": stamps, "power_kw": power.to_numpy()})
    if layout == "parquet in long form":
        frame.to_parquet(folder / "a.parquet", index=False)
    else:
        frame["time"] = stamps.tz_convert("Etc/GMT+7").tz_localize(None)
        frame.to_csv(folder / "a.csv", index=False)


SECRETS = ("7.7731", "0.9173", "0.6421", "3.1737")
HOME = {
    "mean_load_kw": 7.7731,
    "self_consumption": 0.9173,
    "exporting": 0.6421,
    "load_kw": [[3.1737] * 24] * len(SEASONS),
}


@pytest.fixture(scope="module")
def running(start) -> Running:
    """Return a service with estimates of net meters, their households among them."""
    found = start()
    add_dataset(found.service, extra={"net": SYSTEMS})
    path = found.service.settings.datasets / "roofs" / "estimates.json"
    rows = [{**row, "household_load": HOME} for row in json.loads(path.read_text())]
    path.write_text(json.dumps(rows))
    return found


def test_analysts_are_told_that_systems_are_net_metered_and_what_that_costs(running):
    said = net_sentence(SYSTEMS, SYSTEMS)
    assert said.startswith("All systems have net meters")
    assert net_sentence(3, SYSTEMS).startswith("3 of the systems have")
    assert net_sentence(1, SYSTEMS).startswith("One of the systems has a net meter, which measures")
    assert net_sentence(0, SYSTEMS) == ""
    browser = running.analyst()
    for page in ("/analyst/datasets/roofs", "/analyst/datasets/roofs/ask/totals"):
        assert said in browser.get(page).text
    assert running.api().get("/datasets/roofs").json()["net_systems"] == SYSTEMS


def test_the_curator_sees_the_household_marked_private(running):
    folder = running.service.settings.datasets / "homes"
    folder.mkdir()
    (folder / "systems.csv").write_text("system_id,latitude,longitude\nnet,40,-105\n")
    write_results(folder / "inferred", systems=4)
    row = pair_of(system_id="net").to_row() | {"planes": [], "flags": ["net_meter"]}
    placed = {**row, "household_load": HOME, "latitude": 40.0, "longitude": -105.0}
    write_rows(folder / "inferred" / "estimates" / "part-00002.parquet", [placed])
    extra = {"systems_table": "systems.csv", "listed": 5}
    made = Served("homes", "Homes", "homes", meters="meters", extra=extra)
    with running.service.store.changing() as connection:
        add_served(connection, made)
    page = running.curator("dora").get("/curator/datasets/homes/system?system_id=net").text
    assert "Readings and consumption of one household." in page
    curator = running.curator("eve")
    form = curator.get("/curator/add").text
    assert form.count('name="net"') == 2
    assert "releases of single systems rely on this declaration" in form
    other = curator.get("/curator/datasets/homes/system?system_id=s000").text
    assert "Readings of one household." in other


@pytest.mark.parametrize("kind", ["fleet-table", "totals", "quantiles"])
def test_no_answer_holds_anything_of_a_household_and_none_is_a_group(running, kind):
    api, asked = running.api(), {"kind": kind, "epsilon": 0.5}
    answer = api.post("/datasets/roofs/releases", json=asked, headers=key())
    assert answer.status_code == 201
    page = running.analyst().get(f"/analyst/releases/{answer.json()['id']}").text
    asked |= {"group_by": "household_load"}
    refused = api.post("/datasets/roofs/releases", json=asked, headers=key())
    assert refused.status_code == 404
    names = ("household_load", "self_consumption", "mean_load", "load_kw", "secret-")
    for told in (answer.text, page):
        assert [secret for secret in (*SECRETS, *names) if secret in told] == []
    assert not any(secret in refused.text for secret in SECRETS)

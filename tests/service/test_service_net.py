"""Net meters in the service: declared by the curator, told to analysts, households to nobody."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from curator_makers import write_results, write_rows
from service_makers import SYSTEMS, Running, add_dataset, key

from plot_makers import pair_of
from sunveil.estimates.planes_and_intervals import SEASONS
from sunveil.meters import iter_systems
from sunveil.service.analyst.asking import net_sentence
from sunveil.service.curator.datasets import DatasetForm, described
from sunveil.service.curator.inference import inference_command
from sunveil.service.settings import ReadingLimits
from sunveil.service.store.datasets import Served, add_served
from sunveil.service.upload_checks import look_at_named, meter_options, options_from

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


def described_as(form, meters, table):
    """Return a dataset as it is described by its form, its readings and its table of systems."""
    found = look_at_named(meters, table, ReadingLimits(), options_from(form.options))
    return described(form, "homes", meters=meters.name, found={**found, "table": table.name})


def test_a_curator_declares_net_meters_for_all_or_in_the_table_of_systems(tmp_path, running):
    table = tmp_path / "systems.csv"
    table.write_text("system_id,latitude,longitude,metering\na,40,-105,net\nb,40,-105,\n")
    made = {}
    for net in ("", "yes"):
        form = DatasetForm.of({"title": "Homes", "net": net, "export_column": "out" if net else ""})
        made[net] = described_as(form, tmp_path / "m", table)
    assert (made[""].net, made["yes"].net) == (1, 2)
    assert (meter_options(made[""]).net, meter_options(made["yes"]).net) == (False, True)
    words = inference_command(running.service, made["yes"])
    assert "--net" in words
    assert "--export-column=out" in words
    assert "--net" not in inference_command(running.service, made[""])


def test_a_form_adds_up_columns(tmp_path):
    table, meters = tmp_path / "systems.csv", tmp_path / "m"
    table.write_text("system_id,latitude,longitude\na,40,-105\n")
    meters.mkdir()
    times = pd.date_range("2024-06-01", periods=48, freq="h", tz="UTC")
    pd.DataFrame({"time": times, "b kWh": 1.0, "c kWh": 2.0, "d kWh": 0.5}).to_csv(
        meters / "a.csv", index=False
    )
    fields = {"title": "Homes", "export_column": "b kWh + c kWh", "import_column": "d kWh"}
    made = described_as(DatasetForm.of(fields), meters, table)
    (record,) = iter_systems(meters / "a.csv", meter_options(made))
    assert record.net
    assert set(record.power_kw) == {2.5}


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


def test_columns_of_import_and_export_declare_net_meters(tmp_path):
    table = tmp_path / "systems.csv"
    table.write_text("system_id,latitude,longitude,metering\na,40,-105,\nb,40,-105,generation\n")
    rows = {"system_id": ["a"], "time": pd.to_datetime(["2024-06-01T12:00Z"])}
    net, plain = tmp_path / "m.parquet", tmp_path / "g.parquet"
    pd.DataFrame({**rows, "import_kw": [0.0], "export_kw": [1.0]}).to_parquet(net)
    pd.DataFrame({**rows, "power_kw": [1.0]}).to_parquet(plain)
    form = DatasetForm.of({"title": "Homes"})
    told = [described_as(form, path, table).net for path in (net, plain, tmp_path / "gone")]
    assert told == [1, 0, 0]

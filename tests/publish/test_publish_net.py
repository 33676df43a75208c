"""Net meters in publications: declared kinds alone decide, and no household is ever told."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from roof_fleets import CHOICES, in_memory, long_frame, open_to_release, write_files

from plot_makers import pair_of
from sunveil.cli import main
from sunveil.errors import ParameterError
from sunveil.estimates import Flag, HouseholdEstimate
from sunveil.estimates.read_write import read_fleet
from sunveil.fleet.open import record_of
from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.meters import MeterOptions, Unit, from_pandas
from sunveil.meters.build_record import RawSystem, to_record
from sunveil.meters.time_steps import Stamps
from sunveil.privacy import Days, System
from sunveil.publish.publisher import Publisher
from sunveil.publish.system_rows import SystemRows, net_caution
from sunveil.releases.fleet_releases import ReleaseTerms
from sunveil.releases.release_answer import ExpectedErrors, Spread
from sunveil.weather import clearsky

TERMS = ReleaseTerms.of(Days(1), 20.0, choices=CHOICES)
# No other number of a publication has these digits.
SECRETS = (7.7731, 0.9173, 0.6421, 3.1737)
HOME = HouseholdEstimate(*SECRETS[:3], ((SECRETS[3],) * 24,) * 4)


@pytest.fixture(scope="module")
def power(clear_power):
    """Return a clear record of 5 kW at (210, 30), and the same less a load."""
    made = clear_power(210.0, 30.0, dc_capacity_kw=5.0, start="2019-03-10", days=30)
    rng = np.random.default_rng(1)
    return made, made - 0.4 * np.exp(rng.exponential(0.7, len(made)))


@pytest.fixture(scope="module")
def readings(power, tmp_path_factory):
    whole, net = power
    systems = {"a1": whole, "a2": net, "a3": whole}
    return write_files(tmp_path_factory.mktemp("net") / "readings", long_frame(systems))


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "l.db", create=True, marks=HighWaterMarks(tmp_path / "mark")) as book:
        book.create_dataset("d", Promise(Days(1), 100.0))
        yield book


@pytest.fixture
def opened(readings, tmp_path):
    def make(*kinds, **options):
        rows = [f"a{number},39.742,-105.1727,{kind}" for number, kind in enumerate(kinds, 1)]
        table = tmp_path / "systems.csv"
        table.write_text("\n".join(["system_id,latitude,longitude,metering", *rows]) + "\n")
        return open_to_release(readings, table, reading=MeterOptions(**options), workers=1)

    return make


def test_a_meter_that_is_declared_net_has_a_frame_and_a_row_of_its_own(opened, ledger):
    with opened("", "net", "generation") as fleet:
        frames = {name: member.frame for name, member in fleet.roster.members.items()}
        assert [frames[name].net for name in ("a1", "a2", "a3")] == [False, True, False]
        assert frames["a1"] == frames["a3"] == replace(frames["a2"], net=False)
        made = Publisher(ledger, "d").publish(SystemRows(fleet, TERMS))
        assert len(fleet.only(["a1", "a3"]).roster.time_grids) == 1
    table, *_ = made.tables
    assert len(table.rows) == made.public["systems"] == 3
    # as sharp as releases of a month are at this ε: the load is told from the generation
    assert all(abs(float(row[1]) - 210.0) <= 30.0 for row in table.rows)
    assert all(3.5 < float(row[3]) < 7.0 for row in table.rows)
    assert made.public["net_systems"] == 1
    assert made.public["net_choices"] == made.question.parameters["net_choices"] != {}
    assert made.public["cautions"][-1] == net_caution(1, 3)


def test_what_a_meter_reads_never_says_that_it_is_net(opened, ledger):
    """Nights far below zero are private: only what is declared makes another question."""
    with opened("", "", "") as silent, opened("generation", "generation", "") as said:
        assert silent.net == said.net == 0
        assert silent.about() == said.about()
        made = Publisher(ledger, "d").publish(SystemRows(silent, TERMS))
    assert {"net_systems", "net_choices"}.isdisjoint(made.public)
    assert "net_choices" not in made.question.parameters


def test_net_is_declared_for_all_by_an_option_but_for_those_said_to_read_generation(opened, ledger):
    with opened("", "generation", "", net=True) as fleet:
        assert fleet.net == 2
    with opened("", "net", "", net=True) as fleet:
        assert fleet.net == 3
        assert all(text.endswith(", net)") for text in fleet.about().values())
        rows = SystemRows(fleet, TERMS, standing=True)
        made, again = (Publisher(ledger, "d").publish(rows) for _ in range(2))
    assert made.public["cautions"][-1].startswith("All of the systems have net meters")
    assert made.public["drawn"][0]["net_choices"] == TERMS.net_choices
    assert made.tables[0].rows == again.tables[0].rows


def test_errors_to_expect_are_those_of_both_kinds_together(power, golden_site, monkeypatch):
    def typical(time_grid, choices, **_):
        spread = Spread(2.0, 4.0) if choices.net is None else Spread(5.0, 9.0)
        return ExpectedErrors(spread, spread, spread, "homes" if choices.net else "roofs")

    monkeypatch.setattr("sunveil.releases.fleet_releases.typical_errors", typical)
    sky = clearsky(golden_site, "2019-03-01", "2019-04-15")
    gross, net = (
        from_pandas(
            each, system_id=name, label="start", net=name == "net", cleaning="each", power_unit="kW"
        )
        for each, name in zip(power, ("gross", "net"), strict=True)
    )
    found = in_memory([gross, net, replace(net, system_id="other")], sky)
    assert found.net == 2
    expected = found.expected(TERMS)
    assert (expected.azimuth.mean, expected.basis) == (4.0, "roofs; homes")


def test_a_net_record_that_cannot_be_read_has_no_readings_rather_than_zeros(monkeypatch, power):
    wall = power[1].index.tz_localize(None).to_numpy().astype("M8[us]").astype(np.int64)
    rows, stamps = np.arange(1, len(wall) + 1), Stamps(wall, np.zeros(len(wall)), None)
    raw = RawSystem("n", "a file", rows, stamps, power[1].to_numpy(), Unit.KW)
    seen = []

    def failing(given, options):
        seen.append(given.values)
        if len(seen) == 1:
            raise ZeroDivisionError
        return to_record(given, options)

    monkeypatch.setattr("sunveil.fleet.open.to_record", failing)
    found = record_of(raw, MeterOptions(net=True, cleaning="each"))
    assert found.net
    assert np.isnan(seen[1]).all()


@pytest.fixture
def estimates(tmp_path):
    """Write what was inferred of forty net meters, with their households."""
    one = pair_of().replaced(planes=(), household=HOME, flags=(Flag.NET_METER, Flag.STORAGE))
    rows = [
        {**one.replaced(system_id=f"customer-{number}").to_row(), "feeder": f"F{number % 2}"}
        for number in range(40)
    ]
    path = tmp_path / "estimates.json"
    path.write_text(json.dumps(rows))
    return path


def test_no_household_is_in_any_byte_of_a_publication(estimates, tmp_path, capsys):
    book, out = tmp_path / "book.db", tmp_path / "out"
    with Ledger(book, create=True) as ledger:
        ledger.create_dataset("d", Promise(System(), 100.0))
    asked = ("--tables", "mounts,sectors,totals", "--epsilon", 20, "--out", out)
    charged = ("--ledger", book, "--dataset", "d", *asked)
    assert main([str(each) for each in ("publish", "fleet", estimates, *charged)]) == 0
    said = capsys.readouterr()
    secrets = [f"{each:g}" for each in SECRETS]
    assert all(secret in estimates.read_text() for secret in secrets)
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    texts = [*files.values(), said.out.encode(), said.err.encode()]
    for secret in (*secrets, "customer-", "household_load", "self_consumption", "exporting"):
        assert not any(secret.encode() in text for text in texts), secret
    # a net meter, flagged or not, is one plane of one sector
    mounts = dict(line.split(",")[:2] for line in files["mounts.csv"].decode().splitlines())
    assert int(mounts["one plane"]) > 35


def test_what_a_household_uses_divides_no_fleet(estimates):
    with pytest.raises(ParameterError, match="household_load is inferred from readings") as refused:
        read_fleet(estimates, keys=["household_load"])
    assert str(SECRETS[0]) not in str(refused.value)

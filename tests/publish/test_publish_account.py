from __future__ import annotations

import json
from dataclasses import replace

import pytest
import yaml
from fleet_makers import random_fleet

from sunveil.ledger import Ledger, Promise
from sunveil.ledger.hash_chain import HighWaterMark
from sunveil.ledger.promises import SystemHome
from sunveil.meters import MeterOptions
from sunveil.meters.schema_files import schema_digest
from sunveil.privacy import System
from sunveil.privacy.guarantees import rho_to_epsilon
from sunveil.publication import write_publication
from sunveil.publication.published_tables import Bins
from sunveil.publish.account import PublicationAccount
from sunveil.publish.fleet_tables import FleetTables, TableChoices
from sunveil.publish.publisher import Publisher

ROWS = random_fleet(60)
DELTA = 1e-6


@pytest.fixture
def ledger(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with Ledger(tmp_path / "ledger.db", create=True) as made:
        made.create_dataset("homes", Promise(System(), 2.5))
        made.create_dataset("many", Promise(System(), 2.5, DELTA))
        yield made


def publish(ledger, dataset, epsilon, **options):
    choices = TableChoices(bins=Bins(), epsilon=epsilon, tables=("sectors",))
    made = Publisher(ledger, dataset, **options).publish(FleetTables(choices, ROWS))
    return made, Publisher(ledger, dataset).account(made)


def card_and_readme(folder, made, account):
    write_publication(folder, made, account=account)
    card = yaml.safe_load((folder / "release-card.yaml").read_text())["deployment"]
    return card, (folder / "README.md").read_text()


def test_an_account_says_what_the_ledger_says(ledger):
    made, account = publish(ledger, "homes", 0.5)
    known, chain = ledger.dataset("homes"), ledger.entries("homes")
    assert (account.total, account.spent, account.remaining) == (2.5, 0.5, 2.0)
    assert (account.promise, account.spent_epsilon) == (known.promise, 0.5)
    assert account.mark == f"{len(chain)}:{chain[-1].digest}"
    charge = chain[account.charge - 1]
    assert charge.kind == "charge"
    assert charge.facts()["question"] == account.question == made.question.digest("homes")
    assert (account.cost, account.meters, account.charges) == (0.5, 1, 1)
    assert PublicationAccount.from_dict(json.loads(json.dumps(account.to_dict()))) == account


def test_two_publications_in_a_row_tell_a_growing_spending_and_marks_that_hold(ledger, tmp_path):
    first, before = publish(ledger, "homes", 0.5)
    second, after = publish(ledger, "homes", 1.0)
    assert (before.spent, after.spent) == (0.5, 1.5)
    assert (before.charges, after.charges) == (1, 2)
    for number, (made, account) in enumerate([(first, before), (second, after)]):
        card, text = card_and_readme(tmp_path / str(number), made, account)
        details = card["privacy_loss"]["privacy_parameters_details"]
        assert f"has spent ε = {account.spent:g} of 2.5" in details
        assert f"ε = {account.remaining:g} may be spent now" in details
        assert str(ledger.dataset("homes").promise) in details
        assert account.mark in card["deployment_model"]["release_type_details"]
        assert f"--mark {account.mark}" in text
        length, _, head = account.mark.partition(":")
        assert ledger.verify("homes", mark=HighWaterMark(int(length), head)).holds
    false = HighWaterMark(int(length), "0" * 64)
    assert not ledger.verify("homes", mark=false).holds


def test_a_promise_with_delta_is_told_as_rho_as_epsilon_and_never_as_a_false_sum(ledger, tmp_path):
    made, account = publish(ledger, "many", 0.2)
    assert account.spent == pytest.approx(0.02)
    assert account.spent_epsilon == pytest.approx(rho_to_epsilon(0.02, DELTA))
    assert account.plain_epsilon is None
    card, text = card_and_readme(tmp_path / "out", made, account)
    assert card["dp_variant"]["variant_name"] == "Zero-concentrated DP"
    parameters = card["privacy_loss"]["privacy_parameters"]
    assert parameters["rho"] == pytest.approx(0.02)
    assert parameters["delta"] == DELTA
    assert parameters["epsilon"] == pytest.approx(rho_to_epsilon(0.02, DELTA))
    assert "there is no plain sum of the releases' ε" in text
    assert "tight conversion" in card["implementation"]["composition"]


def test_a_household_with_several_meters_is_told_all_that_it_loses(ledger, tmp_path):
    ledger.create_dataset("twins", Promise(System(), 4.0, meters=2))
    ids = [name.replace("secret", "twin") for name in ROWS.system_ids]
    rows = replace(ROWS, system_ids=tuple(ids))
    homes = [SystemHome(name, f"home {place // 2}") for place, name in enumerate(ids)]
    choices = TableChoices(bins=Bins(), epsilon=0.5, tables=("sectors",))
    made = Publisher(ledger, "twins", homes=homes).publish(FleetTables(choices, rows))
    account = Publisher(ledger, "twins").account(made)
    assert (account.cost, account.meters) == (1.0, 2)
    card, text = card_and_readme(tmp_path / "out", made, account)
    loss = card["privacy_loss"]
    assert loss["privacy_unit"].endswith("any one household, 2 meters at most")
    assert loss["privacy_parameters"] == {"epsilon": 1.0}
    assert "number_of_privacy_units" not in loss
    assert "up to 2 meters" in loss["privacy_unit_details"]
    assert "2.72 times" in text


def test_the_last_and_only_release_is_called_one(ledger, tmp_path):
    ledger.create_dataset("once", Promise(System(), 0.5))
    made, account = publish(ledger, "homes", 0.5)
    card, _ = card_and_readme(tmp_path / "a", made, account)
    assert card["deployment_model"]["release_type"] == "Many releases"
    choices = TableChoices(bins=Bins(), epsilon=0.5, tables=("sectors",))
    other = replace(ROWS, system_ids=tuple(f"other-{i}" for i in range(60)))
    made = Publisher(ledger, "once").publish(FleetTables(choices, other))
    card, _ = card_and_readme(tmp_path / "b", made, Publisher(ledger, "once").account(made))
    assert card["deployment_model"]["release_type"] == "One release"


def test_no_analyst_no_household_and_no_system_is_named(ledger, tmp_path):
    ledger.set_share("homes", "ann-the-analyst", 1.0)
    homes = [SystemHome(name, f"key-of-{name}") for name in ROWS.system_ids]
    made, account = publish(ledger, "homes", 0.5, analyst="ann-the-analyst", homes=homes)
    card_and_readme(tmp_path / "out", made, account)
    for path in (tmp_path / "out").glob("*.[jym]*"):
        text = path.read_text()
        assert not any(word in text for word in ("ann-the", "secret-", "key-of"))


def test_the_package_has_the_account_for_programs(ledger, tmp_path):
    made, account = publish(ledger, "homes", 0.5)
    account = replace(account, schema=schema_digest(MeterOptions()))
    write_publication(tmp_path / "out", made, account=account)
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())
    assert PublicationAccount.from_dict(package["sunveil:account"]) == account
    write_publication(tmp_path / "bare", made)
    package = json.loads((tmp_path / "bare" / "datapackage.json").read_text())
    assert "sunveil:account" not in package


def test_nothing_is_charged_for_rows_that_all_stand(ledger):
    made, _ = publish(ledger, "homes", 0.5)
    standing = replace(made, question=None)
    account = Publisher(ledger, "homes").account(standing)
    assert (account.charge, account.cost, account.spent) == (None, None, 0.5)
    assert account.record.startswith("Nothing was charged for this publication")


def test_rows_of_several_years_are_told_by_the_system_and_as_data_that_change(ledger, tmp_path):
    made, _ = publish(ledger, "homes", 0.5)
    made = replace(made, public={**made.public, "drawn": [{"year": 2026}]})
    account = Publisher(ledger, "homes").account(made)
    assert (account.meters, account.cost) == (None, 0.5)
    card, _ = card_and_readme(tmp_path / "out", made, account)
    assert card["privacy_loss"]["privacy_unit"] == "the whole record of any one system"
    assert card["deployment_model"]["data_source_type"] == "Dynamic"

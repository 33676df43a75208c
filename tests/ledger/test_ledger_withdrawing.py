from __future__ import annotations

import pytest
from ledger_makers import question

from sunveil.errors import ParameterError
from sunveil.ledger import Promise
from sunveil.privacy import System


def test_a_promise_that_nothing_was_charged_to_is_withdrawn_for_good(ledger, where, open_ledger):
    ledger.create_dataset("roofs", Promise(System(), 2.0))
    ledger.set_share("roofs", "ann", 1.0)
    ledger.withdraw("roofs")
    assert ledger.withdrawn() == ["roofs"]
    assert ledger.entries("roofs")[-1].kind == "withdrawn"
    verdict = ledger.verify("roofs")
    assert verdict.holds, verdict.faults
    for each in (ledger, open_ledger(where)):
        with pytest.raises(ParameterError, match="was withdrawn"):
            each.ask("roofs", question(), lambda: 1)
        with pytest.raises(ParameterError, match="was withdrawn"):
            each.withdraw("roofs")
        with pytest.raises(ParameterError, match="already"):
            each.create_dataset("roofs", Promise(System(), 2.0))
    # others go on
    ledger.create_dataset("barns", Promise(System(), 2.0))
    assert ledger.ask("barns", question(), lambda: 1).value == 1


def test_a_promise_that_was_charged_stays_also_where_nothing_was_drawn(ledger):
    ledger.create_dataset("roofs", Promise(System(), 2.0))
    ledger.charge("roofs", question())
    with pytest.raises(ParameterError, match="so that it stays"):
        ledger.withdraw("roofs")
    assert ledger.verify("roofs").holds
    assert ledger.withdrawn() == []

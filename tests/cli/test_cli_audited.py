from __future__ import annotations

from dataclasses import replace

import pytest

from sunveil.cli.audited import show_end_to_end, verdict_end_to_end
from sunveil.endtoend.audit import EndToEndAudit
from sunveil.endtoend.comparing import CaseFinding
from sunveil.endtoend.faults import FaultFinding

CASE = CaseFinding(
    "HTTP", "CSV", "one day", 1.0, 45, 1234, ("nan",), True, 0.25, "nan in home00", 0.1, 0.0
)
FAULT = FaultFinding("a batch aborted", replace(CASE, bound=1.5))
FOUND = EndToEndAudit(0.999, (CASE,), (FAULT,), 61.0)


def line(found: EndToEndAudit, name: str) -> str:
    (told,) = [each for each in show_end_to_end(found).splitlines() if each.startswith(name)]
    return told


def test_the_table_says_what_was_claimed_and_what_was_found():
    told = line(FOUND, "HTTP ")
    assert told.split("  ")[-1].strip() == "holds"
    for part in ("CSV", "one day", "0.25", "45", "1,234"):
        assert part in told
    assert line(FOUND, "a batch aborted").endswith("caught")
    assert verdict_end_to_end(FOUND) == (
        "No claim is exceeded over 45 pairs of neighbours, and all 1 planted faults were caught, in"
        " 61 s."
    )


def test_what_is_broken_is_named_with_the_pair_that_shows_it():
    broken = replace(FOUND, cases=(replace(CASE, bound=1.3),))
    assert not broken.holds
    assert line(broken, "HTTP ").endswith("BROKEN")
    assert line(broken, "HTTP,") == "HTTP, CSV: nan in home00"
    assert verdict_end_to_end(broken).startswith("A claim is exceeded")


def test_a_fault_that_passes_is_worse_than_all_else():
    missed = replace(FOUND, faults=(replace(FAULT, finding=CASE),))
    assert not missed.holds
    assert line(missed, "a batch aborted").endswith("PASSED")
    assert verdict_end_to_end(missed).startswith("The audit itself is not to be trusted: 1 of")


def test_a_door_that_refuses_all_is_told_apart():
    assert line(replace(FOUND, cases=(replace(CASE, answered=False),)), "HTTP ").endswith(
        "holds, all refused"
    )


@pytest.mark.parametrize("option", ["--pairs", "--epsilon", "--seed", "--draws"])
def test_numbers_of_the_other_audit_are_refused(sunveil, option):
    said = sunveil("audit", "--end-to-end", option, 50)
    assert (said.code, said.out) == (2, "")
    assert f"{option} is not for --end-to-end" in said.err


def test_short_is_for_the_end_to_end_audit(sunveil):
    said = sunveil("audit", "--short")
    assert (said.code, "--short is for --end-to-end" in said.err) == (2, True)


def test_a_broken_claim_ends_with_exit_code_1_and_is_written_all_the_same(
    sunveil, tmp_path, monkeypatch
):
    broken = replace(FOUND, cases=(replace(CASE, bound=1.3),))
    monkeypatch.setattr("sunveil.endtoend.audit.audit_end_to_end", lambda *_, **__: broken)
    out = tmp_path / "audit.json"
    said = sunveil("audit", "--end-to-end", "--json", "--out", out)
    assert (said.code, said.err) == (1, "")
    assert said.out == f"A claim is exceeded: see the verdicts. Wrote {out}\n"
    assert '"holds": false' in out.read_text()

"""A short run of ``make fuzz``, and that it finds what it looks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from formats.catalogue import sample
from fuzzing import judge as judging
from fuzzing.cases import Case, make_case
from fuzzing.draft import Draft
from fuzzing.judge import judge, scale_of
from fuzzing.shrink import shrink

from sunveil.errors import MeterError
from sunveil.meters import read_meters

SEEDS = range(1_000_000, 1_000_300)


@pytest.mark.parametrize("first", range(SEEDS.start, SEEDS.stop, 50))
def test_spoilt_files_and_arguments_are_read_or_refused(first, tmp_path):
    found = [judge(make_case(seed), tmp_path) for seed in range(first, first + 50)]
    assert not [each for each in found if each is not None]


def test_a_seed_makes_the_same_case_again():
    for seed in SEEDS[:20]:
        one, other = make_case(seed), make_case(seed)
        assert one.draft == other.draft
        assert (one.options, one.command) == (other.options, other.command)


def plain(name: str = "stamps-apart") -> Case:
    made = sample(name, 3)
    return Case(0, made, Draft(made.content, made.family), made.options, natural=True)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (ZeroDivisionError(), "traceback"),
        (MeterError("roof.csv has text at row 7: 'Zq0001x'"), "quote"),
    ],
)
def test_a_planted_fault_is_found(fault, kind, tmp_path, monkeypatch):
    def broken(*_: object) -> None:
        raise fault

    monkeypatch.setattr(judging, "read_meters", broken)
    case = plain()
    case = replace(case, draft=replace(case.draft, planted=("Zq0001x",)))
    found = judge(case, tmp_path)
    assert found is not None
    assert found.kind == kind


def test_another_scale_is_found(tmp_path, monkeypatch):
    def in_watts(path: Path, options: object) -> object:
        return [
            replace(record, power_kw=record.power_kw * 1000.0)
            for record in read_meters(path, options)
        ]

    assert judge(plain(), tmp_path) is None
    monkeypatch.setattr(judging, "read_meters", in_watts)
    found = judge(plain(), tmp_path)
    assert found is not None
    assert found.kind == "scale"


def test_the_scale_of_what_is_right_is_one(tmp_path):
    case = plain()
    path = tmp_path / case.sample.file_name
    path.write_bytes(case.sample.content)
    assert scale_of(read_meters(path, **case.options), case.sample) == pytest.approx(1.0, abs=0.15)


def test_a_finding_is_made_short(tmp_path, monkeypatch):
    def broken(path: Path, options: object) -> object:
        if b"06/19/2024,12:00:00 PM" in path.read_bytes():
            raise ZeroDivisionError
        return []

    monkeypatch.setattr(judging, "read_meters", broken)
    case = plain()
    short = shrink(case, judge(case, tmp_path), tmp_path)
    assert short.draft.content.startswith(b"06/19/2024,12:00:00 PM")
    assert short.draft.content.count(b"\n") == 1

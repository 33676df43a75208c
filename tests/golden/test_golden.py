"""Every golden file is what Sunveil answers now; ``make golden`` records them again."""

from __future__ import annotations

from decimal import Decimal

import pytest

from . import files
from .__main__ import AREAS, compared


@pytest.mark.parametrize("area", AREAS)
def test_answers_are_as_recorded(area: str, capsys: pytest.CaptureFixture[str]) -> None:
    wrong, allowed = compared(area)
    with capsys.disabled():
        print("".join(f"\nexception: {each}" for each in allowed), end="")
    assert not wrong, "\n".join([f"{len(wrong)} differences, of which these:", *wrong[:40]])


def test_numbers_may_differ_by_one_unit_of_the_last_digit_and_little_else_may() -> None:
    recorded = {
        f"{n}": {"tilt": Decimal("20.10"), "flags": [], "azimuth": Decimal("0.00")}
        for n in range(200)
    }

    def judged(**changed: object) -> tuple[list[str], list[str]]:
        now = {**recorded, "7": {**recorded["7"], **changed}}
        return files.judge(files.differences(recorded, now), len(recorded), 0.005)

    assert judged(tilt=Decimal("20.11"), azimuth=Decimal("359.99")) == ([], [])
    assert judged(tilt=Decimal("20.12"))[0] == ["7.tilt: 20.10 recorded, 20.12 now"]
    assert judged(flags=["clipping"], tilt=Decimal("25.00"))[0] == []
    assert len(judged(flags=["clipping"], tilt=Decimal("25.00"))[1]) == 2
    two = {**recorded, "7": {}, "8": {}}
    assert files.judge(files.differences(recorded, two), len(recorded), 0.005)[0]
    assert files.judge(files.differences(recorded, {}), len(recorded), 0.0)[0]


def test_golden_files_are_small() -> None:
    sizes = [path.stat().st_size for path in files.RECORDED.iterdir()]
    assert len(sizes) >= len(AREAS) + 1
    assert sum(sizes) < 5_000_000

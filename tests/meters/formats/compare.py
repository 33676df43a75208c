"""Whether what was read is what a sample holds."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from sunveil.meters import Label, Record

from .sample import ExpectedSystem, FormatSample

# Decimal numbers as they stand in files; a reading among them is told by its digits.
_DECIMALS = re.compile(r"\d+[.,]\d{2,}")


def assert_right(
    sample: FormatSample, records: Sequence[Record], *, declared: bool = False
) -> None:
    """Fail unless records are a sample's: systems, instants and kW.

    Parameters
    ----------
    sample
        The sample.
    records
        What was read of it.
    declared
        Whether the curator said which instant stamps name, so that starts have to be exact.
    """
    assert len(records) == len(sample.expected), "another number of systems"
    by_name = {record.system_id: record for record in records}
    for expected, in_order in zip(sample.expected, records, strict=True):
        record = in_order if expected.system_id is None else by_name[expected.system_id]
        _assert_system(sample, expected, record, declared=declared)


def _assert_system(
    sample: FormatSample, expected: ExpectedSystem, record: Record, *, declared: bool
) -> None:
    assert record.interval_minutes == expected.interval_minutes
    assert record.label_known or not (declared or sample.label_said), "the label is said"
    times = record.times
    if not record.label_known:
        length = record.interval_minutes * 60.0
        shift = (record.label.fraction - Label(sample.label).fraction) * length
        times = times + np.timedelta64(round(shift), "s")
    known = dict(zip(expected.starts.tolist(), expected.power_kw.tolist(), strict=True))
    found = dict(zip(times.tolist(), record.power_kw.tolist(), strict=True))
    assert found.keys() <= known.keys(), "readings at instants that the file does not have"
    worst = max(abs(value - known[time]) for time, value in found.items())
    assert worst <= sample.tolerance + 1e-9, f"readings are {worst:g} kW off"
    assert len(found) >= sample.coverage * len(known), "readings are missing"


def assert_says_nothing(sample: FormatSample, message: str) -> None:
    """Fail when a message quotes the file: a reading, a customer, a second line."""
    assert "\n" not in message
    assert not [secret for secret in sample.secrets if secret in message]
    text = sample.content.decode("latin-1").replace("\x00", "")
    cells = {each for each in _DECIMALS.findall(text) if each.strip("0.,")}
    assert not cells & set(_DECIMALS.findall(message)), "a message quotes a reading"

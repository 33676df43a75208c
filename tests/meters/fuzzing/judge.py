"""Whether a case came out as it must: read, or refused in a sentence of Sunveil's own."""

from __future__ import annotations

import contextlib
import io
import re
import signal
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import numpy as np
from formats.sample import FormatSample

from sunveil.cli import main
from sunveil.cli._text import DEFECTIVE
from sunveil.errors import SunveilError
from sunveil.meters import MeterOptions, Record, read_meters

from .cases import Case

# More than any small file needs, even on a machine that does other things. [s]
TIME_LIMIT = 60
# Readings are held against the truth where there was light enough. [kW]
LIGHT = 0.2
# A unit, an interval or a decimal point taken wrong changes readings by more than this.
FACTOR = 2.5
_SHORT = np.timedelta64(24, "h")
_ENOUGH = 10
_DECIMALS = re.compile(r"\d+[.,]\d{3,}")


@dataclass(frozen=True)
class Finding:
    """What must not be, and the seed that makes it happen again."""

    seed: int
    kind: str
    signature: str
    detail: str


class SlowCase(Exception):
    """A case that takes longer than any small file may."""


def judge(case: Case, folder: Path) -> Finding | None:
    """Run a case and return what is wrong with how it came out."""
    path = folder / case.sample.file_name
    path.write_bytes(case.draft.content)
    try:
        with _limited():
            return _judged_command(case, path) if case.command else _judged_reading(case, path)
    except SlowCase:
        return Finding(case.seed, "slow", case.sample.family, f"more than {TIME_LIMIT} s")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever it is, panics of compiled packages too
        return Finding(case.seed, "traceback", _signature(error), repr(error)[:300])
    finally:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise SlowCase

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(TIME_LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _signature(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "sunveil" in frame.filename.replace("\\", "/").split("/")]
    last = own[-1] if own else frames[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno} ({last.name})"


def _judged_reading(case: Case, path: Path) -> Finding | None:
    try:
        records = read_meters(path, MeterOptions(**case.options))
    except SunveilError as error:
        return _judged_message(case, str(error))
    if not (case.natural and case.draft.scale_kept):
        return None
    factor = scale_of(records, case.sample)
    if factor is None or 1.0 / FACTOR < factor < FACTOR:
        return None
    if factor == 0.0 and case.options.get("cleaning") == "each":
        return None  # for a release, a record without any usable reading is one of zeros
    how = f"readings are {factor:.3g} times the truth"
    return Finding(case.seed, "scale", f"{case.sample.name}: {how}", how)


def _judged_command(case: Case, path: Path) -> Finding | None:
    out, err = io.StringIO(), io.StringIO()
    arguments = [*case.command, str(path)]
    if case.schema is not None:
        schema = path.with_name("schema.yaml")
        schema.write_bytes(case.schema)
        arguments += ["--schema", str(schema)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(arguments)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    if code == 0:
        return None
    if code == DEFECTIVE:
        said = err.getvalue()
        return Finding(case.seed, "traceback", said.partition(";")[0], said[-300:])
    if not err.getvalue().strip():
        return Finding(case.seed, "silent", f"{case.command[0]} exit {code}", "no message")
    return _judged_message(case, err.getvalue())


def _judged_message(case: Case, message: str) -> Finding | None:
    """Return a finding where a message quotes what was planted, a customer or a reading."""
    given = " ".join(map(str, (*case.options.values(), *case.command, case.sample.file_name)))
    texts = (*case.draft.planted, *case.sample.secrets)
    quoted = [text for text in texts if text in message and text not in given]
    if not quoted:
        cells = set(_DECIMALS.findall(case.draft.content.decode("latin-1").replace("\x00", "")))
        quoted = [
            each for each in _DECIMALS.findall(message) if each in cells and each.strip("0.,")
        ]
    if not quoted:
        return None
    plain = re.sub(r"'[^']*'", "'...'", message.replace(case.sample.file_name, "FILE"))
    return Finding(case.seed, "quote", re.sub(r"\d+", "N", plain)[:100], message[:400])


def scale_of(records: Sequence[Record], sample: FormatSample) -> float | None:
    """Return how many times the truth the readings are; None where too few can be compared."""
    truths = {expected.system_id: expected for expected in sample.expected}
    ratios: list[float] = []
    for record in records:
        expected = truths.get(record.system_id, truths.get(None))
        if expected is None or len(records) != len(sample.expected):
            continue
        if record.times[-1] - record.times[0] < _SHORT:
            continue  # too short to show that a register counts up, and for any inference
        length = np.timedelta64(expected.interval_minutes * 60, "s")
        middle = record.times + np.timedelta64(round(record.interval_minutes * 30), "s")
        place = np.searchsorted(expected.starts, middle, side="right") - 1
        inside = (place >= 0) & (middle < expected.starts[np.maximum(place, 0)] + length)
        truth = expected.power_kw[place[inside]]
        lit = truth > LIGHT
        ratios.extend((record.power_kw[inside][lit] / truth[lit]).tolist())
    return float(np.median(ratios)) if len(ratios) >= _ENOUGH else None

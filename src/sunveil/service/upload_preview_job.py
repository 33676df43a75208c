"""The program that reads an upload for its preview, in a limited process."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from sunveil._files import write_whole
from sunveil.errors import SunveilError
from sunveil.service.limited_process import limit_this_process, too_much
from sunveil.service.settings import ReadingLimits

# Times between two lines of progress. [s]
PAUSE = 0.2
REFUSED, TOO_MUCH = 2, 3


def main(order: dict[str, Any]) -> int:
    """Preview a dataset, and return the process's exit code."""
    limits = ReadingLimits(**order["limits"])
    _say(0, 0)

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise MemoryError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(max(1, int(limits.seconds)))
    try:
        # here, so that the page hears of the work before what reads tables is loaded
        from sunveil.service.upload_checks import options_from, preview

        limit_this_process(limits)
        found = preview(
            Path(order["meters"]),
            Path(order["table"]),
            options_from(order["options"]),
            tell=_Telling(),
        )
    except MemoryError:
        print(f"sunveil: {too_much(limits)}", file=sys.stderr)
        return TOO_MUCH
    except SunveilError as error:
        print(f"sunveil: {error}", file=sys.stderr)
        return REFUSED
    write_whole(Path(order["out"]), json.dumps(found), private=True)
    return 0


class _Telling:
    """Says how far the work is, not more often than somebody reads it."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() >= self._next or done == total:
            self._next = time.monotonic() + PAUSE
            _say(done, total)


def _say(done: int, total: int) -> None:
    line = {"event": "progress", "doing": "reading", "done": done, "total": total}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main(json.loads(sys.argv[1])))

"""Read uploads in processes of bounded memory and time; the program that previews them."""

from __future__ import annotations

import json
import logging
import multiprocessing
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

from sunveil._files import write_whole
from sunveil.errors import ParameterError, SourceError, SunveilError, debugging, place_of
from sunveil.service.settings import ReadingLimits, size_text
from sunveil.service.uploads import UploadRefused, UploadTooLarge

log = logging.getLogger("sunveil.service")
_READERS = "sunveil.service.upload_checks"
_CONTEXT = multiprocessing.get_context("forkserver")

_KINDS: dict[str, type[SourceError] | type[ParameterError]] = {
    each.__name__: each for each in (SourceError, UploadRefused, UploadTooLarge, ParameterError)
}


def run_guarded(
    task: Callable[..., dict[str, Any]], *arguments: Any, limits: ReadingLimits
) -> dict[str, Any]:
    """Run a function in a process of its own, and return what it returns."""
    _CONTEXT.set_forkserver_preload([_READERS])
    ours, theirs = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_work, args=(theirs, task, arguments, limits), daemon=True)
    process.start()
    theirs.close()
    try:
        answer = json.loads(ours.recv_bytes()) if ours.poll(limits.seconds) else None
    except EOFError:  # it died: the kernel or an allocator stopped it
        answer = None
    finally:
        ours.close()
        process.kill()
        process.join()
        process.close()
    if answer is None:
        raise too_much(limits)
    if "unforeseen" in answer:
        log.error("an upload could not be read: %s", answer["unforeseen"])
    if "refused" in answer:
        raise _KINDS.get(answer["refused"], SourceError)(answer["why"])
    found: dict[str, Any] = answer["found"]
    return found


def too_much(limits: ReadingLimits) -> UploadTooLarge:
    return UploadTooLarge(
        f"reading these files takes more than the {size_text(limits.memory)} of memory or the"
        f" {limits.seconds:,.0f} seconds that this service allows (settings reading.memory and"
        " reading.seconds); send fewer systems or readings in one dataset"
    )


def _unforeseen(error: Exception, limits: ReadingLimits) -> UploadRefused:
    """Return the refusal of files on which a reader failed."""
    import duckdb

    if isinstance(error, duckdb.OutOfMemoryException):
        return too_much(limits)
    return UploadRefused(
        f"the files cannot be read ({type(error).__name__}); check that they are not damaged"
    )


def limit_this_process(limits: ReadingLimits) -> None:
    """Let the kernel refuse this process more memory and processor time than the limits allow."""
    # other pools reserve far more than they use
    pa.set_memory_pool(pa.system_memory_pool())
    seconds = int(limits.seconds) + 1
    for kind, most in ((resource.RLIMIT_DATA, limits.memory), (resource.RLIMIT_CPU, seconds)):
        resource.setrlimit(kind, (most, most))


def _work(
    answer: Connection, task: Callable[..., Any], arguments: tuple[Any, ...], limits: ReadingLimits
) -> None:
    """Run the task in the process that was made for it, and send its answer or its refusal."""
    limit_this_process(limits)
    try:
        said: dict[str, Any] = {"found": task(*arguments)}
    except MemoryError:
        said = {"refused": UploadTooLarge.__name__, "why": str(too_much(limits))}
    except (SourceError, ParameterError) as error:
        kind = next(each for each in type(error).__mro__ if each.__name__ in _KINDS)
        said = {"refused": kind.__name__, "why": str(error)}
    except Exception as error:  # what a damaged file makes a reader raise
        refusal = _unforeseen(error, limits)
        said = {"refused": type(refusal).__name__, "why": str(refusal)}
        said["unforeseen"] = place_of(error)
        if debugging():
            traceback.print_exception(error)
    answer.send_bytes(json.dumps(said).encode())


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
    except Exception as error:
        print(f"sunveil: {_unforeseen(error, limits)}", file=sys.stderr)
        return TOO_MUCH
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

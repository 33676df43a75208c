"""The process of the ``sunveil`` command, and of ``python -m sunveil``, which is the same.

Nothing heavy is imported here before the collector is set.
"""

from __future__ import annotations

import atexit
import os
import sys

from sunveil.collector import collect_seldom


def run() -> int:
    """Run the command line in a process that does nothing else, and return its exit code.

    It is :func:`sunveil.cli.main`, which leaves its caller's collector and end alone.
    """
    collect_seldom()
    codes: list[int] = []
    # what is registered first is called last, when threads and all other callbacks are done
    atexit.register(_end, codes)
    from sunveil.cli import main

    codes.append(main())
    return codes[0]


def _end(codes: list[int]) -> None:
    """End the process without taking apart, object by object, all that it has loaded.

    Freezing these objects would save as much, but DuckDB then says on stderr that they have leaked.
    After an exception, or where what was printed cannot be written, Python ends as it always does.
    """
    if not codes:
        return
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        return
    os._exit(codes[0])


if __name__ == "__main__":
    sys.exit(run())

"""Start services over one folder, one after another, and kill them: one command a line.

``start`` begins a service in a process of its own and says that it listens; ``kill`` ends it by
SIGKILL. Everything is loaded before the first of them begins, so that a start is short.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import opendp.prelude  # noqa: F401
from service_makers import ANSWER_SECONDS, quick_settings

from sunveil.service import question_data  # noqa: F401
from sunveil.service.app import bind, create_app, serve_on


def serve(folder: Path, port: int, pad: float) -> None:
    settings = quick_settings(folder, answer_seconds=dict.fromkeys(ANSWER_SECONDS, pad), port=port)
    serve_on(create_app(settings), bind(settings))


def main() -> None:
    folder, port, pad = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    child = 0
    print("ready", flush=True)
    for line in sys.stdin:
        if line.strip() == "start":
            child = os.fork()
            if child == 0:
                serve(folder, port, pad)
                os._exit(0)
        else:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            # anything else would be a service that fell over by itself
            assert os.WTERMSIG(status) == signal.SIGKILL, status
        print("done", flush=True)


if __name__ == "__main__":
    main()

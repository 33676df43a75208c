"""Processes that check seeds, and are replaced when a case ends them."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

from .cases import make_case
from .judge import Finding, judge

_SPAWN = multiprocessing.get_context("spawn")


@dataclass
class Worker:
    """A process, the end of its pipe, the seeds it was given, and the one it is at."""

    process: BaseProcess
    pipe: Connection
    seeds: range
    current: int


def check_all(seeds: range, workers: int, say: Callable[[int, int], None]) -> list[Finding]:
    """Return what is found with some seeds, whatever becomes of single processes.

    ``say`` is called with how many seeds are done and how many findings there are.
    """
    size = max(1, -(-len(seeds) // workers))
    parts = [seeds[start : start + size] for start in range(0, len(seeds), size)]
    running = [_start(part) for part in parts]
    found: list[Finding] = []
    done = 0
    while running:
        for pipe in wait([worker.pipe for worker in running]):
            worker = next(each for each in running if each.pipe is pipe)
            try:
                worker.current, finding = worker.pipe.recv()
            except EOFError:
                running.remove(worker)
                if worker.current < worker.seeds[-1]:
                    lost = worker.current + 1
                    found.append(_crash(worker, lost))
                    done += 1
                    if lost < worker.seeds[-1]:
                        running.append(_start(range(lost + 1, worker.seeds.stop)))
                continue
            done += 1
            found.extend([finding] if finding is not None else [])
            say(done, len(found))
    return found


def _start(seeds: range) -> Worker:
    ours, theirs = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_work, args=(seeds, theirs), daemon=True)
    process.start()
    theirs.close()
    return Worker(process, ours, seeds, seeds.start - 1)


def _crash(worker: Worker, seed: int) -> Finding:
    worker.process.join()
    family = make_case(seed).sample.family
    return Finding(seed, "crash", f"{family}, exit code {worker.process.exitcode}", "no exception")


def _work(seeds: range, pipe: Connection) -> None:
    """Check seeds in order and tell each one's end; what compiled code prints is not shown."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SUNVEIL_CACHE"] = folder
        for seed in seeds:
            pipe.send((seed, judge(make_case(seed), Path(folder))))
    pipe.close()

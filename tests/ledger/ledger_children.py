"""Processes that charge a ledger: killed, racing, or on a disk that refuses. MODE LEDGER MORE..."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from itertools import count
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

from ledger_makers import question

from sunveil.errors import BudgetExceeded, SunveilError
from sunveil.ledger import Ledger

AT_ONCE = 3
# How long the orders of a round take to reach all. [s]
SOON = 0.005


def ask(where: str, seen: str, child: int, progress: int) -> None:
    """Ask for ever; each draw writes its question to a file: that is the answer getting out."""
    with Ledger(where) as ledger:
        for number in count():
            systems = None if number % 2 else (f"system{number}",)
            asked = question([child, number], epsilon=0.001, systems=systems)

            def draw(asked=asked) -> str:
                out = os.open(seen, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                os.write(out, (asked.digest("d") + "\n").encode())
                os.close(out)
                os.write(progress, b".")
                return "drawn"

            ledger.ask("d", asked, draw)


def killed(where: str, seen: str, rounds: str) -> None:
    """Kill processes that ask, at random instants, and print how often."""
    chance = random.Random(7)
    spent, kills = 0.0, 0
    for number in range(int(rounds)):
        children = []
        heard, progress = os.pipe()
        for each in range(AT_ONCE):
            child = os.fork()
            if child == 0:
                ask(where, seen, number * AT_ONCE + each, progress)
            children.append(child)
        if number % 2:
            # on a busy machine as well some get as far as a draw; others may still be opening
            os.read(heard, 1)
        for child in children:
            time.sleep(chance.uniform(0.0, 0.06))
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            # anything else would be a child that fell over by itself
            assert os.WTERMSIG(status) == signal.SIGKILL
            kills += 1
        os.close(heard)
        os.close(progress)
        with Ledger(where) as ledger:
            now = ledger.dataset("d").spent
        assert now >= spent
        spent = now
    print(kills)


def race(where: str, number: int, orders: Connection) -> None:
    """Open the ledger, and charge what is ordered at the instant that it is ordered for."""
    with Ledger(where, create=True) as ledger:
        orders.send("ready")
        while order := orders.recv():
            systems = None if order["system"] is None else (order["system"],)
            while time.monotonic() < order["at"]:
                pass
            try:
                asked = question(number, epsilon=order["epsilon"], systems=systems)
                answer = ledger.ask(order["dataset"], asked, lambda: "drawn")
                orders.send("granted" if answer.fresh else "found")
            except BudgetExceeded:
                orders.send("refused")


def start(where: str, number: int, others: list[Connection]) -> None:
    """Fork a racer, which has everything imported already, and add the way to it."""
    ours, theirs = Pipe()
    if os.fork() == 0:
        # it ends when the process that it comes from does
        for each in (*others, ours):
            each.close()
        race(where, number, theirs)
        os._exit(0)
    theirs.close()
    others.append(ours)


def racing(where: str, processes: str) -> None:
    """Race for budgets: one line of orders in per round, one word of each process out."""
    racers: list[Connection] = []
    for number in range(int(processes)):
        start(where, number, racers)
    print(json.dumps([racer.recv() for racer in racers]), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        at = time.monotonic() + SOON
        for racer, system in zip(racers, order.pop("systems"), strict=True):
            racer.send({**order, "system": system, "at": at})
        print(json.dumps([racer.recv() for racer in racers]), flush=True)
    for racer in racers:
        racer.send(None)
    assert [os.waitstatus_to_exitcode(os.wait()[1]) for _ in racers] == [0] * len(racers)


def refused(where: str, limit: str) -> None:
    """Charge where the disk is full or read-only, and print the error."""
    if limit == "full":
        size = Path(where).stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 4, size // 4))
    else:
        Ledger(where).close()  # what is imported late must be readable still
        folder = Path(where).parent
        for each in (*folder.rglob("*"), folder):
            each.chmod(0o555 if each.is_dir() else 0o444)
        if os.geteuid() == 0:  # whom no right stops
            os.setuid(65534)
    try:
        with Ledger(where) as ledger:
            ledger.charge("d", question("large" * 5000, epsilon=0.1))
        print("charged")
    except SunveilError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    {"killed": killed, "racing": racing, "refused": refused}[sys.argv[1]](*sys.argv[2:])

"""Processes that race for a budget: one line of orders in per round, one word of each out."""

from __future__ import annotations

import json
import os
import sys
import time
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from ledger_makers import question

from sunveil.errors import BudgetExceeded
from sunveil.ledger import Ledger

# How long the orders of a round take to reach all. [s]
SOON = 0.005


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


def main() -> None:
    where, processes = sys.argv[1:]
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


if __name__ == "__main__":
    main()

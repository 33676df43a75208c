"""A process that races for a budget: one line in per round, one word out."""

from __future__ import annotations

import json
import sys
import time

from ledger_makers import question

from sunveil.errors import BudgetExceeded
from sunveil.ledger.ledger import Ledger


def main() -> None:
    where, number = sys.argv[1:]
    with Ledger(where, create=True) as ledger:
        print("ready", flush=True)
        for line in sys.stdin:
            order = json.loads(line)
            systems = None if order["system"] is None else (order["system"],)
            while time.monotonic() < order["at"]:
                pass
            try:
                asked = question(number, epsilon=order["epsilon"], systems=systems)
                answer = ledger.ask(order["dataset"], asked, lambda: "drawn")
                print("granted" if answer.fresh else "found", flush=True)
            except BudgetExceeded:
                print("refused", flush=True)


if __name__ == "__main__":
    main()

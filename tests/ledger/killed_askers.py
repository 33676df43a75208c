"""Kill processes that ask a ledger, at random instants, and print how often.

Each child asks question after question. Its draw writes the question to a file of its own before it
returns: that is the answer getting out.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from itertools import count

from ledger_makers import question

from sunveil.ledger import Ledger

AT_ONCE = 3


def ask(where: str, seen: str, child: int, progress: int) -> None:
    """Ask for ever, and say so at every draw."""
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


def main() -> None:
    where, seen, rounds = sys.argv[1:]
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


if __name__ == "__main__":
    main()

"""Charge a ledger where the disk refuses, and print what is said."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

from ledger_makers import question

from sunveil.errors import SunveilError
from sunveil.ledger import Ledger


def main() -> None:
    limit, where = sys.argv[1], Path(sys.argv[2])
    if limit == "full":
        size = where.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size // 4, size // 4))
    else:
        Ledger(where).close()  # what is imported late must be readable still
        for each in where.parent.rglob("*"):
            each.chmod(0o555 if each.is_dir() else 0o444)
        where.parent.chmod(0o555)
        if os.geteuid() == 0:  # whom no right stops
            os.setuid(65534)
    try:
        with Ledger(where) as ledger:
            ledger.charge("d", question("large" * 5000, epsilon=0.1))
        print("charged")
    except SunveilError as error:
        print(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()

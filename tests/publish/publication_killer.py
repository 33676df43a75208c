"""Publishes a fleet and is killed when it would draw once more: LEDGER FLEET SYSTEMS WORK DRAWS."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from roof_fleets import TERMS

from sunveil.ledger import Ledger
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.publish import system_rows
from sunveil.releases.fleet_releases import open_fleet


def main(where: str, fleet: str, systems: str, work: str, draws: str) -> None:
    """Publish until the draws are used up."""
    left = int(draws)
    real = system_rows.draw_release

    def watched(*args, **options):
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args, **options)

    system_rows.draw_release = watched
    settings = {"part_rows": 1}
    with (
        Ledger(where, marks=HighWaterMarks(Path(where + ".mark"))) as ledger,
        open_fleet(fleet, systems, **settings, work=work) as opened,
    ):
        system_rows.publish_systems(ledger, "d", opened, terms=TERMS)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Publishes a fleet and is killed when it would draw once more: LEDGER FLEET SYSTEMS WORK DRAWS."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from roof_fleets import TERMS, open_to_release

from sunveil.ledger import Ledger
from sunveil.ledger.hash_chain import HighWaterMarks
from sunveil.publish.publisher import Publisher
from sunveil.publish.system_rows import SystemRows
from sunveil.releases import fleet_releases


def main(where: str, fleet: str, systems: str, work: str, draws: str) -> None:
    """Publish until the draws are used up."""
    left = int(draws)
    real = fleet_releases.draw_release

    def watched(*args, **options):
        nonlocal left
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1
        return real(*args, **options)

    fleet_releases.draw_release = watched
    settings = {"part_rows": 1}
    with (
        Ledger(where, marks=HighWaterMarks(Path(where + ".mark"))) as ledger,
        open_to_release(fleet, systems, **settings, work=work) as opened,
    ):
        Publisher(ledger, "d").publish(SystemRows(opened, TERMS))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""`python -m sunveil`."""

from __future__ import annotations

import sys

from sunveil.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""``python -m sunveil`` is the ``sunveil`` command."""

import sys

from sunveil.cli import main

if __name__ == "__main__":
    sys.exit(main())

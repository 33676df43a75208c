"""Golden files: what Sunveil answers, recorded and compared. ``python -m golden --help``."""

"""What doors are called in findings, and the ε that is claimed at them."""

from __future__ import annotations

from sunveil.endtoend.hostile import DAY, READING, SYSTEM

EPSILON = 1.0
PYTHON, COMMAND, PROCESS = "Python", "command", "process"
FOLDER, SERVICE = "publication", "HTTP"
UNITS = {READING: "readings:1", DAY: "days:1", SYSTEM: "system"}

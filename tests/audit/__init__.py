"""The audit of Sunveil: files that differ in one unit, at every entry point, and planted faults.

``make audit`` runs all of it, ``make test`` a short form. ``docs/audit.md`` says what it can show.
"""

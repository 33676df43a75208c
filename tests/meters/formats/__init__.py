"""Samples of every format that people have, all written from one known plant."""

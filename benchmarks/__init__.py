"""Benchmarks: Sunveil and its peers on simulated and on real series."""

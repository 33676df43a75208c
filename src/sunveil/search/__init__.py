"""Searching a finite grid of candidates."""

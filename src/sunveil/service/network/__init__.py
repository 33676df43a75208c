"""Logs, metrics, and what every request passes."""

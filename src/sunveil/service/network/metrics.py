"""Counts and times of requests and events, as Prometheus reads them: nothing of any one analyst.

Several workers count together, by prometheus_client's files in a folder that they share; that adds
up counters and histograms alone.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.multiprocess import MultiProcessCollector

# Names the folder, before prometheus_client is imported.
SHARED_COUNTS = "PROMETHEUS_MULTIPROC_DIR"

# Questions are padded to whole multiples of half a second up to fifteen. [s]
BUCKETS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0)


class Metrics:
    """What a service counts while it runs."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Histogram(
            "sunveil_request_seconds",
            "Time that requests took, by the pattern of their address.",
            ("route", "method", "status"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.events = Counter(
            "sunveil_audit_events",
            "Events of the audit log.",
            ("event",),
            registry=self.registry,
        )
        self.left_out = Counter(
            "sunveil_log_lines_left_out",
            "Lines beyond their measure.",
            ("logger",),
            registry=self.registry,
        )

    def of_all_workers(self) -> CollectorRegistry:
        """Return what all workers of the service have counted."""
        if SHARED_COUNTS not in os.environ:
            return self.registry
        found = CollectorRegistry()
        MultiProcessCollector(found)  # type: ignore[no-untyped-call]
        return found

    def count_request(self, *, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request.

        Parameters
        ----------
        route
            The pattern of its address, such as ``/api/v1/releases/{release}``.
        method
            HTTP method; what is none is counted as ``other``.
        status
            HTTP status; counted by its class, such as ``4xx``.
        seconds
            How long it took. [s]
        """
        known = method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else "other"
        self.requests.labels(route, known, f"{status // 100}xx").observe(seconds)

"""Logs: lines of text or JSON on stderr, without private values, which nobody can flood.

Three loggers tell of a service: ``sunveil.audit`` (who did what), ``sunveil.access`` (one line for
each request, where that is asked for) and ``sunveil.service`` (what went wrong), beside those of
asyncio and uvicorn. Every kind of line has a measure. Beyond it lines are left out, and the next
one of the kind says how many.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import prometheus_client

from sunveil.errors import debugging
from sunveil.service.security.rates import RateLimit

ACCESS, AUDIT = "sunveil.access", "sunveil.audit"
LONGEST_LINE = 2000
log = logging.getLogger("sunveil.service")
# Lines per second and at once: of requests and events, and of all else, by kind and together.
MEASURES = {ACCESS: (100.0, 2000.0), AUDIT: (20.0, 2000.0)}
MEASURE_OF_A_KIND, MEASURE_OF_ALL = (0.1, 20.0), (2.0, 200.0)


class WithoutTraceback(logging.Filter):
    """Keep out of the log what an exception says, unless SUNVEIL_DEBUG=1: it may hold anything."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Strip the exception from a record, but for its kind."""
        said = record.getMessage()
        if record.name == "asyncio":
            # its further lines show objects, and what they hold
            said = said.partition("\n")[0]
        if record.exc_info and record.exc_info[0] is not None and not debugging():
            said = f"{said}: {record.exc_info[0].__name__}"
            record.exc_info = record.exc_text = None
        record.msg, record.args = "%s", (said,)
        return True


class Measured(logging.Filter):
    """Let lines pass in measure, and have the next one tell how many did not.

    Parameters
    ----------
    left_out
        Counts those that did not, by logger.
    clock
        Returns the present time. [s]
    """

    def __init__(
        self,
        left_out: prometheus_client.Counter | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._left_out = left_out
        self._pending: Counter[str] = Counter()
        self._kinds = {name: RateLimit(*measure, clock=clock) for name, measure in MEASURES.items()}
        self._other = RateLimit(*MEASURE_OF_A_KIND, clock=clock)
        self._all = RateLimit(*MEASURE_OF_ALL, clock=clock)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether a line passes; one that does tells of those before it that did not."""
        kind = self._kind(record)
        if not self._passes(record.name, kind):
            if self._left_out is not None:
                self._left_out.labels(record.name).inc()
            if len(self._pending) < 1000 or kind in self._pending:
                self._pending[kind] += 1
            return False
        record.left_out = self._pending.pop(kind, 0)
        return True

    def _kind(self, record: logging.LogRecord) -> str:
        if record.name in self._kinds:
            return record.name
        # as it was written in the code, where what it is about has not been put in yet
        return f"{record.name} {record.levelno} {str(record.msg)[:80]}"

    def _passes(self, name: str, kind: str) -> bool:
        if name in self._kinds:
            return not self._kinds[name].take(name)
        return not self._other.take(kind) and not self._all.take("all")


class TextLines(logging.Formatter):
    """Lines that people read: time, level, logger, message, and facts as ``name="value"``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        facts = getattr(record, "facts", {})
        told = "".join(f" {name}={json.dumps(value)}" for name, value in facts.items())
        message = " ".join(record.getMessage().splitlines())
        line = f"{_time(record)} {record.levelname} {record.name} {message}{told}"[:LONGEST_LINE]
        left_out = getattr(record, "left_out", 0)
        line = f"{line} (… {left_out:,} more like this)" if left_out else line
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class JsonLines(logging.Formatter):
    """Lines that programs read: one JSON object each."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as one line."""
        line = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage()[:LONGEST_LINE],
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        left_out = getattr(record, "left_out", 0)
        return json.dumps({**line, "more_like_this": left_out} if left_out else line)


def set_up_logs(
    log_format: str = "text",
    *,
    access: bool = False,
    left_out: prometheus_client.Counter | None = None,
) -> None:
    """Send warnings, events and, if asked for, requests to stderr, in measure.

    Parameters
    ----------
    log_format
        ``text`` or ``json``.
    access
        Whether every request has a line.
    left_out
        Counts lines beyond their measure, by logger.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    # measured first: what is left out need not be made ready
    handler.addFilter(Measured(left_out))
    handler.addFilter(WithoutTraceback())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    logging.getLogger(AUDIT).setLevel(logging.INFO)
    logging.getLogger(ACCESS).setLevel(logging.INFO if access else logging.CRITICAL)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

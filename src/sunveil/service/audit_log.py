"""Who did what, when and from where."""

from __future__ import annotations

import logging

from starlette.requests import Request

from sunveil.service.authentication import client_address
from sunveil.service.context import Service, service_of

Fact = str | int | float | bool | None
LONGEST = 200
log = logging.getLogger("sunveil.audit")


def record_event(source: Request | Service, event: str, /, **facts: Fact) -> None:
    """Write an event to the audit log."""
    # A request adds who asked (`who`, `role`) and from which address (`address`), unless the facts
    # say otherwise; a service, where nobody asked, adds nothing.
    found: dict[str, Fact] = {}
    service = service_of(source) if isinstance(source, Request) else source
    service.metrics.events.labels(event).inc()
    if isinstance(source, Request):
        source.state.audited = True
        identity = getattr(source.state, "identity", None)
        if identity is not None and identity.who:
            found |= {"who": identity.who, "role": identity.role}
        found["address"] = client_address(source)
    found |= facts
    log.info(
        event,
        extra={
            "facts": {name: _short(value) for name, value in found.items() if value is not None}
        },
    )


def _short(value: Fact) -> Fact:
    return value[:LONGEST] if isinstance(value, str) else value

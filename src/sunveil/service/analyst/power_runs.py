"""Ordering power of a release, for pages and programs alike."""

from __future__ import annotations

from starlette.requests import Request

from sunveil.service.analyst.access import CachedRelease
from sunveil.service.context import service_of
from sunveil.service.identity import check_rate, require_scope
from sunveil.service.pages import identity_of
from sunveil.service.power_orders import PowerOrder, PowerRefused, PowerRun
from sunveil.service.problems import Problem
from sunveil.service.roles import ASK

# Of these kinds of release, which say neither how systems face nor how large they are together.
WITHOUT_POWER = ("quantiles",)


def order_power(request: Request, cached: CachedRelease, order: PowerOrder) -> PowerRun:
    """Start a run of power, or return the one that was ordered before; nothing is charged.

    Parameters
    ----------
    request
        What asks, with the analyst who was admitted.
    cached
        The release, which the analyst may read.
    order
        Where and when.
    """
    identity = identity_of(request)
    require_scope(identity, ASK)
    service = service_of(request)
    check_rate(service.limits.asks.take(identity.who))
    if cached.row.kind in WITHOUT_POWER:
        raise Problem(422, "No power can be made of quantiles; take a release of tables or totals.")
    try:
        return service.power.start(cached.row.id, cached.body, order, analyst=identity.who)
    except PowerRefused as error:
        if error.busy:
            raise Problem(429, str(error), headers={"Retry-After": "10"}) from None
        raise Problem(422, str(error)) from None


def known_run(request: Request, release: str, run: str) -> PowerRun:
    """Return a run of a release, or refuse with a 404.

    Parameters
    ----------
    request
        What asks.
    release, run
        The release, which the analyst may read, and the run's id.
    """
    found = service_of(request).power.find(release, run)
    if found is None:
        raise Problem(404, "There is no such run of power; old ones are removed: order it again.")
    return found

"""All routers of the analyst's side, in the order in which addresses are matched."""

from __future__ import annotations

from sunveil.service.analyst import (
    api,
    api_own,
    api_reading,
    ask_pages,
    description,
    pages,
    release_pages,
)

ROUTERS = (
    description.router,
    api.router,
    api_reading.router,
    api_own.router,
    pages.router,
    ask_pages.router,
    release_pages.router,
)

"""All routers of the analyst's side, in the order in which addresses are matched."""

from __future__ import annotations

from sunveil.service.analyst import (
    api,
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
    pages.router,
    ask_pages.router,
    release_pages.router,
)

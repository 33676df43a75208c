"""The routers of the curator's side, in the order that the service adds them."""

from __future__ import annotations

from fastapi import APIRouter

from sunveil.service.curator import (
    accounts,
    add_pages,
    analysts,
    datasets,
    edition_pages,
    estimates,
    ledgers,
    promises,
    system_pages,
)

ROUTERS: tuple[APIRouter, ...] = (
    datasets.router,
    add_pages.router,
    add_pages.upload_router,
    edition_pages.router,
    edition_pages.upload_router,
    estimates.router,
    system_pages.router,
    promises.router,
    analysts.router,
    accounts.router,
    ledgers.router,
)

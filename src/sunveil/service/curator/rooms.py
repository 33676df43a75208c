"""The rooms of the curator's side, as the service opens them."""

from __future__ import annotations

from fastapi import APIRouter

from sunveil.service.curator import add, analysts, datasets, estimates, ledgers, promises

ROOMS: tuple[APIRouter, ...] = (
    datasets.room,
    add.room,
    add.upload_room,
    estimates.room,
    promises.room,
    analysts.room,
    ledgers.room,
)

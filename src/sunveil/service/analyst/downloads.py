"""Responses with files: tables, and everything in one zip."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from sunveil.service.analyst.access import CachedRelease
from sunveil.service.analyst.answers import file_names
from sunveil.service.analyst.asking import refusal
from sunveil.service.broker import QuestionRefused, ReleaseFile
from sunveil.service.context import service_of

IMMUTABLE = "private, max-age=31536000, immutable"
# The earliest time that a zip can hold, in place of when it was packed.
EPOCH = (1980, 1, 1, 0, 0, 0)


async def send_file(request: Request, release: str, name: str) -> Response:
    """Return the response with a file of a release; the right to read it was checked before.

    Parameters
    ----------
    request
        What it answers.
    release
        The release's id.
    name
        The file's name, such as ``totals.csv``.
    """
    found = await _file(request, release, name)
    return _attached(found.content, f"{release[:8]}-{name}", found.media_type)


async def send_bundle(request: Request, cached: CachedRelease) -> Response:
    """Return the response with all files of a release in one zip.

    Parameters
    ----------
    request
        What it answers.
    cached
        The release, which whoever asks may read.
    """
    row = cached.row
    files = {name: (await _file(request, row.id, name)).content for name in file_names(cached.body)}
    files["release.json"] = cached.text
    folder = f"{row.dataset}-{row.id[:8]}"
    packed = await run_in_threadpool(_packed, files, folder=folder)
    return _attached(packed, f"{folder}.zip", "application/zip")


def send_json(cached: CachedRelease) -> Response:
    """Return the response with a release as the API has it, as a file."""
    return _attached(cached.text, f"{cached.row.id[:8]}-release.json", "application/json")


async def _file(request: Request, release: str, name: str) -> ReleaseFile:
    broker = service_of(request).broker
    found = broker.file_at_hand(release, name)
    if found is not None:
        return found
    try:
        return await run_in_threadpool(broker.file, release, name)
    except QuestionRefused as error:
        raise refusal(error) from None


def _attached(content: bytes, name: str, media_type: str) -> Response:
    headers = {
        "Cache-Control": IMMUTABLE,
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    return Response(content, media_type=media_type, headers=headers)


def _packed(files: Mapping[str, bytes], *, folder: str) -> bytes:
    """Return files in a folder of a zip: the same bytes for the same files."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, files[name])
    return made.getvalue()

"""Areas that a curator brings as GeoJSON, such as feeders or postcodes: checked and made small."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from sunveil.files import write_whole
from sunveil.service.uploads.errors import UploadRefused, UploadTooLarge

FILE = "areas.json"
LARGEST = 16 * 1024 * 1024
MOST_AREAS, MOST_CORNERS = 5000, 500_000
LONGEST_NAME = 200
# A tenth of a metre is more than a map shows. [digits of a degree]
DIGITS = 6
_DEPTHS = {"Polygon": 1, "MultiPolygon": 2}


def take_areas(source: Path, target: Path, wanted: str) -> dict[str, Any]:
    """Write the areas of a GeoJSON file as a map draws them, and return what they are.

    Parameters
    ----------
    source
        The file that was sent.
    target
        Where to write.
    wanted
        The property that names each area; empty for the first that every area has, distinct.
    """
    features = _features(source)
    properties = [_properties(each) for each in features]
    name = _naming(properties, wanted)
    corners, made = 0, []
    for number, each in enumerate(features):
        geometry, count = _geometry(each, number)
        corners += count
        if corners > MOST_CORNERS:
            raise UploadTooLarge(
                f"the areas have more than {MOST_CORNERS:,} corners; simplify their outlines"
            )
        said = str(properties[number][name])[:LONGEST_NAME]
        made.append({"type": "Feature", "properties": {"name": said}, "geometry": geometry})
    stored = {"property": name, "areas": {"type": "FeatureCollection", "features": made}}
    write_whole(target, json.dumps(stored, separators=(",", ":")), private=True)
    return {"areas": len(made), "property": name}


def _features(source: Path) -> list[Any]:
    if source.stat().st_size > LARGEST:
        raise UploadTooLarge(f"a file of areas has at most {LARGEST >> 20} MB; simplify it")
    try:
        found = json.loads(source.read_text(encoding="utf-8-sig"))
        features = found["features"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UploadRefused(
            "the file is not a GeoJSON FeatureCollection; export the areas as GeoJSON"
        ) from None
    if not isinstance(features, list) or not features:
        raise UploadRefused("the GeoJSON file has no area in it")
    if len(features) > MOST_AREAS:
        raise UploadTooLarge(
            f"the file has {len(features):,} areas, and at most {MOST_AREAS:,} are drawn"
        )
    return features


def _properties(feature: Any) -> dict[str, Any]:
    found = feature.get("properties") if isinstance(feature, dict) else None
    return found if isinstance(found, dict) else {}


def _naming(properties: list[dict[str, Any]], wanted: str) -> str:
    """Return the property that names every area, or refuse."""
    usable = [
        name
        for name in properties[0]
        if all(isinstance(each.get(name), str | int | float) for each in properties)
        and len({str(each[name]) for each in properties}) == len(properties)
    ]
    if wanted in usable or (not wanted and usable):
        return wanted or usable[0]
    known = ", ".join(usable[:10]) or "none; give every area a name of its own"
    raise UploadRefused(
        f"no property {wanted[:40]!r} names every area; those that do: {known}"
        if wanted
        else f"no property names every area by a value of its own: {known}"
    )


def _geometry(feature: dict[str, Any], number: int) -> tuple[dict[str, Any], int]:
    """Return an area's outline with few digits, and how many corners it has."""
    given: Any = feature.get("geometry")
    kind = given.get("type") if isinstance(given, dict) else None
    if kind not in _DEPTHS:
        raise UploadRefused(
            f"area {number + 1} is no Polygon or MultiPolygon; areas with outlines are drawn"
        )
    try:
        corners, count = _rounded(given["coordinates"], _DEPTHS[kind])
    except (ValueError, TypeError, KeyError, IndexError):
        raise UploadRefused(
            f"the outline of area {number + 1} is not made of longitudes and latitudes in degrees"
            " (WGS 84); export it so"
        ) from None
    return {"type": kind, "coordinates": corners}, count


def _rounded(nested: Any, depth: int) -> tuple[list[Any], int]:
    if not isinstance(nested, list):
        raise TypeError
    if depth:
        found = [_rounded(each, depth - 1) for each in nested]
        return [each for each, _ in found], sum(count for _, count in found)
    corners = [(float(each[0]), float(each[1])) for each in nested]
    for longitude, latitude in corners:
        if not (math.isfinite(longitude) and abs(longitude) <= 180.0 and abs(latitude) <= 90.0):
            raise ValueError
    return [[round(each, DIGITS) for each in corner] for corner in corners], len(corners)

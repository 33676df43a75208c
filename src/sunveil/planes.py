"""The planes of a system's modules, or the tracker that turns them, as an inference tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from sunveil.arguments import all_named, check_fields
from sunveil.checked import checked
from sunveil.quantities import (
    Interval,
    five_digits,
    hundredths,
    interval_of,
    quantity_columns,
    rounded,
)
from sunveil.site import Plane


@dataclass(frozen=True, slots=True)
class PlaneEstimate:
    """One of the planes that a system's modules stand on, with 90% intervals.

    Parameters
    ----------
    plane
        The plane.
    share
        Its share of the system's DC capacity.
    dc_capacity_kw
        Its DC capacity. [kW]
    azimuth_interval, tilt_interval, share_interval, capacity_interval
        90% intervals of each. [degrees, degrees, 1, kW]
    """

    plane: Plane
    share: float
    dc_capacity_kw: float
    azimuth_interval: Interval
    tilt_interval: Interval
    share_interval: Interval
    capacity_interval: Interval

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def surface_azimuth(self) -> float:
        """Azimuth, clockwise from north. [degrees]"""
        return self.plane.surface_azimuth

    @property
    def surface_tilt(self) -> float:
        """Tilt from horizontal. [degrees]"""
        return self.plane.surface_tilt

    def to_row(self) -> dict[str, Any]:
        """Return the plane as plain types, rounded as an estimate's row is."""
        return {
            **quantity_columns(
                "surface_azimuth", self.surface_azimuth, self.azimuth_interval, hundredths
            ),
            **quantity_columns("surface_tilt", self.surface_tilt, self.tilt_interval, hundredths),
            **quantity_columns("share", self.share, self.share_interval, _thousandths),
            **quantity_columns(
                "dc_capacity_kw", self.dc_capacity_kw, self.capacity_interval, five_digits
            ),
        }

    @classmethod
    @checked
    @all_named("the row", "what to_row gave")
    def from_row(cls, row: Mapping[str, Any]) -> PlaneEstimate:
        """Return the plane that :meth:`to_row` gave."""
        return cls(
            plane=Plane(row["surface_azimuth"], row["surface_tilt"]),
            share=row["share"],
            dc_capacity_kw=row["dc_capacity_kw"],
            azimuth_interval=interval_of(row, "surface_azimuth"),
            tilt_interval=interval_of(row, "surface_tilt"),
            share_interval=interval_of(row, "share"),
            capacity_interval=interval_of(row, "dc_capacity_kw"),
        )


@dataclass(frozen=True, slots=True)
class TrackerEstimate:
    """A single-axis tracker with a horizontal axis, with 90% intervals.

    Parameters
    ----------
    axis_azimuth
        Where the axis points, in [90, 270): an axis has two ends, and the one nearer south is
        told. [degrees]
    backtrack
        Whether rows turn back at low sun, so as not to shade each other.
    backtrack_probability
        How likely that they do is.
    gcr
        Ground coverage ratio: the width of a row over the distance to the next. Without
        backtracking nothing but shade tells it.
    max_angle
        How far it turns from horizontal. Hardly told by readings: see its interval. [degrees]
    axis_interval, gcr_interval, max_angle_interval
        90% intervals of each. [degrees, 1, degrees]
    """

    axis_azimuth: float
    backtrack: bool
    backtrack_probability: float
    gcr: float
    max_angle: float
    axis_interval: Interval
    gcr_interval: Interval
    max_angle_interval: Interval

    def __post_init__(self) -> None:
        check_fields(self)

    def to_row(self) -> dict[str, Any]:
        """Return the tracker as plain types, rounded as an estimate's row is."""
        return {
            **quantity_columns("axis_azimuth", self.axis_azimuth, self.axis_interval, hundredths),
            "backtrack": self.backtrack,
            "backtrack_probability": _thousandths(self.backtrack_probability),
            **quantity_columns("gcr", self.gcr, self.gcr_interval, _thousandths),
            **quantity_columns("max_angle", self.max_angle, self.max_angle_interval, hundredths),
        }

    @classmethod
    @checked
    @all_named("the row", "what to_row gave")
    def from_row(cls, row: Mapping[str, Any]) -> TrackerEstimate:
        """Return the tracker that :meth:`to_row` gave."""
        return cls(
            axis_azimuth=row["axis_azimuth"],
            backtrack=row["backtrack"],
            backtrack_probability=row["backtrack_probability"],
            gcr=row["gcr"],
            max_angle=row["max_angle"],
            axis_interval=interval_of(row, "axis_azimuth"),
            gcr_interval=interval_of(row, "gcr"),
            max_angle_interval=interval_of(row, "max_angle"),
        )


def match_planes(
    true: Sequence[Plane], found: Sequence[PlaneEstimate]
) -> list[tuple[Plane, PlaneEstimate]]:
    """Return each true plane with the inferred one that stands for it.

    Of all ways to match them, the one with the smallest sum of angles; nothing where there are more
    of the ones than of the others.
    """
    if len(true) != len(found):
        return []
    ways = [list(zip(true, order, strict=True)) for order in permutations(found)]
    return min(ways, key=lambda way: sum(plane.angle_to(each.plane) for plane, each in way))


def _thousandths(value: float | None) -> float | None:
    return rounded(value, 3)

"""The answer of a release, with its expected errors."""

from __future__ import annotations

import json
import uuid
from dataclasses import asdict, dataclass, field
from typing import Any

from sunveil._options import check_fields
from sunveil.privacy.guarantees import ConditionalGuarantee, Guarantee


@dataclass(frozen=True, slots=True)
class Spread:
    """The error that one quantity of a release is expected to have, from public inputs alone."""

    mean: float  # mean absolute error
    within: float  # what nine in ten releases stay within

    def to_dict(self) -> dict[str, float]:
        """Return the spread as plain JSON types."""
        return {"mean": round(self.mean, 4), "within_90_percent": round(self.within, 4)}


@dataclass(frozen=True, slots=True)
class ExpectedErrors:
    """The errors that a release is expected to have: public.

    Parameters
    ----------
    azimuth, tilt
        Of the plane. [degrees]
    capacity
        Of the capacity, as a share of it; None where none is released. [%]
    basis
        What they were computed from.
    """

    azimuth: Spread
    tilt: Spread
    capacity: Spread | None
    basis: str

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the errors as plain JSON types."""
        return {
            "surface_azimuth_degrees": self.azimuth.to_dict(),
            "surface_tilt_degrees": self.tilt.to_dict(),
            "dc_capacity_percent": None if self.capacity is None else self.capacity.to_dict(),
            "basis": self.basis,
        }


@dataclass(frozen=True, slots=True)
class ReleasedPlane:
    """One of the planes that a release tells."""

    surface_azimuth: float  # [degrees] where it faces
    surface_tilt: float  # [degrees] where it faces
    share: float  # its share of the released capacity

    def to_dict(self) -> dict[str, float]:
        """Return the plane as plain JSON types."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ReleasedTracker:
    """The single-axis tracker that a release tells."""

    axis_azimuth: float  # [degrees] where its horizontal axis points, from 90 to below 270
    backtrack: bool  # whether it turns back at low sun
    gcr: float | None
    max_angle: float  # [degrees] how far it turns from horizontal: one for all candidates

    def to_dict(self) -> dict[str, Any]:
        """Return the tracker as plain JSON types."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Release:
    """A published answer with its privacy statement. Everything in it is public.

    Parameters
    ----------
    surface_azimuth, surface_tilt
        The released plane; of two planes the one with their summed normal, of a tracker the
        modules at rest. [degrees]
    dc_capacity_kw
        The released capacity, of all planes, where the mechanism releases one. [kW]
    clock_minutes
        How far the clock runs ahead, where that was one more dimension. [minutes]
    planes
        One plane or two, the larger first. Empty for a tracker, and where pairs and
        trackers were no candidates.
    tracker
        The tracker, if there is one.
    guarantee
        The guarantee: worst-case or conditional.
    mechanism
        Mechanism of the draw.
    expected
        The errors to expect, the same for all systems released together; None where they are not
        known, as for the paper's mechanism.
    public
        The public choices it was made with.
    release_id
        A random name.
    """

    surface_azimuth: float
    surface_tilt: float
    dc_capacity_kw: float | None
    guarantee: Guarantee | ConditionalGuarantee
    mechanism: str
    clock_minutes: float | None = None
    planes: tuple[ReleasedPlane, ...] = ()
    tracker: ReleasedTracker | None = None
    expected: ExpectedErrors | None = None
    public: dict[str, Any] = field(default_factory=dict)
    release_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain JSON types."""
        return {
            "release_id": self.release_id,
            "surface_azimuth": self.surface_azimuth,
            "surface_tilt": self.surface_tilt,
            "dc_capacity_kw": self.dc_capacity_kw,
            "planes": [each.to_dict() for each in self.planes],
            "tracker": None if self.tracker is None else self.tracker.to_dict(),
            "clock_minutes": self.clock_minutes,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "expected_errors": None if self.expected is None else self.expected.to_dict(),
            "public": self.public,
        }

    def to_json(self) -> str:
        """Return the release as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

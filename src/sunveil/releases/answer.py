"""What a release returns."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

from sunveil.privacy.guarantee import ConditionalGuarantee, Guarantee


@dataclass(frozen=True, slots=True)
class Spread:
    """The error that one quantity of a release is expected to have, from public inputs alone.

    Parameters
    ----------
    mean
        Mean absolute error.
    within
        What nine in ten releases stay within.
    """

    mean: float
    within: float

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

    def to_dict(self) -> dict[str, Any]:
        """Return the errors as plain JSON types."""
        return {
            "surface_azimuth_degrees": self.azimuth.to_dict(),
            "surface_tilt_degrees": self.tilt.to_dict(),
            "dc_capacity_percent": None if self.capacity is None else self.capacity.to_dict(),
            "basis": self.basis,
        }


@dataclass(frozen=True, slots=True)
class Release:
    """A published answer with its privacy statement. Everything in it is public.

    Parameters
    ----------
    surface_azimuth, surface_tilt
        The released plane. [degrees]
    dc_capacity_kw
        The released capacity, where the mechanism releases one. [kW]
    clock_minutes
        How far the clock runs ahead, where that was one more dimension. [minutes]
    guarantee
        What is promised, and whether for the worst case or conditionally.
    mechanism
        Which mechanism drew it.
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
    expected: ExpectedErrors | None = None
    public: dict[str, Any] = field(default_factory=dict)
    release_id: str = field(default_factory=lambda: str(uuid.uuid4()))

    def to_dict(self) -> dict[str, Any]:
        """Return the release as plain JSON types."""
        return {
            "release_id": self.release_id,
            "surface_azimuth": self.surface_azimuth,
            "surface_tilt": self.surface_tilt,
            "dc_capacity_kw": self.dc_capacity_kw,
            "clock_minutes": self.clock_minutes,
            "mechanism": self.mechanism,
            "guarantee": self.guarantee.to_dict(),
            "expected_errors": None if self.expected is None else self.expected.to_dict(),
            "public": self.public,
        }

    def to_json(self) -> str:
        """Return the release as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

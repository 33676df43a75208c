"""What an estimate was inferred from, kept beside it for its figures."""

from __future__ import annotations

from sunveil.meters.record import Record
from sunveil.site import Site


class EstimateSource:
    """The readings and the skies behind an estimate, in the memory of this process only.

    It is no part of what an estimate says: neither ``repr`` nor JSON nor rows nor comparisons see
    it, and copies and pickles of an estimate come without it.

    Parameters
    ----------
    record
        The readings.
    skies
        The :class:`~sunveil.site_skies.SiteSkies` that they were inferred under.
    site
        Where they are.

    Privacy
    -------
    None: it is the readings.
    """

    __slots__ = ("record", "site", "skies")

    def __init__(self, record: Record, skies: object, site: Site) -> None:
        self.record, self.skies, self.site = record, skies, site

    def __repr__(self) -> str:
        return "EstimateSource(private)"

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        # what leaves the process holds no readings
        return type(None), ()

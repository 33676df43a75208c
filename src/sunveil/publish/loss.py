"""What a publication costs whom: its unit in words, and its privacy loss."""

from __future__ import annotations

from dataclasses import dataclass

from sunveil.privacy.concentrated import rho_to_epsilon
from sunveil.privacy.guarantee import ConcentratedGuarantee
from sunveil.privacy.units import System
from sunveil.publish.account import PublicationAccount
from sunveil.publish.publication import Publication

# The δ at which a guarantee in ρ is told as an ε where no promise names one.
DELTA = 1e-6


@dataclass(frozen=True, slots=True)
class PublicationLoss:
    """What is protected, and by how much.

    Parameters
    ----------
    unit
        What neighbours differ in, in words.
    parameters
        ``epsilon`` of it, with ``delta`` where it has one, and ``rho`` where that is what it is.
    """

    unit: str
    parameters: dict[str, float]


def household_loss(publication: Publication, account: PublicationAccount | None) -> PublicationLoss:
    """Return what a publication costs a household, or a system where no household is known of.

    A household with several meters in it loses as many ε, and δ. The ledger has charged for them.

    Parameters
    ----------
    publication
        What is published.
    account
        What the ledger says of it; None where there is none.
    """
    guarantee = publication.guarantee
    meters = 1 if account is None or account.meters is None else account.meters
    unit = _unit(publication, account, meters)
    if isinstance(guarantee, ConcentratedGuarantee):
        charged = None if account is None else account.cost
        rho = guarantee.rho if charged is None else charged
        delta = DELTA if account is None else account.promise.delta
        found = {"epsilon": rho_to_epsilon(rho, delta), "delta": delta, "rho": rho}
        return PublicationLoss(unit, found)
    found = {"epsilon": guarantee.epsilon * meters}
    if guarantee.delta > 0.0:
        found["delta"] = guarantee.delta * meters
    return PublicationLoss(unit, found)


def _unit(publication: Publication, account: PublicationAccount | None, meters: int) -> str:
    unit = publication.guarantee.unit
    what = "the whole record" if isinstance(unit, System) else str(unit)
    if account is None or account.meters is None:
        return f"{what} of any one system"
    if meters == 1:
        return f"{what} of any one household"
    return f"{what} of each meter of any one household, {meters} meters at most"

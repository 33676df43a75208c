"""The release card: what was published, under which promise, and how.

It has the form of a record of the OpenDP deployments registry, so that it can be sent there
as it is: https://github.com/opendp/deployments-registry-data. Every field is true of this
publication, or left out.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from typing import Any

from sunveil.errors import ParameterError
from sunveil.privacy.guarantee import ConcentratedGuarantee, ConditionalGuarantee
from sunveil.privacy.units import System
from sunveil.publish.account import DRAWN, PublicationAccount
from sunveil.publish.loss import household_loss
from sunveil.publish.making import (
    composition,
    data_domain,
    has_systems,
    mechanisms,
    post_processing,
    preprocessing,
    statement,
    unprotected,
)
from sunveil.publish.publication import Publication

CURATOR_KINDS = ("Government", "Industry", "Nonprofit")
PRODUCTS = ("Summary statistics", "Dataset", "Synthetic data")
NOT_STATED = "not stated"
TRUST = (
    "The curator holds the readings and is trusted with them; readers of the publication are"
    " trusted with nothing."
)
ONCE = "Drawn once, from the files as they were then."
AGAIN = "Rows that were drawn in earlier years are given again; new systems are drawn."
ASKED = "An analyst asked for it through the service, within a share of the promise."
PUBLISHED = "Files are published; nobody asks questions of the data through them."


@dataclass(frozen=True, slots=True)
class Curator:
    """Who publishes, and what for.

    Parameters
    ----------
    name
        The curator's name.
    kind
        ``Government``, ``Industry`` or ``Nonprofit``: the registry's words. None leaves it out.
    region
        What region the systems are in.
    intended_use
        What the publication is for.
    """

    name: str = NOT_STATED
    kind: str | None = None
    region: str = NOT_STATED
    intended_use: str = NOT_STATED

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in CURATOR_KINDS:
            raise ParameterError(
                f"a curator is one of {', '.join(CURATOR_KINDS)}, and {self.kind!r} is not"
            )
        if not self.name.strip():
            raise ParameterError("the curator's name is empty; leave it out or give it")


def release_card(
    publication: Publication,
    curator: Curator,
    *,
    published: datetime.date,
    account: PublicationAccount | None = None,
) -> dict[str, Any]:
    """Return a publication's record for the deployments registry.

    Parameters
    ----------
    publication
        What is published.
    curator
        Who publishes it.
    published
        On which day.
    account
        What the ledger says of it; None where there is none.
    """
    return {
        "url_slug": slug(f"{publication.title} {published.year}"),
        "deployment": {
            "basic": _basic(publication, curator, published),
            "dp_variant": {
                "variant_name": _variant(publication),
                "data_domain": data_domain(publication),
                "unprotected_quantities": unprotected(publication),
            },
            "privacy_loss": _privacy_loss(publication, account),
            "deployment_model": _deployment_model(publication, account),
            "implementation": _implementation(publication, account),
            "administrative": {
                "status": "Draft",
                "registry_authors": [curator.name],
                "tier": 2,
            },
        },
    }


def card_yaml(card: dict[str, Any]) -> str:
    """Return a release card as YAML, in the registry's order."""
    import yaml

    text: str = yaml.safe_dump(card, sort_keys=False, allow_unicode=True, width=98)
    return text


def slug(text: str) -> str:
    """Return a text as small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "publication"


def _basic(publication: Publication, curator: Curator, published: datetime.date) -> dict[str, Any]:
    who = {"data_curator_name": curator.name}
    if curator.kind is not None:
        who["data_curator_type"] = curator.kind
    return {
        "name": publication.title,
        "data_curators": [who],
        "description": " ".join(table.about for table in publication.tables),
        "intended_use": curator.intended_use,
        "data_product_type": _product(publication),
        "data_product_region": curator.region,
        "data_product_sector": "Energy",
        "publication_date": published.isoformat(),
    }


def _product(publication: Publication) -> str:
    """Return the registry's word for what is published: the publication's own, or by its tables."""
    stated = publication.public.get("data_product_type")
    if stated in PRODUCTS:
        return str(stated)
    return "Dataset" if has_systems(publication) else "Summary statistics"


def _variant(publication: Publication) -> str:
    if isinstance(publication.guarantee, ConcentratedGuarantee):
        return "Zero-concentrated DP"
    if isinstance(publication.guarantee, ConditionalGuarantee):
        return "Custom"
    return "Pure DP" if publication.guarantee.delta == 0.0 else "Approximate DP"


def _privacy_loss(publication: Publication, account: PublicationAccount | None) -> dict[str, Any]:
    loss = household_loss(publication, account)
    replaced = (
        "Neighbouring data differ in this, replaced by any other; who is in the data is the same in"
        " both (bounded neighbours)."
    )
    details = [statement(publication)]
    if account is not None:
        details += [f"The dataset's promise: {account.promise}.", account.spending]
    fields: dict[str, Any] = {
        "privacy_unit": loss.unit,
        "privacy_unit_details": replaced
        if account is None
        else f"{replaced} {account.household_rule}",
        "privacy_parameters": loss.parameters,
        "privacy_parameters_details": " ".join(details),
    }
    # days and readings are counted by nobody, and households with several meters neither
    count = publication.public.get("systems")
    single = account is None or account.promise.meters == 1
    if isinstance(publication.guarantee.unit, System) and isinstance(count, int) and single:
        fields["number_of_privacy_units"] = count
    return fields


def _deployment_model(
    publication: Publication, account: PublicationAccount | None
) -> dict[str, Any]:
    fields: dict[str, Any] = {"model_name": "Central", "trust_assumptions": TRUST}
    if account is not None:
        alone = account.charges == 1 and account.spent >= account.total
        fields["release_type"] = "One release" if alone else "Many releases"
        fields["release_type_details"] = account.record
    again = DRAWN in publication.public
    fields["data_source_type"] = "Dynamic" if again else "Static"
    fields["data_source_type_details"] = AGAIN if again else ONCE
    interactive = account is not None and account.interactive
    fields["access_type"] = "Interactive" if interactive else "Non-interactive"
    fields["access_type_details"] = ASKED if interactive else PUBLISHED
    return fields


def _implementation(publication: Publication, account: PublicationAccount | None) -> dict[str, Any]:
    fields = {
        "preprocessing_and_hyperparameter_tuning": preprocessing(publication, account),
        "mechanisms": f"{mechanisms(publication)} Drawn in exact arithmetic through OpenDP.",
        "composition": composition(publication, account),
        "post_processing": post_processing(publication),
        "additional_information": "Proof, in Sunveil's documentation:"
        f" {publication.guarantee.proof}.",
    }
    return {name: text for name, text in fields.items() if text is not None}

"""What is said about a publication: the release card, and the README in plain words.

The card has the form of a record of the OpenDP deployments registry, so that it can be sent there
as it is: https://github.com/opendp/deployments-registry-data
"""

from __future__ import annotations

import datetime
import json
import math
import re
from dataclasses import dataclass
from typing import Any

from sunveil.errors import ParameterError
from sunveil.privacy.guarantee import ConcentratedGuarantee, ConditionalGuarantee
from sunveil.privacy.units import System, unit_name
from sunveil.publish.publication import Publication, PublishedTable

CURATOR_KINDS = ("Government", "Industry", "Nonprofit")
PRODUCTS = ("Summary statistics", "Dataset", "Synthetic data")
USE = "Planning and research that need azimuth, tilt and capacity of solar PV systems."
TRUST = (
    "The curator holds the readings and is trusted with them; readers of the publication are"
    " trusted with nothing."
)
RELEASES = (
    "Every release about the same systems is charged to one ledger before it is drawn, against a"
    " promise that is never changed."
)
CHOICES = "Grids, bins and thresholds are public and were chosen without looking at any reading."
CAUTIONS = (
    "Every value was drawn at random around what the readings show: use none without its error.",
    "A single row or cell says little about any one customer: that is intended.",
    "Copies of this publication are the same draw: averaging them makes nothing more exact.",
    "Other publications about the same systems add to the privacy loss; the curator's ledger says"
    " how much was spent in all.",
)

# The δ at which a guarantee in ρ is told as a factor.
DELTA = 1e-6


@dataclass(frozen=True, slots=True)
class Curator:
    """Who publishes, and what for.

    Parameters
    ----------
    name
        The curator's name.
    kind
        ``Government``, ``Industry`` or ``Nonprofit``: the registry's words.
    region
        What region the systems are in.
    intended_use
        What the publication is for.
    """

    name: str = "not stated"
    kind: str = "Industry"
    region: str = "not stated"
    intended_use: str = USE

    def __post_init__(self) -> None:
        if self.kind not in CURATOR_KINDS:
            raise ParameterError(
                f"a curator is one of {', '.join(CURATOR_KINDS)}, and {self.kind!r} is not"
            )
        if not self.name.strip():
            raise ParameterError("the curator's name is empty; leave it out or give it")


def release_card(
    publication: Publication, curator: Curator, *, published: datetime.date
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
    """
    proof = publication.guarantee.proof
    return {
        "url_slug": slug(f"{publication.title} {published.year}"),
        "deployment": {
            "basic": _basic(publication, curator, published),
            "dp_variant": {
                "variant_name": _variant(publication),
                "data_domain": "Meter readings of solar PV systems, one record per system.",
                "unprotected_quantities": _unprotected(publication),
            },
            "privacy_loss": _privacy_loss(publication),
            "deployment_model": {
                "model_name": "Central",
                "trust_assumptions": TRUST,
                "release_type": "Many releases",
                "release_type_details": RELEASES,
                "data_source_type": "Static",
                "access_type": "Non-interactive",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": CHOICES,
                "mechanisms": f"{publication.mechanism}. Drawn in exact arithmetic through OpenDP.",
                "composition": "Sequential, over everything that is published about a system.",
                "post_processing": "None beyond what the tables say of themselves.",
                "additional_information": f"Proof, in Sunveil's documentation: {proof}.",
            },
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
    return {
        "name": publication.title,
        "data_curators": [{"data_curator_name": curator.name, "data_curator_type": curator.kind}],
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
    names = {column.name for table in publication.tables for column in table.columns}
    return "Dataset" if "release_id" in names else "Summary statistics"


def _variant(publication: Publication) -> str:
    if isinstance(publication.guarantee, ConditionalGuarantee | ConcentratedGuarantee):
        return "Custom"
    return "Pure DP" if publication.guarantee.delta == 0.0 else "Approximate DP"


def _unprotected(publication: Publication) -> str:
    count = publication.public.get("systems")
    size = "the number of systems" if count is None else f"the number of systems, {count}"
    return f"Public: {size}, which of them are in the data, places, calendars, weather and grids."


def _privacy_loss(publication: Publication) -> dict[str, Any]:
    guarantee = publication.guarantee
    if isinstance(guarantee, ConcentratedGuarantee):
        parameters = {"rho": guarantee.rho}
    else:
        parameters = {"epsilon": guarantee.epsilon}
        if guarantee.delta > 0.0:
            parameters["delta"] = guarantee.delta
    fields: dict[str, Any] = {
        "privacy_unit": str(guarantee.unit),
        "privacy_unit_details": f"Adjacent datasets differ in {guarantee.unit}, replaced by any"
        f" other ({unit_name(guarantee.unit)}).",
        "privacy_parameters": parameters,
        "privacy_parameters_details": str(guarantee),
    }
    if isinstance(publication.public.get("systems"), int):
        fields["number_of_privacy_units"] = publication.public["systems"]
    return fields


def readme(publication: Publication, files: list[str], *, published: datetime.date) -> str:
    """Return a publication's README: what was protected, how well, and what not to conclude.

    Parameters
    ----------
    publication
        What is published.
    files
        Names of the files beside it.
    published
        On which day.
    """
    proof = publication.guarantee.proof
    parts = [
        f"# {publication.title}\n",
        f"Published on {published.isoformat()}.\n",
        "## What was protected\n",
        _protected(publication),
        "## How\n",
        f"{publication.mechanism}. Proof, in Sunveil's documentation: {proof}.\n",
        "## Tables\n",
        *(_described(table) for table in publication.tables),
        "## What not to conclude\n",
        _cautions(publication),
        "## Files\n",
        "".join(f"- `{name}`\n" for name in files),
    ]
    if publication.public:
        chosen = json.dumps(publication.public, indent=1, ensure_ascii=False)
        parts += ["## Public choices\n", f"```json\n{chosen}\n```\n"]
    return "\n".join(parts)


def _protected(publication: Publication) -> str:
    guarantee = publication.guarantee
    if isinstance(guarantee, ConcentratedGuarantee):
        epsilon, failing = guarantee.epsilon_at(DELTA), f", but with a probability of {DELTA:g}"
    else:
        epsilon, failing = guarantee.epsilon, ""
    lines = [
        f"The unit of protection is **{guarantee.unit}** of any one customer.",
        f"{guarantee}.",
        "If it were replaced by any other, nothing here would be more than"
        f" {math.exp(epsilon):.3g} times as likely or as unlikely to be published{failing}.",
    ]
    if not isinstance(guarantee.unit, System):
        lines.append(
            "A whole record is protected less: it is many such units, and their losses add up."
        )
    if isinstance(guarantee, ConditionalGuarantee):
        lines.append("This holds only under the condition just named, not in the worst case.")
    return " ".join(lines) + "\n"


def _described(table: PublishedTable) -> str:
    rows = "".join(f"| `{c.name}` | {c.kind} | {c.about} |\n" for c in table.columns)
    errors = [f"`{c.name}`" for c in table.columns if "error" in c.name]
    stated = f"\nErrors are stated in {', '.join(errors)}.\n" if errors else ""
    return (
        f"### {table.name}\n\n{table.about} {len(table.rows)} rows.\n\n"
        f"| column | type | what it holds |\n|---|---|---|\n{rows}{stated}"
    )


def _cautions(publication: Publication) -> str:
    lines = (*CAUTIONS, *publication.public.get("cautions", ()))
    return "".join(f"- {line}\n" for line in lines)

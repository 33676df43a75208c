"""README and release card of a publication, from the same sentences."""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import yaml

from sunveil.errors import ParameterError
from sunveil.privacy.guarantees import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    System,
    rho_to_epsilon,
)
from sunveil.publication.published_tables import CHOOSER, HowMade, Publication, PublishedTable

# δ at which a guarantee in ρ is stated as an ε where no promise names one.
DELTA = 1e-6
# The public choice of a publication with rows of several years: when each was drawn.
DRAWN = "drawn"
CURATOR_KINDS = ("Government", "Industry", "Nonprofit")
NOT_STATED = "not stated"
NO_ACCOUNT = (
    "No ledger account was given with this publication: nothing here says that it was recorded, or"
    " what else was spent on the same systems."
)
BY_CURATOR = "the curator states that this was done without looking at any reading"
BY_ANALYST = "the question named them, and analysts of the service cannot look at readings"
CAUTIONS = (
    "Every statement about systems was drawn at random around what the readings show: use none of"
    " it without its error.",
    "A single row or bin says little about any one customer: that is intended.",
    "Copies of this publication are the same draw: averaging them makes nothing more exact.",
    "Other publications about the same systems add to the privacy loss.",
)
_TRUST = (
    "The curator holds the readings and is trusted with them; readers of the publication are"
    " trusted with nothing."
)
_NEIGHBOURS = (
    "Neighbouring data differ in this, replaced by any other; who is in the data is the same in"
    " both (bounded neighbours)."
)
_SOURCES = {
    "Static": "Drawn once, from the files as they were then.",
    "Dynamic": "Rows that were drawn in earlier years are given again; new systems are drawn.",
}
_ACCESS = {
    "Interactive": "An analyst asked for it through the service, within a share of the promise.",
    "Non-interactive": "Files are published; nobody asks questions of the data through them.",
}


@runtime_checkable
class LedgerAccount(Protocol):
    """What README and card need of a ledger's account of a publication."""

    # sunveil.publish makes it: here nothing knows of ledgers

    @property
    def dataset(self) -> str: ...
    @property
    def promise(self) -> Any: ...  # with delta and meters; its text is the sentence
    @property
    def total(self) -> float: ...
    @property
    def spent(self) -> float: ...
    @property
    def charges(self) -> int: ...
    @property
    def cost(self) -> float | None: ...
    @property
    def meters(self) -> int | None: ...
    @property
    def schema(self) -> str | None: ...
    @property
    def interactive(self) -> bool: ...
    @property
    def household_rule(self) -> str: ...
    @property
    def spending(self) -> str: ...
    @property
    def record(self) -> str: ...
    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain JSON types."""


@dataclass(frozen=True, slots=True)
class Curator:
    """The publisher, and the purpose of a publication."""

    name: str = NOT_STATED
    kind: str | None = None
    region: str = NOT_STATED  # the region of the systems
    intended_use: str = NOT_STATED

    def __post_init__(self) -> None:
        if self.kind is not None and self.kind not in CURATOR_KINDS:
            raise ParameterError(
                f"a curator is one of {', '.join(CURATOR_KINDS)}, and {self.kind!r} is not"
            )
        if not self.name.strip():
            raise ParameterError("the curator's name is empty; leave it out or give it")


@dataclass(frozen=True, slots=True)
class PublicationLoss:
    """What is protected, and by how much."""

    unit: str  # what neighbours differ in, in words
    parameters: dict[str, float]


def household_loss(publication: Publication, account: LedgerAccount | None) -> PublicationLoss:
    """Return what a publication costs a household, or a system where no household is known."""
    # A household with several meters in it loses as many ε, and δ: the ledger charged for them.
    guarantee = publication.guarantee
    meters = 1 if account is None or account.meters is None else account.meters
    unit = "the whole record" if isinstance(guarantee.unit, System) else str(guarantee.unit)
    if account is None or account.meters is None:
        unit += " of any one system"
    elif meters == 1:
        unit += " of any one household"
    else:
        unit += f" of each meter of any one household, {meters} meters at most"
    if isinstance(guarantee, ConcentratedGuarantee):
        charged = None if account is None else account.cost
        rho = guarantee.rho if charged is None else charged
        delta = DELTA if account is None else account.promise.delta
        made = {"epsilon": rho_to_epsilon(rho, delta), "delta": delta, "rho": rho}
        return PublicationLoss(unit, made)
    made = {"epsilon": guarantee.epsilon * meters}
    if guarantee.delta > 0.0:
        made["delta"] = guarantee.delta * meters
    return PublicationLoss(unit, made)


@dataclass(frozen=True, slots=True)
class _Sentences:
    """What both files say of a publication."""

    loss: PublicationLoss
    guarantee: str
    mechanisms: str
    preprocessing: str | None
    post_processing: str | None
    composition: str
    proof: str


def _sentences(publication: Publication, account: LedgerAccount | None) -> _Sentences:
    how, mechanism = publication.how, publication.mechanism
    covers = "All tables together" if how is None else how.covers
    return _Sentences(
        loss=household_loss(publication, account),
        guarantee=f"{covers}: {publication.guarantee}.",
        mechanisms=f"{mechanism[:1].upper()}{mechanism[1:]}.",
        preprocessing=None if how is None else _preprocessing(how, account),
        post_processing=None if how is None else how.post_processing,
        composition=f"{'' if how is None else how.composition} {_added_up(account)}".strip(),
        proof=f"Proof, in Sunveil's documentation: {publication.guarantee.proof}.",
    )


def _preprocessing(how: HowMade, account: LedgerAccount | None) -> str:
    by_analyst = account is not None and account.interactive
    text = how.preprocessing.replace(CHOOSER, BY_ANALYST if by_analyst else BY_CURATOR)
    if account is None or account.schema is None:
        return text
    return (
        f"{text} Files were read by their headers and by declarations, with schema digest"
        f" {account.schema}."
    )


def _added_up(account: LedgerAccount | None) -> str:
    if account is None:
        return NO_ACCOUNT
    if account.promise.delta == 0.0:
        return "Over all releases of a household's records, ε is added up."
    return (
        "Over all releases of a household's records, ρ of zero-concentrated DP is added up, and"
        " converted to ε at δ by the tight conversion."
    )


_README = """\
# {title}

Published on {day}.

## What was protected

{protected}

## The promise

{promise}

## How

{how}

## Tables

{tables}
## What not to conclude

{cautions}

## Files

{files}
"""


def readme(
    publication: Publication,
    files: Sequence[str],
    *,
    published: datetime.date,
    account: LedgerAccount | None = None,
) -> str:
    """Return a publication's README: what was protected, how well, and what not to conclude."""
    said = _sentences(publication, account)
    promise = NO_ACCOUNT
    if account is not None:
        first = f"Of the dataset {account.dataset}: {account.promise}."
        promise = _list([first, account.spending, account.household_rule, account.record])
    after = said.post_processing and f"Post-processing: {said.post_processing}"
    text = _README.format(
        title=publication.title,
        day=published.isoformat(),
        protected=_protected(publication, said),
        promise=promise,
        how="\n\n".join(
            filter(None, (f"{said.mechanisms} {said.proof}", said.preprocessing, after))
        ),
        tables="\n".join(map(_table, publication.tables)),
        cautions=_list([*CAUTIONS, *publication.public.get("cautions", ())]),
        files=_list([f"`{name}`" for name in files]),
    )
    if publication.public:
        chosen = json.dumps(publication.public, indent=1, ensure_ascii=False)
        text += f"\n## Public choices\n\n```json\n{chosen}\n```\n"
    return text


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _protected(publication: Publication, said: _Sentences) -> str:
    guarantee, parameters = publication.guarantee, said.loss.parameters
    factor = f"{math.exp(parameters['epsilon']):.3g} times"
    bound = f"nothing here would be more than {factor} as likely or as unlikely to be published"
    if "delta" in parameters:
        bound = (
            f"every set of possible publications would be at most {factor} as likely as it is, plus"
            f" {parameters['delta']:g}, and the other way round"
        )
    lines = [
        f"The unit of protection is **{said.loss.unit}**. {said.guarantee}",
        f"If it were replaced by any other, {bound}.",
    ]
    if not isinstance(guarantee.unit, System):
        lines.append(
            "A whole record is protected less: it is many such units, and their losses add up."
        )
    if isinstance(guarantee, ConditionalGuarantee):
        lines.append("This holds only under the condition just named, not in the worst case.")
    return " ".join(lines)


def _table(table: PublishedTable) -> str:
    rows = "".join(f"| `{c.name}` | {c.kind} | {c.about} |\n" for c in table.columns)
    errors = [f"`{c.name}`" for c in table.columns if "error" in c.name]
    stated = f"\nErrors are stated in {', '.join(errors)}.\n" if errors else ""
    count = f"{len(table.rows)} row{'' if len(table.rows) == 1 else 's'}"
    return (
        f"### {table.name}\n\n{table.about} {count}.\n\n"
        f"| column | type | what it holds |\n|---|---|---|\n{rows}{stated}"
    )


def release_card(
    publication: Publication,
    curator: Curator,
    *,
    published: datetime.date,
    account: LedgerAccount | None = None,
) -> dict[str, Any]:
    """Return a publication's record for the deployments registry."""
    said, how = _sentences(publication, account), publication.how
    who = {"data_curator_name": curator.name}
    if curator.kind is not None:
        who["data_curator_type"] = curator.kind
    implementation = {
        "preprocessing_and_hyperparameter_tuning": said.preprocessing,
        "mechanisms": f"{said.mechanisms} Drawn in exact arithmetic through OpenDP.",
        "composition": said.composition,
        "post_processing": said.post_processing,
        "additional_information": said.proof,
    }
    return {
        "url_slug": slug(f"{publication.title} {published.year}"),
        "deployment": {
            "basic": {
                "name": publication.title,
                "data_curators": [who],
                "description": " ".join(table.about for table in publication.tables),
                "intended_use": curator.intended_use,
                "data_product_type": "Summary statistics" if how is None else how.product_type,
                "data_product_region": curator.region,
                "data_product_sector": "Energy",
                "publication_date": published.isoformat(),
            },
            "dp_variant": {
                "variant_name": _variant(publication),
                "data_domain": NOT_STATED if how is None else how.data,
                "unprotected_quantities": NOT_STATED if how is None else how.unprotected,
            },
            "privacy_loss": _privacy_loss(publication, account, said),
            "deployment_model": _deployment_model(publication, account),
            "implementation": {
                name: text for name, text in implementation.items() if text is not None
            },
            "administrative": {"status": "Draft", "registry_authors": [curator.name], "tier": 2},
        },
    }


def card_yaml(card: dict[str, Any]) -> str:
    """Return a release card as YAML, in the registry's order."""
    text: str = yaml.safe_dump(card, sort_keys=False, allow_unicode=True, width=98)
    return text


def slug(text: str) -> str:
    """Return a text as small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "publication"


def _variant(publication: Publication) -> str:
    if isinstance(publication.guarantee, ConcentratedGuarantee):
        return "Zero-concentrated DP"
    if isinstance(publication.guarantee, ConditionalGuarantee):
        return "Custom"
    return "Pure DP" if publication.guarantee.delta == 0.0 else "Approximate DP"


def _privacy_loss(
    publication: Publication, account: LedgerAccount | None, said: _Sentences
) -> dict[str, Any]:
    details = [said.guarantee]
    unit_details = _NEIGHBOURS
    if account is not None:
        details += [f"The dataset's promise: {account.promise}.", account.spending]
        unit_details += f" {account.household_rule}"
    fields: dict[str, Any] = {
        "privacy_unit": said.loss.unit,
        "privacy_unit_details": unit_details,
        "privacy_parameters": said.loss.parameters,
        "privacy_parameters_details": " ".join(details),
    }
    # nobody counts days, readings, or households with several meters
    count = publication.public.get("systems")
    single = account is None or account.promise.meters == 1
    if isinstance(publication.guarantee.unit, System) and isinstance(count, int) and single:
        fields["number_of_privacy_units"] = count
    return fields


def _deployment_model(publication: Publication, account: LedgerAccount | None) -> dict[str, Any]:
    fields: dict[str, Any] = {"model_name": "Central", "trust_assumptions": _TRUST}
    if account is not None:
        alone = account.charges == 1 and account.spent >= account.total
        fields["release_type"] = "One release" if alone else "Many releases"
        fields["release_type_details"] = account.record
    source = "Dynamic" if DRAWN in publication.public else "Static"
    interactive = account is not None and account.interactive
    access = "Interactive" if interactive else "Non-interactive"
    fields |= {"data_source_type": source, "data_source_type_details": _SOURCES[source]}
    return fields | {"access_type": access, "access_type_details": _ACCESS[access]}

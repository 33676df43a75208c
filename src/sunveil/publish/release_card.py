"""Ledger statement, release card, loss by household."""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import yaml

from sunveil._options import check_fields, checked
from sunveil.errors import ParameterError
from sunveil.ledger.promises import Promise, read_promise
from sunveil.privacy.guarantees import (
    ConcentratedGuarantee,
    ConditionalGuarantee,
    System,
    rho_to_epsilon,
)
from sunveil.publication.published_tables import Publication
from sunveil.publish.publisher import (
    composition,
    data_domain,
    has_systems,
    mechanisms,
    post_processing,
    preprocessing,
    statement,
    unprotected,
)

if TYPE_CHECKING:
    from sunveil.ledger.ledger import Ledger

# The public choice of a publication in which rows of several years stand: when each was drawn.
DRAWN = "drawn"


@dataclass(frozen=True, slots=True)
class PublicationAccount:
    """What a ledger stated when a publication had been drawn and kept.

    Parameters
    ----------
    dataset, promise
        The dataset's name, and what was promised for it.
    total, spent, remaining
        Of the promise: all of it, the most that any household has spent of it, and what may be
        spent now on a release about all systems, in the promise's measure.
    spent_epsilon
        What was spent, as ε at the promise's δ.
    plain_epsilon
        The plain sum of the ε of its releases, where all of them have one.
    charges
        How many charges there have been, this one with them.
    mark
        Length and last digest of the dataset's chain: ``entries:digest``.
    charge, question, cost
        Place of the publication's own charge, digest of its question, and what a household was
        charged at most; None where nothing was charged for it.
    meters
        How many meters of one household are in the publication at most; None where it is not known,
        as of rows that were drawn in several years.
    schema
        Digest of how the meters' files were read, where they were read for it.
    interactive
        Whether an analyst asked for it through the service.
    """

    dataset: str
    promise: Promise
    total: float
    spent: float
    remaining: float
    spent_epsilon: float
    plain_epsilon: float | None
    charges: int
    mark: str
    charge: int | None = None
    question: str | None = None
    cost: float | None = None
    meters: int | None = None
    schema: str | None = None
    interactive: bool = False

    def __post_init__(self) -> None:
        check_fields(self)

    @classmethod
    @checked
    def of(
        cls,
        ledger: Ledger,
        dataset: str,
        publication: Publication,
        *,
        schema: str | None = None,
        interactive: bool = False,
    ) -> PublicationAccount:
        """Return what the ledger states now, once the publication has been drawn.

        Parameters
        ----------
        ledger, dataset
            What was charged, and the name of the dataset in it.
        publication
            What was published.
        schema
            Digest of how the meters' files were read
            (:func:`~sunveil.meters.schema_files.schema_digest`).
        interactive
            Whether an analyst asked for it through the service.
        """
        asked = publication.question
        if asked is not None and asked.systems == ():
            asked = None  # all of its rows stand from earlier publications
        found = ledger.statement(dataset, asked)
        known, charge = found.dataset, found.charge
        # a household may have rows that stand from earlier charges, too
        standing = DRAWN in publication.public
        return cls(
            dataset=dataset,
            promise=known.promise,
            total=known.total,
            spent=known.spent,
            remaining=known.remaining,
            spent_epsilon=found.spent_epsilon,
            plain_epsilon=found.plain_epsilon,
            charges=found.charges,
            mark=f"{found.mark.length}:{found.mark.head}",
            charge=None if charge is None else charge.place,
            question=None if charge is None else charge.question,
            cost=None if charge is None else charge.cost,
            meters=None if charge is None or standing else charge.meters,
            schema=schema,
            interactive=interactive,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the account as plain JSON types."""
        return {**asdict(self), "promise": self.promise.to_dict()}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> PublicationAccount:
        """Return the account that :meth:`to_dict` gave."""
        return cls(**{**fields, "promise": read_promise(json.dumps(fields["promise"]))})

    @property
    def household_rule(self) -> str:
        """Whose accounts are charged, across what, and how many meters are one household's."""
        most = self.promise.meters
        meters = "one meter" if most == 1 else f"up to {most} meters, which count as one"
        return (
            "Accounts are households', named by the curator's key, or by the system's own name"
            f" where none was given. The promise is to households with {meters}. Whatever is"
            " published of a household's meters, in this dataset and in every other one of the same"
            " ledger, is added up against the smallest promise that it is under."
        )

    @property
    def spending(self) -> str:
        """What was charged and spent so far, in sentences."""
        sign = "ε" if self.promise.measure == "epsilon" else "ρ"
        said = ""
        if self.cost is not None:
            said = (
                f"A household was charged {sign} = {self.cost:.9g} at most for this publication. "
            )
        said += (
            f"With it, the household that spent most has spent {sign} = {self.spent:.9g} of"
            f" {self.total:.9g}, and {sign} = {self.remaining:.9g} may be spent now on a release"
            " about all systems."
        )
        if self.promise.delta == 0.0:
            return said
        said += (
            f" What is spent is ε = {self.spent_epsilon:.4g} at δ = {self.promise.delta:g}, by the"
            " tight conversion of zero-concentrated DP"
        )
        if self.plain_epsilon is None:
            return f"{said}; there is no plain sum of the releases' ε."
        return f"{said}; the plain sum of the releases' ε is {self.plain_epsilon:.9g}."

    @property
    def record(self) -> str:
        """Where it stands in the ledger, and how that is verified, in sentences."""
        if self.charge is None:
            said = "Nothing was charged for this publication: all of it was drawn before."
        else:
            others = "the only charge" if self.charges == 1 else f"one of {self.charges} charges"
            said = (
                f"It was paid by entry {self.charge} of the dataset's chain, {others} so far, for"
                f" the question {self.question}."
            )
        return (
            f"{said} What is stated here is of the ledger's mark {self.mark}; whoever holds the"
            f" ledger checks that by: sunveil ledger verify --dataset '{self.dataset}' --mark"
            f" {self.mark}"
        )


# The δ at which a guarantee in ρ is told as an ε where no promise names one.
DELTA = 1e-6


@dataclass(frozen=True, slots=True)
class PublicationLoss:
    """What is protected, and by how much."""

    unit: str  # what neighbours differ in, in words
    parameters: dict[str, float]


def household_loss(publication: Publication, account: PublicationAccount | None) -> PublicationLoss:
    """Return what a publication costs a household, or a system where no household is known of."""
    # A household with several meters in it loses as many ε, and δ. The ledger has charged for them.
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
    """Who publishes, and what for."""

    name: str = NOT_STATED  # the curator's name
    kind: str | None = None
    region: str = NOT_STATED  # what region the systems are in
    intended_use: str = NOT_STATED  # what the publication is for

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
    """Return a publication's record for the deployments registry."""
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

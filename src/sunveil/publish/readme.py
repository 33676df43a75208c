"""The README of a publication: what was protected, how, and what not to conclude."""

from __future__ import annotations

import datetime
import json
import math

from sunveil.privacy.guarantee import ConditionalGuarantee
from sunveil.privacy.units import System
from sunveil.publish.account import PublicationAccount
from sunveil.publish.loss import household_loss
from sunveil.publish.making import (
    NO_ACCOUNT,
    mechanisms,
    post_processing,
    preprocessing,
    statement,
)
from sunveil.publish.publication import Publication, PublishedTable

CAUTIONS = (
    "Whatever is said of systems was drawn at random around what the readings show: use none of it"
    " without its error.",
    "A single row or cell says little about any one customer: that is intended.",
    "Copies of this publication are the same draw: averaging them makes nothing more exact.",
    "Other publications about the same systems add to the privacy loss.",
)


def readme(
    publication: Publication,
    files: list[str],
    *,
    published: datetime.date,
    account: PublicationAccount | None = None,
) -> str:
    """Return a publication's README: what was protected, how well, and what not to conclude.

    Parameters
    ----------
    publication
        What is published.
    files
        Names of the files beside it.
    published
        On which day.
    account
        What the ledger says of it; None where there is none.
    """
    parts = [
        f"# {publication.title}\n",
        f"Published on {published.isoformat()}.\n",
        "## What was protected\n",
        _protected(publication, account),
        "## The promise\n",
        NO_ACCOUNT + "\n" if account is None else _promised(account),
        "## How\n",
        _made(publication, account),
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


def _protected(publication: Publication, account: PublicationAccount | None) -> str:
    guarantee, loss = publication.guarantee, household_loss(publication, account)
    delta = loss.parameters.get("delta")
    factor = f"{math.exp(loss.parameters['epsilon']):.3g} times"
    kept = f"nothing here would be more than {factor} as likely or as unlikely to be published"
    if delta is not None:
        kept = (
            f"every set of possible publications would be at most {factor} as likely as it is, plus"
            f" {delta:g}, and the other way round"
        )
    lines = [
        f"The unit of protection is **{loss.unit}**.",
        statement(publication),
        f"If it were replaced by any other, {kept}.",
    ]
    if not isinstance(guarantee.unit, System):
        lines.append(
            "A whole record is protected less: it is many such units, and their losses add up."
        )
    if isinstance(guarantee, ConditionalGuarantee):
        lines.append("This holds only under the condition just named, not in the worst case.")
    return " ".join(lines) + "\n"


def _promised(account: PublicationAccount) -> str:
    lines = [
        f"Of the dataset {account.dataset}: {account.promise}.",
        account.spending,
        account.household_rule,
        account.record,
    ]
    return "".join(f"- {line}\n" for line in lines)


def _made(publication: Publication, account: PublicationAccount | None) -> str:
    proof = publication.guarantee.proof
    lines = [
        f"{mechanisms(publication)} Proof, in Sunveil's documentation: {proof}.",
        preprocessing(publication, account),
        f"Post-processing: {post_processing(publication)}",
    ]
    return "\n\n".join(line for line in lines if line is not None) + "\n"


def _described(table: PublishedTable) -> str:
    rows = "".join(f"| `{c.name}` | {c.kind} | {c.about} |\n" for c in table.columns)
    errors = [f"`{c.name}`" for c in table.columns if "error" in c.name]
    stated = f"\nErrors are stated in {', '.join(errors)}.\n" if errors else ""
    count = f"{len(table.rows)} row{'' if len(table.rows) == 1 else 's'}"
    return (
        f"### {table.name}\n\n{table.about} {count}.\n\n"
        f"| column | type | what it holds |\n|---|---|---|\n{rows}{stated}"
    )


def _cautions(publication: Publication) -> str:
    lines = (*CAUTIONS, *publication.public.get("cautions", ()))
    return "".join(f"- {line}\n" for line in lines)

"""Releases and plans as the API sends them."""

from __future__ import annotations

from typing import Any

from sunveil.service.analyst.models import SuggestionBody
from sunveil.service.broker import QuestionPlan, Suggestion
from sunveil.service.store.releases import ReleaseRow


def release_of(row: ReleaseRow) -> dict[str, Any]:
    """Return a release as the API lists it, without its tables."""
    return {
        "id": row.id,
        "dataset": row.dataset,
        "kind": row.kind,
        "title": row.title,
        "epsilon": row.epsilon,
        "cost": row.cost,
        "made": row.made,
        "url": f"/api/v1/releases/{row.id}",
    }


def file_names(body: dict[str, Any]) -> list[str]:
    """Return the names of a release's files."""
    ends = ("csv", "json", "parquet")
    tables = [f"{table['name']}.{end}" for table in body["tables"] for end in ends]
    return [*tables, "datapackage.json", "release-card.yaml", "README.md"]


def full_release(row: ReleaseRow, body: dict[str, Any]) -> dict[str, Any]:
    """Return a release as the API sends it whole, with its tables and the links to its files."""
    fields = release_of(row)
    tables = [
        {
            **table,
            "columns": [
                {"name": name, "kind": kind, "about": about}
                for name, kind, about in table["columns"]
            ],
        }
        for table in body["tables"]
    ]
    return {
        **fields,
        **{key: body[key] for key in ("asked", "edition", "guarantee", "mechanism", "public")},
        "account": body["account"],
        "tables": tables,
        "files": [f"{fields['url']}/files/{name}" for name in file_names(body)],
    }


def plan_answer(plan: QuestionPlan, *, measure: str, budget: float, share: float) -> dict[str, Any]:
    """Return a plan as the API sends it, with whether it can be afforded.

    Parameters
    ----------
    plan
        Cost and expected errors.
    measure
        What the promise adds up: ``epsilon`` or ``rho``.
    budget, share
        What is left of the dataset's promise and of the analyst's share. [the promise's measure]
    """
    return {
        "cost": plan.cost,
        "measure": measure,
        "kept": plan.kept,
        "affordable": plan.kept or plan.cost <= min(budget, share) + 5e-10,
        "budget_remaining": budget,
        "share_remaining": share,
        "expected": [
            {
                "table": each.table,
                "value": each.value,
                "error": each.error,
                "unit": each.unit,
                "meaning": each.meaning,
                "cost": each.cost,
                "compared_with": each.of,
                "verdict": each.verdict,
            }
            for each in plan.expected
        ],
        "verdict": plan.verdict,
        "advice": [
            {
                "words": each.words,
                "verdict": each.verdict,
                "affordable": each.affordable,
                "question": each.question,
            }
            for each in plan.advice
        ],
    }


def suggestion_body(found: Suggestion) -> SuggestionBody:
    """Return a first question as the API sends it."""
    return SuggestionBody(question=found.question, verdict=found.verdict)

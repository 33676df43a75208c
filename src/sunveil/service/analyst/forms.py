"""Questions as forms: from fields to a question, and from a question to fields and words."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import urlencode

from pydantic import TypeAdapter, ValidationError

from sunveil.ledger.chain import canonical
from sunveil.service.analyst.words import FIELD_WORDS, TABLE_WORDS
from sunveil.service.broker import Question
from sunveil.service.problems import Problem

QUESTIONS: TypeAdapter[Question] = TypeAdapter(Question)
FIELDS = ("epsilon", "group_by", "sectors", "clip_kw", "largest_kw", "percents", "tables")
EMPTY = {
    "epsilon": "",
    "group_by": "",
    "sectors": "8",
    "clip_kw": "",
    "largest_kw": "",
    "percents": "25, 50, 75",
    "tables": "",
}


def fields_of(question: Question) -> dict[str, str]:
    """Return the fields of the form that means a question."""
    asked = question.model_dump(mode="json")
    given = {**EMPTY, "epsilon": f"{asked['epsilon']:g}"}
    for name in ("group_by", "clip_kw", "largest_kw", "sectors"):
        value = asked.get(name)
        if value is not None:
            given[name] = f"{value:g}" if isinstance(value, float) else str(value)
    if "percents" in asked:
        given["percents"] = ", ".join(map(str, asked["percents"]))
    given["tables"] = ",".join(asked.get("tables", ()))
    return given


def given_fields(form: Any, usual: dict[str, str]) -> dict[str, str]:
    """Return the fields of a form as texts, with what is meant when they are left out.

    Parameters
    ----------
    form
        Query or body, as starlette has it.
    usual
        What is meant where nothing was sent.
    """
    # boxes that are ticked come one by one; where the form was sent, none is none
    ticked = ",".join(map(str, form.getlist("tables")))
    given = {name: str(form.get(name, usual[name]))[:200] for name in FIELDS}
    return {**given, "tables": ticked[:200]} if ticked or "epsilon" in form else given


def question_of(kind: str, given: dict[str, str]) -> Question:
    """Return the question that a form means, or say what is wrong with it.

    Parameters
    ----------
    kind
        Which kind of question.
    given
        The fields of its form.
    """
    fields: dict[str, Any] = {"kind": kind, "epsilon": given["epsilon"]}
    if kind in ("fleet-table", "totals", "quantiles"):
        fields |= {"group_by": given["group_by"] or None, "clip_kw": given["clip_kw"] or None}
    if kind == "fleet-table":
        fields["tables"] = [each for each in given["tables"].split(",") if each]
        fields["largest_kw"] = given["largest_kw"] or None
        if given["sectors"].isdecimal():
            fields["sectors"] = int(given["sectors"])
        if not fields["tables"]:
            raise Problem(422, "Choose at least one table.")
    if kind == "quantiles" or "quantiles" in fields.get("tables", ()):
        fields["percents"] = [each.strip() for each in given["percents"].split(",")]
    try:
        # fields of a form are texts
        return QUESTIONS.validate_python(fields, strict=False)
    except ValidationError as error:
        raise _wrong(error) from None


def sent_question(text: str, *, kind: str) -> Question:
    """Return the question that a confirmation carries as JSON, or refuse it.

    Parameters
    ----------
    text
        The question.
    kind
        Which kind it must be of.
    """
    try:
        found = QUESTIONS.validate_json(text)
    except ValidationError:
        raise broken_form() from None
    if found.kind != kind:
        raise broken_form()
    return found


def broken_form() -> Problem:
    """Return the problem of a confirmation that is not as it was sent."""
    return Problem(
        422, "The confirmation is not complete; go back to the question and confirm it again."
    )


def text_of(question: Question) -> str:
    """Return a question as canonical JSON."""
    return canonical(question.model_dump(mode="json"))


def digest_of(dataset: str, edition: str, question: Question) -> str:
    """Return what binds a confirmation to one question about one edition of a dataset.

    What a question costs follows from it and from the promise, which never changes.

    Parameters
    ----------
    dataset, edition
        Its name, and the public name of its data.
    question
        What was shown.
    """
    text = json.dumps([dataset, edition, text_of(question)])
    return hashlib.sha256(text.encode()).hexdigest()


def form_query(question: Question) -> str:
    """Return the query of the page whose form means a question."""
    given = fields_of(question)
    tables = [("tables", name) for name in given.pop("tables").split(",") if name]
    return urlencode([*given.items(), *tables])


def question_words(question: Question) -> list[tuple[str, str]]:
    """Return what a question asks for, as pairs of a name and words."""
    asked = question.model_dump(mode="json")
    said = [("Privacy loss ε", f"{asked['epsilon']:g}")]
    bought = asked.get("tables", ())
    for name, words in FIELD_WORDS.items():
        if name not in asked:
            continue
        if name == "percents" and asked["kind"] == "fleet-table" and "quantiles" not in bought:
            continue
        if name == "sectors" and not {"counts", "planes", "sectors"} & set(bought):
            continue
        if name == "clip_kw" and bought and "totals" not in bought:
            continue
        if name == "largest_kw" and not {"totals", "quantiles"} & set(bought):
            continue
        said.append((words, _value_words(name, asked[name])))
    return [each for each in said if each[1]]


def _value_words(name: str, value: Any) -> str:
    if name == "group_by":
        return "the whole fleet" if value is None else f"each {value} by itself"
    if name == "clip_kw":
        return "chosen privately" if value is None else f"{value:g} kW"
    if name == "largest_kw":
        return "" if value is None else f"{value:g} kW"
    if name == "tables":
        return "; ".join(TABLE_WORDS[each] for each in value)
    if name == "shares":
        return "" if value is None else ", ".join(f"{k} {v:g}" for k, v in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _wrong(error: ValidationError) -> Problem:
    first = error.errors()[0]
    where = str(first["loc"][1]) if len(first["loc"]) > 1 else ""
    field = FIELD_WORDS.get(where, {"epsilon": "Privacy loss ε"}.get(where, "The question"))
    return Problem(422, f"{field}: {first['msg']}.")

"""What analysts keep for themselves: names of releases and saved questions, checked and stored."""

from __future__ import annotations

import json
import re

from sunveil.service.analyst.forms import known_question, text_of
from sunveil.service.analyst.models import LONGEST_NAME, NAME_PATTERN
from sunveil.service.broker import Question
from sunveil.service.context import Service
from sunveil.service.problems import Problem
from sunveil.service.store import own


def checked_name(text: str, *, empty: bool = False) -> str:
    """Return a name without spaces around it, or say what is wrong with it.

    Parameters
    ----------
    text
        What was written.
    empty
        Whether it may be empty.
    """
    name = text.strip()
    if len(name) > LONGEST_NAME or not re.fullmatch(NAME_PATTERN, name) or not (name or empty):
        raise Problem(
            422, f"A name has 1 to {LONGEST_NAME} characters and no line breaks; write another."
        )
    return name


def set_name(service: Service, analyst: str, release: str, *, name: str) -> str:
    """Keep what an analyst calls a release, and return it; empty takes the name away.

    Parameters
    ----------
    service
        The running service.
    analyst, release
        Who, and the id of a release that they may read.
    name
        The name.
    """
    kept = checked_name(name, empty=True)
    with service.store.changing() as connection:
        own.name_release(connection, analyst, release, name=kept)
    return kept


def names(service: Service, analyst: str) -> dict[str, str]:
    """Return what an analyst calls releases, by their ids."""
    with service.store.reading() as connection:
        return own.names_of(connection, analyst)


def save(service: Service, analyst: str, dataset: str, *, name: str, question: Question) -> str:
    """Keep a question under a name, and return the name.

    Parameters
    ----------
    service
        The running service.
    analyst, dataset
        Who, and a dataset that they may ask about.
    name, question
        What to keep; a question of the same name is replaced.
    """
    kept = checked_name(name)
    with service.store.changing() as connection:
        room = own.save_question(connection, analyst, dataset, name=kept, asked=text_of(question))
        if not room:
            raise Problem(
                422, f"{own.MOST_SAVED} questions are saved already; remove one of them first."
            )
    return kept


def drop(service: Service, analyst: str, dataset: str, *, name: str) -> None:
    """Forget a saved question, or refuse with a 404.

    Parameters
    ----------
    service
        The running service.
    analyst, dataset, name
        Whose, of which dataset, and what it is called.
    """
    with service.store.changing() as connection:
        if not own.drop_question(connection, analyst, dataset, name=name):
            raise Problem(404, "There is no saved question of this name.")


def saved(service: Service, analyst: str, dataset: str) -> list[tuple[str, Question]]:
    """Return the questions that an analyst has saved for a dataset, by name.

    Parameters
    ----------
    service
        The running service.
    analyst, dataset
        Whose, and of which dataset.
    """
    with service.store.reading() as connection:
        found = own.questions_of(connection, analyst, dataset)
    asked = [(each.name, known_question(json.loads(each.asked))) for each in found]
    return [(name, question) for name, question in asked if question is not None]

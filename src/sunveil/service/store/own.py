"""What analysts keep for themselves: names that they give releases, and saved questions."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select

from sunveil.service.store.base import insert_new, now
from sunveil.service.store.schema import release_names, saved_questions

# Of one analyst for one dataset.
MOST_SAVED = 100


@dataclass(frozen=True, slots=True)
class SavedQuestion:
    """A question that an analyst keeps under a name.

    Parameters
    ----------
    name
        The analyst's own word for it.
    asked
        The question, as canonical JSON.
    made
        When it was saved, in UTC.
    """

    name: str
    asked: str
    made: str


def name_release(connection: Connection, analyst: str, release: str, *, name: str) -> None:
    """Keep what an analyst calls a release; an empty name takes it away.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    analyst
        Whose name it is.
    release
        The release's id.
    name
        The name.
    """
    connection.execute(
        delete(release_names).where(
            release_names.c.analyst == analyst, release_names.c.release == release
        )
    )
    if name:
        insert_new(
            connection, release_names, {"analyst": analyst, "release": release, "name": name}
        )


def names_of(connection: Connection, analyst: str) -> dict[str, str]:
    """Return what an analyst calls releases, by their ids."""
    query = select(release_names.c.release, release_names.c.name)
    rows = connection.execute(query.where(release_names.c.analyst == analyst))
    return {str(row.release): str(row.name) for row in rows}


def save_question(
    connection: Connection, analyst: str, dataset: str, *, name: str, asked: str
) -> bool:
    """Keep a question under a name, in place of what was there; return whether there was room.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    analyst, dataset
        Whose it is, and to which dataset it is asked.
    name
        The analyst's own word for it.
    asked
        The question, as canonical JSON.
    """
    drop_question(connection, analyst, dataset, name=name)
    mine = saved_questions.c.analyst == analyst, saved_questions.c.dataset == dataset
    count = connection.execute(select(func.count()).select_from(saved_questions).where(*mine))
    if count.scalar_one() >= MOST_SAVED:
        return False
    values = {"analyst": analyst, "dataset": dataset, "name": name, "asked": asked, "made": now()}
    return insert_new(connection, saved_questions, values)


def drop_question(connection: Connection, analyst: str, dataset: str, *, name: str) -> bool:
    """Forget a saved question; return whether it was there.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    analyst, dataset, name
        Which one.
    """
    done = connection.execute(
        delete(saved_questions).where(
            saved_questions.c.analyst == analyst,
            saved_questions.c.dataset == dataset,
            saved_questions.c.name == name,
        )
    )
    return done.rowcount == 1


def questions_of(connection: Connection, analyst: str, dataset: str) -> list[SavedQuestion]:
    """Return the questions that an analyst has saved for a dataset, by name.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    analyst, dataset
        Whose, and for which dataset.
    """
    query = select(saved_questions.c.name, saved_questions.c.asked, saved_questions.c.made).where(
        saved_questions.c.analyst == analyst, saved_questions.c.dataset == dataset
    )
    return [SavedQuestion(*row) for row in connection.execute(query.order_by("name"))]

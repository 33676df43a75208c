"""Plan, publish, store a question; recovery of paid requests."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from cachetools import LRUCache

from sunveil.errors import BudgetExceeded, LedgerError, ParameterError, ReleaseNotFound, SourceError
from sunveil.ledger.hash_chain import canonical
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.statements import AnalystShare, shares_of_analyst
from sunveil.privacy.guarantees import unit_name
from sunveil.privacy.mechanisms import opendp_prelude
from sunveil.service.answer_padding import draws_held, draws_noted
from sunveil.service.context import internal_problem
from sunveil.service.questions import (
    QUESTIONS,
    Answered,
    KeyReused,
    NotServed,
    OverBudget,
    Question,
    QuestionPlan,
    QuestionRefused,
    Suggestion,
    answer_title,
)
from sunveil.service.settings import ServiceSettings
from sunveil.service.store.database import ReleaseRow, Served, Store, StoredRequest, insert_new, now
from sunveil.service.store.datasets import (
    READY,
    begin_request,
    drop_request,
    end_request,
    find_promised,
    find_release,
    find_served,
    open_requests,
)

if TYPE_CHECKING:
    from sunveil.ledger.promises import Question as LedgerQuestion
    from sunveil.publication.published_tables import Publication
    from sunveil.service.question_data import AnalystQuestion

UNREADABLE = "the files of this dataset cannot be read for releases as they are; ask its curator"
UNREGISTERED = "the households of this dataset must be registered first; ask its curator"
KEY_REUSED = "this idempotency key was used for another question; take a new one"

# [s] Younger requests are usually still at work.
RECOVERED_AFTER = 10.0
FILES_IN_MEMORY = 256 * 1024 * 1024  # [bytes]


class LedgerBroker:
    def __init__(self, settings: ServiceSettings, *, ledger: Ledger, store: Store) -> None:
        self._settings, self._ledger, self._store = settings, ledger, store
        self._data: Any = None
        self._loading, self._writing, self._guard = (threading.Lock() for _ in range(3))
        self._files: LRUCache[str, dict[str, bytes]] = LRUCache(FILES_IN_MEMORY, _size)
        self._hopeless: set[tuple[str, str]] = set()

    # -- beginning

    def warm(self) -> None:
        """Load the code that draws, so that the first question does not wait for it."""
        try:
            self._load()
        except Exception as error:
            internal_problem(error)  # the log has it; questions will say so themselves

    def _load(self) -> None:
        with self._loading:
            if self._data is not None:
                return
            from sunveil.service.question_data import Data

            opendp_prelude()
            self._data = Data(self._settings.datasets)

    def unanswered(self) -> bool:
        """Return whether a charge has no answer: it is being drawn on, or was cut short."""
        return any(map(self._ledger.unanswered, self._ledger.names()))

    def recover(self, *, after: float = RECOVERED_AFTER) -> None:
        """Answer questions that were charged and then interrupted.

        It takes the question's lock as a request does, so that it finds what another draws. Unpaid
        requests are left alone: they may still be sent again.
        """
        with self._store.reading() as db:
            left = open_requests(db, before=now(-after))
        for asked in left:
            if (asked.analyst, asked.key) in self._hopeless:
                continue
            try:
                self._recover(asked)
            except (QuestionRefused, LedgerError):
                continue  # until it is tried again
            except Exception as error:
                internal_problem(error)
                self._hopeless.add((asked.analyst, asked.key))

    def _recover(self, asked: StoredRequest) -> None:
        case = self._case(asked.dataset, QUESTIONS.validate_json(asked.asked), asked.analyst)
        if self._is_paid(case):
            # those who ask now wait for it, and so it is held as any other draw
            with draws_held(time.monotonic(), self._settings.answer_seconds[case.question.kind]):
                self._finish(asked, case)

    def _is_paid(self, case: AnalystQuestion) -> bool:
        question, name = self._question(case), case.dataset.name
        paid = self._ledger.kept(name, question) or self._ledger.pending(name, question)
        return paid is not None

    # -- what may be asked

    def plan(self, dataset: str, question: Question, *, analyst: str) -> QuestionPlan:
        case = self._case(dataset, question, analyst)
        from sunveil.service.question_advice import advised_plan

        with _public_refusals():
            return advised_plan(case, self._ledger, share=self._share(dataset, analyst))

    def at_hand(self) -> bool:
        """Whether what plans is loaded, so that a page that can do without need not wait."""
        return self._data is not None

    def suggest(self, dataset: str, kind: str, *, analyst: str) -> Suggestion:
        any_question = QUESTIONS.validate_python({"kind": kind, "epsilon": 1.0})
        case = self._case(dataset, any_question, analyst)
        from sunveil.service.question_advice import suggest_question

        with _public_refusals():
            return suggest_question(case, self._ledger, share=self._share(dataset, analyst))

    def _share(self, dataset: str, analyst: str) -> AnalystShare:
        with self._store.reading() as db:
            return shares_of_analyst(db.connection(), analyst)[dataset]

    def _question(self, case: AnalystQuestion) -> LedgerQuestion:
        """Return what the ledger is asked for a case, or refuse it as a plan would."""
        from sunveil.service.question_data import plan, question_of

        with _public_refusals():
            plan(case, self._ledger)
            return question_of(case, self._ledger)

    def _case(self, dataset: str, question: Question, analyst: str) -> AnalystQuestion:
        self._load()
        from sunveil.service.question_data import AnalystQuestion

        served = self._open_to(dataset, analyst)
        if question.kind not in served.kinds:
            raise NotServed(f"the dataset {dataset!r} does not answer questions of this kind")
        return AnalystQuestion(served, question, analyst, self._data)

    def _open_to(self, dataset: str, analyst: str) -> Served:
        with self._store.reading() as db:
            shares = shares_of_analyst(db.connection(), analyst)
            try:
                served = find_served(db, dataset)
            except ReleaseNotFound:
                served = None
            promised = find_promised(db, dataset)
        if served is None or promised is None or dataset not in shares or served.state != READY:
            raise NotServed(f"there is no dataset {dataset!r} that you have a share of")
        return served

    # -- asking

    def ask(self, dataset: str, question: Question, *, analyst: str, key: str) -> Answered:
        """Answer a question: charge it, draw it and keep it, or find the kept answer."""
        case = self._case(dataset, question, analyst)
        text = canonical(question.model_dump(mode="json"))
        asked = StoredRequest(analyst, key, dataset, text)
        with self._store.changing() as db:
            known = begin_request(db, asked)
        if (known.dataset, known.asked) != (dataset, text):
            raise KeyReused(KEY_REUSED)
        if known.release is not None:
            return Answered(known.release, fresh=False)
        try:
            return self._finish(asked, case)
        except (QuestionRefused, LedgerError):
            self._free_key(asked, case)
            raise
        except Exception as error:
            self._free_key(asked, case)
            raise internal_problem(error) from error

    def _free_key(self, asked: StoredRequest, case: AnalystQuestion) -> None:
        """Free the key of a request that was not charged."""
        with suppress(LedgerError):  # it stays bound to its question where that cannot be known
            try:
                paid = self._is_paid(case)
            except QuestionRefused:
                paid = False
            if not paid:
                with self._store.changing() as db:
                    drop_request(db, asked)

    def _finish(self, asked: StoredRequest, case: AnalystQuestion) -> Answered:
        """Answer what was asked, and keep the answer where it is served from."""
        from sunveil.service.question_data import answer

        question = self._question(case)
        try:
            with draws_noted() as drawn:
                publication = answer(case, self._ledger)
        except BudgetExceeded as error:
            raise OverBudget(
                str(error), requested=error.requested, remaining=error.remaining
            ) from None
        except ParameterError:  # of who is in which dataset, which is for the curator
            raise QuestionRefused(UNREGISTERED) from None
        except ReleaseNotFound:
            raise NotServed(f"you have no share of the dataset {asked.dataset!r}") from None
        return Answered(self._keep(asked, case, publication, question), fresh=bool(drawn))

    def _keep(
        self,
        asked: StoredRequest,
        case: AnalystQuestion,
        publication: Publication,
        question: LedgerQuestion,
    ) -> str:
        from sunveil.service.question_data import account_of_answer

        body = body_of(publication, asked=json.loads(asked.asked), edition=case.dataset.edition)
        body["account"] = account_of_answer(case, self._ledger, publication).to_dict()
        digest = question.digest(asked.dataset)
        row = ReleaseRow(
            id=release_id(asked.dataset, digest),
            dataset=asked.dataset,
            kind=case.question.kind,
            title=answer_title(case.question),
            epsilon=case.question.epsilon,
            cost=self._ledger.cost(asked.dataset, question),
            made=now(),
            question=digest,
            body=body,
        )
        with self._store.changing() as db:
            insert_new(db, row)
            end_request(db, asked, row.id)
        return row.id

    # -- files

    def file_at_hand(self, release: str, name: str) -> bytes | None:
        with self._guard:
            return self._files.get(release, {}).get(name)

    def file(self, release: str, name: str) -> bytes:
        # One thread writes for all that wait. The files are public, so waiting reveals no draw.
        with self._writing:
            found = self.file_at_hand(release, name)
            if found is None:
                found = self._write(release).get(name)
        if found is None:
            raise NotServed("the release has no such file")
        return found

    def _write(self, release: str) -> dict[str, bytes]:
        self._load()
        from sunveil.service.question_data import files_of

        with self._store.reading() as db:
            found = find_release(db, release)
        if found is None:
            raise NotServed("there is no such release")
        made = files_of(found)
        with self._guard, suppress(ValueError):  # larger than all that is kept
            self._files[release] = made
        return made


def _size(files: dict[str, bytes]) -> int:
    return sum(map(len, files.values()))


@contextmanager
def _public_refusals() -> Iterator[None]:
    """Turn errors into refusals for the analyst."""
    try:
        yield
    except ParameterError as error:  # of public choices only: no data have been looked at
        raise QuestionRefused(str(error)) from None
    except SourceError:  # for how files are written, and no reading; how is for the curator
        raise QuestionRefused(UNREADABLE) from None


def release_id(dataset: str, digest: str) -> str:
    """Return the id of a release: the same question to the same dataset has the same."""
    return hashlib.sha256(f"{dataset}\n{digest}".encode()).hexdigest()[:32]


def body_of(publication: Publication, *, asked: dict[str, Any], edition: str) -> dict[str, Any]:
    """Return a publication as it is served: everything in it is public."""
    guarantee = publication.guarantee
    return {
        "title": publication.title,
        "asked": asked,
        "edition": edition,
        "unit": unit_name(guarantee.unit),
        "guarantee": {**guarantee.to_dict(), "statement": str(guarantee)},
        "mechanism": publication.mechanism,
        "public": publication.public,
        "how": None if publication.how is None else dataclasses.asdict(publication.how),
        "tables": [table.to_dict() for table in publication.tables],
    }

"""The broker: questions from the analyst's side, answered under the ledger.

What draws takes seconds to load (OpenDP, pandas, pvlib), so that it is loaded in the background
after the service has begun to listen; the first question waits for it.

**How a request ends.** With a release; or with a refusal or a failure, which is kept in the words
that the analyst was told, and then its key is free: asked again, it is tried anew. Only a request
that a stop of the service cut short stays open. After a restart, one that was paid is drawn under
its charge, in the background; one that was not is put aside. Nobody else waits for either.

**Several processes.** The leader answers (:mod:`sunveil.service.leading`), the others pass on what
they are asked (:mod:`sunveil.service.answering.passing`).
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from sunveil.errors import (
    BudgetExceeded,
    LedgerError,
    ParameterError,
    ReleaseNotFound,
    SourceError,
)
from sunveil.ledger.acting import acting_account, acting_as
from sunveil.ledger.chain import canonical
from sunveil.ledger.ledger import Ledger
from sunveil.ledger.shares import AnalystShare, shares_of_analyst
from sunveil.service import broker as asked_for
from sunveil.service.answering.endings import INTERRUPTED, ending_of
from sunveil.service.answering.passing import ENDED, KEY_REUSED, PassedQuestions, notify
from sunveil.service.broker import (
    Answered,
    KeyReused,
    NotServed,
    OverBudget,
    Question,
    QuestionPlan,
    QuestionRefused,
    ReleaseFile,
    Suggestion,
)
from sunveil.service.leading import AlwaysLeading, SteppedDown
from sunveil.service.problems import Problem, internal_problem
from sunveil.service.security.padding import came_in, draws_held, monotonic_of
from sunveil.service.settings import ServiceSettings
from sunveil.service.sized_cache import SizedCache
from sunveil.service.store.base import Store, now
from sunveil.service.store.datasets import READY, Served, find_promised, find_served
from sunveil.service.store.releases import (
    ReleaseRow,
    StoredRequest,
    begin_request,
    end_request,
    fail_request,
    find_release,
    keep_release,
    open_requests,
)

if TYPE_CHECKING:
    from sunveil.ledger.records import Question as LedgerQuestion
    from sunveil.publish.publication import Publication
    from sunveil.service.answering.kinds import AnalystQuestion

QUESTIONS: TypeAdapter[Question] = TypeAdapter(Question)
UNREADABLE = "the files of this dataset cannot be read for releases as they are; ask its curator"
UNREGISTERED = "the households of this dataset must be registered first; ask its curator"
# How many requests that a stop cut short are finished at the same time: others ask meanwhile.
RECOVERED_AT_ONCE = 2


class LedgerBroker:
    """What answers questions.

    Parameters
    ----------
    settings
        Of the service.
    ledger
        What is charged.
    store
        Where answers are served from.
    leadership
        Whether this process charges and draws; it does where it is the only one.
    """

    def __init__(
        self,
        settings: ServiceSettings,
        *,
        ledger: Ledger,
        store: Store,
        leadership: AlwaysLeading,
    ) -> None:
        self._settings, self._ledger, self._store = settings, ledger, store
        self._leadership = leadership
        self.passed = PassedQuestions(
            store, answer=self.answer_passed, threads=settings.asks_at_once
        )
        self._data: Any = None
        self._ready = threading.Event()
        self._begun = False
        self._loading = threading.Lock()
        self._guard = threading.Lock()
        self._turns: dict[str, tuple[threading.Lock, int]] = {}
        self._files: SizedCache[dict[str, bytes]] = SizedCache()

    # -- beginning

    def warm(self) -> None:
        """Load what draws, then be ready to lead, and finish what was charged and not answered."""
        try:
            self._load()
        except Exception as error:
            internal_problem(error)  # the log has it; questions will say so themselves
        finally:
            self._ready.set()
        with self._guard:
            first, self._begun = not self._begun, True
        if first and self._settings.workers > 1:
            self.passed.start(lambda: self._leadership.leading)
        if first or self._settings.workers == 1:
            self._leadership.start(self.recover)

    def _load(self) -> None:
        with self._loading:
            if self._data is not None:
                return
            from sunveil.privacy.select import opendp_prelude
            from sunveil.service.answering import kinds  # noqa: F401
            from sunveil.service.answering.data import Data

            opendp_prelude()
            self._data = Data(self._settings.datasets)

    def recover(self) -> None:
        """Finish what was charged before the service last ended, and not answered."""
        try:
            with self._store.reading() as connection:
                left = open_requests(connection)
        except LedgerError as error:
            internal_problem(error)
            return
        with ThreadPoolExecutor(RECOVERED_AT_ONCE) as pool:
            for asked in left:
                pool.submit(self._recover, asked)

    def _recover(self, asked: StoredRequest) -> None:
        """Answer what was paid for, by whomever; put aside what was not: whoever asked has gone."""
        with suppress(QuestionRefused, LedgerError, Problem), self._ending(asked):
            case = self._case_of(asked)
            question, name = self._question(case), asked.dataset
            paid = self._ledger.kept(name, question) or self._ledger.pending(name, question)
            if paid is None:
                self._fail(asked, INTERRUPTED)
                return
            # those who ask now wait for it, and so it is held as any other draw
            with draws_held(time.monotonic(), self._settings.answer_seconds[case.question.kind]):
                self._finish(asked, case)

    def answer_passed(self, asked: StoredRequest) -> None:
        """Answer a request that another process took in; that one reads how it ended."""
        self._ready.wait()
        with suppress(QuestionRefused, LedgerError, Problem), self._ending(asked):
            case = self._case_of(asked)
            came = time.time() if asked.came is None else asked.came
            pad = self._settings.answer_seconds[case.question.kind]
            with draws_held(monotonic_of(came), pad):
                self._answer(asked, case)

    def _case_of(self, asked: StoredRequest) -> AnalystQuestion:
        return self._case(asked.dataset, QUESTIONS.validate_json(asked.asked), asked.analyst)

    @contextmanager
    def _ending(self, asked: StoredRequest) -> Iterator[None]:
        """Note how a request ended that has no answer, in the words that are told."""
        try:
            yield
        except SteppedDown:  # it stays open: the leader answers it
            raise
        except (QuestionRefused, LedgerError, Problem) as error:
            self._fail(asked, ending_of(error))
            raise
        except Exception as error:
            problem = internal_problem(error)
            self._fail(asked, ending_of(problem))
            raise problem from error

    def _fail(self, asked: StoredRequest, ending: str) -> None:
        with suppress(LedgerError), self._store.changing() as connection:
            fail_request(connection, asked, ending)
            notify(connection, ENDED, asked)

    # -- what may be asked

    def plan(self, dataset: str, question: Question, *, analyst: str) -> QuestionPlan:
        """Return what a question would cost, or refuse it; spend nothing.

        Parameters
        ----------
        dataset, question
            What is asked of which dataset.
        analyst
            Who asks.
        """
        case = self._case(dataset, question, analyst)
        from sunveil.service.answering.advice import advised_plan

        with _public_refusals():
            return advised_plan(case, self._ledger, share=self._share(dataset, analyst))

    def at_hand(self) -> bool:
        """Whether what plans is loaded, so that a page that can do without need not wait."""
        return self._data is not None

    def suggest(self, dataset: str, kind: str, *, analyst: str) -> Suggestion:
        """Return a first question of a kind that tells something for a twentieth of the share.

        Parameters
        ----------
        dataset, kind
            Of which dataset, and which kind of question.
        analyst
            Who would ask.
        """
        any_question = QUESTIONS.validate_python({"kind": kind, "epsilon": 1.0})
        case = self._case(dataset, any_question, analyst)
        from sunveil.service.answering.advice import suggest_question

        with _public_refusals():
            return suggest_question(case, self._ledger, share=self._share(dataset, analyst))

    def _share(self, dataset: str, analyst: str) -> AnalystShare:
        with self._store.reading() as connection:
            return shares_of_analyst(connection, analyst)[dataset]

    def _question(self, case: AnalystQuestion) -> LedgerQuestion:
        """Return what the ledger is asked for a case, or refuse it as a plan would."""
        from sunveil.service.answering.kinds import plan, question_of

        with _public_refusals():
            plan(case, self._ledger)
            return question_of(case, self._ledger)

    def _case(self, dataset: str, question: Question, analyst: str) -> AnalystQuestion:
        self._load()
        from sunveil.service.answering.kinds import AnalystQuestion

        served = self._open_to(dataset, analyst)
        if question.kind not in served.kinds:
            raise NotServed(f"the dataset {dataset!r} does not answer questions of this kind")
        return AnalystQuestion(served, question, analyst, self._data)

    def _open_to(self, dataset: str, analyst: str) -> Served:
        with self._store.reading() as connection:
            shares = shares_of_analyst(connection, analyst)
            try:
                served = find_served(connection, dataset)
            except ReleaseNotFound:
                served = None
            promised = find_promised(connection, dataset)
        if served is None or promised is None or dataset not in shares or served.state != READY:
            raise NotServed(f"there is no dataset {dataset!r} that you have a share of")
        return served

    # -- asking

    def ask(self, dataset: str, question: Question, *, analyst: str, key: str) -> Answered:
        """Answer a question: charge it, draw it and keep it, or find the kept answer.

        Parameters
        ----------
        dataset, question
            What is asked of which dataset.
        analyst
            Who asks, and is charged.
        key
            The analyst's own name of the request: sent again with the same, it is the same request.
        """
        self._ready.wait()
        case = self._case(dataset, question, analyst)
        text = canonical(question.model_dump(mode="json"))
        asked = StoredRequest(analyst, key, dataset, text, came=came_in(), actor=acting_account())
        if self._leadership.leading:
            with suppress(SteppedDown):
                return self._answer(asked, case)
        return self.passed.ask(asked)

    def _answer(self, asked: StoredRequest, case: AnalystQuestion) -> Answered:
        """Answer a request in this process, or find its answer."""
        with self._turn(f"{asked.dataset} {asked.asked}"):
            with self._store.changing() as connection:
                known = begin_request(connection, asked)
            if (known.dataset, known.asked) != (asked.dataset, asked.asked):
                raise KeyReused(KEY_REUSED)
            if known.release is not None:
                return Answered(known.release, fresh=False)
            with self._ending(known):
                return self._finish(known, case)

    def _finish(self, asked: StoredRequest, case: AnalystQuestion) -> Answered:
        """Answer what was asked, and keep the answer where it is served from."""
        from sunveil.service.answering.kinds import answer

        question = self._question(case)
        fresh = self._ledger.kept(asked.dataset, question) is None
        try:
            # kept with the request, since another process may be the one that charges it
            with acting_as(asked.actor):
                publication = answer(case, self._ledger)
        except BudgetExceeded as error:
            raise OverBudget(
                str(error), requested=error.requested, remaining=error.remaining
            ) from None
        except ParameterError:  # of who is in which dataset, which is for the curator
            raise QuestionRefused(UNREGISTERED) from None
        except ReleaseNotFound:
            raise NotServed(f"you have no share of the dataset {asked.dataset!r}") from None
        release = self._keep(asked, case, publication, question=question, fresh=fresh)
        return Answered(release, fresh=fresh)

    def _keep(
        self,
        asked: StoredRequest,
        case: AnalystQuestion,
        publication: Publication,
        *,
        question: LedgerQuestion,
        fresh: bool,
    ) -> str:
        """Keep an answer as a release, and return its id."""
        from sunveil.service.answering.kinds import account_of_answer

        digest = question.digest(asked.dataset)
        row = ReleaseRow(
            id=release_id(asked.dataset, digest),
            dataset=asked.dataset,
            kind=case.question.kind,
            title=asked_for.TITLES[case.question.kind],
            epsilon=case.question.epsilon,
            cost=self._ledger.cost(asked.dataset, question),
            made=now(),
        )
        body = body_of(publication, asked=json.loads(asked.asked), edition=case.dataset.edition)
        body["account"] = account_of_answer(case, self._ledger, publication).to_dict()
        with self._store.changing() as connection:
            keep_release(connection, row, question=digest, body=body)
            end_request(connection, asked, row.id, fresh=fresh)
            notify(connection, ENDED, asked)
        return row.id

    @contextmanager
    def _turn(self, question: str) -> Iterator[None]:
        """Let those who ask the same thing at once follow one another: one pays, all get it."""
        with self._guard:
            lock, waiting = self._turns.get(question, (threading.Lock(), 0))
            self._turns[question] = lock, waiting + 1
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, waiting = self._turns.pop(question)
                if waiting > 1:
                    self._turns[question] = lock, waiting - 1

    # -- files

    def file_at_hand(self, release: str, name: str) -> ReleaseFile | None:
        """Return a file of a release if it is in memory."""
        content = (self._files.get(release) or {}).get(name)
        return None if content is None else ReleaseFile(name, media_type_of(name), content)

    def file(self, release: str, name: str) -> ReleaseFile:
        """Return a file of a release."""
        files = self._files.get(release)
        if files is None:
            # Many who come at once are served by one. What is written was public before, so that
            # nobody who waits here learns of a draw.
            with self._turn(f"files of {release}"):
                files = self._files.get(release) or self._write(release)
        if name not in files:
            raise NotServed("the release has no such file")
        return ReleaseFile(name, media_type_of(name), files[name])

    def _write(self, release: str) -> dict[str, bytes]:
        self._load()
        from sunveil.service.answering.files import files_of

        with self._store.reading() as connection:
            found = find_release(connection, release)
        if found is None:
            raise NotServed("there is no such release")
        made = files_of(*found)
        self._files.put(release, made, sum(map(len, made.values())))
        return made


@contextmanager
def _public_refusals() -> Iterator[None]:
    """Refuse in words that are for the analyst."""
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
    """Return a publication as it is served: everything in it is public.

    Parameters
    ----------
    publication
        What was published.
    asked
        The question that it answers.
    edition
        Public name of the data.
    """
    from sunveil.privacy.units import unit_name

    guarantee = publication.guarantee
    return {
        "title": publication.title,
        "asked": asked,
        "edition": edition,
        "unit": unit_name(guarantee.unit),
        "guarantee": {**guarantee.to_dict(), "statement": str(guarantee)},
        "mechanism": publication.mechanism,
        "public": publication.public,
        "tables": [table.to_dict() for table in publication.tables],
    }


def media_type_of(name: str) -> str:
    """Return what a file is, by its ending."""
    return {
        "csv": "text/csv; charset=utf-8",
        "parquet": "application/vnd.apache.parquet",
        "json": "application/json",
        "yaml": "application/yaml",
        "md": "text/markdown; charset=utf-8",
    }[name.rpartition(".")[2]]

"""Passing questions on from the processes that read to the one that charges and draws.

A question lies in the table of requests, which is idempotent by analyst and key. Whoever took it in
tells the others by PostgreSQL's ``NOTIFY``; the leader answers it there, and tells that it ended.
A notice that is lost costs a second: who waits says again what it waits for, and looks.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from sunveil.errors import log_unforeseen
from sunveil.service.answering.endings import INTERRUPTED, error_of
from sunveil.service.broker import Answered, KeyReused
from sunveil.service.problems import Problem
from sunveil.service.store.base import Store
from sunveil.service.store.releases import StoredRequest, begin_request, find_request

ASKED, ENDED = "sunveil_asked", "sunveil_ended"
# How long is waited for a notice before it is looked without one. [s]
PAUSE = 1.0
# How long a question waits for an answer at all. [s]
PATIENCE = 600.0
KEY_REUSED = "this idempotency key was used for another question; take a new one"
log = logging.getLogger("sunveil.service")
Name = tuple[str, str]


class PassedQuestions:
    """Questions on their way between the processes of one service.

    Parameters
    ----------
    store
        The service's tables, in PostgreSQL.
    answer
        Answers a request, in the leader; called in a thread.
    threads
        How many are answered at the same time.
    """

    def __init__(
        self, store: Store, *, answer: Callable[[StoredRequest], None], threads: int
    ) -> None:
        self._store, self._answer = store, answer
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="passed")
        self._guard = threading.Lock()
        self._waiting: dict[Name, list[threading.Event]] = {}
        self._at_work: set[Name] = set()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="notices", daemon=True)
        self.leads: Callable[[], bool] = lambda: False

    def start(self, leads: Callable[[], bool]) -> None:
        """Begin to listen, in the background; ``leads`` tells whether this process answers."""
        self.leads = leads
        self._thread.start()

    def close(self) -> None:
        """Stop listening; what is being answered is finished."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()
        self._pool.shutdown()

    # -- who waits

    def ask(self, asked: StoredRequest) -> Answered:
        """Have the leader answer a request, and wait for it."""
        until = time.monotonic() + PATIENCE
        with self._noticing(asked) as ended:
            known = self._begin(asked)
            first = known.release is None
            while time.monotonic() < until:
                if (known.dataset, known.asked) != (asked.dataset, asked.asked):
                    raise KeyReused(KEY_REUSED)
                if known.release is not None:
                    return Answered(known.release, fresh=first and bool(known.fresh))
                if known.ending is not None and known.ending != INTERRUPTED:
                    raise error_of(known.ending)
                noticed = ended.wait(PAUSE)
                ended.clear()
                known = self._look(asked, remind=not noticed)
        raise Problem(503, "Nothing answers questions at the moment; ask again with the same key.")

    def _begin(self, asked: StoredRequest) -> StoredRequest:
        with self._store.changing() as connection:
            known = begin_request(connection, asked)
            if known.is_open:
                notify(connection, ASKED, asked)
        return known

    def _look(self, asked: StoredRequest, *, remind: bool) -> StoredRequest:
        """Return how a request stands; begin it anew where a new leader has put it aside."""
        with self._store.reading() as connection:
            known = find_request(connection, asked)
        if known is None or known.ending == INTERRUPTED or (known.is_open and remind):
            return self._begin(asked)
        return known

    @contextmanager
    def _noticing(self, asked: StoredRequest) -> Iterator[threading.Event]:
        """Yield what is set when a request is said to have ended."""
        name, event = (asked.analyst, asked.key), threading.Event()
        with self._guard:
            self._waiting.setdefault(name, []).append(event)
        try:
            yield event
        finally:
            with self._guard:
                self._waiting[name].remove(event)
                if not self._waiting[name]:
                    del self._waiting[name]

    # -- who listens

    def _listen(self) -> None:
        while not self._ending.is_set():
            try:
                with self._store.engine.connect() as connection:
                    connection.execution_options(isolation_level="AUTOCOMMIT")
                    connection.detach()
                    for channel in (ASKED, ENDED):
                        connection.exec_driver_sql(f"LISTEN {channel}")
                    self._take_notices(connection)
            except SQLAlchemyError:
                log.warning("notices of the database are lost; trying again")
                self._ending.wait(PAUSE)

    def _take_notices(self, connection: Connection) -> None:
        driver: Any = connection.connection.dbapi_connection
        while not self._ending.is_set():
            try:
                for notice in driver.notifies(timeout=PAUSE / 2):
                    self._take(notice.channel, notice.payload)
            except Exception:  # the driver's own, which SQLAlchemy does not translate here
                driver.close()  # which SQLAlchemy leaves open where it is not its pool's
                connection.invalidate()
                log.warning("notices of the database are lost; trying again")
                return

    def _take(self, channel: str, payload: str) -> None:
        analyst, key = json.loads(payload)
        name = (analyst, key)
        with self._guard:
            if channel == ENDED:
                for event in self._waiting.get(name, ()):
                    event.set()
                return
            if not self.leads() or name in self._at_work:
                return
            self._at_work.add(name)
        with suppress(RuntimeError):  # the service is ending
            self._pool.submit(self._work, name)

    def _work(self, name: Name) -> None:
        asked = StoredRequest(*name, dataset="", asked="")
        try:
            with self._store.reading() as connection:
                known = find_request(connection, asked)
            if known is not None and known.is_open:
                self._answer(known)
        except Exception as error:
            # whoever waits asks again in a second
            log_unforeseen(log, "a question that was passed on", error)
        finally:
            with self._guard:
                self._at_work.discard(name)


def notify(connection: Connection, channel: str, request: StoredRequest) -> None:
    """Tell the other processes of a request, as the transaction is durable; nobody in SQLite.

    Parameters
    ----------
    connection
        A transaction of the service's store.
    channel
        :data:`ASKED` or :data:`ENDED`.
    request
        What was asked.
    """
    if connection.dialect.name == "postgresql":
        payload = json.dumps([request.analyst, request.key], ensure_ascii=False)
        connection.execute(select(func.pg_notify(channel, payload)))

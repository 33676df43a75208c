"""Which of several processes charges and draws: the one that holds a lock in PostgreSQL.

Every worker tries for one advisory lock, on a connection of its own that does nothing else. The
server gives it to one of them and takes it back as soon as that connection ends, however it does:
the process was killed, its machine is gone, or the server restarted. Then another worker has it.

**Stepping down.** Before a charge, before a draw and before an answer is kept, the leader asks the
server over that same connection (:meth:`Leadership.confirm`): who is answered holds the lock still.
Who is not has stepped down, and does neither. Between that check and what follows it another may
have become leader; the ledger holds then too: a charge is one transaction, and whoever draws on it
holds the question's turn (:mod:`sunveil.ledger.pending`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from sunveil.errors import LedgerError
from sunveil.ledger.database import open_engine

# Any number that other users of a server would hardly take.
LEADER_LOCK = 7120935
# How often a worker tries to become the leader, and the leader looks whether it still is. [s]
PAUSE = 0.25
log = logging.getLogger("sunveil.service")


class SteppedDown(LedgerError):
    """Another process charges and draws, and not this one."""


class AlwaysLeading:
    """The leadership of a service of one process: it always has it."""

    leading = True

    def confirm(self) -> None:
        """Do nothing: nobody else charges."""

    def start(self, gained: Callable[[], None]) -> None:
        """Call what is done by a new leader."""
        gained()

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""


class Leadership(AlwaysLeading):
    """Whether this process is the one of several that charges and draws.

    Parameters
    ----------
    where
        URL of the database, in PostgreSQL.
    """

    def __init__(self, where: str) -> None:
        self._engine = open_engine(where)
        self._lock = threading.Lock()
        self._connection: Any = None
        self._driver: Any = None  # the connection below it, which is closed whatever befell it
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def leading(self) -> bool:  # type: ignore[override]
        """Whether this process was the leader when it last looked."""
        return self._connection is not None

    def start(self, gained: Callable[[], None]) -> None:
        """Begin to try for the lock in the background; call what a new leader does, in a thread."""
        self._thread = threading.Thread(target=self._run, args=(gained,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop trying, and let go of the lock."""
        self._ending.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._let_go()
        self._engine.dispose()

    def confirm(self) -> None:
        """Raise :class:`SteppedDown` unless the server says that the lock is held."""
        with self._lock:
            if self._connection is not None and self._is_alive():
                return
        raise SteppedDown("another process of the service charges and draws; it will answer this")

    def _run(self, call: Callable[[], None]) -> None:
        while not self._ending.is_set():
            with self._lock:
                if self._connection is not None:
                    self._is_alive()
                gained = self._connection is None and self._try()
            if gained:
                log.warning("this process charges and draws now")
                # in a thread of its own: it may take long, and it is looked at the lock meanwhile
                threading.Thread(target=call, daemon=True).start()
            self._ending.wait(PAUSE)

    def _is_alive(self) -> bool:
        """Return whether the lock's connection answers; let go of it if not."""
        try:
            self._connection.exec_driver_sql("SELECT 1")
        except SQLAlchemyError:
            log.warning("this process does not charge any more: its lock's connection is lost")
            self._let_go()
            return False
        return True

    def _try(self) -> bool:
        try:
            found = self._engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        except SQLAlchemyError:
            return False
        try:
            found.detach()  # from the pool, which would hand it on with the lock
            query = f"SELECT pg_try_advisory_lock({LEADER_LOCK})"
            held = bool(found.exec_driver_sql(query).scalar())
        except SQLAlchemyError:
            held = False
        if held:
            self._connection, self._driver = found, found.connection.dbapi_connection
        else:
            found.close()
        return held

    def _let_go(self) -> None:
        if self._connection is not None:
            found, self._connection = self._connection, None
            try:
                found.close()
            except SQLAlchemyError:
                found.invalidate()
            self._driver.close()

"""The page that is there while a demo is being made: it says how far it is, from the first second.

It is served by the standard library alone, on the socket that the service listens on later, so that
nothing has to be loaded for it.
"""

from __future__ import annotations

import html
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Say = Callable[[str], None]
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="1">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sunveil is getting ready</title>
<style>body{{font:1.1rem/1.6 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;
color-scheme:light dark}}li:last-child{{font-weight:bold}}</style></head>
<body><main><h1>The demo is getting ready</h1>
<p>A simulated fleet is made and inferred as a real one would be. This takes a minute or two the
first time. This page turns into the service by itself; the terminal prints who may sign in.</p>
<ol>{steps}</ol><p role="status">{seconds:.0f} s so far. {last}</p></main></body></html>
"""
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Retry-After": "1",
}


class GettingReady:
    """A page that tells what was last said, until the service takes its socket over.

    Parameters
    ----------
    bound
        The socket, listening.
    say
        Prints a line, too.
    """

    def __init__(self, bound: socket.socket, say: Say) -> None:
        self._print, self._begun = say, time.monotonic()
        self._steps: list[str] = []
        self._last = ""
        ready = self

        class Handler(BaseHTTPRequestHandler):
            server_version, sys_version = "Sunveil", ""

            def do_GET(self) -> None:
                body = ready.page().encode()
                self.send_response(503)
                for name, value in {**HEADERS, "Content-Length": str(len(body))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def do_HEAD(self) -> None:
                self.do_GET()

            def do_POST(self) -> None:
                self.do_GET()

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("", 0), Handler, bind_and_activate=False)
        self._server.socket.close()
        self._server.socket = bound
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Answer with the page until the block ends, or :meth:`end` was called."""
        self._thread.start()
        try:
            yield
        finally:
            self.end()

    def end(self) -> None:
        """Stop answering; the socket stays open, and who comes now waits for the service."""
        self._server.shutdown()
        self._thread.join()

    def say(self, line: str) -> None:
        """Print a line, and show it on the page; an indented one is how far the last step is."""
        self._print(line)
        if line.startswith(" "):
            self._last = line.strip()
        else:
            self._steps.append(line.removesuffix(" ..."))
            self._last = ""

    def page(self) -> str:
        """Return the page as it stands."""
        steps = "".join(f"<li>{html.escape(each)}</li>" for each in self._steps)
        seconds = time.monotonic() - self._begun
        return PAGE.format(steps=steps, seconds=seconds, last=html.escape(self._last))

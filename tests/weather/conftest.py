from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from weather_fakes import Answer

from sunveil.weather import WeatherCache


@dataclass
class Server:
    """A loopback server that gives its answers in turn, and the last one for ever."""

    url: str = ""
    answers: list[Answer] = field(default_factory=list)
    queries: list[dict[str, list[str]]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    def says(self, *answers: Answer) -> None:
        self.answers[:] = answers

    def next(self, path: str) -> Answer:
        self.queries.append(parse_qs(urlsplit(path).query))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer = server.next(self.path)
            if answer.silent:
                server.released.wait(20)
                return
            body = answer.body.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) - answer.cut])

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    scripted = Server()
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(scripted)) as http:
        scripted.url = f"http://127.0.0.1:{http.server_address[1]}/"
        thread = threading.Thread(target=http.serve_forever, args=(0.02,))
        thread.start()
        yield scripted
        scripted.released.set()
        http.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch: pytest.MonkeyPatch) -> WeatherCache:
    """Keep every test out of the user's cache folder."""
    monkeypatch.setenv("SUNVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NSRDB_API_KEY", raising=False)
    monkeypatch.delenv("NSRDB_EMAIL", raising=False)
    return WeatherCache()

"""HTTP of the demo: fields of the API, a transcript, links and form fields of every page."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx

from .commands import keys_of
from .files import Rows, plain
from .fleets import VARIABLE

WAIT = 240.0  # [s] for the demo to start, answer and stop, on a busy machine
# One request a line: of nobody to a page, or of the analyst to the API, in this order.
REQUESTS = Path(__file__).with_name("requests.txt")
HEADERS = ("cache-control", "content-security-policy", "referrer-policy", "x-content-type-options")
HEADERS += ("www-authenticate", "x-frame-options", "strict-transport-security", "allow")


def record(folder: Path, texts: Rows) -> Rows:
    wrong = {"name": "curator", "password": "wrong"}
    with _demo(folder) as (base, password, token):
        rows = {**_described(base), **_requests(base, token, texts)}
        logins = {"curator": {"name": "curator", "password": password}, "analyst": {"token": token}}
        with httpx.Client(base_url=base, timeout=WAIT) as client:
            without = client.post("/curator/login", data={})
            rows["POST /curator/login without a form token"] = _facts(without, texts)
            wrongly = _post(client, "/curator/login", wrong, texts)
            rows["POST /curator/login with a wrong password"] = wrongly
        for side, fields in logins.items():
            with httpx.Client(base_url=base, timeout=WAIT) as client:
                rows[f"POST /{side}/login"] = _post(client, f"/{side}/login", fields, texts)
                rows |= _crawl(client, side, texts)
    return _hoisted(rows)


def _hoisted(rows: Rows) -> Rows:
    """Return the rows with the headers that most of them have alike in a row of their own."""
    answers = [row for row in rows.values() if "headers" in row]
    usual = {}
    for name in HEADERS:
        values = Counter(row["headers"].get(name) for row in answers)
        usual[name] = values.most_common(1)[0][0]
    for row in answers:
        row["headers"] = {k: v for k in HEADERS if (v := row["headers"].get(k)) != usual[k]}
    return {**rows, "headers of most answers": usual}


@contextmanager
def _demo(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Start the demo on a free port, and yield its address and credentials."""
    log = folder / "serve.log"
    asked = f"-m sunveil serve --demo --port 0 --data {folder / 'demo'}".split()
    with log.open("w") as out:
        process = subprocess.Popen([sys.executable, *asked], stdout=out, stderr=subprocess.STDOUT)
    try:
        until = time.monotonic() + WAIT
        pattern = r"Curator: (http\S+?)/curator/login .*password (\S+)\n.*token (\S+)"
        while (found := re.search(pattern, log.read_text())) is None:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the demo did not start: {log.read_text()[-500:]}")
            time.sleep(0.1)
        base, password, token = found.groups()
        while True:
            try:
                if httpx.get(f"{base}/readyz").status_code == 200:
                    break
            except httpx.TransportError:
                time.sleep(0.1)
        yield base, password, token
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(WAIT)
        except subprocess.TimeoutExpired:
            process.kill()


def _described(base: str) -> Rows:
    """Return the paths and the fields of the API, as it describes itself."""
    described = httpx.get(f"{base}/api/v1/openapi.json", timeout=WAIT).json()
    rows: Rows = {}
    for path, methods in described["paths"].items():
        for method, facts in methods.items():
            names = [f"{one['in']} {one['name']}" for one in facts.get("parameters", ())]
            answers = sorted(facts["responses"])
            rows[f"api {method.upper()} {path}"] = {"parameters": names, "answers": answers}
    for name, schema in described["components"]["schemas"].items():
        fields = {field: _kind(each) for field, each in schema.get("properties", {}).items()}
        required = sorted(schema.get("required", ()))
        rows[f"api schema {name}"] = {"fields": fields, "required": required}
    return rows


def _requests(base: str, token: str, texts: Rows) -> Rows:
    rows: Rows = {}
    api = {"base_url": f"{base}/api/v1", "headers": {"Authorization": f"Bearer {token}"}}
    with (
        httpx.Client(base_url=base, timeout=WAIT) as nobody,
        httpx.Client(**api, timeout=WAIT) as client,
    ):
        for number, line in enumerate(REQUESTS.read_text().splitlines()):
            who, method, path, *body = line.split(" ", 3)
            question = json.loads(body[0]) if body else None
            key = {"Idempotency-Key": f"golden-key-number-{number:04d}"} if body else {}
            sender = client if who == "api" else nobody
            answer = sender.request(method, path, json=question, headers=key)
            rows[f"request {number:02d} {line}"] = _facts(answer, texts)
        wrong = client.get("/me", headers={"Authorization": "Bearer sv_0_x"})
        rows["request with a wrong token"] = _facts(wrong, texts)
        without = client.post(path, json=question)
        rows["request without a key"] = _facts(without, texts)
    return rows


def _kind(schema: dict[str, Any]) -> Any:
    names = ("type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "$ref")
    own = {name: plain(schema[name]) for name in names if name in schema}
    return own or [_kind(each) for each in schema.get("anyOf", schema.get("oneOf", ()))]


def _facts(answer: httpx.Response, texts: Rows) -> dict[str, Any]:
    """Return the facts of an answer: status, headers, keys of JSON, links and forms of a page."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    facts: dict[str, Any] = {"status": answer.status_code, "type": kind}
    facts["headers"] = {
        name: _named(answer.headers[name]) for name in HEADERS if name in answer.headers
    }
    if "location" in answer.headers:
        facts["location"] = _named(urlsplit(answer.headers["location"]).path)
    if "json" in kind:
        body = answer.json()
        if "openapi" not in body:
            facts["keys"] = keys_of(body)
        if not answer.is_success:
            for name in ("detail", "title"):
                if body.get(name):
                    asked = f"{answer.request.method} {_named(answer.url.path)}"
                    texts[f"{asked} {_named(str(body[name]))}"] = True
    if kind == "text/html":
        page = _Page()
        page.feed(answer.text)
        facts |= {"links": sorted(set(map(_named, page.links))), "forms": page.forms}
        texts |= {f"{_named(answer.url.path)} {name}": True for name in page.alerts}
    return facts


def _post(client: httpx.Client, path: str, fields: dict[str, str], texts: Rows) -> dict[str, Any]:
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', client.get(path).text)
    token = {"csrf": found[1]} if found else {}
    return _facts(client.post(path, data={**token, **fields}), texts)


def _crawl(client: httpx.Client, side: str, texts: Rows) -> Rows:
    """Return the facts of every page of one side that links lead to, one of each kind."""
    rows: Rows = {}
    waiting, seen = [f"/{side}"], {f"/{side}"}
    while waiting:
        path = waiting.pop(0)
        answer = client.get(path)
        rows[f"{side} GET {_named(path)}"] = _facts(answer, texts)
        if answer.headers.get("content-type", "").startswith("text/html"):
            page = _Page()
            page.feed(answer.text)
            for link in page.links:
                parts = urlsplit(urljoin(path, link))
                name = _named(parts.path)
                if not (parts.scheme or parts.netloc or name in seen or "/static/" in name):
                    seen.add(name)
                    waiting.append(parts.path)
    return rows


def _named(text: str) -> str:
    """Return an address or a text without what differs between two runs."""
    for pattern, word in VARIABLE:
        text = pattern.sub(word, text)
    text = re.sub(r"(/analyst/releases/|/api/v1/releases/)[\w-]+", r"\1ID", text)
    text = re.sub(r"'nonce-[^']+'|nonce=\S+", "NONCE", text)
    return re.sub(r"([?&][\w-]+=)[^&#]*", r"\1", text)


class _Page(HTMLParser):
    """Links, forms with their fields, and alerts of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: list[dict[str, Any]] = []
        self.alerts: list[str] = []
        self._alert = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        own = dict(attrs)
        if tag == "a" and own.get("href"):
            self.links.append(str(own["href"]))
        if tag == "form":
            action = _named(own.get("action") or "")
            self.forms.append({"action": action, "method": own.get("method", "get"), "fields": []})
        if tag in ("input", "select", "textarea", "button") and own.get("name") and self.forms:
            words = f"{own['name']} {own.get('type') or tag}{' required' * ('required' in own)}"
            if words not in self.forms[-1]["fields"]:
                self.forms[-1]["fields"].append(words)
        self._alert = 1 if own.get("role") == "alert" else self._alert

    def handle_data(self, data: str) -> None:
        if self._alert and data.strip():
            self.alerts.append(_named(" ".join(data.split())))
            self._alert = 0

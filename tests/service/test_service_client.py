"""The client against a real service over HTTP."""

from __future__ import annotations

import html
import http.server
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import requests
import service_makers as makers
from click.testing import CliRunner
from service_makers import add_dataset, new_token

from sunveil.cli import cli
from sunveil.client import (
    AnswerRefused,
    Client,
    NotAdmitted,
    ServiceError,
    ServiceUnreachable,
    Transport,
)
from sunveil.errors import BudgetExceeded, ParameterError, ReleaseNotFound
from sunveil.publication.published_tables import RULES
from sunveil.service.analyst.releases import PROBLEMS
from sunveil.service.context import SLUGS, TYPE_PREFIX
from sunveil.service.questions import TITLES
from sunveil.service.settings import ANSWER_SECONDS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "service.md").read_text(encoding="utf-8")
CLIENT = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]
names = {"dataset": "NAME", "release": "ID", "name": "FILE"}
QUESTION = {"kind": "fleet-table", "epsilon": 0.1, "tables": ["sectors"], "sectors": 4}


@pytest.fixture(scope="module")
def running(start):
    found = start()
    makers.add_dataset(found.service, "demo-town", epsilon=50.0)
    return found


@pytest.fixture(scope="module")
def token(running) -> str:
    return makers.new_token(running.service)


@pytest.fixture
def client(running, token) -> Iterator[Client]:
    with Client(running.base, token) as made:
        yield made


def spent(running) -> float:
    return running.service.ledger.dataset("demo-town").spent


def test_three_lines_ask_wait_and_load_a_release(running, token):
    before = spent(running)
    client = Client(running.base, token)
    release = client.ask("demo-town", **QUESTION)
    frame = release.table("sectors")
    client.close()
    assert list(frame["sector"]) == ["N", "E", "S", "W", "unknown"]
    assert str(frame.dtypes["systems"]) == "Int64"
    assert frame["systems"].sum() == makers.SYSTEMS
    assert "Systems by sector" in frame.attrs["about"]
    assert spent(running) == pytest.approx(before + 0.1)
    assert release.cost == release.epsilon == 0.1
    assert "whole record" in release.guarantee
    assert token not in repr(client) + repr(release)


def test_a_plan_spends_nothing_and_says_what_would_be_better(client, running):
    before = spent(running)
    plan = client.plan("demo-town", kind="fleet-table", epsilon=0.2)
    assert plan.verdict == "only noise"
    assert set(plan.expected["verdict"].dropna()) <= {"useful", "rough", "only noise"}
    assert plan.expected["compared_with"][0] == pytest.approx(makers.SYSTEMS / (8 * 6 * 6))
    assert plan.advice[0].affordable
    for each in plan.advice:
        assert client.plan("demo-town", **each.question).verdict == each.verdict
    kinds = [each["question"]["kind"] for each in client.suggestions("demo-town")]
    assert kinds == ["fleet-table", "totals", "quantiles"]
    assert spent(running) == before


def test_a_release_is_found_again_and_saved_whole(client, tmp_path):
    asked = client.ask("demo-town", **QUESTION)
    again = client.release(asked.id)
    assert again.fields == asked.fields
    assert asked.id in [each["id"] for each in client.releases("demo-town")]
    written = {path.name for path in again.save(tmp_path / "files")}
    assert {"sectors.csv", "sectors.json", "sectors.parquet", "release-card.yaml"} <= written
    assert (tmp_path / "files" / "sectors.csv").read_bytes() == again.file("sectors.csv")
    with pytest.raises(ParameterError, match="it has sectors"):
        again.table("totals")


def test_power_is_made_of_a_saved_release(client, tmp_path):
    asked = {"kind": "fleet-table", "epsilon": 1.0, "tables": ["planes", "totals"]}
    folder, out = tmp_path / "release", tmp_path / "power"
    client.ask("demo-town", **asked, group_by="feeder").save(folder)
    words = "--latitude 40 --longitude -105 --start 2023-06-20 --end 2023-06-21 --step 60min"
    command = ["power", str(folder), *words.split(), "--draws", "20", "--out", str(out)]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(out / "power.csv")
    assert list(frame.columns) == ["time", "group", "power_kw", "low", "high"]
    assert len(frame) == len(makers.FEEDERS) * 24


def test_errors_say_what_to_do(client, running):
    makers.add_dataset(running.service, "small", epsilon=0.2, ids="other")
    with pytest.raises(BudgetExceeded, match="smaller epsilon") as found:
        client.ask("small", kind="totals", epsilon=1.0)
    assert (found.value.requested, found.value.remaining) == (1.0, 0.2)
    with pytest.raises(ReleaseNotFound, match=r"client\.datasets\(\)"):
        client.ask("nothing", kind="totals", epsilon=1.0)
    with pytest.raises(AnswerRefused, match="epsilon"):
        client.plan("demo-town", kind="totals", epsilon=-1.0)
    key = "k" * 16
    client.ask("demo-town", key=key, **QUESTION)
    with pytest.raises(AnswerRefused, match="leave key out"):
        client.ask("demo-town", key=key, kind="totals", epsilon=1.0)
    with (
        Client(running.base, "sv_wrong") as stranger,
        pytest.raises(NotAdmitted, match="token") as refused,
    ):
        stranger.datasets()
    assert refused.value.status == 401
    assert issubclass(NotAdmitted, ServiceError)
    # a token is not sent in the clear
    for url in ("http://service.example", "ftp://x", "service"):
        with pytest.raises(ParameterError, match="http"):
            Client(url, "sv_x")
    with pytest.raises(ParameterError, match="always checked"):
        Client("https://service.example", "sv_x", verify=False)


class Lossy(http.server.BaseHTTPRequestHandler):
    """Passes questions on, and loses answers on the way back."""

    behind = ""
    lost = 0
    keys: list[str] = []  # noqa: RUF012

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).keys.append(self.headers["Idempotency-Key"])
        headers = {
            name: self.headers[name]
            for name in ("Authorization", "Content-Type", "Idempotency-Key")
        }
        answer = requests.post(f"{self.behind}{self.path}", data=body, headers=headers, timeout=60)
        if type(self).lost:
            type(self).lost -= 1
            # the answer is cut off before its first byte
            self.close_connection = True
            return
        self.send_response(answer.status_code)
        self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def lossy(running) -> Iterator[str]:
    Lossy.behind, Lossy.keys = running.base, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Lossy)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def patient(url: str, token: str, *, tries: int, waited: list[float]) -> Client:
    """Return a client that notes how long it would wait, and does not."""
    client = Client(url, token, tries=tries)
    client.close()
    client._transport = Transport(
        url, token, timeout=60.0, tries=tries, verify=True, insecure=False, pause=waited.append
    )
    return client


def test_an_answer_that_is_lost_is_asked_for_again_under_the_same_key(running, token, lossy):
    before, waited = spent(running), []
    Lossy.lost = 2
    with patient(lossy, token, tries=3, waited=waited) as client:
        release = client.ask("demo-town", kind="totals", epsilon=0.25)
    assert release.kind == "totals"
    assert len(Lossy.keys) == 3
    assert len(set(Lossy.keys)) == 1
    assert waited == [0.5, 1.0]
    assert spent(running) == pytest.approx(before + 0.25)


def test_a_service_that_stays_away_leaves_the_key_to_ask_again_with(running, token, lossy):
    before = spent(running)
    Lossy.lost = 9
    with (
        patient(lossy, token, tries=2, waited=[]) as client,
        pytest.raises(ServiceUnreachable, match="charged once at most") as found,
    ):
        client.ask("demo-town", kind="totals", epsilon=0.3)
    Lossy.lost = 0
    with patient(lossy, token, tries=1, waited=[]) as client:
        client.ask("demo-town", key=found.value.key, kind="totals", epsilon=0.3)
    assert spent(running) == pytest.approx(before + 0.3)


def test_the_client_loads_nothing_of_the_service():
    code = (
        "import sys, sunveil.client\n"
        "print(sorted(name for name in sys.modules if name.startswith('sunveil')))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "sunveil.client" in found
    assert not any(part in found for part in ("service", "ledger", "privacy", "publish", "meters"))


def test_the_ten_and_the_three_lines_of_the_client_do_what_they_say(served, capsys):
    lines = [line for line in CLIENT.splitlines() if line.strip()]
    assert len(lines) == 10
    token = new_token(served.service)
    code = CLIENT.replace("http://127.0.0.1:8321", served.base).replace("sv_…", token)
    assert code != CLIENT
    text = html.unescape(served.analyst().get("/analyst/help").text)
    three, ten = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", text, re.DOTALL)
    assert len(three.strip().splitlines()) == 3
    assert ten.strip() == CLIENT.replace("http://127.0.0.1:8321", served.base).strip()
    made: dict[str, object] = {}
    exec(code, made)
    made["api"].close()
    errors, rows = capsys.readouterr().out.splitlines()
    assert "total_kw" in errors
    assert rows.startswith("[[120, ")
    assert served.service.ledger.dataset("roofs").spent == 0.1
    add_dataset(served.service, "demo-town", ids="demo")
    lines = re.search(r"```pycon\n(.*?)```", PAGE, re.DOTALL)[1].replace(">>> ", "")
    assert len(lines.strip().splitlines()) == 3
    exec(lines.replace("http://127.0.0.1:8321", served.base).replace("sv_...", token), made)
    made["client"].close()
    assert list(made["release"].table("sectors")["sector"])[:4] == ["N", "E", "S", "W"]
    assert served.service.ledger.dataset("demo-town").spent == 0.15


def test_every_verdicts_rule_is_on_the_page():
    table = PAGE[PAGE.index("### Verdicts") : PAGE.index("## From a program")]
    assert table.count("\n| ") - 1 == len(RULES)
    for rule in RULES.values():
        assert words_of(rule.useful) in table
        assert words_of(rule.rough) in table


def words_of(share: float) -> str:
    words = {1 / 3: "a third", 1.0: "the whole", 0.1: "a tenth", 0.25: "a quarter"}
    return words.get(share, f"{share:.0%}")


def test_every_address_is_on_the_page(shared):
    description = shared.client().get("/api/v1/openapi.json").json()
    for path in description["paths"]:
        plain = path.removeprefix("/api/v1")
        plain = re.sub(r"{(\w+)}", lambda found: names[found[1]], plain)
        for method in map(str.upper, description["paths"][path]):
            assert f"`{method} {plain}`" in PAGE, (method, plain)


def test_every_kind_and_every_problem_is_on_the_page():
    for kind in TITLES:
        assert f"| `{kind}` |" in PAGE
    assert f"`{TYPE_PREFIX}…`" in PAGE.replace("`type` `", "`")
    slugs = {*SLUGS.values(), "over-budget", "key-reused", "internal"} - {"forbidden"}
    table = PAGE[PAGE.index("**Problems**") : PAGE.index("## What keeps it safe")]
    assert set(re.findall(r"`([a-z]+(?:-[a-z]+)+|invalid|internal)`", table)) >= slugs
    for status in PROBLEMS:
        assert str(status) in table


def test_the_times_that_answers_take_are_on_the_page():
    (row,) = [line for line in PAGE.splitlines() if line.startswith("| times that answers take")]
    seconds = re.findall(r"([\d.]+) s", row)
    assert sorted({float(each) for each in seconds}) == sorted(set(ANSWER_SECONDS.values()))

from __future__ import annotations

import html
import re
from pathlib import Path

from service_makers import add_dataset, new_token

from sunveil.publication.published_tables import RULES
from sunveil.service.analyst.releases import PROBLEMS
from sunveil.service.context import SLUGS, TYPE_PREFIX
from sunveil.service.questions import TITLES
from sunveil.service.settings import ANSWER_SECONDS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "service.md").read_text(encoding="utf-8")
CLIENT = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]


def test_the_ten_lines_of_the_client_do_what_they_say(served, capsys):
    lines = [line for line in CLIENT.splitlines() if line.strip()]
    assert len(lines) == 10
    token = new_token(served.service)
    code = CLIENT.replace("http://127.0.0.1:8321", served.base).replace("sv_…", token)
    assert code != CLIENT
    made: dict[str, object] = {}
    exec(code, made)
    made["api"].close()
    errors, rows = capsys.readouterr().out.splitlines()
    assert "total_kw" in errors
    assert rows.startswith("[[120, ")
    assert served.service.ledger.dataset("roofs").spent == 0.1


def test_the_help_page_shows_the_same_lines(served):
    text = html.unescape(served.analyst().get("/analyst/help").text)
    lines, shown = re.findall(r"<pre[^>]*><code>(.*?)</code></pre>", text, re.DOTALL)
    assert len(lines.strip().splitlines()) == 3
    assert shown.strip() == CLIENT.replace("http://127.0.0.1:8321", served.base).strip()


def test_the_three_lines_of_the_client_do_what_they_say(served):
    add_dataset(served.service, "demo-town")
    lines = re.search(r"```pycon\n(.*?)```", PAGE, re.DOTALL)[1].replace(">>> ", "")
    assert len(lines.strip().splitlines()) == 3
    token, made = new_token(served.service), {}
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


names = {"dataset": "NAME", "release": "ID", "name": "FILE"}


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

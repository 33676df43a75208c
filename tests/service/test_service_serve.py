"""``sunveil serve``, as it is started by hand."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
import yaml
from service_makers import (
    PASSWORD,
    csrf,
    free_port,
    key,
    links,
    new_curator,
    new_token,
    post,
    serving,
)

from benchmarks.nginx import nginx
from sunveil.cli import main
from sunveil.cli.serve import serve_command
from sunveil.ledger import Promise
from sunveil.privacy import System
from sunveil.service.app import bind, open_service
from sunveil.service.demo_data import NAME, make_demo, telling
from sunveil.service.settings import Rates, ServiceSettings, parse_network

HEAVY = {"pandas", "pvlib", "opendp", "scipy", "numba", "matplotlib", "plotly", "duckdb"}


def test_the_command_serves_until_it_is_interrupted_and_sets_up_its_first_curator(tmp_path):
    with serving("--data", tmp_path / "data") as process:
        found, _ = links(process, 3)
        assert set(found) == {"one", "Curators", "Analysts"}
        with httpx.Client(timeout=60.0) as client:
            answer = post(client, found["one"], name="cora", password=PASSWORD)
            assert answer.status_code == 303
            base = found["Curators"].removesuffix("/curator")
            assert client.get(f"{base}/curator").status_code == 200
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        said = process.stderr.read().strip().splitlines()
        assert [line.split()[3] for line in said] == ["account-made", "signed-in"]
    assert process.returncode in (0, 130)
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    with serving("--data", tmp_path / "data") as process:
        found, _ = links(process, 2)
        assert set(found) == {"Curators", "Analysts"}


def test_nothing_heavy_is_loaded_before_the_service_listens(tmp_path):
    script = (
        "import sys; from pathlib import Path\n"
        "from sunveil.service.app import create_app\n"
        "from sunveil.service.settings import ServiceSettings\n"
        f"create_app(ServiceSettings(data=Path({str(tmp_path)!r}))).state.service.close()\n"
        f"print(sorted({HEAVY} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def interrupted_demo(service, said):
    """Make a demo that is interrupted as each of its steps begins, and begun again."""
    steps = []

    def say(line):
        said.append(line)
        if line[0] != " " and line not in steps:
            steps.append(line)
            raise KeyboardInterrupt

    while True:
        try:
            made = make_demo(service, say=say, systems=3)
        except KeyboardInterrupt:
            continue
        assert len(steps) == 3
        said[:] = [steps[0], *(line for line in said if line[0] == " "), *steps[1:]]
        return made


def test_the_demo_brings_up_a_fleet_also_where_it_was_interrupted(tmp_path, monkeypatch, capsys):
    # a demo stays out of the ledger that the environment names
    earnest = tmp_path / "earnest.db"
    monkeypatch.setenv("SUNVEIL_LEDGER", str(earnest))
    said, data = [], tmp_path / "data"
    service = open_service(ServiceSettings(data=data))
    made = interrupted_demo(service, said)
    (released,) = [each for each in service.ledger.entries(NAME) if each.kind == "answer"]
    assert released.place > 1
    service.close()
    assert [line.split()[0] for line in said if line[0] != " "] == [
        "Simulating", "Inferring", "Publishing",
    ]  # fmt: skip
    assert "3 systems" in said[0]
    # what is a demo is not served in earnest
    database = str(data / "sunveil.db")
    assert main(["serve", "--port", "0", "--data", str(data), "--database", database]) == 2
    assert "holds a demo" in capsys.readouterr().err
    # started again it is quick, with new credentials; over the command, as by hand
    with serving("--data", data, "--demo") as process:
        found, lines = links(process, 3)
        assert lines[0] == "Starting the service ...\n"
        token = re.search(r"token (\S+)", lines[2])[1]
        name, password = re.search(r"name (\S+)\s+password (\S+)", lines[1]).groups()
        assert (name, password != made.password, token != made.token) == (made.curator, True, True)
        base = found["Analyst"].removesuffix("/analyst/login")
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(base_url=f"{base}/api/v1", headers=headers, timeout=60.0) as api:
            (dataset,) = api.get("/datasets").json()["datasets"]
            assert (dataset["name"], dataset["systems"]) == (NAME, 3)
            (release,) = api.get(f"/datasets/{NAME}/releases").json()["releases"]
            assert release["kind"] == "fleet-table"
            question = {"kind": "totals", "epsilon": 1.0, "group_by": "feeder"}
            answer = api.post(f"/datasets/{NAME}/releases", json=question, headers=key())
            assert answer.status_code == 201
        with httpx.Client(base_url=base, timeout=60.0) as client:
            entered = post(client, "/curator/login", name=name, password=password)
            assert entered.headers["location"] == "/curator"
            assert client.get("/curator").status_code == 200
    assert set(found) == {"Curator", "Analyst"}
    assert not earnest.exists()


@pytest.mark.parametrize("holds", ["a file", "a curator"])
def test_a_demo_stays_out_of_what_holds_anything_else(tmp_path, capsys, holds):
    data = tmp_path / "data"
    if holds == "a file":
        data.mkdir()
        (data / "meters.csv").write_text("")
    else:
        service = open_service(ServiceSettings(data=data))
        new_curator(service)
        service.close()
    before = sorted(path.name for path in data.iterdir())
    assert main(["serve", "--port", "0", "--demo", "--data", str(data)]) == 2
    said = capsys.readouterr().err
    assert "holds something else than a demo" in said
    assert said.count("\n") == 1
    assert sorted(path.name for path in data.iterdir()) == before


def test_whoever_waits_is_told_of_it_again_and_again():
    said, waited, before = [], threading.Event(), threading.active_count()

    def say(line):
        said.append(line)
        if len(said) == 3:
            waited.set()

    with telling(say, "Waiting", silence=0.001):
        assert waited.wait(60.0)
    assert said[:3] == ["Waiting ...", "  0 s", "  0 s"]
    assert threading.active_count() == before


def test_a_demo_whose_folder_was_removed_is_made_under_another_name(tmp_path):
    service = open_service(ServiceSettings(data=tmp_path / "one"))
    service.ledger.create_dataset(NAME, Promise(System(), 1.0))
    service.close()
    for path in (tmp_path / "one").glob("sunveil.db*"):
        path.unlink()
    service = open_service(ServiceSettings(data=tmp_path / "one"))
    made = make_demo(service, say=lambda _: None, systems=2)
    assert service.ledger.names() == [f"{NAME}-2"]
    assert made.token.startswith("sv_")
    service.close()


def test_the_folder_of_data_is_its_owners_alone(tmp_path):
    before = os.umask(0o022)
    try:
        open_service(ServiceSettings(data=tmp_path / "data")).close()
    finally:
        os.umask(before)
    for path in [tmp_path / "data", *(tmp_path / "data").rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--port", "TAKEN"], "sunveil: the service cannot listen on 127.0.0.1:"),
        (["--database", "mysql://x/y"], "PostgreSQL"),
        (["--database", "/nowhere/at/all.db"], "cannot be written"),
        (["--workers", "2"], "in PostgreSQL"),
        (["--workers", "2", "--demo"], "leave out --workers"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_sentence(tmp_path, capsys, options, words):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        given = [port if each == "TAKEN" else each for each in options]
        assert main(["serve", "--data", str(tmp_path), "--port", "0", *given]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_a_link_can_be_followed_as_soon_as_it_is_printed_and_small_answers_are_sent_at_once(
    tmp_path,
):
    with (
        bind(ServiceSettings(data=tmp_path, port=0)) as bound,
        socket.create_connection(bound.getsockname(), timeout=5.0) as early,
    ):
        assert early.getpeername() == bound.getsockname()
        with bound.accept()[0] as taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


DEPLOY = Path(__file__).parents[2] / "deploy"
MEGABYTE = 1024 * 1024


def needed(program: str) -> str:
    """Return a program of Debian's packages, which must be there where all is tested."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None and "CI" not in os.environ:
        pytest.skip(f"there is no {program} here")
    assert found is not None
    return found


@pytest.fixture(scope="module")
def ports():
    return free_port(), free_port()


@pytest.fixture(scope="module")
def service(start, ports):
    """Return a service as the unit starts it: behind a proxy on this machine, which is trusted."""
    found = start(
        address=f"https://localhost:{ports[1]}",
        trusted_proxies=(parse_network("127.0.0.1"),),
        rates=Rates(1e6, 1e6, 1e6, 1e6, 0.001, 5.0),
    )
    new_curator(found.service)
    return found


@pytest.fixture(scope="module")
def proxy(service, ports, tmp_path_factory):
    """Yield the address of nginx with our configuration, on ports and in a folder of its own."""
    folder, upstream = tmp_path_factory.mktemp("nginx"), service.base.removeprefix("http://")
    needed("nginx"), needed("openssl")
    with nginx(folder, upstream, plain=ports[0], secure=ports[1]):
        yield f"https://localhost:{ports[1]}"


@pytest.fixture
def browser_like(proxy):
    """Return a client that comes through the proxy, from another address than the proxy's own."""
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    transport = httpx.HTTPTransport(verify=unchecked, local_address="127.0.0.2")
    with httpx.Client(base_url=proxy, transport=transport, timeout=60.0) as client:
        yield client


def test_a_large_upload_and_a_large_answer_pass_the_proxy(browser_like):
    signed_in = post(browser_like, "/curator/login", name="cora", password=PASSWORD)
    assert signed_in.headers["location"] == "/curator"
    assert browser_like.get("/curator").status_code == 200
    # what is no archive is refused by the service itself, once all of it has come
    sent = browser_like.post(
        "/curator/add/upload",
        data={"csrf": csrf(browser_like, "/curator/add"), "title": "Roofs"},
        files=[("meters", ("meters.zip", b"\0" * (8 * MEGABYTE)))],
    )
    assert sent.status_code in (413, 422)
    assert "content-security-policy" in sent.headers
    answer = browser_like.get("/static/plotly.min.js", headers={"Accept-Encoding": "identity"})
    assert len(answer.content) > 4 * MEGABYTE


def test_links_are_over_tls_and_follow_no_forged_name(browser_like, service, ports):
    post(browser_like, "/curator/login", name="cora", password=PASSWORD)
    given = {"role": "analyst", "analyst": "ann", "scope": "ask"}
    secure = f"https://localhost:{ports[1]}"
    # as a proxy would hand on what a client forged
    forged = {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example;proto=http"}
    made = browser_like.post(
        "/curator/accounts",
        data={"csrf": csrf(browser_like, "/curator/accounts"), "name": "ann", **given},
        headers=forged,
    )
    assert re.findall(r"\w+://[^<\"]+/links/", made.text) == [f"{secure}/links/"]
    analyst = post(browser_like, "/analyst/login", token=new_token(service.service))
    assert analyst.headers["location"] == "/analyst"
    shown = browser_like.get("/analyst/help", headers=forged).text
    assert f"{secure}/api/v1" in shown
    assert "http://" not in shown.replace("http://www.w3.org", "")
    assert "evil" not in shown


def test_the_proxy_says_who_asks_whatever_they_claim(browser_like, service):
    fields = {"csrf": csrf(browser_like, "/analyst/login"), "token": "sv_no"}
    statuses = [
        browser_like.post(
            "/analyst/login", data=fields, headers={"X-Forwarded-For": f"198.51.100.{number}"}
        ).status_code
        for number in range(12)
    ]
    assert statuses == [403] * 5 + [429] * 7


def test_the_proxy_answers_to_no_other_name(browser_like, ports):
    for url in (f"http://127.0.0.1:{ports[0]}/", f"http://localhost:{ports[0]}/"):
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(url, headers={"Host": "evil.example"})
    with pytest.raises(httpx.ConnectError):  # TLS is refused to who names another, or none
        httpx.get(f"https://127.0.0.1:{ports[1]}/", verify=False)
    # who named us in TLS and another in the request
    try:
        answer = browser_like.get("/", headers={"Host": "evil.example"})
    except httpx.RemoteProtocolError:
        pass
    else:
        assert answer.status_code == 421
    sent_on = httpx.get(f"http://localhost:{ports[0]}/analyst?x=1")
    assert (sent_on.status_code, sent_on.headers["location"]) == (
        301,
        "https://localhost/analyst?x=1",
    )


def test_slow_forms_do_not_reach_the_service_and_uploads_without_rights_are_refused(
    service, ports, proxy
):
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE

    def begun(path):
        plain = socket.create_connection(("127.0.0.1", ports[1]), timeout=60.0)
        made = unchecked.wrap_socket(plain, server_hostname="localhost")
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000\r\n"
        made.sendall(f"{head}Content-Type: application/x-www-form-urlencoded\r\n\r\ncsrf=".encode())
        return made

    before = len(service.server.server_state.connections)
    slow = [begun("/curator/login") for _ in range(20)]
    with begun("/curator/add/upload") as upload:
        assert upload.recv(100).startswith(b"HTTP/1.1 401")
    assert len(service.server.server_state.connections) <= before + 2
    for each in slow:
        each.close()


def test_metrics_do_not_pass_the_proxy_and_plain_http_is_sent_to_tls(browser_like, proxy, service):
    assert browser_like.get("/metrics").status_code == 404
    assert browser_like.get("/readyz").status_code == 200
    assert httpx.get(f"{service.base}/metrics").status_code == 200
    assert "max-age" in browser_like.get("/").headers["strict-transport-security"]


def test_the_unit_is_valid_and_hardened(tmp_path):
    # the program need not be installed to be checked
    text = (DEPLOY / "sunveil.service").read_text().replace("/opt/sunveil/bin/sunveil", "/bin/true")
    unit = tmp_path / "sunveil.service"
    unit.write_text(text)
    analyze = needed("systemd-analyze")
    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    # of 100, where 20 is "OK"
    rated = [analyze, "security", "--offline=true", "--threshold=20", "--no-pager", unit]
    assert subprocess.run(rated, capture_output=True, check=False).returncode == 0


def test_every_option_that_is_given_is_one_of_the_command():
    unit = (DEPLOY / "sunveil.service").read_text()
    started = re.search(r"^ExecStart=\S+ serve (.*)$", unit, re.MULTILINE)[1]
    container = (DEPLOY / "Containerfile").read_text()
    entry = yaml.safe_load(re.search(r"^ENTRYPOINT (.*)$", container, re.MULTILINE)[1])
    given = yaml.safe_load(re.search(r"^CMD (\[\"--.*)$", container, re.MULTILINE)[1])
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    in_compose = composed["services"]["sunveil"]["command"]
    assert entry[:2] == ["sunveil", "serve"]
    for options in (shlex.split(started), [*entry[2:], *given], [*entry[2:], *in_compose]):
        found = serve_command.make_context("serve", options)
        assert found.params["access_log"]
        assert found.params["data"].is_relative_to("/var/lib/sunveil")
    assert parse_network(composed["networks"]["inside"]["ipam"]["config"][0]["subnet"]) == (
        parse_network(in_compose[1].removeprefix("--trusted-proxy="))
    )

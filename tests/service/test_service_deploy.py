"""The files in ``deploy/``, tried with the programs that they are for."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml
from service_makers import PASSWORD, csrf, new_curator, new_token, post

from benchmarks.nginx import nginx
from sunveil.cli.serve import serve_command
from sunveil.service.settings import Rates, parse_network

DEPLOY = Path(__file__).parents[2] / "deploy"
MEGABYTE = 1024 * 1024


def needed(program: str) -> str:
    """Return a program of Debian's packages, which must be there where all is tested."""
    found = shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")
    if found is None and "CI" not in os.environ:
        pytest.skip(f"there is no {program} here")
    assert found is not None
    return found


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


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

"""A real provider beside a service, and people who sign in there as a browser does."""

from __future__ import annotations

import html
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx
from oidc_provider import PASSWORD
from service_makers import Running

from sunveil.service.settings import OidcSettings


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@dataclass
class Provider:
    """A provider that listens, and the port of the service that it sends people back to."""

    port: int
    service_port: int
    process: subprocess.Popen[bytes]

    @classmethod
    def start(cls) -> Provider:
        port, service_port = free_port(), free_port()
        script = Path(__file__).with_name("oidc_provider.py")
        process = subprocess.Popen(
            [sys.executable, script, str(port), f"http://127.0.0.1:{service_port}"],
            stderr=subprocess.DEVNULL,
        )
        made = cls(port, service_port, process)
        for _ in range(1200):
            assert process.poll() is None
            try:
                if httpx.get(made.described, verify=False).is_success:
                    return made
            except httpx.HTTPError:
                time.sleep(0.05)
        raise AssertionError("the provider did not start")

    @property
    def issuer(self) -> str:
        # another name than the service's, so that browsers take it for another site
        return f"http://localhost:{self.port}"

    @property
    def described(self) -> str:
        return f"{self.issuer}/.well-known/openid-configuration"

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()

    def settings(self, **changes: object) -> OidcSettings:
        values = {
            "address": f"http://127.0.0.1:{self.service_port}",
            "issuer": self.issuer,
            "client_id": "sunveil",
            "secret": "the secret",
            "provider": "Example Utility",
            "scopes": ("openid", "profile", "groups"),
            "roles": {
                "curator": frozenset({"curators"}),
                "auditor": frozenset({"auditors"}),
                "analyst": frozenset({"analysts"}),
                "reader": frozenset({"readers"}),
            },
        }
        return OidcSettings(**{**values, **changes})


def back_from_provider(address: str, person: str) -> str:
    """Sign in at the provider as a browser would, and return where it sends the browser back."""
    with httpx.Client(timeout=30.0, verify=False) as browser:
        at, answer = address, browser.get(address)
        host = urlsplit(address).netloc
        for _ in range(12):
            if answer.is_redirect:
                at = urljoin(at, answer.headers["location"])
                if urlsplit(at).netloc != host:
                    return at
                answer = browser.get(at)
                continue
            fields = hidden_fields(answer.text)
            fields["password" if 'name="password"' in answer.text else "login"] = (
                PASSWORD if 'name="password"' in answer.text else person
            )
            answer = browser.post(at, data=fields)
    raise AssertionError(f"the provider did not send {person} back: {at}")


def hidden_fields(page: str) -> dict[str, str]:
    tags = re.findall(r"<input[^>]*type=\"hidden\"[^>]*>", page)
    pairs = [
        (re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)) for tag in tags
    ]
    return {name[1]: html.unescape(value[1]) for name, value in pairs if name and value}


def begin(browser: httpx.Client) -> str:
    """Return where a service sends a browser to sign in."""
    answer = browser.get("/oidc/begin")
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def sign_in(running: Running, person: str) -> tuple[httpx.Client, httpx.Response]:
    """Return a browser in which a person has come back from the provider, and the page shown."""
    browser = running.client()
    return browser, browser.get(back_from_provider(begin(browser), person))

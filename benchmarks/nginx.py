"""nginx with the configuration of ``deploy/``, on ports and in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONFIGURATION = Path(__file__).parents[1] / "deploy" / "nginx.conf"


@contextmanager
def nginx(folder: Path, upstream: str, *, plain: int, secure: int) -> Iterator[None]:
    """Run nginx before a service, by the name of localhost, until the block ends.

    Parameters
    ----------
    folder
        For its files, and the certificate that is made for it.
    upstream
        Where the service listens, such as ``127.0.0.1:8321``.
    plain, secure
        The ports for HTTP and HTTPS.
    """
    folder.mkdir(parents=True, exist_ok=True)
    certificate = ("-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost")
    names = ("-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem")
    subprocess.run(["openssl", "req", *certificate, *names], check=True, capture_output=True)
    (folder / "nginx.conf").write_text(_configured(folder, upstream, plain, secure))
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    assert program is not None, "apt-get install nginx"
    here = ["-c", folder / "nginx.conf", "-p", folder, "-e", folder / "error.log"]
    subprocess.run([program, *here, "-t", "-q"], check=True)
    with subprocess.Popen([program, *here, "-g", "daemon off;"]) as process:
        try:
            while not _listens(secure):
                assert process.poll() is None
                time.sleep(0.01)
            yield
        finally:
            process.terminate()


def _configured(folder: Path, upstream: str, plain: int, secure: int) -> str:
    text = CONFIGURATION.read_text(encoding="utf-8")
    temporary = "".join(f"{each}_temp_path {folder / each};\n" for each in ("client_body", "proxy"))
    for old, new in {
        "user www-data;": "user root;" if os.geteuid() == 0 else "",
        "/run/nginx.pid": str(folder / "pid"),
        "/var/log/nginx/error.log": str(folder / "error.log"),
        "/etc/ssl/sunveil": str(folder),
        "127.0.0.1:8321": upstream,
        "sunveil.example.org": "localhost",
        "listen [::]:80;": "",
        "listen [::]:80 default_server;": "",
        "listen [::]:443 ssl http2;": "",
        "listen [::]:443 ssl http2 default_server;": "",
        "listen 80": f"listen 127.0.0.1:{plain}",
        "listen 443": f"listen 127.0.0.1:{secure}",
        "http {": "http {\n" + temporary,
    }.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0

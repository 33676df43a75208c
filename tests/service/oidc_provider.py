"""A provider of OpenID Connect in a process of its own: canaille, with people in its memory.

``python oidc_provider.py PORT ADDRESS`` serves it on localhost; ADDRESS is where clients come back.
"""

from __future__ import annotations

import asyncio
import sys

from asgiref.wsgi import WsgiToAsgi
from canaille import create_app
from canaille.app import models
from canaille.backends import Backend
from canaille.oidc.endpoints import oauth  # noqa: F401 - makes the endpoints known
from hypercorn.asyncio import serve
from hypercorn.config import Config

PASSWORD = "the password at the provider"
# name, display name, groups
PEOPLE = (
    ("u-cora", "cora", ("curators",)),
    ("u-audrey", "audrey", ("auditors",)),
    ("u-ann", "ann", ("analysts",)),
    ("u-rita", "rita", ("readers",)),
    ("u-nemo", "nemo", ()),
    ("u-both", "both", ("analysts", "curators")),
    ("u-moves", "moves", ("auditors",)),
    ("u-programs", "programs", ("analysts",)),
)


def provider(port: str, address: str):
    app = create_app(
        config={
            "SECRET_KEY": "only for tests",
            "SERVER_NAME": f"localhost:{port}",
            "PREFERRED_URL_SCHEME": "http",
            "CANAILLE": {"DATABASE": "memory", "LOGGING": {"version": 1}, "CAPTCHA_ENABLED": False},
            "CANAILLE_OIDC": {},
        }
    )
    with app.app_context(), Backend.instance.session():
        people = {}
        for name, shown, _ in PEOPLE:
            people[name] = models.User(
                user_name=name,
                display_name=shown,
                formatted_name=shown,
                family_name=shown,
                emails=[f"{name}@example.org"],
                password=PASSWORD,
            )
            Backend.instance.save(people[name])
        for group in ("curators", "auditors", "analysts", "readers"):
            members = [people[name] for name, _, groups in PEOPLE if group in groups]
            Backend.instance.save(models.Group(display_name=group, members=members))
        made = {}
        for client, secret in (("sunveil", "the secret"), ("elsewhere", "another")):
            made[client] = models.Client(
                client_id=client,
                client_secret=secret,
                client_name=client,
                client_uri=address,
                redirect_uris=[f"{address}/oidc/callback"],
                post_logout_redirect_uris=[f"{address}/"],
                grant_types=["authorization_code"],
                response_types=["code"],
                scope=["openid", "profile", "groups"],
                token_endpoint_auth_method="client_secret_basic",
            )
            Backend.instance.save(made[client])
            made[client].audience = [made[client]]
            Backend.instance.save(made[client])
        # what it signs for "elsewhere" is meant for another
        made["elsewhere"].audience = [made["sunveil"]]
        Backend.instance.save(made["elsewhere"])
    return WsgiToAsgi(app)


def main() -> None:
    port, address = sys.argv[1:]
    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.loglevel = "ERROR"
    asyncio.run(serve(provider(port, address), config))


if __name__ == "__main__":
    main()

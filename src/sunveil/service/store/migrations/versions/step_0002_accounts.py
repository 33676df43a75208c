"""Accounts with roles in place of curators, links that work once, tokens that expire, who asked.

Curators keep their passwords, and tokens keep working. Everybody signs in anew.
"""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make accounts of curators, and give sessions and tokens their new columns."""
    _make_accounts()
    op.create_table(
        "service_links",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("account", sa.String(16), nullable=False),
        sa.Column("purpose", sa.String(20), nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
    )
    # a session has no account to belong to: its holder signs in again
    op.drop_table("service_sessions")
    op.create_table(
        "service_sessions",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("id", sa.String(16), nullable=False, unique=True),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("account", sa.String(16)),
        sa.Column("token", sa.String(16)),
        sa.Column("scope", sa.String(10), nullable=False),
        sa.Column("made", sa.BigInteger, nullable=False),
        sa.Column("seen", sa.BigInteger, nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("browser", sa.String(200), nullable=False),
        sa.Column("flash", sa.Text, nullable=False),
    )
    for column in (
        sa.Column("scope", sa.String(10), nullable=False, server_default="ask"),
        sa.Column("expires", sa.BigInteger),
        sa.Column("account", sa.String(16)),
        sa.Column("label", sa.String(100), nullable=False, server_default=""),
    ):
        op.add_column("service_tokens", column)
    op.add_column("service_requests", sa.Column("actor", sa.String(400)))


def _make_accounts() -> None:
    made = op.create_table(
        "service_accounts",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("analyst", sa.String(200), nullable=False),
        sa.Column("scope", sa.String(10), nullable=False),
        sa.Column("password", sa.Text),
        sa.Column("issuer", sa.String(400)),
        sa.Column("subject", sa.String(400)),
        sa.Column("disabled", sa.String(40)),
        sa.Column("made", sa.String(40), nullable=False),
        sa.Column("signed_in", sa.String(40)),
        sa.UniqueConstraint("issuer", "subject", name="one_account_per_subject"),
    )
    old = sa.table("service_curators", sa.column("name"), sa.column("password"), sa.column("made"))
    connection = op.get_bind()
    for row in connection.execute(sa.select(old)).all():
        values = {"id": secrets.token_hex(8), "role": "curator", "analyst": "", "scope": "ask"}
        connection.execute(sa.insert(made).values(**values, **row._mapping))
    op.drop_table("service_curators")


def downgrade() -> None:
    """Refuse: what was served stays known."""
    raise NotImplementedError("the service's tables are never unmade")

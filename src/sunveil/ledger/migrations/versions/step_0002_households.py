"""Households: who is in a dataset, and what is said of them; nothing that was there changes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the tables and columns; chains, accounts and answers of version 0.1 stay."""
    for name, start in (("meters", "1"), ("households", "0"), ("shared", "0")):
        kind = sa.BigInteger if name == "households" else sa.Integer
        column = sa.Column(name, kind, nullable=False, server_default=start)
        op.add_column("datasets", column)
    turns = op.create_table(
        "turns",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("changes", sa.BigInteger, nullable=False),
    )
    op.bulk_insert(turns, [{"id": 1, "changes": 0}])
    op.create_table(
        "members",
        sa.Column("dataset_id", sa.Integer, sa.ForeignKey("datasets.id"), primary_key=True),
        sa.Column("system", sa.String(64), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False, index=True),
        sa.Column("household", sa.String(64), nullable=False, index=True),
        sa.Column("chain_id", sa.Integer, sa.ForeignKey("datasets.id"), nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "system_keys",
        sa.Column("chain_id", sa.Integer, sa.ForeignKey("datasets.id"), primary_key=True),
        sa.Column("name", sa.String(64), primary_key=True, index=True),
        sa.Column("kind", sa.String(10), primary_key=True),
        sa.Column("key", sa.String(64), nullable=False, index=True),
        sa.Column("place", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    """Refuse: a ledger is never unmade."""
    raise NotImplementedError("a ledger is never unmade")

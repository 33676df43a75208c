"""The first tables: datasets, accounts, analysts, entries and answers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "datasets",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(200), nullable=False, unique=True),
        sa.Column("promise", sa.Text, nullable=False),
        sa.Column("total", sa.BigInteger, nullable=False),
        sa.Column("fleet_spent", sa.BigInteger, nullable=False),
        sa.Column("largest_spent", sa.BigInteger, nullable=False),
        sa.Column("length", sa.BigInteger, nullable=False),
        sa.Column("head", sa.String(64), nullable=False),
        sa.CheckConstraint("fleet_spent >= 0 AND largest_spent >= 0", name="never_negative"),
        sa.CheckConstraint("fleet_spent + largest_spent <= total", name="promise_kept"),
    )
    op.create_table(
        "accounts",
        sa.Column("dataset_id", sa.Integer, sa.ForeignKey("datasets.id"), primary_key=True),
        sa.Column("system", sa.String(64), primary_key=True),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.CheckConstraint("spent >= 0", name="account_never_negative"),
    )
    op.create_table(
        "analysts",
        sa.Column("dataset_id", sa.Integer, sa.ForeignKey("datasets.id"), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("share", sa.BigInteger, nullable=False),
        sa.Column("spent", sa.BigInteger, nullable=False),
        sa.CheckConstraint("spent >= 0 AND spent <= share", name="share_kept"),
    )
    op.create_table(
        "entries",
        sa.Column("dataset_id", sa.Integer, sa.ForeignKey("datasets.id"), primary_key=True),
        sa.Column("place", sa.BigInteger, primary_key=True),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("previous", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
    )
    op.create_table(
        "answers",
        sa.Column("dataset_id", sa.Integer, sa.ForeignKey("datasets.id"), primary_key=True),
        sa.Column("question", sa.String(64), primary_key=True),
        sa.Column("charge", sa.BigInteger, nullable=False),
        sa.Column("place", sa.BigInteger, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.UniqueConstraint("dataset_id", "charge", name="one_answer_per_charge"),
    )


def downgrade() -> None:
    """Refuse: a ledger is never unmade."""
    raise NotImplementedError("a ledger is never unmade")

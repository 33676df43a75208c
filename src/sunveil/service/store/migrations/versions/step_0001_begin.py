"""The first tables of the service."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "service_curators",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("password", sa.Text, nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
    )
    op.create_table(
        "service_secrets",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
    )
    op.create_table(
        "service_sessions",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("role", sa.String(20), nullable=False),
        sa.Column("who", sa.String(200), nullable=False),
        sa.Column("expires", sa.BigInteger, nullable=False),
        sa.Column("flash", sa.Text, nullable=False),
    )
    op.create_table(
        "service_tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("analyst", sa.String(200), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
        sa.Column("revoked", sa.String(40)),
    )
    op.create_index("service_tokens_by_analyst", "service_tokens", ["analyst"])
    op.create_table(
        "service_datasets",
        sa.Column("name", sa.String(60), primary_key=True),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        sa.Column("estimates", sa.Text),
        sa.Column("meters", sa.Text),
        sa.Column("places", sa.Text),
        sa.Column("systems", sa.Integer),
        sa.Column("keys", sa.Text, nullable=False),
        sa.Column("edition", sa.String(60), nullable=False),
        sa.Column("latitude", sa.Float),
        sa.Column("longitude", sa.Float),
        sa.Column("altitude", sa.Float),
        sa.Column("timezone", sa.String(60)),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("extra", sa.Text, nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
    )
    op.create_table(
        "service_requests",
        sa.Column("analyst", sa.String(200), primary_key=True),
        sa.Column("key", sa.String(200), primary_key=True),
        sa.Column("dataset", sa.String(60), nullable=False),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("release", sa.String(32)),
        sa.Column("made", sa.String(40), nullable=False),
    )
    op.create_table(
        "service_releases",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("dataset", sa.String(60), nullable=False),
        sa.Column("question", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("epsilon", sa.Float, nullable=False),
        sa.Column("cost", sa.Float, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
        sa.UniqueConstraint("dataset", "question", name="one_release_per_question"),
    )
    op.create_index("releases_by_dataset", "service_releases", ["dataset", "made"])


def downgrade() -> None:
    """Refuse: what was served stays known."""
    raise NotImplementedError("the service's tables are never unmade")

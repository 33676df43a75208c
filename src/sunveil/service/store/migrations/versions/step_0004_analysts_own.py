"""What analysts keep for themselves: names of releases, and questions to ask again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "service_release_names",
        sa.Column("analyst", sa.String(200), primary_key=True),
        sa.Column("release", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(80), nullable=False),
    )
    op.create_table(
        "service_saved_questions",
        sa.Column("analyst", sa.String(200), primary_key=True),
        sa.Column("dataset", sa.String(60), primary_key=True),
        sa.Column("name", sa.String(80), primary_key=True),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("made", sa.String(40), nullable=False),
    )

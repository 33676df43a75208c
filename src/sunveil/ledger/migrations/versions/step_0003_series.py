"""Series: answers of several years that are found together; nothing that was there changes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; answers that were kept before belong to no series."""
    op.add_column("answers", sa.Column("series", sa.String(64), nullable=True))
    op.create_index("ix_answers_series", "answers", ["series"])


def downgrade() -> None:
    """Refuse: a ledger is never unmade."""
    raise NotImplementedError("a ledger is never unmade")

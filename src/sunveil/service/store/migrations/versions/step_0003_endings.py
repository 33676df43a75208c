"""How a request ended without an answer, when it came in, and facts about the service itself."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns and the table."""
    op.add_column("service_requests", sa.Column("came", sa.Float))
    op.add_column("service_requests", sa.Column("fresh", sa.Boolean))
    op.add_column("service_requests", sa.Column("ending", sa.Text))
    op.create_index("requests_by_release", "service_requests", ["release"])
    op.create_table(
        "service_facts",
        sa.Column("name", sa.String(40), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )


def downgrade() -> None:
    """Refuse: what was served stays known."""
    raise NotImplementedError("the service's tables are never unmade")

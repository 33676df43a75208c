"""The unit of readings is ``power_unit`` among what a curator said of the files of a dataset."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

SERVED = sa.table("service_datasets", sa.column("name"), sa.column("extra"))


def upgrade() -> None:
    """Rename it, in the edition that is served and in the one on its way."""
    connection = op.get_bind()
    for name, text in connection.execute(sa.select(SERVED.c.name, SERVED.c.extra)).all():
        extra = json.loads(text)
        for each in (extra, extra.get("next", {}).get("extra", {})):
            stated = each.get("options", {})
            if "unit" in stated:
                stated["power_unit"] = stated.pop("unit")
        rows = sa.update(SERVED).where(SERVED.c.name == name)
        connection.execute(rows.values(extra=json.dumps(extra)))

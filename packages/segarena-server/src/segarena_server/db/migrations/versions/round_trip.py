"""The round trip of each turn, as its participant measured it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "round_trip"
down_revision = "submissions"


def upgrade() -> None:
    """Turns of before have none."""
    with op.batch_alter_table("turns") as table:
        table.add_column(sa.Column("round_trip_s", sa.Float(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Forget it."""
    with op.batch_alter_table("turns") as table:
        table.drop_column("round_trip_s")

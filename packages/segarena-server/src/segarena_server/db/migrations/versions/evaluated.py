"""How long evaluating a turn took its worker process."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "evaluated"
down_revision = "round_trip"


def upgrade() -> None:
    """Add the column; of turns of before nobody knows."""
    with op.batch_alter_table("turns") as turns:
        turns.add_column(sa.Column("evaluated_s", sa.Float(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Take it away."""
    with op.batch_alter_table("turns") as turns:
        turns.drop_column("evaluated_s")

"""Which runs are steps of a ladder."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "ladder"
down_revision = "attempts"


def upgrade() -> None:
    """Add the column; runs of before count."""
    with op.batch_alter_table("runs") as runs:
        runs.add_column(
            sa.Column("is_step", sa.Boolean(), nullable=False, server_default=sa.true())
        )


def downgrade() -> None:
    """Take it away."""
    with op.batch_alter_table("runs") as runs:
        runs.drop_column("is_step")

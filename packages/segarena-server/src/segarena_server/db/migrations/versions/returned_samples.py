"""Runs ended by a server fault: whether the team may have the same samples again in a ranked run."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "returned_samples"
down_revision = "admission"


def upgrade() -> None:
    """Add the column; existing runs return no samples, as before."""
    with op.batch_alter_table("runs") as runs:
        runs.add_column(
            sa.Column("returns_samples", sa.Boolean(), server_default=sa.false(), nullable=False)
        )


def downgrade() -> None:
    """Remove the column."""
    with op.batch_alter_table("runs") as runs:
        runs.drop_column("returns_samples")

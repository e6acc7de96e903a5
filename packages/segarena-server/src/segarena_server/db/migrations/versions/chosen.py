"""Which runs teams wish to be judged by."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "chosen"
down_revision = "findings"


def upgrade() -> None:
    """Add the column; nobody has wished for any yet."""
    with op.batch_alter_table("runs") as runs:
        runs.add_column(sa.Column("chosen_at", sa.Float(), nullable=True))


def downgrade() -> None:
    """Take it away."""
    with op.batch_alter_table("runs") as runs:
        runs.drop_column("chosen_at")

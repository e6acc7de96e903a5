"""Tries that may have been guesses, counted for all servers of a database."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "attempts"
down_revision = "teams"


def upgrade() -> None:
    """Make their table."""
    op.create_table(
        "attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
    )
    op.create_index(op.f("ix_attempts_key"), "attempts", ["key"])
    op.create_index(op.f("ix_attempts_at"), "attempts", ["at"])


def downgrade() -> None:
    """Remove it."""
    op.drop_table("attempts")

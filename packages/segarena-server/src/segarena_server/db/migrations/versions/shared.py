"""What all servers of a database have in common."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "shared"
down_revision = "jobs"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "shared",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_shared")),
    )


def downgrade() -> None:
    """Remove it; the next start fills it anew."""
    op.drop_table("shared")

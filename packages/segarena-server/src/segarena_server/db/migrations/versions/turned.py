"""Slices of volumes in studies that are shown turned round, as radiologists look at them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "turned"
down_revision = "collecting"


def upgrade() -> None:
    """Add the column; what there is was shown as it lies."""
    op.add_column(
        "study_items",
        sa.Column("is_turned", sa.Boolean(), nullable=False, server_default=sa.false()),
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_column("study_items", "is_turned")

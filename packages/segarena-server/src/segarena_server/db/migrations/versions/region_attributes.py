"""Projects: attributes that annotators fill in for each region."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "region_attributes"
down_revision = "returned_samples"


def upgrade() -> None:
    """Add the column; existing projects have no attributes."""
    with op.batch_alter_table("drawing_projects") as projects:
        projects.add_column(sa.Column("attributes", sa.Text(), server_default="", nullable=False))


def downgrade() -> None:
    """Remove the column."""
    with op.batch_alter_table("drawing_projects") as projects:
        projects.drop_column("attributes")

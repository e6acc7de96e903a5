"""Projects: whether the pictures of a folder are the frames of a video."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "project_videos"
down_revision = "region_attributes"


def upgrade() -> None:
    """Add the column; existing projects have no videos."""
    with op.batch_alter_table("drawing_projects") as projects:
        projects.add_column(
            sa.Column("has_videos", sa.Boolean(), server_default=sa.false(), nullable=False)
        )


def downgrade() -> None:
    """Remove the column."""
    with op.batch_alter_table("drawing_projects") as projects:
        projects.drop_column("has_videos")

"""Images and announcements of challenges."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "challenge_news"
down_revision = "ranked_runs"


def upgrade() -> None:
    """Create the tables; existing challenges have neither images nor announcements."""
    op.create_table(
        "challenge_images",
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("media_type", sa.String(length=20), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenges.id"],
            name=op.f("fk_challenge_images_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("challenge_id", "name", name=op.f("pk_challenge_images")),
    )
    op.create_table(
        "announcements",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("title", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("withdrawn_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenges.id"],
            name=op.f("fk_announcements_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_announcements_person_id"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_announcements")),
    )
    op.create_index(
        op.f("ix_announcements_challenge_id"), "announcements", ["challenge_id"], unique=False
    )


def downgrade() -> None:
    """Delete the tables."""
    op.drop_index(op.f("ix_announcements_challenge_id"), table_name="announcements")
    op.drop_table("announcements")
    op.drop_table("challenge_images")

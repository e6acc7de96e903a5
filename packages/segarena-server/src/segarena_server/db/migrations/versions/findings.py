"""What is found about runs that are over."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "findings"
down_revision = "identities"


def upgrade() -> None:
    """Add a table."""
    op.create_table(
        "findings",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("targets", sa.Integer(), nullable=False),
        sa.Column("prompts", sa.Integer(), nullable=False),
        sa.Column("blind_mean", sa.Float(), nullable=True),
        sa.Column("blind_highest", sa.Float(), nullable=True),
        sa.Column("alike_run_id", sa.String(length=36), nullable=True),
        sa.Column("alike_share", sa.Float(), nullable=False),
        sa.Column("alike_compared", sa.Integer(), nullable=False),
        sa.Column("sketch", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["alike_run_id"],
            ["runs.id"],
            name=op.f("fk_findings_alike_run_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_findings_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_findings")),
    )


def downgrade() -> None:
    """Take it away."""
    op.drop_table("findings")

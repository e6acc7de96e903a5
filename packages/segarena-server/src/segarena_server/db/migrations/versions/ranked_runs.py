"""Ranked runs: why a run is unranked, the test for knowledge of others' prompts, and samples' grey values."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "ranked_runs"
down_revision = "turned"


def upgrade() -> None:
    """Add the columns, empty for existing runs and samples."""
    with op.batch_alter_table("runs") as runs:
        runs.add_column(sa.Column("unranked", sa.Text(), server_default="", nullable=False))
    with op.batch_alter_table("findings") as findings:
        findings.add_column(sa.Column("blind_p95", sa.Float(), nullable=True))
        findings.add_column(sa.Column("knowledge_p", sa.Float(), nullable=True))
        findings.add_column(sa.Column("knowledge_excess", sa.Float(), nullable=True))
        findings.add_column(
            sa.Column("knowledge_samples", sa.Integer(), server_default="0", nullable=False)
        )
    with op.batch_alter_table("samples") as samples:
        samples.add_column(sa.Column("greys", sa.LargeBinary(), server_default="", nullable=False))


def downgrade() -> None:
    """Remove the columns."""
    with op.batch_alter_table("samples") as samples:
        samples.drop_column("greys")
    with op.batch_alter_table("findings") as findings:
        findings.drop_column("knowledge_samples")
        findings.drop_column("knowledge_excess")
        findings.drop_column("knowledge_p")
        findings.drop_column("blind_p95")
    with op.batch_alter_table("runs") as runs:
        runs.drop_column("unranked")

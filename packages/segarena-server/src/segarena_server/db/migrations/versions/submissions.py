"""What participants send to be judged: submissions, and how a run takes part."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "submissions"
down_revision = "shared"

_KINDS = "kind IN ('dialogue', 'masks', 'run', 'worker')"


def upgrade() -> None:
    """Make them."""
    with op.batch_alter_table("runs") as table:
        table.add_column(
            sa.Column("kind", sa.String(length=20), nullable=False, server_default="dialogue")
        )
        table.create_check_constraint(table.f("ck_runs_kind"), _KINDS)
    with op.batch_alter_table("runs") as table:
        table.alter_column("kind", server_default=None)
    op.create_table(
        "submissions",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=60), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("run_id", sa.String(length=36), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("segmenter", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.Column("sent_at", sa.Float(), nullable=False),
        sa.Column("done_at", sa.Float(), nullable=True),
        sa.CheckConstraint("kind IN ('masks', 'run', 'worker')", name=op.f("ck_submissions_kind")),
        sa.CheckConstraint(
            "state IN ('waiting', 'refused', 'taken', 'dead')", name=op.f("ck_submissions_state")
        ),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_submissions_challenge_id")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_submissions_person_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_submissions_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_submissions")),
    )
    with op.batch_alter_table("submissions") as table:
        table.create_index(table.f("ix_submissions_person_id"), ["person_id"])
        table.create_index(table.f("ix_submissions_run_id"), ["run_id"])


def downgrade() -> None:
    """Remove them; runs of other kinds stay as they are."""
    op.drop_table("submissions")
    with op.batch_alter_table("runs") as table:
        table.drop_constraint(table.f("ck_runs_kind"), type_="check")
        table.drop_column("kind")

"""Jobs of any kind; runs that wait to be ended get theirs."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "jobs"
down_revision = "letters"


def upgrade() -> None:
    """Make the table."""
    jobs = op.create_table(
        "jobs",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("about", sa.String(length=200), nullable=False),
        sa.Column("told", sa.Text(), nullable=False),
        sa.Column("doing", sa.String(length=200), nullable=False),
        sa.Column("said", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("begun_at", sa.Float(), nullable=True),
        sa.Column("done_at", sa.Float(), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("lease", sa.String(length=120), nullable=False),
        sa.Column("beats", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'leased', 'done', 'dead')", name=op.f("ck_jobs_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
        sa.UniqueConstraint("kind", "about", name=op.f("uq_jobs_kind_about")),
    )
    op.create_index(op.f("ix_jobs_state_made_at"), "jobs", ["state", "made_at"])
    runs = sa.table(
        "runs",
        sa.column("id", sa.String),
        sa.column("state", sa.String),
        sa.column("made_at", sa.Float),
    )
    empty = {
        "told": "",
        "doing": "",
        "said": "",
        "state": "waiting",
        "failure": "",
        "tries": 0,
        "lease": "",
        "beats": 0,
    }
    closing = sa.select(
        sa.literal("end run"),
        runs.c.id,
        runs.c.made_at,
        *(sa.literal(value) for value in empty.values()),
    ).where(runs.c.state == "closing")
    op.execute(sa.insert(jobs).from_select(["kind", "about", "made_at", *empty], closing))


def downgrade() -> None:
    """Remove it; runs that wait to be ended say so themselves."""
    op.drop_table("jobs")

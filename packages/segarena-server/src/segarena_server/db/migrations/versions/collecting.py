"""Studies: what is shown, by which links people come, and what they gave."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "collecting"
down_revision = "drawing"


def upgrade() -> None:
    """Make their tables."""
    op.create_table(
        "studies",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(length=64), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'closed')", name=op.f("ck_studies_state")),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_studies_person_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_studies")),
        sa.UniqueConstraint("slug", name=op.f("uq_studies_slug")),
    )
    op.create_table(
        "study_items",
        _of_study(),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("image", sa.String(length=500), nullable=False),
        sa.Column("sample", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("object_id", sa.Integer(), nullable=False),
        sa.Column("plane", sa.Integer(), nullable=True),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("is_alone", sa.Boolean(), nullable=False),
        sa.Column("goal", sa.String(length=20), nullable=False),
        sa.Column("model", sa.String(length=80), nullable=False),
        sa.Column("is_easy", sa.Boolean(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("mask", sa.LargeBinary(), nullable=False),
        sa.Column("previous", sa.LargeBinary(), nullable=True),
        sa.ForeignKeyConstraint(
            ["study_id"], ["studies.id"], name=op.f("fk_study_items_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("study_id", "number", name=op.f("pk_study_items")),
    )
    op.create_table(
        "study_links",
        sa.Column("id", sa.Integer(), nullable=False),
        _of_study(),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.Column("most", sa.Integer(), nullable=False),
        sa.Column("came", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["study_id"], ["studies.id"], name=op.f("fk_study_links_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study_links")),
    )
    op.create_index(op.f("ix_study_links_study_id"), "study_links", ["study_id"])
    _make_visits()
    op.create_table(
        "study_codes",
        sa.Column("id", sa.Integer(), nullable=False),
        _of_study(),
        sa.Column("code", sa.String(length=80), nullable=False),
        sa.Column("batches", sa.Integer(), nullable=False),
        sa.Column("counted", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["studies.id"], name=op.f("fk_study_codes_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study_codes")),
    )
    op.create_index(op.f("ix_study_codes_study_id"), "study_codes", ["study_id"])


def downgrade() -> None:
    """Remove them."""
    for name in (
        "study_codes",
        "study_trials",
        "study_visitors",
        "study_links",
        "study_items",
        "studies",
    ):
        op.drop_table(name)


def _make_visits() -> None:
    op.create_table(
        "study_visitors",
        sa.Column("id", sa.Integer(), nullable=False),
        _of_study(),
        sa.Column("link_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=20), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("device", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        *(
            sa.Column(name, sa.Integer(), nullable=False)
            for name in ("batches", "counted", "tries", "passed", "checks", "missed")
        ),
        sa.CheckConstraint(
            "state IN ('training', 'ready', 'working', 'done', 'failed')",
            name=op.f("ck_study_visitors_state"),
        ),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name=op.f("fk_study_visitors_study_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["link_id"],
            ["study_links.id"],
            name=op.f("fk_study_visitors_link_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study_visitors")),
        sa.UniqueConstraint("hash", name=op.f("uq_study_visitors_hash")),
    )
    op.create_index(
        op.f("ix_study_visitors_study_id_device"), "study_visitors", ["study_id", "device"]
    )
    op.create_table(
        "study_trials",
        sa.Column("id", sa.String(length=36), nullable=False),
        _of_study(),
        sa.Column("item", sa.Integer(), nullable=False),
        sa.Column("visitor_id", sa.Integer(), nullable=False),
        sa.Column("batch", sa.Integer(), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("purpose", sa.String(length=20), nullable=False),
        sa.Column("device", sa.String(length=20), nullable=False),
        sa.Column("given_at", sa.Float(), nullable=False),
        sa.Column("begun_at", sa.Float(), nullable=True),
        sa.Column("loads", sa.Integer(), nullable=False),
        sa.Column("answered_s", sa.Float(), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        *(
            sa.Column(name, sa.Boolean(), nullable=False)
            for name in ("is_inside", "is_near", "is_void")
        ),
        sa.CheckConstraint(
            "purpose IN ('main', 'training', 'attention')", name=op.f("ck_study_trials_purpose")
        ),
        sa.ForeignKeyConstraint(
            ["study_id", "item"],
            ["study_items.study_id", "study_items.number"],
            name=op.f("fk_study_trials_study_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["visitor_id"],
            ["study_visitors.id"],
            name=op.f("fk_study_trials_visitor_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study_trials")),
    )
    op.create_index(
        op.f("ix_study_trials_visitor_id_batch_place"),
        "study_trials",
        ["visitor_id", "batch", "place"],
    )
    op.create_index(op.f("ix_study_trials_study_id_item"), "study_trials", ["study_id", "item"])


def _of_study() -> sa.Column[int]:
    return sa.Column("study_id", sa.Integer(), nullable=False)

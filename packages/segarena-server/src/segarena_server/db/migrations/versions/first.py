"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make them."""
    op.create_table(
        "challenges",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("slug", sa.String(length=60), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'closed')", name=op.f("ck_challenges_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_challenges")),
        sa.UniqueConstraint("slug", name=op.f("uq_challenges_slug")),
    )
    op.create_table(
        "people",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("folded", sa.String(length=40), nullable=False),
        sa.Column("contact", sa.String(length=200), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "role IN ('viewer', 'participant', 'organiser', 'admin')", name=op.f("ck_people_role")
        ),
        sa.CheckConstraint(
            "state IN ('waiting', 'confirmed', 'closed')", name=op.f("ck_people_state")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("folded", name=op.f("uq_people_folded")),
    )
    op.create_table(
        "events",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("address", sa.String(length=60), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_events_person_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_events")),
    )
    with op.batch_alter_table("events") as table:
        table.create_index(table.f("ix_events_at"), ["at"])

    op.create_table(
        "keys",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("ends_at", sa.Float(), nullable=False),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.CheckConstraint("kind IN ('session', 'token', 'invitation')", name=op.f("ck_keys_kind")),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_keys_person_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_keys_hash")),
    )
    with op.batch_alter_table("keys") as table:
        table.create_index(table.f("ix_keys_person_id"), ["person_id"])

    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=60), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("segmenter", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("pool", sa.String(length=500), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("is_free", sa.Boolean(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("extract", sa.Text(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'closing', 'over')", name=op.f("ck_runs_state")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_runs_challenge_id")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_runs_person_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    with op.batch_alter_table("runs") as table:
        table.create_index(
            table.f("ix_runs_challenge_id_phase_person_id"), ["challenge_id", "phase", "person_id"]
        )
        table.create_index(table.f("ix_runs_person_id"), ["person_id"])

    op.create_table(
        "samples",
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("pool", sa.String(length=500), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sample", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("dialogues", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenges.id"],
            name=op.f("fk_samples_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("challenge_id", "pool", "number", name=op.f("pk_samples")),
    )
    op.create_table(
        "places",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=40), nullable=False),
        sa.Column("sample", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("worker", sa.String(length=60), nullable=False),
        sa.CheckConstraint("state IN ('open', 'over')", name=op.f("ck_places_state")),
        sa.ForeignKeyConstraint(
            ["run_id"], ["runs.id"], name=op.f("fk_places_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_places")),
        sa.UniqueConstraint("key", name=op.f("uq_places_key")),
    )
    op.create_table(
        "turns",
        sa.Column("run_id", sa.String(length=36), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("request", sa.LargeBinary(), nullable=False),
        sa.Column("response", sa.LargeBinary(), nullable=True),
        sa.Column("given", sa.LargeBinary(), nullable=True),
        sa.Column("judged", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("lease", sa.String(length=120), nullable=False),
        sa.Column("beats", sa.Integer(), nullable=False),
        sa.Column("received_at", sa.Float(), nullable=False),
        sa.Column("done_at", sa.Float(), nullable=True),
        sa.Column("sent", sa.Text(), nullable=False),
        sa.Column("client_s", sa.Float(), nullable=False),
        sa.Column("charged_s", sa.Float(), nullable=False),
        sa.Column("spent_s", sa.Float(), nullable=False),
        sa.Column("is_sure", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "state IN ('waiting', 'leased', 'done', 'refused', 'dead')", name=op.f("ck_turns_state")
        ),
        sa.ForeignKeyConstraint(
            ["run_id", "place"],
            ["places.run_id", "places.number"],
            name=op.f("fk_turns_run_id_place"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("run_id", "place", "number", name=op.f("pk_turns")),
    )
    with op.batch_alter_table("turns") as table:
        table.create_index(table.f("ix_turns_state_received_at"), ["state", "received_at"])


def downgrade() -> None:
    """Remove them, with all that is in them."""
    with op.batch_alter_table("turns") as table:
        table.drop_index(table.f("ix_turns_state_received_at"))

    op.drop_table("turns")
    op.drop_table("places")
    op.drop_table("samples")
    with op.batch_alter_table("runs") as table:
        table.drop_index(table.f("ix_runs_person_id"))
        table.drop_index(table.f("ix_runs_challenge_id_phase_person_id"))

    op.drop_table("runs")
    with op.batch_alter_table("keys") as table:
        table.drop_index(table.f("ix_keys_person_id"))

    op.drop_table("keys")
    with op.batch_alter_table("events") as table:
        table.drop_index(table.f("ix_events_at"))

    op.drop_table("events")
    op.drop_table("people")
    op.drop_table("challenges")

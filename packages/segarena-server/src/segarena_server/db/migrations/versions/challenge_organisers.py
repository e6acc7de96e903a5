"""Organisers per challenge; the existing organisers keep all existing challenges."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "challenge_organisers"
down_revision = "second_factor"


def upgrade() -> None:
    """Create the table; each organiser keeps managing all existing challenges."""
    op.create_table(
        "challenge_organisers",
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenges.id"],
            name=op.f("fk_challenge_organisers_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_challenge_organisers_person_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("challenge_id", "person_id", name=op.f("pk_challenge_organisers")),
    )
    op.create_index(
        op.f("ix_challenge_organisers_person_id"), "challenge_organisers", ["person_id"]
    )
    op.execute(
        "INSERT INTO challenge_organisers (challenge_id, person_id, made_at) "
        "SELECT challenges.id, people.id, challenges.made_at FROM challenges CROSS JOIN people "
        "WHERE people.role = 'organiser' AND people.state <> 'deleted'"
    )


def downgrade() -> None:
    """Delete the table; every organiser manages all challenges again."""
    op.drop_index(op.f("ix_challenge_organisers_person_id"), table_name="challenge_organisers")
    op.drop_table("challenge_organisers")

"""Admission to challenges: versions of terms, their acceptance, and teams' requests to take part."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "admission"
down_revision = "challenge_organisers"


def upgrade() -> None:
    """Create the tables; existing challenges have no terms and need no approval."""
    op.create_table(
        "terms_versions",
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenges.id"],
            name=op.f("fk_terms_versions_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("challenge_id", "number", name=op.f("pk_terms_versions")),
    )
    op.create_table(
        "terms_acceptances",
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["challenge_id", "number"],
            ["terms_versions.challenge_id", "terms_versions.number"],
            name=op.f("fk_terms_acceptances_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_terms_acceptances_person_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "challenge_id", "number", "person_id", name=op.f("pk_terms_acceptances")
        ),
    )
    op.create_index(op.f("ix_terms_acceptances_person_id"), "terms_acceptances", ["person_id"])
    op.create_table(
        "join_requests",
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("decided_at", sa.Float(), nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'approved', 'declined')", name=op.f("ck_join_requests_state")
        ),
        sa.ForeignKeyConstraint(
            ["challenge_id"],
            ["challenges.id"],
            name=op.f("fk_join_requests_challenge_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["team_id"],
            ["teams.id"],
            name=op.f("fk_join_requests_team_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_join_requests_person_id"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("challenge_id", "team_id", name=op.f("pk_join_requests")),
    )
    op.create_index(op.f("ix_join_requests_person_id"), "join_requests", ["person_id"])


def downgrade() -> None:
    """Delete the tables; the previous version cannot read descriptions with terms or approval."""
    op.drop_index(op.f("ix_join_requests_person_id"), table_name="join_requests")
    op.drop_table("join_requests")
    op.drop_index(op.f("ix_terms_acceptances_person_id"), table_name="terms_acceptances")
    op.drop_table("terms_acceptances")
    op.drop_table("terms_versions")

"""Baseline: create every table of the server and of the studio.

Generated from the ORM models. Its identifier is that of the last migration before the baseline, so
that databases created by those migrations count as up to date.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "turned"
down_revision = None

_TABLES = (
    "teams",
    "people",
    "keys",
    "identities",
    "attempts",
    "events",
    "letters",
    "challenges",
    "samples",
    "runs",
    "places",
    "turns",
    "submissions",
    "findings",
    "jobs",
    "shared",
    "drawing_projects",
    "drawing_pictures",
    "drawing_members",
    "drawing_tasks",
    "drawing_comments",
    "drawing_compared",
    "drawing_decisions",
    "drawing_drafts",
    "drawing_log",
    "studies",
    "study_items",
    "study_links",
    "study_visitors",
    "study_trials",
    "study_codes",
)
"""All tables, each after the tables that its foreign keys refer to."""


def upgrade() -> None:
    """Create all tables."""
    _create_accounts()
    _create_challenges()
    _create_runs()
    _create_jobs()
    _create_annotation()
    _create_studies()


def downgrade() -> None:
    """Drop all tables."""
    for table in reversed(_TABLES):
        op.drop_table(table)


def _create_accounts() -> None:
    """Create the tables of accounts, teams, sign-ins, the audit log and the mail outbox."""
    op.create_table(
        "teams",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("folded", sa.String(length=40), nullable=False),
        sa.Column("circle", sa.String(length=32), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("folded", name=op.f("uq_teams_folded")),
    )
    op.create_index(op.f("ix_teams_circle"), "teams", ["circle"])
    op.create_table(
        "people",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("folded", sa.String(length=40), nullable=False),
        sa.Column("contact", sa.String(length=200), nullable=False),
        sa.Column("email", sa.String(length=200), nullable=False),
        sa.Column("email_at", sa.Float(), nullable=True),
        sa.Column("wants_letters", sa.Boolean(), nullable=False),
        sa.Column("password", sa.Text(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "role IN ('viewer', 'participant', 'organiser', 'admin')", name=op.f("ck_people_role")
        ),
        sa.CheckConstraint(
            "state IN ('waiting', 'confirmed', 'closed', 'deleted')", name=op.f("ck_people_state")
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_people_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_people")),
        sa.UniqueConstraint("folded", name=op.f("uq_people_folded")),
    )
    op.create_index(op.f("ix_people_team_id"), "people", ["team_id"])
    op.create_table(
        "keys",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("team_id", sa.Integer(), nullable=True),
        sa.Column("label", sa.String(length=80), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("ends_at", sa.Float(), nullable=False),
        sa.Column("used_at", sa.Float(), nullable=True),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('session', 'token', 'invitation', 'team', 'address', 'reset', 'login')",
            name=op.f("ck_keys_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_keys_person_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["team_id"], ["teams.id"], name=op.f("fk_keys_team_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_keys_hash")),
    )
    op.create_index(op.f("ix_keys_person_id"), "keys", ["person_id"])
    op.create_table(
        "identities",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("issuer", sa.String(length=500), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_identities_person_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identities_issuer_subject")),
    )
    op.create_index(op.f("ix_identities_person_id"), "identities", ["person_id"])
    op.create_table(
        "attempts",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
    )
    op.create_index(op.f("ix_attempts_at"), "attempts", ["at"])
    op.create_index(op.f("ix_attempts_key"), "attempts", ["key"])
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
    op.create_index(op.f("ix_events_at"), "events", ["at"])
    op.create_table(
        "letters",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("recipient", sa.String(length=200), nullable=False),
        sa.Column("about", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("due_at", sa.Float(), nullable=False),
        sa.CheckConstraint("state IN ('waiting', 'dead')", name=op.f("ck_letters_state")),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_letters_person_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_letters")),
    )
    op.create_index(op.f("ix_letters_person_id"), "letters", ["person_id"])
    op.create_index(op.f("ix_letters_state_due_at"), "letters", ["state", "due_at"])


def _create_challenges() -> None:
    """Create the tables of challenges and the samples of their pools."""
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


def _create_runs() -> None:
    """Create the tables of runs, turns, submissions and audit findings."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("challenge_id", sa.Integer(), nullable=False),
        sa.Column("phase", sa.String(length=60), nullable=False),
        sa.Column("team_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("segmenter", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("pool", sa.String(length=500), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("is_free", sa.Boolean(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("ended_at", sa.Float(), nullable=True),
        sa.Column("extract", sa.Text(), nullable=False),
        sa.Column("is_step", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("chosen_at", sa.Float(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('dialogue', 'masks', 'run', 'worker')", name=op.f("ck_runs_kind")
        ),
        sa.CheckConstraint("state IN ('open', 'closing', 'over')", name=op.f("ck_runs_state")),
        sa.ForeignKeyConstraint(
            ["challenge_id"], ["challenges.id"], name=op.f("fk_runs_challenge_id")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"], ["people.id"], name=op.f("fk_runs_person_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_runs_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(
        op.f("ix_runs_challenge_id_phase_team_id"), "runs", ["challenge_id", "phase", "team_id"]
    )
    op.create_index(op.f("ix_runs_person_id"), "runs", ["person_id"])
    op.create_index(op.f("ix_runs_team_id"), "runs", ["team_id"])
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
        sa.Column("past", sa.Text(), nullable=False),
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
        sa.Column("received_at", sa.Float(), nullable=False),
        sa.Column("done_at", sa.Float(), nullable=True),
        sa.Column("evaluated_s", sa.Float(), server_default="0", nullable=False),
        sa.Column("sent", sa.Text(), nullable=False),
        sa.Column("client_s", sa.Float(), nullable=False),
        sa.Column("round_trip_s", sa.Float(), server_default="0", nullable=False),
        sa.Column("charged_s", sa.Float(), nullable=False),
        sa.Column("spent_s", sa.Float(), nullable=False),
        sa.Column("is_sure", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("failure", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("lease", sa.String(length=120), nullable=False),
        sa.Column("beats", sa.Integer(), nullable=False),
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
    op.create_index(op.f("ix_turns_state_received_at"), "turns", ["state", "received_at"])
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
    op.create_index(op.f("ix_submissions_person_id"), "submissions", ["person_id"])
    op.create_index(op.f("ix_submissions_run_id"), "submissions", ["run_id"])
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


def _create_jobs() -> None:
    """Create the tables of background jobs and the values that all servers share."""
    op.create_table(
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
    op.create_table(
        "shared",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_shared")),
    )


def _create_annotation() -> None:
    """Create the tables of the annotation projects of the studio."""
    op.create_table(
        "drawing_projects",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("guide", sa.Text(), nullable=False),
        sa.Column("labels", sa.Text(), nullable=False),
        sa.Column("segmenters", sa.Text(), nullable=False),
        sa.Column("annotators", sa.Integer(), nullable=False),
        sa.Column("is_free", sa.Boolean(), nullable=False),
        sa.Column("is_reviewed", sa.Boolean(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.CheckConstraint("state IN ('open', 'closed')", name=op.f("ck_drawing_projects_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drawing_projects")),
    )
    op.create_table(
        "drawing_pictures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("thumbnail", sa.String(length=64), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("bytes", sa.Integer(), nullable=False),
        sa.Column("place", sa.Float(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["drawing_projects.id"],
            name=op.f("fk_drawing_pictures_project_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drawing_pictures")),
        sa.UniqueConstraint("project_id", "name", name=op.f("uq_drawing_pictures_project_id_name")),
    )
    op.create_index(op.f("ix_drawing_pictures_project_id"), "drawing_pictures", ["project_id"])
    op.create_table(
        "drawing_members",
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("role", sa.String(length=20), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "role IN ('annotator', 'reviewer', 'lead')", name=op.f("ck_drawing_members_role")
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_drawing_members_person_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["drawing_projects.id"],
            name=op.f("fk_drawing_members_project_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("project_id", "person_id", name=op.f("pk_drawing_members")),
    )
    op.create_index(op.f("ix_drawing_members_person_id"), "drawing_members", ["person_id"])
    op.create_table(
        "drawing_tasks",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("project_id", sa.Integer(), nullable=False),
        sa.Column("picture_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("reviewer_id", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("saved_at", sa.Float(), nullable=True),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.Column("regions", sa.Integer(), nullable=False),
        sa.Column("points", sa.Integer(), nullable=False),
        sa.Column("annotation_ms", sa.Float(), nullable=False),
        sa.Column("total_ms", sa.Float(), nullable=False),
        sa.Column("active_ms", sa.Float(), nullable=False),
        sa.Column("logged_ms", sa.Float(), nullable=True),
        sa.Column("spent", sa.Text(), nullable=False),
        sa.Column("history", sa.LargeBinary(), nullable=True),
        sa.CheckConstraint(
            "state IN ('clean', 'in progress', 'finished', 'in review', 'returned', 'approved')",
            name=op.f("ck_drawing_tasks_state"),
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_drawing_tasks_person_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["picture_id"],
            ["drawing_pictures.id"],
            name=op.f("fk_drawing_tasks_picture_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["drawing_projects.id"],
            name=op.f("fk_drawing_tasks_project_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["reviewer_id"],
            ["people.id"],
            name=op.f("fk_drawing_tasks_reviewer_id"),
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drawing_tasks")),
        sa.UniqueConstraint(
            "picture_id", "person_id", name=op.f("uq_drawing_tasks_picture_id_person_id")
        ),
    )
    op.create_index(op.f("ix_drawing_tasks_person_id"), "drawing_tasks", ["person_id"])
    op.create_index(
        op.f("ix_drawing_tasks_project_id_state"), "drawing_tasks", ["project_id", "state"]
    )
    op.create_table(
        "drawing_comments",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("x", sa.Float(), nullable=True),
        sa.Column("y", sa.Float(), nullable=True),
        sa.Column("region", sa.String(length=64), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.Column("done_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_drawing_comments_person_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["task_id"],
            ["drawing_tasks.id"],
            name=op.f("fk_drawing_comments_task_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drawing_comments")),
    )
    op.create_index(op.f("ix_drawing_comments_task_id"), "drawing_comments", ["task_id"])
    op.create_table(
        "drawing_compared",
        sa.Column("one_id", sa.Integer(), nullable=False),
        sa.Column("other_id", sa.Integer(), nullable=False),
        sa.Column("one_revision", sa.Integer(), nullable=False),
        sa.Column("other_revision", sa.Integer(), nullable=False),
        sa.Column("regions", sa.Float(), nullable=False),
        sa.Column("edges", sa.Float(), nullable=False),
        sa.Column("order_same", sa.Integer(), nullable=False),
        sa.Column("order_pairs", sa.Integer(), nullable=False),
        sa.Column("names_same", sa.Integer(), nullable=False),
        sa.Column("names", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["one_id"],
            ["drawing_tasks.id"],
            name=op.f("fk_drawing_compared_one_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["other_id"],
            ["drawing_tasks.id"],
            name=op.f("fk_drawing_compared_other_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("one_id", "other_id", name=op.f("pk_drawing_compared")),
    )
    op.create_table(
        "drawing_decisions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("made_at", sa.Float(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('begun', 'finished', 'taken', 'returned', 'approved', 'reopened')",
            name=op.f("ck_drawing_decisions_kind"),
        ),
        sa.ForeignKeyConstraint(
            ["person_id"],
            ["people.id"],
            name=op.f("fk_drawing_decisions_person_id"),
            ondelete="SET NULL",
        ),
        sa.ForeignKeyConstraint(
            ["task_id"],
            ["drawing_tasks.id"],
            name=op.f("fk_drawing_decisions_task_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_drawing_decisions")),
    )
    op.create_index(op.f("ix_drawing_decisions_task_id"), "drawing_decisions", ["task_id"])
    op.create_table(
        "drawing_drafts",
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("client_id", sa.String(length=64), nullable=False),
        sa.Column("scene", sa.LargeBinary(), nullable=False),
        sa.Column("is_kept", sa.Boolean(), nullable=False),
        sa.Column("saved_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"],
            ["drawing_tasks.id"],
            name=op.f("fk_drawing_drafts_task_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("task_id", "revision", name=op.f("pk_drawing_drafts")),
        sa.UniqueConstraint(
            "task_id", "client_id", name=op.f("uq_drawing_drafts_task_id_client_id")
        ),
    )
    op.create_table(
        "drawing_log",
        sa.Column("task_id", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("entries", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["task_id"],
            ["drawing_tasks.id"],
            name=op.f("fk_drawing_log_task_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("task_id", "revision", name=op.f("pk_drawing_log")),
    )


def _create_studies() -> None:
    """Create the tables of the user studies of the studio."""
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
        sa.Column("study_id", sa.Integer(), nullable=False),
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
        sa.Column("is_turned", sa.Boolean(), server_default=sa.false(), nullable=False),
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
        sa.Column("study_id", sa.Integer(), nullable=False),
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
    op.create_table(
        "study_visitors",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("link_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(length=20), nullable=False),
        sa.Column("kind", sa.String(length=20), nullable=False),
        sa.Column("mode", sa.String(length=20), nullable=False),
        sa.Column("device", sa.String(length=20), nullable=False),
        sa.Column("state", sa.String(length=20), nullable=False),
        sa.Column("batches", sa.Integer(), nullable=False),
        sa.Column("counted", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("passed", sa.Integer(), nullable=False),
        sa.Column("checks", sa.Integer(), nullable=False),
        sa.Column("missed", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "state IN ('training', 'ready', 'working', 'done', 'failed')",
            name=op.f("ck_study_visitors_state"),
        ),
        sa.ForeignKeyConstraint(
            ["link_id"],
            ["study_links.id"],
            name=op.f("fk_study_visitors_link_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["study_id"],
            ["studies.id"],
            name=op.f("fk_study_visitors_study_id"),
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
        sa.Column("study_id", sa.Integer(), nullable=False),
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
        sa.Column("is_inside", sa.Boolean(), nullable=False),
        sa.Column("is_near", sa.Boolean(), nullable=False),
        sa.Column("is_void", sa.Boolean(), nullable=False),
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
    op.create_index(op.f("ix_study_trials_study_id_item"), "study_trials", ["study_id", "item"])
    op.create_index(
        op.f("ix_study_trials_visitor_id_batch_place"),
        "study_trials",
        ["visitor_id", "batch", "place"],
    )
    op.create_table(
        "study_codes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("study_id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=80), nullable=False),
        sa.Column("batches", sa.Integer(), nullable=False),
        sa.Column("counted", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["studies.id"], name=op.f("fk_study_codes_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study_codes")),
    )
    op.create_index(op.f("ix_study_codes_study_id"), "study_codes", ["study_id"])

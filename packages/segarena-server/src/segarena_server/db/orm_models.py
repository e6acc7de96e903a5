"""ORM models of the tables.

Times are seconds since 1970 in UTC. Secret texts are stored as hashes.
"""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    String,
    Text,
    UniqueConstraint,
    select,
)
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

ROLES = ("viewer", "participant", "organiser", "admin")
"""Roles in ascending order: each has the rights of those before it."""


class OrmModel(DeclarativeBase):
    """Base class of all ORM models."""

    # Migrations can change only constraints with names.
    metadata: ClassVar[MetaData] = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


class Team(OrmModel):
    """People who take part together; each person also has a single-member team of their own name."""

    __tablename__ = "teams"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
    folded: Mapped[str] = mapped_column(String(40), unique=True)
    """The name in the form for comparison; no other person may have the name of a team."""
    circle: Mapped[str] = mapped_column(String(32), index=True, default=lambda: uuid.uuid4().hex)
    """The same for all teams that ever had a member in common: they may know each other's prompts."""
    made_at: Mapped[float] = mapped_column(Float)


class Person(OrmModel):
    """An account; when created without a team it gets one of its own name."""

    __tablename__ = "people"
    __table_args__ = (
        CheckConstraint("role IN ('viewer', 'participant', 'organiser', 'admin')", name="role"),
        CheckConstraint("state IN ('waiting', 'confirmed', 'closed', 'deleted')", name="state"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id"), index=True)
    team: Mapped[Team] = relationship()
    name: Mapped[str] = mapped_column(String(40))
    folded: Mapped[str] = mapped_column(String(40), unique=True)
    """The name in the form for comparison: names that differ only in case are equal."""
    contact: Mapped[str] = mapped_column(String(200), default="")
    email: Mapped[str] = mapped_column(String(200), default="")
    email_at: Mapped[float | None] = mapped_column(Float)
    """When the person confirmed the address; until then only the confirmation request is sent there."""
    wants_letters: Mapped[bool] = mapped_column(default=False)
    """Whether to send an e-mail when a run is over."""
    password: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(String(20))
    state: Mapped[str] = mapped_column(String(20))
    """`deleted`: only the number is left, so that no other account gets it."""
    made_at: Mapped[float] = mapped_column(Float)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if "team" not in values and "team_id" not in values:
            self.team = Team(name=self.name, folded=self.folded, made_at=self.made_at)


class AccessKey(OrmModel):
    """A secret that grants access: a session, an API token, an invitation. Only its hash is stored."""

    __tablename__ = "keys"
    __table_args__ = (
        CheckConstraint(
            "kind IN ('session', 'token', 'invitation', 'team', 'address', 'reset', 'login')",
            name="kind",
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    person_id: Mapped[int | None] = mapped_column(
        ForeignKey("people.id", ondelete="CASCADE"), index=True
    )
    """The owner; of an invitation, the account that was created with it."""
    team_id: Mapped[int | None] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    """The team, of an invitation to a team."""
    label: Mapped[str] = mapped_column(String(80), default="")
    role: Mapped[str] = mapped_column(String(20), default="")
    """The role of the new account, of an invitation."""
    made_at: Mapped[float] = mapped_column(Float)
    ends_at: Mapped[float] = mapped_column(Float)
    used_at: Mapped[float | None] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)
    """When it was revoked, or an invitation was used."""


class Challenge(OrmModel):
    """A challenge; `segarena_server.challenges` reads its rules from the description."""

    __tablename__ = "challenges"
    __table_args__ = (CheckConstraint("state IN ('open', 'closed')", name="state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(60), unique=True)
    description: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20), default="open")
    made_at: Mapped[float] = mapped_column(Float)


class PooledSample(OrmModel):
    """A sample that a challenge draws from, as participants get it: a file of this hash in the storage."""

    __tablename__ = "samples"

    challenge_id: Mapped[int] = mapped_column(
        ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True
    )
    pool: Mapped[str] = mapped_column(String(500), primary_key=True)
    """The dataset as the challenge names it."""
    number: Mapped[int] = mapped_column(primary_key=True)
    sample: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64))
    bytes: Mapped[int]
    dialogues: Mapped[str] = mapped_column(Text)
    """The public part of its dialogues, as JSON."""


def _team_of_beginner(context: DefaultExecutionContext) -> int | None:
    """Return the current team of the person who starts a run."""
    person_id = context.get_current_parameters()["person_id"]
    return context.connection.scalar(select(Person.team_id).where(Person.id == person_id))


class Run(OrmModel):
    """One run of a team in a phase."""

    __tablename__ = "runs"
    __table_args__ = (
        CheckConstraint("state IN ('open', 'closing', 'over')", name="state"),
        CheckConstraint("kind IN ('dialogue', 'masks', 'run', 'worker')", name="kind"),
        Index(None, "challenge_id", "phase", "team_id"),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    challenge_id: Mapped[int] = mapped_column(ForeignKey("challenges.id"))
    phase: Mapped[str] = mapped_column(String(60))
    team_id: Mapped[int] = mapped_column(
        ForeignKey("teams.id"), default=_team_of_beginner, index=True
    )
    """The owner."""
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), index=True)
    """The person who started it."""
    name: Mapped[str] = mapped_column(String(80))
    kind: Mapped[str] = mapped_column(String(20), default="dialogue")
    """How its participant takes part; see `segarena_server.challenges.description.Way`."""
    segmenter: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    pool: Mapped[str] = mapped_column(String(500))
    state: Mapped[str] = mapped_column(String(20), default="open")
    is_free: Mapped[bool] = mapped_column(default=False)
    """Whether it is exempt from the quota, because a server fault ended it."""
    fault: Mapped[str] = mapped_column(Text, default="")
    """Reason of the failure; "" when there is none."""
    made_at: Mapped[float] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)
    extract: Mapped[str] = mapped_column(Text, default="")
    """Data for boards and scores as JSON, once the run is over."""
    is_step: Mapped[bool] = mapped_column(default=True)
    """Whether boards count it; False only on a ladder, see `segarena_server.challenges.ladder`."""
    chosen_at: Mapped[float | None] = mapped_column(Float)
    """When the team last selected it for the board; of a team's runs in a phase the last selection counts."""


class RunSample(OrmModel):
    """One sample of a run, under a key that does not reveal its name."""

    __tablename__ = "places"
    __table_args__ = (CheckConstraint("state IN ('open', 'over')", name="state"),)

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(40), unique=True)
    sample: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64))
    bytes: Mapped[int]
    state: Mapped[str] = mapped_column(String(20), default="open")
    worker: Mapped[str] = mapped_column(String(60), default="")
    """The worker process that evaluated it last and may have its dialogues in memory."""
    past: Mapped[str] = mapped_column(Text, default="[]")
    """Earlier runs whose prompts about the sample are repeated first, as JSON; fixed at the start of the run."""


class LeaseColumns:
    """Columns of rows that are leased to a worker; see `segarena_server.jobs.row_queue`."""

    state: Mapped[str] = mapped_column(String(20))
    """`waiting`, `leased` to a worker, `done`, `refused` (unreadable input) or `dead` (all tries failed)."""
    failure: Mapped[str] = mapped_column(Text, default="")
    """Reason of the refusal or of the last failed try."""
    tries: Mapped[int] = mapped_column(default=0)
    lease: Mapped[str] = mapped_column(String(120), default="")
    beats: Mapped[int] = mapped_column(default=0)


class Turn(LeaseColumns, OrmModel):
    """One turn about a run sample, which is also the job of evaluating it."""

    __tablename__ = "turns"
    __table_args__ = (
        ForeignKeyConstraint(
            ["run_id", "place"], ["places.run_id", "places.number"], ondelete="CASCADE"
        ),
        CheckConstraint("state IN ('waiting', 'leased', 'done', 'refused', 'dead')", name="state"),
        Index(None, "state", "received_at"),
    )

    run_id: Mapped[str] = mapped_column(String(36), primary_key=True)
    place: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64))
    request: Mapped[bytes] = mapped_column(LargeBinary)
    """The compressed request body."""
    response: Mapped[bytes | None] = mapped_column(LargeBinary)
    given: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The prompts that the participant received for the first time with the response."""
    judged: Mapped[str] = mapped_column(Text, default="")
    """Status of its dialogues as JSON, for organisers only."""
    digest: Mapped[str] = mapped_column(String(64), default="")
    """Hash of all turns of the run sample up to this one."""
    received_at: Mapped[float] = mapped_column(Float)
    done_at: Mapped[float | None] = mapped_column(Float)
    evaluated_s: Mapped[float] = mapped_column(Float, default=0.0)
    """Duration of the evaluation in the worker process."""
    sent: Mapped[str] = mapped_column(Text, default="")
    """When the last byte of the response had left, encoded by `segarena_server.challenges.time_charge`."""
    client_s: Mapped[float] = mapped_column(Float, default=0.0)
    round_trip_s: Mapped[float] = mapped_column(Float, default=0.0, server_default="0")
    """Measured by the participant; 0 without a measurement."""
    charged_s: Mapped[float] = mapped_column(Float, default=0.0)
    spent_s: Mapped[float] = mapped_column(Float, default=0.0)
    """Sum of the charges of the run's earlier turns."""
    is_sure: Mapped[bool] = mapped_column(default=True)
    """Whether a single clock measured the charge; see `segarena_server.challenges.time_charge`."""


class Job(LeaseColumns, OrmModel):
    """A background job other than a turn; see `segarena_server.jobs`."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'leased', 'done', 'dead')", name="state"),
        UniqueConstraint("kind", "about"),
        Index(None, "state", "made_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(40))
    about: Mapped[str] = mapped_column(String(200))
    """The object of the job, such as the id of a run; unique within a kind."""
    told: Mapped[str] = mapped_column(Text, default="")
    """Further parameters of the kind, as JSON."""
    doing: Mapped[str] = mapped_column(String(200), default="")
    """Progress at the last renewal of its lease."""
    said: Mapped[str] = mapped_column(Text, default="")
    """The result, for kinds that store it here."""
    made_at: Mapped[float] = mapped_column(Float)
    begun_at: Mapped[float | None] = mapped_column(Float)
    """Start of the last try."""
    done_at: Mapped[float | None] = mapped_column(Float)


class SharedValue(OrmModel):
    """A named value that all servers of a database share; see `segarena_server.db.shared_values`."""

    __tablename__ = "shared"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class Submission(OrmModel):
    """A submission for evaluation on the server: one job inspects it, then one job per sample evaluates it."""

    __tablename__ = "submissions"
    __table_args__ = (
        CheckConstraint("kind IN ('masks', 'run', 'worker')", name="kind"),
        CheckConstraint("state IN ('waiting', 'refused', 'taken', 'dead')", name="state"),
    )

    id: Mapped[str] = mapped_column(String(36), primary_key=True)
    challenge_id: Mapped[int] = mapped_column(ForeignKey("challenges.id"))
    phase: Mapped[str] = mapped_column(String(60))
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str] = mapped_column(String(20))
    run_id: Mapped[str | None] = mapped_column(
        ForeignKey("runs.id", ondelete="CASCADE"), index=True
    )
    """The run that masks belong to; the run that an accepted submission of another kind started."""
    sha256: Mapped[str] = mapped_column(String(64))
    bytes: Mapped[int]
    name: Mapped[str] = mapped_column(String(80))
    segmenter: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20), default="waiting")
    """`waiting` for inspection, `refused` for faults, `taken` and evaluated as its run, or `dead`: the
    inspection failed through no fault of the submission."""
    told: Mapped[str] = mapped_column(Text, default="[]")
    """Faults, a JSON list of lines."""
    failure: Mapped[str] = mapped_column(Text, default="")
    """Reason of the failure, for organisers only."""
    sent_at: Mapped[float] = mapped_column(Float)
    done_at: Mapped[float | None] = mapped_column(Float)


class RunFinding(OrmModel):
    """Result of the integrity audit of a run that is over, for organisers; see `segarena_server.jobs.run_audit`."""

    __tablename__ = "findings"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    made_at: Mapped[float] = mapped_column(Float)
    targets: Mapped[int]
    prompts: Mapped[int]
    """Distinct prompts about these targets that its team ever received."""
    blind_mean: Mapped[float | None] = mapped_column(Float)
    blind_highest: Mapped[float | None] = mapped_column(Float)
    alike_run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"))
    """The most similar run of another team."""
    alike_share: Mapped[float] = mapped_column(Float)
    alike_compared: Mapped[int]
    sketch: Mapped[bytes] = mapped_column(LargeBinary)
    """Sketch of its masks; see `segarena_server.challenges.duplicate_detection`."""


class AuditEvent(OrmModel):
    """An entry of the audit log: person, action, object and IP address."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[float] = mapped_column(Float, index=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    address: Mapped[str] = mapped_column(String(60), default="")
    action: Mapped[str] = mapped_column(String(40))
    about: Mapped[str] = mapped_column(Text, default="")


class Attempt(OrmModel):
    """An attempt that counts towards a limit, such as a password entry."""

    __tablename__ = "attempts"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(64), index=True)
    """Hash of the kind of attempt and of the name, address or number."""
    at: Mapped[float] = mapped_column(Float, index=True)


class QueuedEmail(OrmModel):
    """An e-mail in the outbox; the row is deleted once it is sent."""

    __tablename__ = "letters"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'dead')", name="state"),
        Index(None, "state", "due_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))
    person_id: Mapped[int | None] = mapped_column(
        ForeignKey("people.id", ondelete="CASCADE"), index=True
    )
    recipient: Mapped[str] = mapped_column(String(200))
    about: Mapped[str] = mapped_column(Text, default="")
    """The id of the run, or the role of the invitation."""
    state: Mapped[str] = mapped_column(String(20), default="waiting")
    tries: Mapped[int] = mapped_column(default=0)
    failure: Mapped[str] = mapped_column(Text, default="")
    made_at: Mapped[float] = mapped_column(Float)
    due_at: Mapped[float] = mapped_column(Float)


class Identity(OrmModel):
    """An account at an OpenID Connect provider with which a person signs in."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), index=True)
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    made_at: Mapped[float] = mapped_column(Float)

"""ORM models of the tables.

Times are seconds since 1970 in UTC. Secrets are stored as hashes.
"""

from __future__ import annotations

import uuid
from typing import Any, ClassVar, TypeAlias

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
    false,
    select,
)
from sqlalchemy.engine.default import DefaultExecutionContext
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from segarena_server.db.column_types import DialogueStatuses
from segarena_server.dialogue_status import DialogueStatus

TurnKey: TypeAlias = tuple[str, int, int]
"""Primary key of a turn: run id, index of the sample, number of the turn."""

ROLES = ("viewer", "participant", "organiser", "admin")
"""Roles in ascending order; each includes the rights of those before it."""


class OrmModel(DeclarativeBase):
    """Base class of all ORM models."""

    # Migrations can only change constraints that have names.
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
    """People who take part together; each person also has a single-member team with their name."""

    __tablename__ = "teams"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
    # 40 letters, as the name form accepts; folding is cut to this length.
    folded: Mapped[str] = mapped_column(String(40), unique=True)
    """The name in the form for comparison; nobody else may use a team's name, not even with look-alike letters."""
    circle: Mapped[str] = mapped_column(String(32), index=True, default=lambda: uuid.uuid4().hex)
    """Id of the circle, equal for all teams that ever shared a member: they may know each other's prompts."""
    made_at: Mapped[float] = mapped_column(Float)


class Person(OrmModel):
    """An account; unless a team is given, it gets a team with the account's name."""

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
    """The name in the form for comparison; names that differ only in case are equal."""
    contact: Mapped[str] = mapped_column(String(200), default="")
    email: Mapped[str] = mapped_column(String(200), default="")
    email_at: Mapped[float | None] = mapped_column(Float)
    """When the person confirmed the address; before that, it receives only the confirmation request."""
    wants_letters: Mapped[bool] = mapped_column(default=False)
    """Whether the person wants e-mails about finished runs, and announcements of challenges with runs of the team."""
    password: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(String(20))
    state: Mapped[str] = mapped_column(String(20))
    """For `deleted`, only the id is left, so that no other account gets it."""
    made_at: Mapped[float] = mapped_column(Float)

    def __init__(self, **values: Any) -> None:
        # Every person has a team at all times, so that queries need no case for people without one.
        super().__init__(**values)
        if "team" not in values and "team_id" not in values:
            self.team = Team(name=self.name, folded=self.folded, made_at=self.made_at)


class AccessKey(OrmModel):
    """A secret that grants access: a session, an API token, an invitation. Only its hash is stored."""

    __tablename__ = "keys"
    __table_args__ = (
        CheckConstraint(
            "kind IN ('session', 'token', 'invitation', 'team', 'address', 'reset', 'login', 'factor')",
            name="kind",
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(20))
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    person_id: Mapped[int | None] = mapped_column(
        ForeignKey("people.id", ondelete="CASCADE"), index=True
    )
    """The owner; for a used invitation, the account created with it."""
    team_id: Mapped[int | None] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    """For an invitation to a team, the team."""
    label: Mapped[str] = mapped_column(String(80), default="")
    role: Mapped[str] = mapped_column(String(20), default="")
    """For an invitation, the role of the new account."""
    made_at: Mapped[float] = mapped_column(Float)
    ends_at: Mapped[float] = mapped_column(Float)
    used_at: Mapped[float | None] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)
    """When the key was revoked or, if it works only once, used."""


class SecondFactor(OrmModel):
    """The second factor of an account; see `segarena_server.auth.second_factor`."""

    __tablename__ = "second_factors"

    person_id: Mapped[int] = mapped_column(
        ForeignKey("people.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    nonce: Mapped[str] = mapped_column(String(64))
    """Combined with the server's secret, it yields the secret of the codes, which is stored nowhere."""
    made_at: Mapped[float] = mapped_column(Float)
    confirmed_at: Mapped[float | None] = mapped_column(Float)
    """When the owner switched the second factor on; None during setup."""
    last_step: Mapped[int] = mapped_column(default=0)
    """The time step of the last accepted code, so that no code is accepted twice."""


class RecoveryCode(OrmModel):
    """A recovery code, which replaces a code from the app for one sign-in."""

    __tablename__ = "recovery_codes"

    id: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), index=True)
    hash: Mapped[str] = mapped_column(String(64))
    used_at: Mapped[float | None] = mapped_column(Float)


class Challenge(OrmModel):
    """A challenge; `segarena_server.challenges` parses its rules from the description."""

    __tablename__ = "challenges"
    __table_args__ = (CheckConstraint("state IN ('open', 'closed')", name="state"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    slug: Mapped[str] = mapped_column(String(60), unique=True)
    description: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20), default="open")
    made_at: Mapped[float] = mapped_column(Float)


class ChallengeOrganiser(OrmModel):
    """An account that manages a challenge; see `segarena_server.auth.challenge_organisers`."""

    __tablename__ = "challenge_organisers"

    challenge_id: Mapped[int] = mapped_column(
        ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True
    )
    person_id: Mapped[int] = mapped_column(
        ForeignKey("people.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    made_at: Mapped[float] = mapped_column(Float)


class TermsVersion(OrmModel):
    """Terms that participants of a challenge accept; see `segarena_server.runs.admission`."""

    __tablename__ = "terms_versions"

    challenge_id: Mapped[int] = mapped_column(
        ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True
    )
    number: Mapped[int] = mapped_column(primary_key=True)
    """Version of the terms, counted from 1; the highest is in force while the description has terms."""
    text: Mapped[str] = mapped_column(Text)
    made_at: Mapped[float] = mapped_column(Float)


class TermsAcceptance(OrmModel):
    """A person's acceptance of one version of a challenge's terms."""

    __tablename__ = "terms_acceptances"
    __table_args__ = (
        ForeignKeyConstraint(
            ["challenge_id", "number"],
            ["terms_versions.challenge_id", "terms_versions.number"],
            ondelete="CASCADE",
        ),
    )

    challenge_id: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int] = mapped_column(
        ForeignKey("people.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    made_at: Mapped[float] = mapped_column(Float)


class JoinRequest(OrmModel):
    """The request of a team to take part in a challenge whose organisers approve teams."""

    __tablename__ = "join_requests"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'approved', 'declined')", name="state"),
    )

    challenge_id: Mapped[int] = mapped_column(
        ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True
    )
    team_id: Mapped[int] = mapped_column(
        ForeignKey("teams.id", ondelete="CASCADE"), primary_key=True
    )
    person_id: Mapped[int | None] = mapped_column(
        ForeignKey("people.id", ondelete="SET NULL"), index=True
    )
    """The member who made the latest request and receives the e-mail about the decision."""
    message: Mapped[str] = mapped_column(Text, default="")
    state: Mapped[str] = mapped_column(String(20), default="waiting")
    reason: Mapped[str] = mapped_column(Text, default="")
    """Why organisers declined it."""
    made_at: Mapped[float] = mapped_column(Float)
    decided_at: Mapped[float | None] = mapped_column(Float)


class ChallengeImage(OrmModel):
    """An image that an organiser uploaded for a challenge's description."""

    __tablename__ = "challenge_images"

    challenge_id: Mapped[int] = mapped_column(
        ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True
    )
    name: Mapped[str] = mapped_column(String(60), primary_key=True)
    """The name under which the description refers to the image."""
    media_type: Mapped[str] = mapped_column(String(20))
    width: Mapped[int]
    height: Mapped[int]
    sha256: Mapped[str] = mapped_column(String(64))
    content: Mapped[bytes] = mapped_column(LargeBinary)
    """The file, re-encoded without metadata; see `segarena_server.challenges.description_images`."""
    made_at: Mapped[float] = mapped_column(Float)


class Announcement(OrmModel):
    """News about a challenge from its organisers."""

    __tablename__ = "announcements"

    id: Mapped[int] = mapped_column(primary_key=True)
    challenge_id: Mapped[int] = mapped_column(
        ForeignKey("challenges.id", ondelete="CASCADE"), index=True
    )
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    """The organiser who wrote the announcement; only in the export of that person's data."""
    title: Mapped[str] = mapped_column(String(200))
    text: Mapped[str] = mapped_column(Text)
    made_at: Mapped[float] = mapped_column(Float)
    withdrawn_at: Mapped[float | None] = mapped_column(Float)
    """When an organiser removed it from the page; the row remains because it counts towards the limit."""


class PooledSample(OrmModel):
    """A sample in a challenge's pool, with the hash of the stored file that participants download."""

    __tablename__ = "samples"

    challenge_id: Mapped[int] = mapped_column(
        ForeignKey("challenges.id", ondelete="CASCADE"), primary_key=True
    )
    pool: Mapped[str] = mapped_column(String(500), primary_key=True)
    """The dataset as the challenge's description names it."""
    number: Mapped[int] = mapped_column(primary_key=True)
    sample: Mapped[str] = mapped_column(Text)
    sha256: Mapped[str] = mapped_column(String(64))
    bytes: Mapped[int]
    dialogues: Mapped[str] = mapped_column(Text)
    """The public part of the sample's dialogues, as JSON."""
    greys: Mapped[bytes] = mapped_column(LargeBinary, default=b"", server_default="")
    """Grey values of the sample, to detect near-duplicates; see `segarena_server.challenges.sample_overlap`."""


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
    """The owner: the person's team at the start; a member who leaves later does not take the run along."""
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), index=True)
    """The person who started the run."""
    name: Mapped[str] = mapped_column(String(80))
    kind: Mapped[str] = mapped_column(String(20), default="dialogue")
    """How the participant takes part; see `segarena.protocol.challenge_info.ParticipationMode`."""
    segmenter: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    pool: Mapped[str] = mapped_column(String(500))
    state: Mapped[str] = mapped_column(String(20), default="open")
    is_free: Mapped[bool] = mapped_column(default=False)
    """Whether the run is exempt from the quota because a server fault ended it."""
    returns_samples: Mapped[bool] = mapped_column(default=False, server_default=false())
    """Whether a later run about its samples is no repeat; see `segarena_server.runs.ranking_eligibility`."""
    fault: Mapped[str] = mapped_column(Text, default="")
    """Reason of the failure; "" without a failure."""
    made_at: Mapped[float] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)
    extract: Mapped[str] = mapped_column(Text, default="")
    """Data for boards and scores as JSON; "" until the run is over, or without a result."""
    is_step: Mapped[bool] = mapped_column(default=True)
    """Whether the run is a step; always True without a ladder, see `segarena_server.challenges.ladder_mechanism`."""
    unranked: Mapped[str] = mapped_column(Text, default="", server_default="")
    """Why boards exclude the run, such as samples that the team has met before; "" for a ranked run."""
    chosen_at: Mapped[float | None] = mapped_column(Float)
    """When the team last selected the run for the board; the latest selection in a phase counts."""


class RunSample(OrmModel):
    """One sample of a run, with a key that does not reveal the sample's name."""

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
    """The worker process that evaluated the sample last and may still have its dialogues in memory."""
    past: Mapped[str] = mapped_column(Text, default="[]")
    """Earlier runs whose prompts about the sample are repeated first, as JSON; fixed when the run starts."""


class LeaseColumns:
    """Columns of rows that are leased to a worker; see `segarena_server.jobs.row_leases`."""

    state: Mapped[str] = mapped_column(String(20))
    """`waiting`, `leased` to a worker, `done`, `refused` (a turn with invalid input), or `dead` (all
    attempts failed, or a job with invalid input)."""
    failure: Mapped[str] = mapped_column(Text, default="")
    """Reason of the refusal or of the last failed attempt."""
    tries: Mapped[int] = mapped_column(default=0)
    lease: Mapped[str] = mapped_column(String(120), default="")
    beats: Mapped[int] = mapped_column(default=0)


class Turn(LeaseColumns, OrmModel):
    """One turn about a run's sample; the row is also the job that evaluates it."""

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
    """The prompts that the participant first received with this response."""
    judged: Mapped[tuple[DialogueStatus, ...]] = mapped_column(DialogueStatuses, default=())
    """Status of the dialogues after the turn, for organisers only."""
    digest: Mapped[str] = mapped_column(String(64), default="")
    """Hash of all turns about the sample up to this one."""
    received_at: Mapped[float] = mapped_column(Float)
    done_at: Mapped[float | None] = mapped_column(Float)
    evaluated_s: Mapped[float] = mapped_column(Float, default=0.0)
    """Duration of the evaluation in the worker process."""
    sent: Mapped[str] = mapped_column(Text, default="")
    """When the participant's clock started after the response: a `segarena_server.clock.Moment` as JSON;
    see `segarena_server.challenges.turn_time_accounting.clock_start`."""
    # Reported by the participant, so it is stored and shown but never used for the charge.
    client_s: Mapped[float] = mapped_column(Float, default=0.0)
    round_trip_s: Mapped[float] = mapped_column(Float, default=0.0, server_default="0")
    """The network round-trip time as measured by the participant; 0 without a measurement."""
    charged_s: Mapped[float] = mapped_column(Float, default=0.0)
    spent_s: Mapped[float] = mapped_column(Float, default=0.0)
    """Seconds charged for the run's earlier turns."""
    is_sure: Mapped[bool] = mapped_column(default=True)
    """Whether one clock measured the charge without outages; see `segarena_server.challenges.turn_time_accounting`."""


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
    """What the job works on, such as the id of a run or the slug of a challenge; unique within a kind."""
    told: Mapped[str] = mapped_column(Text, default="")
    """Further parameters in the kind's own format, as JSON."""
    doing: Mapped[str] = mapped_column(String(200), default="")
    """Progress when the lease was last renewed."""
    said: Mapped[str] = mapped_column(Text, default="")
    """The result, for kinds that store it here."""
    made_at: Mapped[float] = mapped_column(Float)
    begun_at: Mapped[float | None] = mapped_column(Float)
    """When the last attempt started."""
    done_at: Mapped[float | None] = mapped_column(Float)


class SharedValue(OrmModel):
    """A named value that all servers of a database share; see `segarena_server.server_process` and `.outages`."""

    __tablename__ = "shared"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class Submission(OrmModel):
    """A submission that the server evaluates: one job inspects it, then one job per sample evaluates it."""

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
    """For masks, the run that they belong to; for other kinds, the run that the accepted submission started."""
    sha256: Mapped[str] = mapped_column(String(64))
    bytes: Mapped[int]
    name: Mapped[str] = mapped_column(String(80))
    segmenter: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20), default="waiting")
    """`waiting` for inspection, `refused` because of errors, `taken` and evaluated as a run, or
    `dead`: the inspection failed through no fault of the submission."""
    told: Mapped[str] = mapped_column(Text, default="[]")
    """Errors as a JSON list of lines."""
    failure: Mapped[str] = mapped_column(Text, default="")
    """Why the inspection failed, for organisers only."""
    sent_at: Mapped[float] = mapped_column(Float)
    done_at: Mapped[float | None] = mapped_column(Float)


class RunFinding(OrmModel):
    """Result of the integrity audit of a finished run by `segarena_server.workers.kinds.run_audit`; for organisers."""

    __tablename__ = "findings"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    made_at: Mapped[float] = mapped_column(Float)
    targets: Mapped[int]
    prompts: Mapped[int]
    """Number of distinct prompts about these targets that the team ever received."""
    blind_mean: Mapped[float | None] = mapped_column(Float)
    blind_highest: Mapped[float | None] = mapped_column(Float)
    blind_p95: Mapped[float | None] = mapped_column(Float)
    knowledge_p: Mapped[float | None] = mapped_column(Float)
    """p-value of the test for knowledge (`segarena_server.challenges.prompt_knowledge_test`), uncorrected
    for multiple runs."""
    knowledge_excess: Mapped[float | None] = mapped_column(Float)
    knowledge_samples: Mapped[int] = mapped_column(default=0, server_default="0")
    alike_run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"))
    """The most similar run of another team."""
    alike_share: Mapped[float] = mapped_column(Float)
    alike_compared: Mapped[int]
    sketch: Mapped[bytes] = mapped_column(LargeBinary)
    """Sketch of the run's masks; see `segarena_server.challenges.duplicate_detection`."""


class AuditEvent(OrmModel):
    """An entry of the audit log: person, action, object and IP address."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[float] = mapped_column(Float, index=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    # 60 characters hold the longest text form of an IPv6 address with a zone.
    address: Mapped[str] = mapped_column(String(60), default="")
    action: Mapped[str] = mapped_column(String(40))
    about: Mapped[str] = mapped_column(Text, default="")


class Attempt(OrmModel):
    """An attempt that counts towards a limit, such as a password entry."""

    __tablename__ = "attempts"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(64), index=True)
    """Hash of the kind of attempt and its name, address or number."""
    at: Mapped[float] = mapped_column(Float, index=True)


class QueuedEmail(OrmModel):
    """An e-mail in the outbox; the row is deleted after sending."""

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
    """What the e-mail is about, in a form that depends on its kind, such as the id of a run."""
    state: Mapped[str] = mapped_column(String(20), default="waiting")
    tries: Mapped[int] = mapped_column(default=0)
    failure: Mapped[str] = mapped_column(Text, default="")
    made_at: Mapped[float] = mapped_column(Float)
    due_at: Mapped[float] = mapped_column(Float)


class Identity(OrmModel):
    """A person's account at an OpenID Connect provider, with which they can sign in."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), index=True)
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    made_at: Mapped[float] = mapped_column(Float)

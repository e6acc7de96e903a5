"""The tables. Times are seconds since 1970, in UTC; texts that are secrets are kept as hashes."""

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
"""Each may do what those before it may."""


class OrmModel(DeclarativeBase):
    """All of them."""

    # Constraints have names, or no migration could change them.
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
    """Those who take part together. Everybody has a team of their own name, with nobody else in it."""

    __tablename__ = "teams"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
    folded: Mapped[str] = mapped_column(String(40), unique=True)
    """The name as it is compared; no person has the name of a team that is not their own."""
    circle: Mapped[str] = mapped_column(String(32), index=True, default=lambda: uuid.uuid4().hex)
    """The same for all teams that ever had a member in common: what one of them was told, all may know."""
    made_at: Mapped[float] = mapped_column(Float)


class Person(OrmModel):
    """Someone with an account; who is made without a team gets one of their name."""

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
    """The name as it is compared: two names that differ in case alone are one."""
    contact: Mapped[str] = mapped_column(String(200), default="")
    email: Mapped[str] = mapped_column(String(200), default="")
    email_at: Mapped[float | None] = mapped_column(Float)
    """When they confirmed the address; until then nothing is sent there but the question."""
    wants_letters: Mapped[bool] = mapped_column(default=False)
    """Whether they want to be told when a run is over."""
    password: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(String(20))
    state: Mapped[str] = mapped_column(String(20))
    """deleted: what is left of an account is its number, so that no other one gets it."""
    made_at: Mapped[float] = mapped_column(Float)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        if "team" not in values and "team_id" not in values:
            self.team = Team(name=self.name, folded=self.folded, made_at=self.made_at)


class AccessKey(OrmModel):
    """Something secret that opens something: a session, a token for scripts, an invitation. Only its hash is kept."""

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
    """Whose it is; of an invitation, who was invited with it and came."""
    team_id: Mapped[int | None] = mapped_column(ForeignKey("teams.id", ondelete="CASCADE"))
    """Of an invitation to a team: which."""
    label: Mapped[str] = mapped_column(String(80), default="")
    role: Mapped[str] = mapped_column(String(20), default="")
    """Of an invitation: what whoever comes with it will be."""
    made_at: Mapped[float] = mapped_column(Float)
    ends_at: Mapped[float] = mapped_column(Float)
    used_at: Mapped[float | None] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)
    """When it was taken back, or an invitation was used."""


class Challenge(OrmModel):
    """A challenge; its rules are the description, which `segarena_server.challenges` reads."""

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
    """What participants are told of the dialogues about it, as JSON."""


def _team_of_beginner(context: DefaultExecutionContext) -> int | None:
    """Return the team that whoever begins a run has now."""
    person_id = context.get_current_parameters()["person_id"]
    return context.connection.scalar(select(Person.team_id).where(Person.id == person_id))


class Run(OrmModel):
    """One try of a team at a phase."""

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
    """Whose it is."""
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), index=True)
    """Who began it."""
    name: Mapped[str] = mapped_column(String(80))
    kind: Mapped[str] = mapped_column(String(20), default="dialogue")
    """How its participant takes part; see `segarena_server.challenges.description.Way`."""
    segmenter: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    pool: Mapped[str] = mapped_column(String(500))
    state: Mapped[str] = mapped_column(String(20), default="open")
    is_free: Mapped[bool] = mapped_column(default=False)
    """Whether it takes nothing of the quota: it came to nothing by a fault of the server."""
    fault: Mapped[str] = mapped_column(Text, default="")
    """Why it came to nothing."""
    made_at: Mapped[float] = mapped_column(Float)
    ended_at: Mapped[float | None] = mapped_column(Float)
    extract: Mapped[str] = mapped_column(Text, default="")
    """What boards and scores need of it, as JSON, once it is over."""
    is_step: Mapped[bool] = mapped_column(default=True)
    """Whether boards count it; only on a ladder some do not, see `segarena_server.challenges.ladder`."""
    chosen_at: Mapped[float | None] = mapped_column(Float)
    """When its team last wished to be judged by it; of a team's runs in a phase the last wish counts."""


class RunSample(OrmModel):
    """One sample of a run, under a key that tells nothing of its name."""

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
    """Which worker process evaluated it last, and may have its dialogues in memory."""
    past: Mapped[str] = mapped_column(Text, default="[]")
    """The earlier runs whose prompts about the sample are said again first, as JSON; settled when the run begins."""


class LeaseColumns:
    """What a row has that somebody works on; see `segarena_server.jobs.row_queue`."""

    state: Mapped[str] = mapped_column(String(20))
    """waiting, leased to a worker, done; refused: what came cannot be read; dead: it failed again and again."""
    failure: Mapped[str] = mapped_column(Text, default="")
    """Why, or why the last try came to nothing."""
    tries: Mapped[int] = mapped_column(default=0)
    lease: Mapped[str] = mapped_column(String(120), default="")
    beats: Mapped[int] = mapped_column(default=0)


class Turn(LeaseColumns, OrmModel):
    """One exchange about a place, which is also the job of evaluating it."""

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
    """What came, packed."""
    response: Mapped[bytes | None] = mapped_column(LargeBinary)
    given: Mapped[bytes | None] = mapped_column(LargeBinary)
    """The prompts that the participant got for the first time with the response."""
    judged: Mapped[str] = mapped_column(Text, default="")
    """Where its dialogues stand, as JSON; for the organiser alone."""
    digest: Mapped[str] = mapped_column(String(64), default="")
    """Of all turns of its place up to this one."""
    received_at: Mapped[float] = mapped_column(Float)
    done_at: Mapped[float | None] = mapped_column(Float)
    evaluated_s: Mapped[float] = mapped_column(Float, default=0.0)
    """What it took the worker process."""
    sent: Mapped[str] = mapped_column(Text, default="")
    """When the last byte of the response had left, as `segarena_server.challenges.time_charge` has it."""
    client_s: Mapped[float] = mapped_column(Float, default=0.0)
    round_trip_s: Mapped[float] = mapped_column(Float, default=0.0, server_default="0")
    """As the participant measured it; 0 when it did not."""
    charged_s: Mapped[float] = mapped_column(Float, default=0.0)
    spent_s: Mapped[float] = mapped_column(Float, default=0.0)
    """What the turns of the run before had been charged."""
    is_sure: Mapped[bool] = mapped_column(default=True)
    """Whether the charge is by one clock; see `segarena_server.challenges.time_charge`."""


class Job(LeaseColumns, OrmModel):
    """Something else that is done apart from requests: a kind of work, about one thing; see `segarena_server.jobs`."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'leased', 'done', 'dead')", name="state"),
        UniqueConstraint("kind", "about"),
        Index(None, "state", "made_at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str] = mapped_column(String(40))
    about: Mapped[str] = mapped_column(String(200))
    """What it is done to, such as the id of a run: of a kind there is one job about each thing."""
    told: Mapped[str] = mapped_column(Text, default="")
    """What else the kind needs to know, as JSON."""
    doing: Mapped[str] = mapped_column(String(200), default="")
    """What its process was doing when its lease beat last."""
    said: Mapped[str] = mapped_column(Text, default="")
    """What came of it, where the kind keeps that here."""
    made_at: Mapped[float] = mapped_column(Float)
    begun_at: Mapped[float | None] = mapped_column(Float)
    """When the last try began."""
    done_at: Mapped[float | None] = mapped_column(Float)


class SharedValue(OrmModel):
    """What all servers of a database have in common, by name; see `segarena_server.db.shared_values`."""

    __tablename__ = "shared"

    name: Mapped[str] = mapped_column(String(40), primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class Submission(OrmModel):
    """Something that a participant sent to be judged here: a job looks at it, and one for each sample judges it."""

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
    """The run that masks are for; the one that began with anything else that was taken."""
    sha256: Mapped[str] = mapped_column(String(64))
    bytes: Mapped[int]
    name: Mapped[str] = mapped_column(String(80))
    segmenter: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(20), default="waiting")
    """waiting to be looked at; refused: something is wrong with it; taken: it is judged as its run; dead: it could not
    be looked at, by no fault of its own."""
    told: Mapped[str] = mapped_column(Text, default="[]")
    """What is wrong with it, as a list of lines in JSON."""
    failure: Mapped[str] = mapped_column(Text, default="")
    """Why it came to nothing; for the organiser alone."""
    sent_at: Mapped[float] = mapped_column(Float)
    done_at: Mapped[float | None] = mapped_column(Float)


class RunFinding(OrmModel):
    """What was found about a run that is over, for organisers; see `segarena_server.jobs.run_audit`."""

    __tablename__ = "findings"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    made_at: Mapped[float] = mapped_column(Float)
    targets: Mapped[int]
    prompts: Mapped[int]
    """That its team ever got about these, counted once each."""
    blind_mean: Mapped[float | None] = mapped_column(Float)
    blind_highest: Mapped[float | None] = mapped_column(Float)
    alike_run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="SET NULL"))
    """The run of another team that it looks like most."""
    alike_share: Mapped[float] = mapped_column(Float)
    alike_compared: Mapped[int]
    sketch: Mapped[bytes] = mapped_column(LargeBinary)
    """Of its masks; see `segarena_server.challenges.duplicate_detection`."""


class AuditEvent(OrmModel):
    """A line of the audit log: who did what to what, from where."""

    __tablename__ = "events"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[float] = mapped_column(Float, index=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("people.id", ondelete="SET NULL"))
    address: Mapped[str] = mapped_column(String(60), default="")
    action: Mapped[str] = mapped_column(String(40))
    about: Mapped[str] = mapped_column(Text, default="")


class Attempt(OrmModel):
    """A try that may have been somebody's guess: so many within so long are allowed for each key."""

    __tablename__ = "attempts"

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(64), index=True)
    """A hash of what was tried and of the name, address or number."""
    at: Mapped[float] = mapped_column(Float, index=True)


class QueuedEmail(OrmModel):
    """An e-mail that is to be sent; one that was sent has no row any more."""

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
    """Of a run its id, of an invitation the role."""
    state: Mapped[str] = mapped_column(String(20), default="waiting")
    tries: Mapped[int] = mapped_column(default=0)
    failure: Mapped[str] = mapped_column(Text, default="")
    made_at: Mapped[float] = mapped_column(Float)
    due_at: Mapped[float] = mapped_column(Float)


class Identity(OrmModel):
    """An account elsewhere that somebody signs in with."""

    __tablename__ = "identities"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int] = mapped_column(ForeignKey("people.id", ondelete="CASCADE"), index=True)
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    made_at: Mapped[float] = mapped_column(Float)

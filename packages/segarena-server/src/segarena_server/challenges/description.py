"""The description of a challenge by its organiser."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec

from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.protocol.challenge_info import LateRuns, ParticipationMode, PhaseKind, ScoreVisibility

Slug: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9]([a-z0-9-]{0,62}[a-z0-9])?\Z")]
_Moment: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=10**9)]
_Seconds: TypeAlias = Annotated[float, msgspec.Meta(gt=0, le=1e7)]


class Phase(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a challenge with its own dates and limits. None sets no limit, or leaves it to the benchmark.

    `segarena_server.challenges.form_fields` derives the fields of forms from these, and
    `segarena_server.challenges.run_plan` copies the fields of `PhaseInfo` that participants see by their names.

    Attributes:
        name: in addresses.
        kind: "practice" with open truth, or "test".
        takes: ways to take part. A phase that takes masks takes nothing else, and each of its dialogues has one round.
            Only a practice takes runs, since whoever holds a run has the truth; there the seed is no secret.
        opens, closes: with their offset from UTC; None for always.
        dataset: the pool from which runs draw; "" for the pool of the challenge.
        samples_per_run: number of samples of a run; None for all.
        runs_per_day, runs_in_all, runs_at_once: limits for a team; a day is the last 24 hours.
        rounds: of a dialogue.
        seconds_per_object: time for all answers of a dialogue, for each object of its target.
        seconds_per_answer: time for one answer, for each object; slower answers draw on the bank.
        bank_s: reserve of a dialogue for slow answers, in seconds.
        seconds_per_run: time for all answers of a run.
        shows: which scores participants see before the phase closes.
        decimals: of the scores that they see.
        ladder: whether only runs count that are better than the team's best by more than chance; see
            `segarena_server.challenges.ladder`.
        late: whether unfinished runs end when the phase closes.
        seed: of the drawing of samples, and of random choices of users. It is secret, since it predicts the prompts.
    """

    name: Slug
    kind: PhaseKind = "test"
    takes: Annotated[tuple[ParticipationMode, ...], msgspec.Meta(min_length=1, max_length=4)] = (
        "dialogue",
    )
    opens: _Moment | None = None
    closes: _Moment | None = None
    dataset: str = ""
    samples_per_run: _Count | None = None
    runs_per_day: _Count | None = None
    runs_in_all: _Count | None = None
    runs_at_once: _Count = 1
    rounds: _Count | None = None
    seconds_per_object: _Seconds | None = None
    seconds_per_answer: _Seconds | None = None
    bank_s: Annotated[float, msgspec.Meta(ge=0, le=1e7)] = 0.0
    seconds_per_run: _Seconds | None = None
    shows: ScoreVisibility = "prompts"
    decimals: Annotated[int, msgspec.Meta(ge=0, le=6)] = 2
    ladder: bool = False
    late: LateRuns = "refuse"
    seed: Annotated[int, msgspec.Meta(ge=0)] = 0

    def is_open(self, now: datetime) -> bool:
        """Return whether runs may begin; at the closing time they may not."""
        return (self.opens is None or now >= self.opens) and not self.is_closed(now)

    def is_closed(self, now: datetime) -> bool:
        """Return whether the phase is over."""
        return self.closes is not None and now >= self.closes


class ChallengeDescription(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge.

    Attributes:
        slug: its name in addresses.
        title: for people.
        text: for people, in plain paragraphs.
        benchmark: as written for `segarena run`: "clicks", "davis(rounds=8)".
        dataset: as written for `segarena run -d`; the pool of all phases without one of their own.
        phases: at least one.
        is_public: whether everyone may see the board; otherwise only participants may.
        frozen: time from which the board stands still until the last phase is closed.
        interfaces: of other servers through which one can take part, too; see `segarena_server.extensions.interfaces`.
    """

    slug: Slug
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    benchmark: str
    dataset: str
    phases: Annotated[tuple[Phase, ...], msgspec.Meta(min_length=1, max_length=50)]
    is_public: bool = True
    frozen: _Moment | None = None
    interfaces: Annotated[tuple[Slug, ...], msgspec.Meta(max_length=10)] = ()

    def phase(self, name: str) -> Phase:
        """Return a phase by its name.

        Raises:
            InvalidInput: it is unknown; the message lists all phases.
        """
        found = next((phase for phase in self.phases if phase.name == name), None)
        if found is None:
            known = ", ".join(phase.name for phase in self.phases)
            raise InvalidInput(f"challenge {self.slug} has no phase {name[:64]!r}; it has {known}")
        return found

    def pool(self, phase: Phase) -> str:
        """Return the dataset from which a phase draws; prompts count for all phases with the same dataset."""
        return phase.dataset or self.dataset


def read_challenge(text: str | bytes) -> ChallengeDescription:
    """Return the challenge that a JSON text describes.

    Raises:
        InvalidInput: a field is invalid; the message names it, and what was expected there.
    """
    return validated_challenge(_decoded(text))


def challenge_text(challenge: ChallengeDescription) -> str:
    """Return a challenge as the JSON that `read_challenge` reads."""
    return msgspec.json.format(msgspec.json.encode(challenge), indent=2).decode()


def validated_challenge(challenge: ChallengeDescription) -> ChallengeDescription:
    """Return a challenge after checking that its fields fit together.

    Raises:
        InvalidInput: a field does not fit; the message names it.
    """
    names = Counter(phase.name for phase in challenge.phases)
    for place, phase in enumerate(challenge.phases):
        if names[phase.name] > 1:
            raise InvalidInput(
                f"phases[{place}].name: expected names that differ, got {phase.name!r} twice"
            )
        if phase.opens and phase.closes and phase.opens >= phase.closes:
            raise InvalidInput(
                f"phases[{place}].closes: expected a moment after opens, got {phase.closes.isoformat()}"
            )
        if phase.bank_s and phase.seconds_per_answer is None:
            raise InvalidInput(
                f"phases[{place}].bank_s: expected seconds_per_answer beside it, got none"
            )
        _parsed(challenge.pool(phase), f"phases[{place}].dataset")
        _check_ways(phase, f"phases[{place}]")
    _parsed(challenge.benchmark, "benchmark")
    _parsed(challenge.dataset, "dataset")
    return challenge


def _check_ways(phase: Phase, field: str) -> None:
    if len({*phase.takes}) < len(phase.takes):
        raise InvalidInput(f"{field}.takes: expected each way once, got {', '.join(phase.takes)}")
    if "masks" in phase.takes and (len(phase.takes) > 1 or phase.rounds not in (None, 1)):
        raise InvalidInput(
            f"{field}.takes: masks are of one round and stand alone, or boards compare what differs"
        )
    if "run" in phase.takes and phase.kind != "practice":
        raise InvalidInput(
            f"{field}.takes: a run of one's own needs the truth; only a practice takes it"
        )


def _parsed(text: str, field: str) -> None:
    try:
        PluginSpec.of(text)
    except ValueError as error:
        raise InvalidInput(f"{field}: {error}") from error


def _decoded(text: str | bytes) -> ChallengeDescription:
    try:
        return msgspec.json.decode(text, type=ChallengeDescription)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        problem, _, where = str(error).partition(" - at `$")
        field = where.strip("`.") or "challenge"
        raise InvalidInput(f"{field}: {problem[:1].lower()}{problem[1:]}") from error

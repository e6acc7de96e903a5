"""A challenge as its organiser describes it."""

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
    """A part of a challenge with dates and limits of its own. None sets no limit, or leaves it to the benchmark.

    Attributes:
        name: in addresses.
        kind: "practice" with open truth, or "test".
        takes: how one takes part. Masks alone or not at all: of a phase that takes them each dialogue has one round.
            Runs only in a practice, for who holds one has the truth; there the seed is no secret.
        opens, closes: with their offset from UTC; None: always.
        dataset: the pool that runs draw from, in place of the challenge's.
        samples_per_run: how many of them a run has; None: all.
        runs_per_day, runs_in_all, runs_at_once: of a team; a day is the last 24 hours.
        rounds: of a dialogue.
        seconds_per_object: for all answers of a dialogue, for each object of its target.
        seconds_per_answer: for one answer, for each object; slower ones take from the bank.
        bank_s: what a dialogue has for these.
        seconds_per_run: for all answers of a run.
        shows: what participants see.
        decimals: of the scores that they see.
        ladder: whether a team's best and the scores it sees move only by more than chance; see
            `segarena_server.challenges.ladder`.
        late: what becomes of runs that are not over when the phase closes.
        seed: of what is drawn and of what users choose at random. Secret: who knows it knows the prompts.
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
        """Tell whether runs may begin; at the moment of closing they may not."""
        return (self.opens is None or now >= self.opens) and not self.is_closed(now)

    def is_closed(self, now: datetime) -> bool:
        """Tell whether the phase is over."""
        return self.closes is not None and now >= self.closes


class ChallengeDescription(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A challenge.

    Attributes:
        slug: in addresses.
        title, text: for people; the text in plain paragraphs.
        benchmark: as written for `segarena run`: "clicks", "davis(rounds=8)".
        dataset: as written for `segarena run -d`: the pool of all phases that name none.
        phases: at least one.
        is_public: whether the board is open to everyone; otherwise to participants.
        frozen: from then on the board stands still, until the last phase is closed.
        interfaces: of other servers, at which it is served too; see `segarena_server.extensions.interfaces`.
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
            InvalidInput: there is none of that name.
        """
        found = next((phase for phase in self.phases if phase.name == name), None)
        if found is None:
            known = ", ".join(phase.name for phase in self.phases)
            raise InvalidInput(f"challenge {self.slug} has no phase {name[:64]!r}; it has {known}")
        return found

    def pool(self, phase: Phase) -> str:
        """Return the dataset that a phase draws from; prompts about it count for all phases that do."""
        return phase.dataset or self.dataset


def read_challenge(text: str | bytes) -> ChallengeDescription:
    """Return the challenge that JSON describes.

    Raises:
        InvalidInput: names the field, what was expected there and what came.
    """
    return validated_challenge(_decoded(text))


def challenge_text(challenge: ChallengeDescription) -> str:
    """Return the JSON that `read_challenge` reads."""
    return msgspec.json.format(msgspec.json.encode(challenge), indent=2).decode()


def validated_challenge(challenge: ChallengeDescription) -> ChallengeDescription:
    """Return a challenge whose fields fit together.

    Raises:
        InvalidInput: names the field that does not.
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

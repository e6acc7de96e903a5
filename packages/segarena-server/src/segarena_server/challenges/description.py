"""The description of a challenge, written by its organiser."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Annotated

import msgspec

from segarena.errors import InvalidInput
from segarena.plugin_spec import PluginSpec
from segarena.protocol.challenge_info import DateTime, PhaseRules, Slug
from segarena.protocol.field_description import FieldDescription


class Phase(PhaseRules, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a challenge with its own dates and limits.

    `PhaseRules` has the fields that participants see; those below belong to the organiser. A new
    field only needs a `FieldDescription`: `segarena_server.challenges.phase_fields` lists where it
    is used.
    """

    dataset: Annotated[
        str,
        FieldDescription(
            label="Its own dataset",
            meaning="Dataset from which runs draw",
            unset="that of the challenge",
            in_options=False,
            section="details",
            is_fixed=True,
            has_rule=False,
        ),
    ] = ""
    # Secret, because whoever knows the seed knows the drawn samples and can predict the prompts.
    seed: Annotated[
        Annotated[int, msgspec.Meta(ge=0)],
        FieldDescription(
            label="Seed",
            meaning="Secret seed for drawing samples and for random choices of users; with 0 the server generates one",
            in_options=False,
            in_forms=False,
            is_fixed=True,
            has_rule=False,
        ),
    ] = 0

    def is_open(self, now: datetime) -> bool:
        """Return whether runs may start; at the closing time itself they may not."""
        return (self.opens is None or now >= self.opens) and not self.is_closed(now)

    def is_closed(self, now: datetime) -> bool:
        """Return whether the phase is over."""
        return self.closes is not None and now >= self.closes


class ChallengeDescription(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The description of a challenge.

    Attributes:
        slug: name in addresses.
        title: title for people.
        text: text for people, in Markdown; see `segarena_server.challenges.markdown`.
        benchmark: as in `segarena run`, such as "clicks" or "davis(rounds=8)".
        dataset: as in `segarena run -d`; the pool of all phases that name no dataset.
        phases: at least one phase.
        is_public: whether everybody may see the challenge and its boards, or only people with an account.
        frozen: time after which the board stays unchanged until the last phase is closed.
        practice_may_reveal_test: whether a practice may share samples with a test, although its participants then see
            the test's truth; see `segarena_server.challenges.sample_overlap`.
        terms: text in Markdown that each participant must have accepted to start a run; "" for none.
        approves_teams: whether organisers approve each team before its first run.
        interfaces: additional interfaces for client programs of other servers; see
            `segarena_server.challenges.interfaces`.
    """

    slug: Slug
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    text: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    benchmark: str
    dataset: str
    phases: Annotated[tuple[Phase, ...], msgspec.Meta(min_length=1, max_length=50)]
    is_public: bool = True
    frozen: DateTime | None = None
    practice_may_reveal_test: bool = False
    terms: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    approves_teams: bool = False
    interfaces: Annotated[tuple[Slug, ...], msgspec.Meta(max_length=10)] = ()

    def phase(self, name: str) -> Phase:
        """Return a phase by name.

        Raises:
            InvalidInput: no phase has this name; the message lists all phases.
        """
        found = next((phase for phase in self.phases if phase.name == name), None)
        if found is None:
            known = ", ".join(phase.name for phase in self.phases)
            raise InvalidInput(f"challenge {self.slug} has no phase {name[:64]!r}; it has {known}")
        return found

    def pool(self, phase: Phase) -> str:
        """Return the dataset from which a phase draws samples; phases with the same dataset share a prompt budget."""
        return phase.dataset or self.dataset


def read_challenge(text: str | bytes) -> ChallengeDescription:
    """Parse a challenge from its JSON description.

    Raises:
        InvalidInput: a field is invalid; the message names the field and the expected value.
    """
    return validated_challenge(_decoded(text))


def challenge_text(challenge: ChallengeDescription) -> str:
    """Return a challenge as JSON for `read_challenge`."""
    return msgspec.json.format(msgspec.json.encode(challenge), indent=2).decode()


def validated_challenge(challenge: ChallengeDescription) -> ChallengeDescription:
    """Check that the fields of a challenge are consistent, and return it.

    Raises:
        InvalidInput: a field is inconsistent; the message names it.
    """
    names = Counter(phase.name for phase in challenge.phases)
    for place, phase in enumerate(challenge.phases):
        if names[phase.name] > 1:
            raise InvalidInput(
                f"phases[{place}].name: expected different names, got {phase.name!r} twice"
            )
        if phase.opens and phase.closes and phase.opens >= phase.closes:
            raise InvalidInput(
                f"phases[{place}].closes: expected a time after opens, got {phase.closes.isoformat()}"
            )
        if phase.bank_s and phase.seconds_per_answer is None:
            raise InvalidInput(
                f"phases[{place}].bank_s: needs seconds_per_answer as well, got none"
            )
        _parsed(challenge.pool(phase), f"phases[{place}].dataset")
        _check_ways(phase, f"phases[{place}]")
    _parsed(challenge.benchmark, "benchmark")
    _parsed(challenge.dataset, "dataset")
    return challenge


def _check_ways(phase: Phase, field: str) -> None:
    if len({*phase.takes}) < len(phase.takes):
        raise InvalidInput(
            f"{field}.takes: expected each way to take part once, got {', '.join(phase.takes)}"
        )
    if "masks" in phase.takes and (len(phase.takes) > 1 or phase.rounds not in (None, 1)):
        raise InvalidInput(
            f"{field}.takes: expected only masks and one round, because a board cannot compare masks "
            "with dialogues or runs"
        )
    if "run" in phase.takes and phase.kind != "practice":
        raise InvalidInput(
            f"{field}.takes: only a practice phase accepts complete runs, because making one requires the ground truth"
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

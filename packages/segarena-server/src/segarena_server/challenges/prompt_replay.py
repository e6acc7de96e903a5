"""Prompts that a team got before: asked about the same sample again, it gets these again, whatever it answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias

from segarena.errors import InvalidInput, StoreError
from segarena.prompts import Prompt
from segarena.protocol.replies import DialogueReply, Reply, pack_reply, unpack_reply
from segarena.roles import Turn, User
from segarena.samples import Shape, Support

PromptHistory: TypeAlias = dict[int, list[Sequence[Prompt]]]
"""By the number of the dialogue, the prompts of its first rounds."""


class ReplayingUser:
    """A user who says in the first rounds what was said before, and from then on what the user says whom it stands for.

    Prompts are true whatever was answered, so a dialogue goes on from them; but they do not look at the answers, so
    nobody learns more by asking again. From the first round that was never given before, the user sees the dialogue as
    it is now. However many runs a team begins, it gets no more rounds about a sample than one dialogue has.

    Args:
        user: who gives prompts of further rounds.
        past: what was given before, by round.
    """

    def __init__(self, user: User, past: Sequence[Sequence[Prompt]]) -> None:
        self._user = user
        self.past = past

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the prompts of this round; examples are shown anew, as they are of other samples and have names."""
        said = self.past[turn.round - 1] if turn.round <= len(self.past) else None
        if said is None or any(isinstance(prompt, Support) for prompt in said):
            return self._user.next(turn)
        return said

    def __getattr__(self, name: str) -> Any:
        return getattr(self._user, name)


def pack_history(given: PromptHistory) -> bytes:
    """Return prompts as they are kept; b"" for none."""
    told = [
        DialogueReply(dialogue=number, rounds=rounds)
        for number, rounds in sorted(given.items())
        if rounds
    ]
    return pack_reply(Reply(dialogues=told)) if told else b""


def pack_first_rounds(packed: Sequence[bytes], shape: Shape) -> tuple[bytes, ...]:
    """Return what was kept without further rounds, for dialogues that have one.

    Raises:
        StoreError: what was kept is damaged.
    """
    given = unpack_history(packed, shape)
    if given:
        return (pack_history({number: rounds[:1] for number, rounds in given.items()}),)
    return ()


def unpack_history(packed: Sequence[bytes], shape: Shape) -> PromptHistory:
    """Return the prompts that were kept, one after the other, about a sample of `shape`.

    Raises:
        StoreError: what was kept is damaged.
    """
    found: PromptHistory = {}
    try:
        for asked in chain.from_iterable(
            unpack_reply(one, shape).dialogues for one in packed if one
        ):
            found.setdefault(asked.dialogue, []).extend(asked.rounds)
    except InvalidInput as error:
        raise StoreError(f"prompts given before: {error}") from error
    return found

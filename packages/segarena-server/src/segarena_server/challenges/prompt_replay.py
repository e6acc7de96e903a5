"""Prompt replay: a team that receives a sample again also receives the same prompts again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from segarena.errors import InvalidInput, StoreError
from segarena.prompts import Prompt
from segarena.protocol.replies import DialogueReply, pack_reply, unpack_reply
from segarena.roles import Turn, User
from segarena.samples import Shape, Support

PromptHistory: TypeAlias = dict[int, list[Sequence[Prompt]]]
"""Prompts of the first rounds of each dialogue, by its index."""


class ReplayingUser:
    """A user that repeats earlier prompts in the first rounds, then hands over to another user.

    The dialogue can continue after repeated prompts, because they are correct for any answer. They
    do not depend on the answers, so repeating a run yields no further information. From the first
    new round on, the user sees the actual dialogue. However many runs a team starts, it receives no
    more rounds about a sample than one dialogue has.

    Args:
        user: user that prompts in further rounds.
        past: earlier prompts, by round.
    """

    def __init__(self, user: User, past: Sequence[Sequence[Prompt]]) -> None:
        self._user = user
        self.past = past

    def next(self, turn: Turn) -> Sequence[Prompt] | None:
        """Return the prompts of this round, or None if the user ends the dialogue.

        The user chooses support examples anew: they belong to other samples, whose names were not
        stored.
        """
        if turn.round > len(self.past):
            return self._user.next(turn)
        prompts = self.past[turn.round - 1]
        if any(isinstance(prompt, Support) for prompt in prompts):
            return self._user.next(turn)
        return prompts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._user, name)


def pack_prompts(replies: Iterable[DialogueReply]) -> bytes:
    """Encode the prompts in replies for storage, in the order of the dialogues; b"" without prompts."""
    dialogues: list[DialogueReply] = []
    for reply in sorted(replies, key=lambda reply: reply.dialogue):
        if reply.rounds:
            dialogues.append(DialogueReply(dialogue=reply.dialogue, rounds=reply.rounds))
    return pack_reply(dialogues) if dialogues else b""


def pack_first_rounds(packed: Sequence[bytes], shape: Shape) -> tuple[bytes, ...]:
    """Keep only the first round of stored prompts, for dialogues of one round.

    Raises:
        StoreError: the stored prompts are damaged.
    """
    history = unpack_history(packed, shape)
    if not history:
        return ()
    first = [
        DialogueReply(dialogue=number, rounds=rounds[:1]) for number, rounds in history.items()
    ]
    return (pack_prompts(first),)


def unpack_history(packed: Sequence[bytes], shape: Shape) -> PromptHistory:
    """Decode stored prompts about a sample of `shape`, concatenated in the order of `packed`.

    Raises:
        StoreError: the stored prompts are damaged.
    """
    history: PromptHistory = {}
    for content in packed:
        if not content:
            continue
        try:
            replies = unpack_reply(content, shape)
        except InvalidInput as error:
            raise StoreError(f"stored prompts are damaged: {error}") from error
        for reply in replies:
            history.setdefault(reply.dialogue, []).extend(reply.rounds)
    return history

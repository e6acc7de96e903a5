"""What stands here for an encoding that a worker keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from segarena.errors import SegmenterError
from segarena.samples import Sample
from segarena.segmenters.workers.worker_client import LossCounter, WorkerClient
from segarena.serialization import encode_sample
from segarena.work.deadline import pause_deadline
from segarena.worker import flatten


class EncodingHandle:
    """What a worker made of a sample: a handle there, and here what it takes to make it again.

    Args:
        conversation: with the worker.
        of: the sample; or the arrays that an encoding of it was packed into.

    Attributes:
        handle: under which the worker knows it.
        tries: how often a worker was lost over it.
        nbytes: about what it takes in the worker's memory.
        pass_seconds: what each encoder pass took so far; only there for encodings that are made in parts, when first
            needed (see `segarena.abilities.TimesPasses`).
    """

    pass_seconds: list[float]

    def __init__(self, conversation: WorkerClient, of: Sample | Mapping[str, Any]) -> None:
        self.conversation = conversation
        self.of = of
        self.handle = 0
        self.tries = LossCounter()
        self.nbytes = 0
        self._life = 0
        self._passes_before: list[float] = []

    def known(self) -> int:
        """See to it that the worker knows it, which a new one does not; return the life of the worker that does.

        Raises:
            Lost, Told: as `Conversation.ask`.
            SegmenterError: its answer makes no sense.
        """
        conversation = self.conversation
        conversation.start()
        if self._life == conversation.life:
            return self._life
        if not self._life:
            self._make()
            return self._life
        self._passes_before = list(getattr(self, "pass_seconds", ()))
        limit_s = conversation.reach.start_s
        with pause_deadline(limit_s), conversation.within(limit_s):
            self._make()
        return self._life

    def note(self, answer: Mapping[str, Any]) -> None:
        """Note what an answer says of encoder passes."""
        said = answer.get("pass_seconds")
        if isinstance(said, list):
            self.pass_seconds = [
                *self._passes_before,
                *(each for each in said if isinstance(each, float)),
            ]

    def _make(self) -> None:
        arrays: list[Any] = []
        if isinstance(self.of, Mapping):
            told = {"packed": {name: flatten(each, arrays) for name, each in self.of.items()}}
            answer, _ = self.conversation.ask("unpack", told, arrays)
        else:
            told = {"sample": encode_sample(self.of, arrays, self.conversation.shared.body)}
            answer, _ = self.conversation.ask("encode", told, arrays)
        handle = answer.get("handle")
        size = answer.get("bytes")
        if not isinstance(handle, int):
            raise SegmenterError(
                f"the worker gives {handle!r} as the handle of an encoding, expected a whole number"
            )
        self.handle = handle
        self.nbytes = size if isinstance(size, int) else 0
        self._life = self.conversation.life
        self.note(answer)

    def __del__(self) -> None:
        self.conversation.drop(self._life, self.handle)

"""Exchange of turns about one sample: a request sends all queued answers and returns the next prompts.

    RUN/turns/KEY/3.turn    turn 3, written before it is sent
    RUN/turns/KEY/3.reply   its reply

A restarted client sends stored turns again instead of new answers of the segmenter. So the server
gets exactly one answer to each prompt, even if the client was killed or the segmenter is not
deterministic.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from segarena.client.challenge_server_api import SampleInfo, Server
from segarena.errors import InvalidInput, RemoteError, StoreError
from segarena.files.atomic_write import write_atomic
from segarena.protocol.replies import DialogueReply, unpack_reply
from segarena.protocol.turns import DialogueAnswer, TurnHeader, pack_turn, unpack_turn
from segarena.samples import Shape

TURNS_FOLDER = "turns"


@dataclass(frozen=True, slots=True)
class DialogueExchange:
    """A reply about a dialogue, and the answer that it refers to, which is None if the dialogue was just opened."""

    reply: DialogueReply
    answer: DialogueAnswer | None


class SampleExchange:
    """Exchange with a server of all dialogues about one sample.

    Args:
        server: the server, which gives prompts and evaluates answers.
        run: id of the run.
        info: the sample and its dialogues.
        folder: folder of the run on this machine.
        shape: shape of the sample.
        is_together: whether to open all dialogues at once, as the engine does, instead of each at its first request.
    """

    def __init__(
        self,
        server: Server,
        run: str,
        info: SampleInfo,
        folder: Path,
        shape: Shape,
        *,
        is_together: bool,
    ) -> None:
        self.info = info
        self.shape = shape
        self._server = server
        self._run = run
        self._folder = folder / TURNS_FOLDER / info.key
        self._is_together = is_together
        self._round_trip_s: float | None = None
        self._number = 0
        self._unopened = list(range(len(info.dialogues)))
        self._waiting: set[int] = set()
        self._queued: dict[int, DialogueAnswer] = {}
        self._seconds: dict[int, float] = {}
        self._received: dict[int, DialogueExchange] = {}

    def answer(
        self,
        dialogue: int,
        answer: DialogueAnswer,
        seconds: float = 0.0,
    ) -> None:
        """Queue the answer to a dialogue, and the seconds that it took, for the next request."""
        self._queued[dialogue] = answer
        self._seconds[dialogue] = seconds

    def ask(self, dialogue: int) -> DialogueExchange:
        """Return the next reply about a dialogue, sending the queued answers if necessary.

        Raises:
            RemoteError: the server is unreachable, rejects the request, or sends an invalid reply.
            StoreError: the turn cannot be stored, or the stored turn is damaged.
        """
        if dialogue not in self._received:
            opened: list[int] = []
            if dialogue in self._unopened:
                opened = list(self._unopened) if self._is_together else [dialogue]
            self._exchange(opened)
        received = self._received.pop(dialogue, None)
        if received is None:
            raise self._unexpected(f"nothing about dialogue {dialogue}")
        return received

    @property
    def has_stored_turn(self) -> bool:
        """Whether an interrupted run has stored the next turn."""
        return self._file("turn").is_file()

    def stored_answer(self, dialogue: int) -> DialogueAnswer | None:
        """Return the answer about a dialogue in the next turn, if it is stored."""
        if not self.has_stored_turn:
            return None
        _, answers = self._unpacked(self._file("turn").read_bytes())
        return answers.get(dialogue)

    def settle(self) -> None:
        """Send all queued answers, including those about dialogues that failed before they were opened."""
        failed = [number for number in self._queued if number in self._unopened]
        if failed and len(failed) == len(self.info.dialogues):
            # All dialogues failed, for example because the sample cannot be loaded: send one
            # message for the sample.
            self._exchange([], failed=str(self._queued[failed[0]]))
        elif failed:
            self._exchange(failed)
        while self._queued:
            self._exchange([])

    def _exchange(self, opened: Sequence[int], *, failed: str = "") -> None:
        answers: dict[int, DialogueAnswer] = {}
        if not failed:
            answers = {
                number: answer for number, answer in self._queued.items() if number in self._waiting
            }
        client_s = sum(self._seconds[number] for number in answers)
        header = TurnHeader(id=self._id(), client_s=client_s, open=list(opened), failed=failed)
        body = self._stored_turn(header, answers)
        stored, sent = self._unpacked(body)
        if stored.open != list(opened) or {*sent} != {*answers}:
            raise StoreError(
                f"{self._folder}: turn {self._number} contains other dialogues; a script that "
                "uses a different order than before cannot resume this run; start another one"
            )
        reply = self._reply(body)
        self._number += 1
        self._waiting -= set(sent)
        self._unopened = [number for number in self._unopened if number not in opened]
        for each in reply:
            self._received[each.dialogue] = DialogueExchange(each, sent.get(each.dialogue))
            if not each.over:
                self._waiting.add(each.dialogue)
        for number, answer in list(self._queued.items()):
            # A failure in this process that the stored turn does not contain must still be sent.
            is_failure = isinstance(answer, str)
            is_sent = number in sent and not (is_failure and number in self._waiting)
            if is_sent or failed:
                del self._queued[number]

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._number}.{kind}"

    def _id(self) -> str:
        return str(uuid.uuid5(uuid.UUID(self._run), f"{self.info.key}/{self._number}"))

    def _stored_turn(self, header: TurnHeader, answers: Mapping[int, DialogueAnswer]) -> bytes:
        """Return the stored turn with this index; if there is none, store and return this one."""
        file = self._file("turn")
        with suppress(FileNotFoundError):
            return file.read_bytes()
        if self._round_trip_s is None:
            self._round_trip_s = self._server.round_trip_s()
        round_trip_s = round(self._round_trip_s, 6)
        body = pack_turn(msgspec.structs.replace(header, round_trip_s=round_trip_s), answers)
        write_atomic(file, body)
        return body

    def _unpacked(self, body: bytes) -> tuple[TurnHeader, dict[int, DialogueAnswer]]:
        objects = {number: self.info.dialogues[number].objects for number in self._waiting}
        try:
            return unpack_turn(body, shape=self.shape, objects=objects)
        except InvalidInput as error:
            raise StoreError(
                f"{self._folder}: turn {self._number} is damaged: {error}; start another run"
            ) from error

    def _reply(self, body: bytes) -> Sequence[DialogueReply]:
        file = self._file("reply")
        if file.is_file():
            body = file.read_bytes()
        else:
            body = self._server.turn(self._run, self.info.key, self._number, body)
        try:
            replies = unpack_reply(body, self.shape)
        except InvalidInput as error:
            file.unlink(missing_ok=True)
            raise self._unexpected(str(error)) from error
        if any(not 0 <= each.dialogue < len(self.info.dialogues) for each in replies):
            raise self._unexpected("an unknown dialogue")
        if not file.is_file():
            write_atomic(file, body)
        return replies

    def _unexpected(self, problem: str) -> RemoteError:
        server = self._server.connection.server
        return RemoteError(
            f"{server}: unexpected reply to turn {self._number} about sample {self.info.key}: {problem}"
        )

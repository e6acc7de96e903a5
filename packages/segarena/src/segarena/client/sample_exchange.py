"""The turns about one sample of a run: all answers that there are go up together, and the next prompts come back.

    RUN/turns/KEY/3.turn    what turn 3 answers, written before it is sent
    RUN/turns/KEY/3.reply   what came back

A client that was killed says the same again: what was written here is sent in place of what the segmenter would answer
now, so that neither chance nor a kill in between makes two answers of one.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from segarena.client.server import SampleInfo, Server
from segarena.errors import InvalidInput, RemoteError, StoreError
from segarena.files.atomic_write import write_whole
from segarena.protocol.replies import DialogueReply, unpack_reply
from segarena.protocol.turns import DialogueAnswer, TurnMessage, pack_turn, unpack_turn
from segarena.samples import Shape

TURNS = "turns"


@dataclass(frozen=True, slots=True)
class DialogueExchange:
    """What came back about a dialogue, and the answer that was sent before it; None when it was opened just now."""

    asked: DialogueReply
    answered: DialogueAnswer | None


class SampleExchange:
    """Holds the dialogues about one sample with a server.

    Args:
        server: who asks and judges.
        run: the run's id there.
        told: which sample, and its dialogues.
        folder: of the run, here.
        shape: of the sample.
        is_together: all dialogues are opened at once, as an engine holds them; otherwise each when it is asked for.
    """

    def __init__(
        self,
        server: Server,
        run: str,
        told: SampleInfo,
        folder: Path,
        shape: Shape,
        *,
        is_together: bool,
    ) -> None:
        self.told = told
        self.shape = shape
        self._server = server
        self._run = run
        self._folder = folder / TURNS / told.key
        self._is_together = is_together
        self._round_trip_s: float | None = None
        self._number = 0
        self._unopened = list(range(len(told.dialogues)))
        self._waiting: set[int] = set()
        self._queued: dict[int, DialogueAnswer] = {}
        self._seconds: dict[int, float] = {}
        self._heard: dict[int, DialogueExchange] = {}

    def answer(self, answer: DialogueAnswer, seconds: float = 0.0) -> None:
        """Take an answer, or why there is none, and what it took; it is sent with the next question."""
        self._queued[answer.dialogue] = answer
        self._seconds[answer.dialogue] = seconds

    def ask(self, dialogue: int) -> DialogueExchange:
        """Return what comes next about a dialogue; answers that wait are sent for it.

        Raises:
            RemoteError: the server is not reached, refuses, or says what cannot be.
            StoreError: this turn cannot be kept, or what was kept is damaged.
        """
        if dialogue not in self._heard:
            opened = [dialogue] if dialogue in self._unopened else []
            self._exchange(list(self._unopened) if opened and self._is_together else opened)
        heard = self._heard.pop(dialogue, None)
        if heard is None:
            raise self._odd(f"nothing about dialogue {dialogue}")
        return heard

    @property
    def was_sent(self) -> bool:
        """Whether the next turn was sent before, by a run that was stopped."""
        return self._file("turn").is_file()

    def said_before(self, dialogue: int) -> DialogueAnswer | None:
        """Return what the next turn answers about a dialogue, if it was sent before."""
        if not self.was_sent:
            return None
        answers = self._unpacked(self._file("turn").read_bytes()).answers
        return next((answer for answer in answers if answer.dialogue == dialogue), None)

    def settle(self) -> None:
        """Send the answers that wait, also about dialogues that were given up before they were opened."""
        given_up = [number for number in self._queued if number in self._unopened]
        if given_up and len(given_up) == len(
            self.told.dialogues
        ):  # nothing can be said about this sample
            self._exchange([], failed=self._queued[given_up[0]].failed)
        elif given_up:
            self._exchange(given_up)
        while self._queued:
            self._exchange([])

    def _exchange(self, opened: Sequence[int], *, failed: str = "") -> None:
        if failed:
            answers = []
        else:
            answers = [each for number, each in self._queued.items() if number in self._waiting]
        client_s = sum(self._seconds[answer.dialogue] for answer in answers)
        body = self._kept_turn(
            TurnMessage(
                id=self._id(), client_s=client_s, answers=answers, open=opened, failed=failed
            )
        )
        kept = self._unpacked(body)
        sent = {answer.dialogue: answer for answer in kept.answers}
        if list(kept.open) != list(opened) or {*sent} != {answer.dialogue for answer in answers}:
            raise StoreError(
                f"{self._folder}: turn {self._number} was about other dialogues than now; a script that goes another "
                "way than before cannot go on with this run: begin another one"
            )
        reply = self._reply(body)
        self._number += 1
        self._waiting -= {*sent}
        self._unopened = [number for number in self._unopened if number not in opened]
        for asked in reply:
            self._heard[asked.dialogue] = DialogueExchange(asked, sent.get(asked.dialogue))
            if not asked.over:
                self._waiting.add(asked.dialogue)
        for number, answer in list(self._queued.items()):
            # What failed only now, and not before a kill, has still to be told.
            is_told = number in sent and not (answer.failed and number in self._waiting)
            if is_told or failed:
                del self._queued[number]

    def _file(self, kind: str) -> Path:
        return self._folder / f"{self._number}.{kind}"

    def _id(self) -> str:
        return str(uuid.uuid5(uuid.UUID(self._run), f"{self.told.key}/{self._number}"))

    def _kept_turn(self, turn: TurnMessage) -> bytes:
        """Return what was sent as this turn before, else this turn, which is on disk from now on."""
        file = self._file("turn")
        with suppress(FileNotFoundError):
            return file.read_bytes()
        if self._round_trip_s is None:
            self._round_trip_s = self._server.round_trip_s()
        body = pack_turn(replace(turn, round_trip_s=round(self._round_trip_s, 6)))
        write_whole(file, body)
        return body

    def _unpacked(self, body: bytes) -> TurnMessage:
        objects = {number: self.told.dialogues[number].objects for number in self._waiting}
        try:
            return unpack_turn(body, shape=self.shape, objects=objects)
        except InvalidInput as error:
            raise StoreError(
                f"{self._folder}: turn {self._number} is damaged: {error}; begin another run"
            ) from error

    def _reply(self, body: bytes) -> Sequence[DialogueReply]:
        file = self._file("reply")
        if file.is_file():
            came = file.read_bytes()
        else:
            came = self._server.turn(self._run, self.told.key, self._number, body)
        try:
            reply = unpack_reply(came, self.shape)
        except InvalidInput as error:
            file.unlink(missing_ok=True)
            raise self._odd(str(error)) from error
        if any(not 0 <= asked.dialogue < len(self.told.dialogues) for asked in reply.dialogues):
            raise self._odd("a dialogue that there is not")
        if not file.is_file():
            write_whole(file, came)
        return reply.dialogues

    def _odd(self, what: str) -> RemoteError:
        server = self._server.connection.server
        return RemoteError(
            f"{server}: what it says of turn {self._number} about sample {self.told.key} is odd: {what}"
        )

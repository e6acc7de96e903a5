"""Seats: the dialogues of human users, as files through which a run and the server of its pages communicate.

    RUN/seats/
      about.json         information about the run (`RunInfo`)
      alive              touched while a run answers
      samples/000012/    image files of a sample, while it has seats
      000012-0/          a seat: the first dialogue with a person about the sample with index 12
        about.bin        sample, target and options of the seat (`SeatInfo`)
        person           id of the person; written once
        1.given          the prompts of round 1 (`PersonPrompts`): written once, before they are answered
        1.answer         the result of round 1 (`RoundFeedback`)
        over             an empty file, once the dialogue has ended

All state is in these files, so people, pages and the run can be stopped at any time and continue
later. The two sides share only this folder, and may run on different machines.
"""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from segarena.errors import StoreError
from segarena.files.atomic_write import write_atomic, write_if_absent

SEATS = "seats"
"""Name of the folder of seats in the folder of a run."""

_ABOUT = "about.json"
_ALIVE = "alive"
_SAMPLES = "samples"
_HEARTBEAT_EXPIRY_S = 10.0
"""A run without a heartbeat for this many seconds counts as stopped."""

_NAME = re.compile(r"[0-9]{6,12}-[0-9]{1,9}")
"""Pattern of a seat's name. Names come from requests and become paths, so their length is limited."""

Document = TypeVar("Document", bound=msgspec.Struct)


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Information about a run that its pages display.

    Attributes:
        id: random id of the seats, generated when they are created.
        title: title of the run.
        sample_kind: "image", "volume" or "video".
        rounds: limit of rounds in a dialogue.
        most_prompts: limit of prompts in one round.
    """

    id: str = ""
    title: str
    sample_kind: str
    rounds: int
    most_prompts: int


class SeatInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Description of a seat, stored in `about.bin`: its sample, target, user and display settings.

    Attributes:
        seat: name of the seat.
        place: index of the sample in the run.
        sample: id of the sample.
        target: id of the target.
        label: label of the target.
        user: name of the user in the records.
        repeat: index among the dialogues of the user about the target, from 0.
        shape: shape of the sample.
        kinds: kinds of prompts that the person gives.
        shows: display settings of the page, from the user's options.
        masks: mask of each object of the target, as run lengths (`segarena.arrays.rle`).
        ignore: run lengths of the ignored pixels; None if every pixel counts.
    """

    seat: str
    place: int
    sample: str
    target: str
    label: str
    user: str
    repeat: int
    shape: tuple[int, ...]
    kinds: tuple[str, ...]
    shows: Mapping[str, Any]
    masks: tuple[bytes, ...]
    ignore: bytes | None = None


class PersonPrompts(msgspec.Struct, frozen=True, kw_only=True):
    """The prompts of a person in one round.

    Attributes:
        id: id set by the page, so that repeated requests are recognised.
        prompts: text from `segarena.records.prompts.prompts_text`; None if nothing is left
            to correct.
        person, user_s, away_s, pointer, note: see `segarena.records.row_types.PersonRound`.
        strokes: log of the drawing, as sent by the page; stored unchanged.
    """

    id: str
    prompts: str | None
    person: str
    user_s: float
    away_s: float = 0.0
    pointer: str = ""
    note: str = ""
    strokes: msgspec.Raw = msgspec.Raw(b"null")


class RoundFeedback(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a round.

    Attributes:
        masks: run lengths of the prediction for each object; empty without a prediction.
        values: values of the metrics; None for NaN.
        predict_s: seconds that the prediction took.
        is_over: whether the dialogue ends with this round.
        failure: error message; "" if the round succeeded.
    """

    masks: tuple[bytes, ...] = ()
    values: Mapping[str, float | None] = {}
    predict_s: float = 0.0
    is_over: bool = False
    failure: str = ""


class Seats:
    """The seats of a run.

    Args:
        run: the run's folder.
    """

    def __init__(self, run: Path) -> None:
        self.path = run / SEATS

    def open(self, info: RunInfo) -> None:
        """Publish the run to the pages; if the seats exist already, they keep their id."""
        # If several processes open the seats at once, the first write determines the id.
        first = msgspec.structs.replace(info, id=secrets.token_hex(8))
        write_if_absent(self.path / _ABOUT, msgspec.json.encode(first))
        # Keep the id but update the rest, because a continued run may allow more rounds.
        own = msgspec.structs.replace(info, id=self.info().id)
        write_atomic(self.path / _ABOUT, msgspec.json.encode(own))
        self.beat()

    def info(self) -> RunInfo:
        """Return the information about the run.

        Raises:
            StoreError: the run has no human users, or the file is damaged.
        """
        found = self._read(self.path / _ABOUT, RunInfo)
        if found is None:
            raise StoreError(f"{self.path.parent}: expected a run with human users, found no seats")
        return found

    def beat(self) -> None:
        """Update the heartbeat, which shows that this run answers prompts."""
        (self.path / _ALIVE).touch()

    def leave(self) -> None:
        """Remove the heartbeat, because this run no longer answers prompts."""
        (self.path / _ALIVE).unlink(missing_ok=True)

    @property
    def is_answered(self) -> bool:
        """Whether a running process answers prompts."""
        with suppress(FileNotFoundError):
            last_beat = (self.path / _ALIVE).stat().st_mtime
            return time.time() - last_beat < _HEARTBEAT_EXPIRY_S
        return False

    def sample_folder(self, index: int) -> Path:
        """Return the folder of a sample's image files."""
        return self.path / _SAMPLES / f"{index:06d}"

    def open_samples(self) -> list[int]:
        """Return the indices of the samples with image files, ascending."""
        indices: list[int] = []
        for folder in (self.path / _SAMPLES).glob("[0-9]*"):
            if folder.name.isdecimal():
                indices.append(int(folder.name))
        return sorted(indices)

    def close_sample(self, index: int) -> None:
        """Remove the image files of a sample, once the dialogues about it are over."""
        shutil.rmtree(self.sample_folder(index), ignore_errors=True)

    def add(self, info: SeatInfo) -> None:
        """Create a seat, or replace its information."""
        write_atomic(self._seat(info.seat) / "about.bin", msgspec.msgpack.encode(info))

    def names(self) -> list[str]:
        """Return the names of all seats, ordered by sample."""
        return sorted(file.parent.name for file in self.path.glob("*/about.bin"))

    def seat(self, name: str) -> SeatInfo | None:
        """Return the information about a seat; None if there is no seat of that name."""
        # The name comes from a request; anything else could be a path out of the folder.
        if _NAME.fullmatch(name):
            return self._read(self._seat(name) / "about.bin", SeatInfo)
        return None

    def claim(self, name: str, person: str) -> bool:
        """Assign a free seat to a person; return whether the seat is theirs."""
        # If two people claim a seat at once, the file system lets only one create the file.
        is_new = write_if_absent(self._seat(name) / "person", person)
        # A repeated request of the same person still succeeds.
        return is_new or self.person(name) == person

    def free(self, name: str) -> None:
        """Unassign a seat, unless its person already gave prompts."""
        # A dialogue with prompts belongs to its person, because another one would continue it
        # differently.
        if self.given(name, 1) is None:
            (self._seat(name) / "person").unlink(missing_ok=True)

    def person(self, name: str) -> str:
        """Return the id of the person at a seat; "" for a free one."""
        with suppress(FileNotFoundError):
            return (self._seat(name) / "person").read_text()
        return ""

    def give(
        self,
        name: str,
        round_: int,
        given: PersonPrompts,
    ) -> PersonPrompts:
        """Store the prompts of a round and return them; if the round already has prompts, return those instead.

        Raises:
            StoreError: the prompts cannot be stored and therefore do not count.
        """
        # The first prompts of a round count, so that a repeated request cannot change them after
        # the answer.
        write_if_absent(self._file(name, round_, "given"), msgspec.json.encode(given))
        found = self.given(name, round_)
        if found is None:
            raise StoreError(f"{self._seat(name)} cannot be read; send the prompts again")
        return found

    def given(self, name: str, round_: int) -> PersonPrompts | None:
        """Return the prompts of a round; None if there are none yet."""
        return self._read(self._file(name, round_, "given"), PersonPrompts)

    def answer(
        self,
        name: str,
        round_: int,
        feedback: RoundFeedback,
    ) -> None:
        """Store the result of a round for the person to see."""
        write_atomic(self._file(name, round_, "answer"), msgspec.msgpack.encode(feedback))
        if feedback.is_over:
            # Write to disk before the records, so that no finished sample has an open seat.
            write_atomic(self._seat(name) / "over", b"")

    def answered(self, name: str, round_: int) -> RoundFeedback | None:
        """Return the result of a round; None if there is none yet."""
        return self._read(self._file(name, round_, "answer"), RoundFeedback)

    def shown_at(self, name: str, round_: int) -> float:
        """Return the time (of `time.time`) at which the person at a seat could see a round; now if they cannot yet."""
        if round_ > 1:
            before = self._file(name, round_ - 1, "answer")
        else:
            before = self._seat(name) / "person"
        with suppress(FileNotFoundError):
            return before.stat().st_mtime
        return time.time()

    def rounds(self, name: str) -> Iterator[PersonPrompts]:
        """Yield the prompts of each round in order."""
        round_ = 1
        while (given := self.given(name, round_)) is not None:
            yield given
            round_ += 1

    def last_answer(self, name: str) -> RoundFeedback | None:
        """Return the result of the last answered round; None if there is none yet."""
        count = sum(1 for _ in self.rounds(name))
        # A dialogue may end before any prompts are given, if its sample could not be encoded.
        for round_ in range(count + 1, 0, -1):
            feedback = self.answered(name, round_)
            if feedback is not None:
                return feedback
        return None

    def reopen_failed(self, name: str) -> None:
        """Reopen a failed dialogue, because its sample runs again; its stored prompts are answered again."""
        last = self.last_answer(name)
        if last is not None and last.failure:
            for file in self._seat(name).glob("*.answer"):
                file.unlink(missing_ok=True)
            (self._seat(name) / "over").unlink(missing_ok=True)

    def is_over(self, name: str) -> bool:
        """Return whether the dialogue of a seat has ended."""
        return (self._seat(name) / "over").is_file()

    def _seat(self, name: str) -> Path:
        return self.path / name

    def _file(
        self,
        name: str,
        round_: int,
        kind: str,
    ) -> Path:
        return self._seat(name) / f"{round_}.{kind}"

    def _read(self, file: Path, kind: type[Document]) -> Document | None:
        if file.suffix in (".json", ".given"):
            decode = msgspec.json.decode
        else:
            decode = msgspec.msgpack.decode
        try:
            return decode(file.read_bytes(), type=kind)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{file} cannot be read: {error.strerror}") from error
        except msgspec.MsgspecError as error:
            raise StoreError(
                f"{file} is damaged: {error}; remove the folder of this seat to collect its prompts again"
            ) from error


def seat_name(place: int, number: int) -> str:
    """Return the name of a seat: the index of its sample, and its index among the seats of the sample."""
    return f"{place:06d}-{number}"


def clear_seats(run: Path) -> None:
    """Remove the seats of a run that is replaced, with all prompts given at them."""
    shutil.rmtree(run / SEATS, ignore_errors=True)

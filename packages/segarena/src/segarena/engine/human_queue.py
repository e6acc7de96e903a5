"""Seats: the dialogues of users who are people, as files through which a run and whoever shows them pages talk.

    RUN/seats/
      about.json         what pages must know of the run
      alive              touched while somebody answers
      samples/000012/    what is looked at, while there are seats about it
      000012-0/          a seat: the first dialogue with a person about the sample at place 12
        about.bin        whose target
        person           who sits there; claimed once
        1.given          what they gave in round 1: on disk before it is answered, and never given twice
        1.answer         what came of it

Nothing is in memory alone, so people, pages and the run may be stopped at any moment, and each goes on where it was.
Neither side knows of the other more than this folder, which both may see from other machines.
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
from segarena.files.whole import write_once, write_whole

SEATS = "seats"
"""The folder in that of a run."""

_ABOUT = "about.json"
_ALIVE = "alive"
_SAMPLES = "samples"
_GONE_S = 10.0
"""A run of which nothing was heard for so long does not answer."""

_NAME = re.compile(r"[0-9]{6,12}-[0-9]{1,9}")
"""Of a seat; names come from outside, and become paths, which no file system has of any length."""

Told = TypeVar("Told", bound=msgspec.Struct)


class RunInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What pages must know of a run.

    Attributes:
        id: of the seats, for as long as they are there.
        title: what it is called.
        sample_kind: "image", "volume" or "video".
        rounds: the most that a dialogue has.
        most_prompts: that are taken in one round.
    """

    id: str = ""
    title: str
    sample_kind: str
    rounds: int
    most_prompts: int


class SeatInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a seat is about.

    Attributes:
        seat: its name.
        place: of the sample in the run.
        sample: its id.
        target: its id.
        label: of the target.
        user: as records call the user.
        repeat: the number of the dialogue among those about the target.
        shape: of the sample.
        kinds: of prompts that are given.
        shows: how the page shows things, as the user's options say.
        masks: of each object of the target, run lengths as `segarena.arrays.rle` has them.
        ignore: the same of pixels that are excluded from scoring; None where every pixel counts.
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
    """What a person gave in a round.

    Attributes:
        id: made by the page, so that the same sent twice is known again.
        prompts: as `segarena.records.prompts.prompts_text` writes them; None: nothing is left to correct.
        person, user_s, away_s, pointer, note: see `segarena.records.row_types.PersonRound`.
        strokes: how it was drawn, as the page tells it; kept as it is.
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
    """What came of a round.

    Attributes:
        masks: of each object, run lengths of the prediction; none where there is none.
        values: of the metrics.
        predict_s: what answering took.
        is_over: whether the dialogue ends with it.
        failure: what went wrong.
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

    def open(self, told: RunInfo) -> None:
        """Let pages know of the run; the seats keep the id that they have."""
        # Of several processes that open them at once, one gives the id.
        write_once(
            self.path / _ABOUT,
            msgspec.json.encode(msgspec.structs.replace(told, id=secrets.token_hex(8))),
        )
        mine = msgspec.structs.replace(told, id=self.told().id)
        write_whole(self.path / _ABOUT, msgspec.json.encode(mine))
        self.beat()

    def told(self) -> RunInfo:
        """Return what pages must know of the run.

        Raises:
            StoreError: it asks nobody, or what is there is damaged.
        """
        found = self._read(self.path / _ABOUT, RunInfo)
        if found is None:
            raise StoreError(
                f"{self.path.parent}: expected a run that asks people; there are no seats"
            )
        return found

    def beat(self) -> None:
        """Say that somebody answers."""
        (self.path / _ALIVE).touch()

    def leave(self) -> None:
        """Say that nobody answers any more."""
        (self.path / _ALIVE).unlink(missing_ok=True)

    @property
    def is_answered(self) -> bool:
        """Whether somebody answers."""
        with suppress(FileNotFoundError):
            return time.time() - (self.path / _ALIVE).stat().st_mtime < _GONE_S
        return False

    def sample_folder(self, place: int) -> Path:
        """Return where what is looked at lies."""
        return self.path / _SAMPLES / f"{place:06d}"

    def open_samples(self) -> list[int]:
        """Return the places of the samples of which something to look at is there."""
        return sorted(
            int(folder.name)
            for folder in (self.path / _SAMPLES).glob("[0-9]*")
            if folder.name.isdecimal()
        )

    def close_sample(self, place: int) -> None:
        """Remove what was looked at, once the dialogues about it are over."""
        shutil.rmtree(self.sample_folder(place), ignore_errors=True)

    def add(self, told: SeatInfo) -> None:
        """Make a seat, or tell anew what it is about."""
        write_whole(self._seat(told.seat) / "about.bin", msgspec.msgpack.encode(told))

    def names(self) -> list[str]:
        """Return the names of all seats, in the order of samples."""
        return sorted(file.parent.name for file in self.path.glob("*/about.bin"))

    def seat(self, name: str) -> SeatInfo | None:
        """Return what a seat is about; None when there is none of that name."""
        if _NAME.fullmatch(name):
            return self._read(self._seat(name) / "about.bin", SeatInfo)
        return None

    def claim(self, name: str, person: str) -> bool:
        """Let a person sit down; return whether the seat is theirs."""
        return write_once(self._seat(name) / "person", person) or self.person(name) == person

    def free(self, name: str) -> None:
        """Let others have a seat at which nothing was given yet."""
        if self.given(name, 1) is None:
            (self._seat(name) / "person").unlink(missing_ok=True)

    def person(self, name: str) -> str:
        """Return who sits there; "" for nobody."""
        with suppress(FileNotFoundError):
            return (self._seat(name) / "person").read_text()
        return ""

    def give(self, name: str, round_: int, given: PersonPrompts) -> PersonPrompts:
        """Keep what a person gave in a round; return what was given there, which may be something earlier.

        Raises:
            StoreError: it cannot be kept; then it was not given.
        """
        write_once(self._file(name, round_, "given"), msgspec.json.encode(given))
        found = self.given(name, round_)
        if found is None:
            raise StoreError(f"{self._seat(name)} cannot be read; give it again")
        return found

    def given(self, name: str, round_: int) -> PersonPrompts | None:
        """Return what was given in a round; None when nothing was."""
        return self._read(self._file(name, round_, "given"), PersonPrompts)

    def answer(self, name: str, round_: int, answered: RoundFeedback) -> None:
        """Let a person see what came of what they gave."""
        write_whole(self._file(name, round_, "answer"), msgspec.msgpack.encode(answered))
        if answered.is_over:
            write_whole(
                self._seat(name) / "over", b""
            )  # on disk before the records that say so too

    def answered(self, name: str, round_: int) -> RoundFeedback | None:
        """Return what came of a round; None while there is nothing."""
        return self._read(self._file(name, round_, "answer"), RoundFeedback)

    def shown_at(self, name: str, round_: int) -> float:
        """Return the moment (of `time.time`) from which on the person at a seat could see what a round is about."""
        if round_ > 1:
            before = self._file(name, round_ - 1, "answer")
        else:
            before = self._seat(name) / "person"
        with suppress(FileNotFoundError):
            return before.stat().st_mtime
        return time.time()

    def rounds(self, name: str) -> Iterator[PersonPrompts]:
        """Yield what was given, from the first round on."""
        round_ = 1
        while (given := self.given(name, round_)) is not None:
            yield given
            round_ += 1

    def last_answer(self, name: str) -> RoundFeedback | None:
        """Return what came of the last round that was answered; None before there is one."""
        count = sum(1 for _ in self.rounds(name))
        # A dialogue may end before anything is given: what is looked at could not be encoded.
        found = (self.answered(name, round_) for round_ in range(count + 1, 0, -1))
        return next((answer for answer in found if answer is not None), None)

    def reopen_failed(self, name: str) -> None:
        """Let a dialogue that failed go on, when its sample is done again: what was given is answered anew."""
        last = self.last_answer(name)
        if last is not None and last.failure:
            for file in self._seat(name).glob("*.answer"):
                file.unlink(missing_ok=True)
            (self._seat(name) / "over").unlink(missing_ok=True)

    def is_over(self, name: str) -> bool:
        """Tell whether the dialogue of a seat has ended."""
        return (self._seat(name) / "over").is_file()

    def _seat(self, name: str) -> Path:
        return self.path / name

    def _file(self, name: str, round_: int, kind: str) -> Path:
        return self._seat(name) / f"{round_}.{kind}"

    def _read(self, file: Path, kind: type[Told]) -> Told | None:
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
                f"{file} is damaged: {error}; remove the folder of this seat to ask again"
            ) from error


def seat_name(place: int, number: int) -> str:
    """Return the name of a seat: the place of its sample, and its number among the seats about it."""
    return f"{place:06d}-{number}"


def clear_seats(run: Path) -> None:
    """Remove the seats of a run that starts anew, and what was given there."""
    shutil.rmtree(run / SEATS, ignore_errors=True)

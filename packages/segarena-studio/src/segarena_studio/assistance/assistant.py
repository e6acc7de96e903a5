"""The serving process's end of an assistant: processes that answer, each with a thread that hands it unit by unit.

A picture has a home, the process that encoded it. What people wait for goes first; pictures of later are made ready by
the process that was asked least recently, so that whoever draws is not kept waiting. A process that dies or hangs is
told in one line to whoever asked, and another one starts with the next question. One that dies is tried twice.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field

from segarena.errors import InvalidInput, SegarenaError, UnitDied, UnitHung
from segarena.plugin_spec import PluginSpec
from segarena.work.jobs import UnitFailure, UnitResult
from segarena.work.lru_cache import LruCache
from segarena.work.persistent_process import PersistentProcess
from segarena_server.http import http_errors
from segarena_server.http.middleware import LOG
from segarena_studio.assistance.segmenter_process import (
    GRACE_S,
    AnswerRequest,
    AssistantAnswer,
    AssistantLimits,
    AssistantRequest,
    EncodeRequest,
    PictureFile,
    SegmenterJob,
)

MOST_WAITING = 64
MOST_AHEAD = 8
_MOST_HOMES = 1000
_AGAIN_S = 1.0
_BROKEN_S = 10.0
"""A segmenter that cannot be built is not tried again for so long."""


@dataclass(slots=True)
class PendingRequest:
    """A unit that somebody waits for.

    Attributes:
        unit: what is done.
        asker: whoever asks again does not wait for what they asked before.
        came: when, of `time.perf_counter`.
        answer: what they wait for: the answer, and the seconds until the process began with it.
    """

    unit: AssistantRequest
    asker: object
    came: float = field(default_factory=time.perf_counter)
    answer: Future[tuple[AssistantAnswer, float]] = field(
        default_factory=Future[tuple[AssistantAnswer, float]]
    )


class Assistant:
    """One segmenter that answers.

    Args:
        segmenter: who.
        bounds: what it may take.
    """

    def __init__(self, segmenter: PluginSpec, bounds: AssistantLimits) -> None:
        self._lock = threading.Lock()
        self._homes = LruCache[str, _Place](max_entries=_MOST_HOMES)
        self._places = [_Place(segmenter, bounds) for _ in range(bounds.processes)]

    def ask(self, unit: AnswerRequest, asker: object) -> Future[tuple[AssistantAnswer, float]]:
        """Have a question answered, before everything that is made ready for later.

        Raises:
            Refusal: too many wait.
        """
        return self._home(unit.picture, is_ahead=False).ask(PendingRequest(unit, asker))

    def encode(self, picture: PictureFile, *, is_ahead: bool) -> None:
        """Have a picture made ready: for later, or before others as somebody looks at it; of too many some are not."""
        self._home(picture, is_ahead=is_ahead).encode(EncodeRequest(picture), is_ahead=is_ahead)

    @property
    def numbers(self) -> list[int]:
        """The numbers of its processes that are there now."""
        return [number for place in self._places if (number := place.number) is not None]

    def stop(self) -> None:
        """End its processes."""
        for place in self._places:
            place.stop()

    def _home(self, picture: PictureFile, *, is_ahead: bool) -> _Place:
        """Return where a picture is; a new one goes to who has least to do, or was asked least recently."""
        with self._lock:
            home = self._homes.get(picture.key)
            if home is None:
                home = min(
                    self._places, key=lambda place: place.asked_at if is_ahead else place.waiting
                )
                self._homes.put(picture.key, home)
            return home


class _Place:
    """A process, and the thread that hands it its units; both come with the first one."""

    def __init__(self, segmenter: PluginSpec, bounds: AssistantLimits) -> None:
        self._name = segmenter.name
        self._bounds = bounds
        self._process = PersistentProcess(
            SegmenterJob(segmenter, bounds), bounds.encode_s + bounds.answer_s + 2 * GRACE_S
        )
        self._came = threading.Condition()
        self._asked: deque[PendingRequest] = deque()
        self._ahead: deque[EncodeRequest] = deque()
        self._thread: threading.Thread | None = None
        self._is_over = False
        self._broken: tuple[float, SegarenaError] | None = None
        self.asked_at = 0.0

    @property
    def waiting(self) -> int:
        """How many questions wait."""
        return len(self._asked)

    @property
    def number(self) -> int | None:
        """The number of its process."""
        return self._process.number

    def ask(self, asked: PendingRequest) -> Future[tuple[AssistantAnswer, float]]:
        with self._came:
            for earlier in [each for each in self._asked if each.asker == asked.asker]:
                self._asked.remove(earlier)
                earlier.answer.set_exception(
                    http_errors.busy("something newer was asked", _AGAIN_S)
                )
            if len(self._asked) >= MOST_WAITING:
                raise http_errors.busy("too many wait for this segmenter; ask again", _AGAIN_S)
            self._asked.append(asked)
            self.asked_at = time.monotonic()
            self._wake()
        return asked.answer

    def encode(self, unit: EncodeRequest, *, is_ahead: bool) -> None:
        with self._came:
            with suppress(ValueError):
                self._ahead.remove(unit)
            if is_ahead:
                self._ahead.append(unit)
            else:
                self._ahead.appendleft(unit)
                self.asked_at = (
                    time.monotonic()
                )  # a click on it comes next, which nothing made for later may hold up
            while len(self._ahead) > MOST_AHEAD:
                self._ahead.pop()
            self._wake()

    def stop(self) -> None:
        with self._came:
            self._is_over = True
            self._came.notify()
        if self._thread is not None:
            self._thread.join(GRACE_S)

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, daemon=True, name=f"assistant {self._name}"
            )
            self._thread.start()
        self._came.notify()

    def _work(self) -> None:
        try:
            while (task := self._next()) is not None:
                if isinstance(task, PendingRequest):
                    self._answer(task)
                else:
                    self._make_ready(task)
        finally:
            self._process.end()

    def _next(self) -> PendingRequest | EncodeRequest | None:
        """Return what is to be done next, None at the end; a process without work is ended after a while."""
        with self._came:
            while not self._is_over:
                if self._asked:
                    return self._asked.popleft()
                if self._ahead:
                    return self._ahead.popleft()
                if not self._came.wait(self._bounds.idle_s):
                    self._process.end()
        return None

    def _answer(self, asked: PendingRequest) -> None:
        if not asked.answer.set_running_or_notify_cancel():  # whoever asked went away
            return
        waited_s = time.perf_counter() - asked.came
        try:
            asked.answer.set_result((self._do(asked.unit), waited_s))
        except SegarenaError as error:
            asked.answer.set_exception(error)
        except Exception as error:  # a thread that ends answers nothing any more
            LOG.error("assistant %s: %s", self._name, error, exc_info=True)
            asked.answer.set_exception(SegarenaError(f"{self._name}: {type(error).__name__}"))

    def _make_ready(self, unit: EncodeRequest) -> None:
        try:
            self._do(unit)
        except Exception as error:  # whoever asks about the picture is told
            LOG.warning("assistant %s made nothing ready: %s", self._name, error)

    def _do(self, unit: AssistantRequest) -> AssistantAnswer:
        """Have the process do a unit.

        Raises:
            InvalidInput: by the fault of whoever asked.
            Refusal: the segmenter cannot answer now, and why.
        """
        if self._broken is not None and time.monotonic() < self._broken[0]:
            raise self._told(self._broken[1])
        try:
            outcome = self._process.do(unit)
            if isinstance(outcome, UnitFailure) and isinstance(
                outcome.error, UnitDied
            ):  # maybe of something before it
                outcome = self._process.do(unit)
        except SegarenaError as error:  # it cannot be built, or no process starts
            self._broken = time.monotonic() + _BROKEN_S, error
            raise self._told(error) from error
        if isinstance(outcome, UnitResult):
            return outcome.result
        if isinstance(outcome.error, InvalidInput):
            raise outcome.error
        raise self._told(outcome.error)

    def _told(self, error: SegarenaError) -> SegarenaError:
        if isinstance(error, UnitDied | UnitHung):
            what = "; it starts anew with the next prompt"
        else:
            what = ""
        return http_errors.Refusal(503, "segmenter", f"{self._name}: {error}{what}", _AGAIN_S)

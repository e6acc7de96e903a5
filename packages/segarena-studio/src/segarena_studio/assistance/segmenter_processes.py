"""An assistant: the processes that run one segmenter, each with a queue and a thread that feeds it.

A picture stays with the process that encoded it. Requests for which people wait are served before
encodings made in advance. The advance encodings go to the process that was least recently used, so
that nobody who is drawing has to wait for them. If a process dies, its request is tried once more
in a new process. If that dies too, or if a process hangs, the request fails with a one-line
message, and the next request starts a new process.
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
from segarena_server import http_errors
from segarena_server.server_log import LOG
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
# Pause before trying again to build a segmenter after a failure.
_BROKEN_S = 10.0


@dataclass(slots=True)
class PendingRequest:
    """A work unit for which somebody is waiting.

    Attributes:
        unit: the work unit.
        asker: who requested it; a new request replaces their earlier one.
        came: arrival time by `time.perf_counter`.
        answer: future of the result and of the seconds spent in the queue.
    """

    unit: AssistantRequest
    asker: object
    came: float = field(default_factory=time.perf_counter)
    answer: Future[tuple[AssistantAnswer, float]] = field(
        default_factory=Future[tuple[AssistantAnswer, float]]
    )


class Assistant:
    """All processes of one segmenter.

    Args:
        segmenter: specification of the segmenter.
        bounds: its limits.
    """

    def __init__(self, segmenter: PluginSpec, bounds: AssistantLimits) -> None:
        self._lock = threading.Lock()
        # Bounded: forgetting a picture costs at most one more encoding.
        self._homes = LruCache[str, _ProcessQueue](max_entries=_MOST_HOMES)
        self._queues = [_ProcessQueue(segmenter, bounds) for _ in range(bounds.processes)]

    def ask(self, unit: AnswerRequest, asker: object) -> Future[tuple[AssistantAnswer, float]]:
        """Enqueue a request before all encodings that are made in advance.

        Raises:
            Refusal: the queue is full.
        """
        return self._home(unit.picture, is_ahead=False).ask(PendingRequest(unit, asker))

    def encode(self, picture: PictureFile, *, is_ahead: bool) -> None:
        """Enqueue a picture for encoding, at the front if somebody is viewing it; shorten a queue that is too long."""
        self._home(picture, is_ahead=is_ahead).encode(EncodeRequest(picture), is_ahead=is_ahead)

    @property
    def numbers(self) -> list[int]:
        """Process ids of the running processes."""
        numbers = [queue.number for queue in self._queues]
        return [number for number in numbers if number is not None]

    def stop(self) -> None:
        """End the processes of the segmenter."""
        for queue in self._queues:
            queue.stop()

    def _home(self, picture: PictureFile, *, is_ahead: bool) -> _ProcessQueue:
        """Return the process of a picture; for a new one, the least busy, or the least recently used if `is_ahead`."""
        with self._lock:
            home = self._homes.get(picture.key)
            if home is None:
                if is_ahead:
                    # Avoid a process that somebody is using for drawing: their next prompt would
                    # wait for this encoding.
                    home = min(self._queues, key=lambda queue: queue.asked_at)
                else:
                    # Somebody is waiting for this request.
                    home = min(self._queues, key=lambda queue: queue.waiting)
                self._homes.put(picture.key, home)
            return home


class _ProcessQueue:
    """A process with its queue and the thread that feeds it; both start with the first unit."""

    def __init__(self, segmenter: PluginSpec, bounds: AssistantLimits) -> None:
        self._name = segmenter.name
        self._bounds = bounds
        self._process = PersistentProcess(
            # The longest request encodes and predicts, each with its grace period.
            SegmenterJob(segmenter, bounds),
            bounds.encode_s + bounds.answer_s + 2 * GRACE_S,
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
        """Number of waiting requests."""
        return len(self._asked)

    @property
    def number(self) -> int | None:
        """Process id, or None."""
        return self._process.number

    def ask(self, asked: PendingRequest) -> Future[tuple[AssistantAnswer, float]]:
        with self._came:
            # Somebody who clicks again no longer needs the answer to the previous click.
            earlier_requests = [one for one in self._asked if one.asker == asked.asker]
            for earlier in earlier_requests:
                self._asked.remove(earlier)
                earlier.answer.set_exception(
                    http_errors.busy("replaced by a newer request", _AGAIN_S)
                )
            if len(self._asked) >= MOST_WAITING:
                raise http_errors.busy(
                    "too many requests are waiting for this segmenter; try again", _AGAIN_S
                )
            self._asked.append(asked)
            self.asked_at = time.monotonic()
            self._wake()
        return asked.answer

    def encode(self, unit: EncodeRequest, *, is_ahead: bool) -> None:
        with self._came:
            # A second request for the same picture only changes its position.
            with suppress(ValueError):
                self._ahead.remove(unit)
            if is_ahead:
                self._ahead.append(unit)
            else:
                self._ahead.appendleft(unit)
                # A click on this picture will follow, which no encoding made in advance may delay.
                self.asked_at = time.monotonic()
            # Drop encodings from the end, which are the least likely to be needed next.
            while len(self._ahead) > MOST_AHEAD:
                self._ahead.pop()
            self._wake()

    def stop(self) -> None:
        with self._came:
            self._is_over = True
            self._came.notify()
        if self._thread is not None:
            # Bounded, because a hanging segmenter must not keep the server from stopping.
            self._thread.join(GRACE_S)

    def _wake(self) -> None:
        # Started on demand, so that segmenters that nobody uses cost neither a thread nor a
        # process.
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work,
                # A daemon thread cannot keep the server process alive if it does not stop in time.
                daemon=True,
                name=f"assistant {self._name}",
            )
            self._thread.start()
        self._came.notify()

    def _work(self) -> None:
        try:
            while (task := self._next()) is not None:
                if isinstance(task, PendingRequest):
                    self._answer(task)
                else:
                    self._encode_ahead(task)
        finally:
            self._process.end()

    def _next(self) -> PendingRequest | EncodeRequest | None:
        """Wait for the next unit, and return None at shutdown; stop the process when it has been idle for a while."""
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
        # False once the client has disconnected.
        if not asked.answer.set_running_or_notify_cancel():
            return
        waited_s = time.perf_counter() - asked.came
        try:
            asked.answer.set_result((self._do(asked.unit), waited_s))
        except SegarenaError as error:
            asked.answer.set_exception(error)
        # The thread must survive to serve later requests.
        except Exception as error:
            LOG.error("assistant %s: %s", self._name, error, exc_info=True)
            asked.answer.set_exception(SegarenaError(f"{self._name}: {type(error).__name__}"))

    def _encode_ahead(self, unit: EncodeRequest) -> None:
        try:
            self._do(unit)
        # The next request for the picture reports the error.
        except Exception as error:
            LOG.warning("assistant %s could not encode ahead: %s", self._name, error)

    def _do(self, unit: AssistantRequest) -> AssistantAnswer:
        """Have the process execute a unit.

        Raises:
            InvalidInput: the request is invalid.
            Refusal: the segmenter cannot answer now; the message says why.
        """
        if self._broken is not None and time.monotonic() < self._broken[0]:
            raise self._refusal(self._broken[1])
        try:
            outcome = self._process.do(unit)
            is_dead = isinstance(outcome, UnitFailure) and isinstance(outcome.error, UnitDied)
            # An earlier unit may have caused the crash, so try this one again.
            if is_dead:
                outcome = self._process.do(unit)
        # The segmenter cannot be built, or no process starts.
        except SegarenaError as error:
            self._broken = time.monotonic() + _BROKEN_S, error
            raise self._refusal(error) from error
        if isinstance(outcome, UnitResult):
            return outcome.result
        # The prompt is to blame and not the segmenter, so its message reaches the annotator
        # unchanged.
        if isinstance(outcome.error, InvalidInput):
            raise outcome.error
        raise self._refusal(outcome.error)

    def _refusal(self, error: SegarenaError) -> SegarenaError:
        advice = ""
        if isinstance(error, UnitDied | UnitHung):
            advice = "; the next prompt restarts it"
        return http_errors.Refusal(503, "segmenter", f"{self._name}: {error}{advice}", _AGAIN_S)

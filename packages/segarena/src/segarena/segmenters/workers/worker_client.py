"""Client of a worker process: starts it on first use, restarts it after a loss, and exchanges requests."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from segarena.errors import PluginInvalid, PredictTimeout, SegmenterError
from segarena.segmenters.workers.connection import open_connection, token_request
from segarena.segmenters.workers.failure_messages import (
    describe_end,
    describe_loss,
    describe_missing_module,
)
from segarena.segmenters.workers.shared_arrays import SharedArrays, has_shared_memory
from segarena.segmenters.workers.worker_config import WorkerConfig, WorkerLost
from segarena.segmenters.workers.worker_stream import WorkerStream
from segarena.work.deadline import pause_deadline
from segarena.worker import PROMPTS, PROTOCOL, SAMPLES, ProtocolError

MAX_ANSWER_BYTES = 16 * 2**30

_MAX_PLAIN_ANSWER_BYTES = 2**20
"""Size limit of answers to all verbs except predict and pack; such answers contain no arrays."""

MAX_LOSSES = 2
"""A sample fails once this many workers have been lost on it."""

_END_S = 10.0
"""Time limit for stopping a worker, in seconds."""

RECONNECT_S = 10.0
"""Number of seconds for which a listening worker may be unreachable before it counts as lost."""

Result = TypeVar("Result")


@dataclass(slots=True)
class LossCounter:
    """Number of workers lost on one sample, and the reason for the last loss."""

    count: int = 0
    last_reason: str = ""

    def add(self, reason: str) -> None:
        """Count one more loss."""
        self.count += 1
        self.last_reason = reason


class WorkerDescription(msgspec.Struct, frozen=True, kw_only=True):
    """A worker's answer to hello: its model and capabilities; see docs/workers.md."""

    protocol: int
    model: str = ""
    pid: int = 0
    prompt_kinds: list[str] | None = None
    sample_kinds: list[str] = msgspec.field(default_factory=lambda: ["image"])
    version: str = ""
    device: str = "cpu"
    fingerprint: str = ""
    slice_intensity: str | None = None
    packs: bool = False
    encodes_with_prompts: bool = False
    options: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    environment: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    sees: str = ""


class WorkerError(Exception):
    """Error reported by the worker; `kind` is the protocol's name for its reason."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class WorkerClient:
    """Sends requests to one worker and receives its answers, one at a time.

    Args:
        config: how to start the worker or connect to it.
        options: options for its model.

    Attributes:
        starts: number of times the worker was started.
        generation: counter that increases with every start and whenever the worker loses its
            handles; a handle is valid only in its own generation.
        shared: files for large arrays.
    """

    def __init__(self, config: WorkerConfig, options: Mapping[str, Any]) -> None:
        self.config = config
        self.options = dict(options)
        self.starts = 0
        self.generation = 0
        self.shared = SharedArrays(is_visible=False)
        self._stream: WorkerStream | None = None
        self._description: WorkerDescription | None = None
        self._released: list[tuple[int, int]] = []
        self._last_id = 0
        self._response_limit_s: float | None = None
        # Reentrant, because a request starts the worker, which itself sends requests.
        self._lock = threading.RLock()

    @property
    def description(self) -> WorkerDescription:
        """Description that the worker sent at its last start; starts the worker if necessary."""
        if self._description is None:
            self.start()
        if self._description is None:
            raise WorkerLost("it sent no description")
        return self._description

    @property
    def pid(self) -> int:
        """Process id of a worker that was started here; 0 for other workers."""
        if self._stream is None:
            return 0
        return self._stream.pid

    def start(self) -> None:
        """Start the worker unless it is running, and exchange hello messages.

        Raises:
            PluginInvalid: the worker cannot be started, or refuses; the message suggests a remedy.
            WorkerLost: the worker ended or did not answer.
        """
        with self._lock:
            if self._stream is not None:
                return
            with pause_deadline(self.config.start_s):
                try:
                    self._start()
                except WorkerLost as error:
                    # A signal from outside (out of memory, a restart of the container) is not the
                    # worker's fault, so one more start is worth trying.
                    if not error.was_killed:
                        raise
                    self._start()

    def _start(self) -> None:
        retry_s = RECONNECT_S if self.starts else 0.0
        stream = open_connection(self.config, retry_s=retry_s)
        self._stream = stream
        self.starts += 1
        self.generation += 1
        # Handles of the previous worker mean nothing to the new one.
        self._released.clear()
        self.shared = SharedArrays(is_visible=False)
        try:
            if self.config.is_address:
                self._exchange(token_request(self.config.token), ())
            self._description = self._say_hello()
        except WorkerError as error:
            self.end()
            missing = describe_missing_module([str(error)], self.config)
            raise PluginInvalid(f"worker: {missing or error}") from error
        except BaseException:
            self.end()
            raise
        # The started program may be a wrapper, but the memory of the worker itself is measured.
        if stream.pid:
            stream.pid = self._description.pid or stream.pid

    def _say_hello(self) -> WorkerDescription:
        # A random text, so that the worker cannot claim to see the file without reading it.
        secret = os.urandom(16).hex()
        path = ""
        if has_shared_memory():
            path = self.shared.write_file([secret.encode("ascii")])
        header = {"protocol": PROTOCOL, "options": self.options, "look": path}
        answer, _ = self.request("hello", header)
        description = _checked_description(answer)
        # The worker repeats the content of the file, which it knows only if it can open the file.
        is_visible = bool(path) and description.sees == secret
        self.shared = SharedArrays(is_visible=is_visible)
        return description

    @contextmanager
    def response_limit(self, seconds: float) -> Generator[None]:
        """Limit each response in this block to this many seconds; without it, only the caller limits the time."""
        before = self._response_limit_s
        self._response_limit_s = seconds
        try:
            yield
        finally:
            self._response_limit_s = before

    def request(
        self,
        verb: str,
        header: Mapping[str, Any],
        arrays: Sequence[Any] = (),
        *,
        generation: int | None = None,
    ) -> tuple[dict[str, Any], list[Any]]:
        """Send a request and return the worker's answer; start the worker first if it is not running.

        Args:
            verb: verb of the protocol.
            header: additional fields of the header.
            arrays: body of the request.
            generation: generation in which the handles in the request are valid; a later worker would
                mistake them for its own.

        Raises:
            WorkerError: the worker reports an error.
            WorkerLost: the worker died, exceeded the response limit or broke the protocol; it has been
                stopped.
        """
        with self._lock:
            self.start()
            if generation not in (None, self.generation):
                raise WorkerLost("was restarted in the meantime")
            self._last_id += 1
            fields = {
                **header,
                "id": self._last_id,
                "verb": verb,
                "drop": self._take_released(),
            }
            return self._exchange(fields, arrays)

    def _take_released(self) -> list[int]:
        released = self._released
        self._released = []
        # Handles of earlier generations may now belong to other encodings.
        return [handle for generation, handle in released if generation == self.generation]

    def release(self, generation: int, handle: int) -> None:
        """Ask the worker to free a handle with the next request; safe to call at any moment."""
        self._released.append((generation, handle))

    def _exchange(
        self, header: dict[str, Any], arrays: Sequence[Any]
    ) -> tuple[dict[str, Any], list[Any]]:
        stream = self._stream
        if stream is None:
            raise WorkerLost("it is gone")
        self._set_limits(stream, header["verb"])
        try:
            stream.send(header, arrays)
            answer, received = stream.receive()
            # A late answer to an earlier request must not pass as the answer to this one.
            if answer.get("id") != header["id"]:
                raise ProtocolError(
                    f"it answers request {answer.get('id')!r} instead of request {header['id']}"
                )
        except (EOFError, OSError, ProtocolError, WorkerLost) as error:
            why = self.end(describe_loss(error))
            raise WorkerLost(why, was_killed=stream.was_killed) from error
        except BaseException:
            # After an alarm or Ctrl-C the next answer would belong to this request, so the worker
            # is stopped.
            self.end()
            raise
        finally:
            self.shared.clear()
        if stream.exceeds_memory:
            # This answer is valid, and a new worker handles the next request.
            self.end()
        return _content_of(answer), received

    def _set_limits(self, stream: WorkerStream, verb: str) -> None:
        # Only these answers carry arrays, so all others can be limited tightly.
        if verb in ("predict", "pack"):
            stream.most_body = min(MAX_ANSWER_BYTES, stream.max_memory or MAX_ANSWER_BYTES)
        else:
            stream.most_body = _MAX_PLAIN_ANSWER_BYTES
        if verb in ("token", "hello"):
            limit_s = self.config.start_s
        else:
            limit_s = self._response_limit_s
        if limit_s is None:
            stream.until = None
        else:
            stream.until = time.monotonic() + limit_s

    def end(self, reason: str = "") -> str:
        """Stop the worker; return one line that states how it ended, with its last output."""
        # The time limit of the current call must not interrupt the stop, or the worker would live on
        # without a client.
        with self._lock, pause_deadline(_END_S):
            stream = self._stream
            if stream is None:
                return reason
            self._stream = None
            how = stream.close()
            return describe_end(reason or how, stream.last_lines())

    def call_with_restart(self, losses: LossCounter, call: Callable[[], Result]) -> Result:
        """Return the result of `call`; if the worker is lost meanwhile, restart it and call again.

        Args:
            losses: counter of the workers lost on one sample.
            call: function that sends requests, and encodes the sample again if the worker was replaced.

        Raises:
            SegmenterError: two workers were lost on this sample, or the worker reports an error.
        """
        while True:
            if losses.count >= MAX_LOSSES:
                raise SegmenterError(
                    f"its worker was lost {losses.count} times on this sample; "
                    f"the last time it {losses.last_reason}"
                )
            try:
                return call()
            except WorkerLost as error:
                losses.add(str(error))
            except PredictTimeout as error:
                losses.add(f"was ended: {error}")
                raise
            except WorkerError as error:
                reason = f"said: {error}"
                if error.kind == "handle":
                    # The worker is alive but has lost its handles: encode again without a restart.
                    self.generation += 1
                elif error.kind == "memory":
                    reason = self.end(reason)
                else:
                    raise SegmenterError(str(error)) from error
                losses.add(reason)
            except PluginInvalid as error:
                # The program or its environment has disappeared since the first start.
                raise SegmenterError(str(error)) from error


def _content_of(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of an answer; raise WorkerError if the answer is an error."""
    error = answer.get("error")
    if isinstance(error, dict):
        kind = str(error.get("kind", ""))
        message = str(error.get("message", "no reason given"))
        raise WorkerError(kind, " ".join(message.split()))
    content = answer.get("ok")
    if isinstance(content, dict):
        return content
    return {}


def _checked_description(answer: Mapping[str, Any]) -> WorkerDescription:
    try:
        description = msgspec.convert(answer, WorkerDescription)
    except msgspec.ValidationError as error:
        raise PluginInvalid(f"worker: its description is not valid: {error}") from error
    unknown_prompts = set(description.prompt_kinds or ()) - set(PROMPTS)
    unknown_samples = set(description.sample_kinds) - set(SAMPLES)
    unknown = [*unknown_prompts, *unknown_samples]
    if unknown or description.protocol != PROTOCOL:
        raise PluginInvalid(
            f"worker: its description is not valid: {unknown or description.protocol}"
        )
    return description

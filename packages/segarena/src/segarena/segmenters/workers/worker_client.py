"""Asking a worker, which is started when it is first needed, and again when it is gone."""

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
from segarena.segmenters.workers.failure_messages import told_of, what_is_missing, why_lost
from segarena.segmenters.workers.shared_arrays import SharedArrays, can_share
from segarena.segmenters.workers.worker_config import WorkerConfig, WorkerLost
from segarena.segmenters.workers.worker_stream import WorkerStream
from segarena.work.deadline import pause_deadline
from segarena.worker import PROMPTS, PROTOCOL, SAMPLES, ProtocolError

MAX_ANSWER_BYTES = 16 * 2**30

_MOST_ASIDE_BYTES = 2**20
"""What the answer to anything but predict and pack may have as arrays: there are none."""

MAX_LOSSES = 2
"""A sample over which so many workers were lost is a failure."""

PATIENCE_S = 10.0
"""So long a worker that listens elsewhere may be away before it counts as lost."""

Got = TypeVar("Got")


@dataclass(slots=True)
class LossCounter:
    """How often a worker was lost over one sample, and why the last time."""

    lost: int = 0
    last: str = ""

    def count(self, why: str) -> None:
        """Count one more."""
        self.lost = self.lost + 1
        self.last = why


class WorkerDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker says of itself; see docs/workers.md."""

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
    """The worker says that it cannot do what it was asked; `kind` is what the protocol calls the reason."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class WorkerClient:
    """Requests and answers, one at a time.

    Args:
        reach: how the worker is reached.
        options: of its model.

    Attributes:
        starts: how often it was started.
        life: likewise, and how often it forgot; what an earlier life knew, this one does not.
        shared: where large arrays go.
    """

    def __init__(self, reach: WorkerConfig, options: Mapping[str, Any]) -> None:
        self.reach = reach
        self.options = dict(options)
        self.starts = 0
        self.life = 0
        self.shared = SharedArrays(is_seen=False)
        self._link: WorkerStream | None = None
        self._hello: WorkerDescription | None = None
        self._dropped: list[tuple[int, int]] = []
        self._number = 0
        self._silent_s: float | None = None
        self._one_at_a_time = threading.RLock()

    @property
    def hello(self) -> WorkerDescription:
        """What the worker said of itself when it was last started."""
        if self._hello is None:
            self.start()
        if self._hello is None:
            raise WorkerLost("it said nothing of itself")
        return self._hello

    @property
    def pid(self) -> int:
        """The process of a worker that was started here; 0 for others."""
        return 0 if self._link is None else self._link.pid

    def start(self) -> None:
        """Start the worker if it is not there, and say hello.

        Raises:
            PluginInvalid: it cannot be started, or refuses; says why and what to do.
            Lost: it ended, or was silent.
        """
        with self._one_at_a_time:
            if self._link is not None:
                return
            with pause_deadline(self.reach.start_s):
                try:
                    self._start()
                except WorkerLost as error:
                    if not error.was_killed:
                        raise
                    self._start()

    def _start(self) -> None:
        link = self._link = open_connection(
            self.reach, patience_s=PATIENCE_S if self.starts else 0.0
        )
        self.starts += 1
        self.life += 1
        self._dropped.clear()
        self.shared = SharedArrays(is_seen=False)
        try:
            if self.reach.is_address:
                self._exchange(token_request(self.reach.token), ())
            self._hello = self._say_hello()
        except WorkerError as error:
            self.end()
            missing = what_is_missing([str(error)], self.reach)
            raise PluginInvalid(f"worker: {missing or error}") from error
        except BaseException:
            self.end()
            raise
        link.pid = link.pid and (self._hello.pid or link.pid)

    def _say_hello(self) -> WorkerDescription:
        words = os.urandom(16).hex()
        look = self.shared.file_of([words.encode("ascii")]) if can_share() else ""
        answer, _ = self.ask("hello", {"protocol": PROTOCOL, "options": self.options, "look": look})
        said = _checked(answer)
        self.shared = SharedArrays(is_seen=bool(look) and said.sees == words)
        return said

    @contextmanager
    def within(self, seconds: float) -> Generator[None]:
        """Let the worker be silent for so long at most, in the block; otherwise that is the caller's affair."""
        before = self._silent_s
        self._silent_s = seconds
        try:
            yield
        finally:
            self._silent_s = before

    def ask(
        self,
        verb: str,
        told: Mapping[str, Any],
        arrays: Sequence[Any] = (),
        *,
        life: int | None = None,
    ) -> tuple[dict[str, Any], list[Any]]:
        """Return what the worker answers to a request; one that is gone is started first.

        Args:
            verb: what it is asked to do.
            told: what else the header has.
            arrays: the body.
            life: whose handles the request names; another one would take them for others.

        Raises:
            Told: it says that it cannot.
            Lost: it died, was silent for too long or spoke nonsense; it is ended.
        """
        with self._one_at_a_time:
            self.start()
            if life not in (None, self.life):
                raise WorkerLost("was started again meanwhile")
            self._number += 1
            dropped = [handle for life, handle in self._take_dropped() if life == self.life]
            return self._exchange(
                {**told, "id": self._number, "verb": verb, "drop": dropped}, arrays
            )

    def _take_dropped(self) -> list[tuple[int, int]]:
        taken = self._dropped
        self._dropped = []
        return taken

    def drop(self, life: int, handle: int) -> None:
        """Let the worker forget a handle, when it is next asked; may be called at any moment."""
        self._dropped.append((life, handle))

    def _exchange(
        self, header: dict[str, Any], arrays: Sequence[Any]
    ) -> tuple[dict[str, Any], list[Any]]:
        link = self._link
        if link is None:
            raise WorkerLost("it is gone")
        has_arrays = header["verb"] in ("predict", "pack")
        if has_arrays:
            link.most_body = min(MAX_ANSWER_BYTES, link.most_memory or MAX_ANSWER_BYTES)
        else:
            link.most_body = _MOST_ASIDE_BYTES
        if header["verb"] in ("token", "hello"):
            silent_s = self.reach.start_s
        else:
            silent_s = self._silent_s
        link.until = None if silent_s is None else time.monotonic() + silent_s
        try:
            link.send(header, arrays)
            answer, found = link.receive()
            if answer.get("id") != header["id"]:
                raise ProtocolError(
                    f"it answers request {answer.get('id')!r} where {header['id']} was asked"
                )
        except (EOFError, OSError, ProtocolError, WorkerLost) as error:
            why = self.end(why_lost(error))
            raise WorkerLost(why, was_killed=link.was_killed) from error
        except BaseException:  # an alarm, Ctrl-C: what it says next would answer this request
            self.end()
            raise
        finally:
            self.shared.clear()
        if link.has_too_much_memory:  # the answer stands; another worker gives the next
            self.end()
        return _said(answer), found

    def end(self, why: str = "") -> str:
        """End the worker; return in one line how it ended and what it printed last."""
        with self._one_at_a_time:
            link = self._link
            self._link = None
            if link is None:
                return why
            how = link.close()
            return told_of(why or how, link.last_lines())

    def insist(self, on: LossCounter, do: Callable[[], Got]) -> Got:
        """Return what `do` returns; a worker that is lost meanwhile is started again, once.

        Args:
            on: counts how often a worker was lost over one sample.
            do: asks the worker, and tells it again what it has to know if that is another one.

        Raises:
            SegmenterError: it was lost twice over this sample, or says why it cannot answer.
        """
        while True:
            if on.lost >= MAX_LOSSES:
                raise SegmenterError(
                    f"its worker was lost {on.lost} times over this sample; the last time it {on.last}"
                )
            try:
                return do()
            except WorkerLost as error:
                on.count(str(error))
            except PredictTimeout as error:
                on.count(f"was ended: {error}")
                raise
            except WorkerError as error:
                if error.kind == "handle":
                    self.life += 1
                elif error.kind != "memory":
                    raise SegmenterError(str(error)) from error
                on.count(self.end(f"said: {error}") if error.kind == "memory" else f"said: {error}")
            except PluginInvalid as error:  # it cannot be started any more
                raise SegmenterError(str(error)) from error


def _said(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer holds; raise Told when that is an error."""
    error = answer.get("error")
    said = answer.get("ok")
    if isinstance(error, dict):
        raise WorkerError(
            str(error.get("kind", "")),
            " ".join(str(error.get("message", "it does not say why")).split()),
        )
    return said if isinstance(said, dict) else {}


def _checked(answer: Mapping[str, Any]) -> WorkerDescription:
    try:
        said = msgspec.convert(answer, WorkerDescription)
    except msgspec.ValidationError as error:
        raise PluginInvalid(f"worker: what it says of itself cannot be: {error}") from error
    unknown = [*({*(said.prompt_kinds or ())} - {*PROMPTS}), *({*said.sample_kinds} - {*SAMPLES})]
    if unknown or said.protocol != PROTOCOL:
        raise PluginInvalid(f"worker: what it says of itself cannot be: {unknown or said.protocol}")
    return said

"""Loading of the next samples in a thread, while the dialogues about the current one run."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from segarena.arrays.memory_size import memory_bytes
from segarena.engine.time_limit import too_slow
from segarena.samples import Sample

_END_S = 1.0
"""Seconds to wait for the thread to end after it was interrupted."""


@dataclass(slots=True, eq=False)
class _Load:
    """A sample that the thread loads or has loaded.

    Attributes:
        started: when loading began, in seconds of `time.monotonic`.
        seconds: duration; None while it is being loaded.
        size_bytes: memory of the sample.
    """

    started: float
    seconds: float | None = None
    sample: Sample | None = None
    error: BaseException | None = None
    size_bytes: int = 0


class SamplePrefetcher:
    """Loads the samples of a run in order, a few of them ahead, in one thread.

    Each sample is loaded once, and never two at the same time, because a dataset need not be
    thread-safe. Until `start`, and after the thread was abandoned, `load` loads in the calling
    thread.

    Args:
        load: loads one sample.
        sample_ids: the samples, in the order in which the run requests them.
        limit_s: time limit of one load, counted from its start.
        max_samples: number of samples to load ahead.
        max_bytes: no further load starts while the samples loaded ahead occupy this many bytes, so
            that at most one sample exceeds the limit.
    """

    def __init__(
        self,
        load: Callable[[str], Sample],
        sample_ids: Sequence[str],
        *,
        limit_s: float,
        max_samples: int,
        max_bytes: int,
    ) -> None:
        self._load = load
        self._order = list(sample_ids)
        self._index = {sample_id: index for index, sample_id in enumerate(self._order)}
        self._limit_s = limit_s
        self._max_samples = max_samples
        self._max_bytes = max_bytes
        # Index of the next sample that the thread loads.
        self._next = 0
        # Started by the thread, and not requested yet.
        self._loads: dict[str, _Load] = {}
        # The sample for which the run waits; it is loaded whatever the limits.
        self._requested = ""
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_over = False

    @property
    def is_ahead(self) -> bool:
        """Whether the thread loads the samples."""
        return self._thread is not None and not self._is_over

    def start(self) -> None:
        """Begin to load ahead; further calls have no effect."""
        if self._thread is None and not self._is_over:
            # A daemon, because a load that hangs must not keep the process alive.
            self._thread = threading.Thread(
                target=self._load_ahead, name="segarena-prefetch", daemon=True
            )
            self._thread.start()

    def load(self, sample_id: str) -> Sample:
        """Return a sample, loaded ahead or now; raise what loading it raised.

        Raises:
            PredictTimeout: loading in the thread took longer than the limit. If it has not
                finished, the thread is abandoned.
        """
        with self._changed:
            is_ahead = sample_id in self._loads or self._will_load(sample_id)
            if not is_ahead:
                self._skip(sample_id)
        if not is_ahead:
            return self._load(sample_id)
        try:
            finished = self._wait_for(sample_id)
        except BaseException:
            # The time limit, an alarm or Ctrl-C: the thread may hang in this load.
            self.close()
            raise
        if finished.error is not None:
            if is_bound_to_thread(finished.error):
                self.close()
                return self._load(sample_id)
            raise finished.error
        if finished.sample is None or (finished.seconds or 0.0) > self._limit_s:
            raise too_slow(f"loading {sample_id}", self._limit_s)
        return finished.sample

    def following(self, sample_id: str, count: int) -> list[Sample]:
        """Return up to `count` samples that the run requests after this one, and wait until they are loaded.

        They stay loaded for `load`. Samples whose loading fails are left out, and so are those that the limits keep
        from being loaded.
        """
        first = self._index[sample_id] + 1
        samples: list[Sample] = []
        with self._changed:
            for each in self._order[first : first + count]:
                while self.is_ahead and not self._is_finished(each):
                    left_s = self._left_s(each)
                    is_coming = each in self._loads or self._may_start()
                    if not is_coming or left_s <= 0:
                        break
                    self._changed.wait(left_s)
                if not self._is_finished(each):
                    break
                loaded = self._loads[each].sample
                if loaded is not None:
                    samples.append(loaded)
        return samples

    def close(self) -> None:
        """End the thread, and forget what it loaded."""
        with self._changed:
            self._is_over = True
            self._loads.clear()
            self._changed.notify_all()
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        thread.join(_END_S / 10)
        if thread.is_alive() and thread.ident is not None:
            # Interrupts a load in Python code; native code returns when it is done.
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit)
            )
            thread.join(_END_S)

    def _will_load(self, sample_id: str) -> bool:
        """Return whether the thread still has to load this sample."""
        return self.is_ahead and self._index.get(sample_id, -1) >= self._next

    def _skip(self, sample_id: str) -> None:
        """Let the thread continue after a sample that the run loads itself."""
        self._next = max(self._next, self._index.get(sample_id, -1) + 1)

    def _is_finished(self, sample_id: str) -> bool:
        load = self._loads.get(sample_id)
        return load is not None and load.seconds is not None

    def _left_s(self, sample_id: str) -> float:
        """Return the seconds that a load may still take within its time limit."""
        load = self._loads.get(sample_id)
        if load is None:
            return self._limit_s
        return load.started + self._limit_s - time.monotonic()

    def _wait_for(self, sample_id: str) -> _Load:
        """Remove and return a load as soon as it is finished.

        Raises:
            PredictTimeout: it exceeds the limit.
        """
        with self._changed:
            self._requested = sample_id
            self._changed.notify_all()
            while not self._is_finished(sample_id):
                left_s = self._left_s(sample_id)
                if left_s <= 0:
                    raise too_slow(f"loading {sample_id}", self._limit_s)
                self._changed.wait(left_s)
            self._requested = ""
            finished = self._loads.pop(sample_id)
            self._changed.notify_all()
            return finished

    def _may_start(self) -> bool:
        """Return whether the thread may load its next sample."""
        if self._next >= len(self._order):
            return False
        if self._order[self._next] == self._requested:
            return True
        used_bytes = sum(load.size_bytes for load in self._loads.values())
        return len(self._loads) < self._max_samples and used_bytes < self._max_bytes

    def _load_ahead(self) -> None:
        """Load samples until all are loaded or the prefetcher is closed; the thread runs this function."""
        while True:
            with self._changed:
                while not self._is_over and not self._may_start():
                    if self._next >= len(self._order):
                        return
                    self._changed.wait()
                if self._is_over:
                    return
                sample_id = self._order[self._next]
                self._next += 1
                load = _Load(time.monotonic())
                self._loads[sample_id] = load
            sample = None
            error = None
            try:
                sample = self._load(sample_id)
            # Every exception belongs to the run, which raises it when it requests the sample.
            except BaseException as raised:
                error = raised
            with self._changed:
                load.sample = sample
                load.error = error
                load.size_bytes = memory_bytes(sample)
                load.seconds = time.monotonic() - load.started
                self._changed.notify_all()


def is_bound_to_thread(error: BaseException) -> bool:
    """Return whether an exception says that an object, such as a connection of SQLite, belongs to another thread."""
    return isinstance(error, Exception) and "thread" in str(error).lower()

"""Queues of a run's samples, for a single process and for several processes that share the run.

The caller requests batches of samples until there are none, reports each result, and lets the queue
finish the run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from segarena.engine.run_folder import RunFolder
from segarena.engine.sample_job import SampleResult
from segarena.records.compaction import BLOCK_SAMPLES
from segarena.records.configuration import RunConfiguration
from segarena.records.pieces import PIECES_LEDGER
from segarena.records.run_identity_record import Fingerprints
from segarena.work.sharing.claims import CLAIMS, Claims, OnWait
from segarena.work.sharing.process_heartbeats import PresenceLapsed


class SampleQueue(Protocol):
    """The queue of samples that this process may run; inside its block, no other process runs them."""

    @property
    def folder(self) -> RunFolder:
        """The run folder, available inside the block of the context manager."""
        ...

    @property
    def count_done(self) -> int:
        """Total number of finished samples over all processes."""
        ...

    @property
    def sharers(self) -> int:
        """Number of processes that run samples."""
        ...

    @property
    def upcoming(self) -> Sequence[int]:
        """The indices that `turn` returns, if they are known in advance."""
        ...

    def __enter__(self) -> SampleQueue: ...

    def __exit__(self, *_: object) -> None: ...

    def turn(self, on_wait: OnWait) -> Iterator[int] | None:
        """Return indices of samples to run; None when all are done. This may wait for other processes."""
        ...

    def note(self, result: SampleResult) -> None:
        """Report a finished sample."""
        ...

    def undo(self) -> None:
        """Discard the samples of this process, so that they become pending again."""
        ...

    def finish(self, finishing: Callable[[RunFolder], None]) -> RunFolder:
        """Call `finishing` unless another process finishes the run; return the run."""
        ...


class ExclusiveSampleQueue:
    """The samples of a run whose folder one process locks for itself.

    Args:
        folder: folder of the run.
        retry_failed: run samples again in which something failed.
        retry_damaged: run samples again whose files are damaged or whose values are contradictory.
    """

    def __init__(
        self,
        folder: RunFolder,
        *,
        retry_failed: bool = False,
        retry_damaged: bool = False,
    ) -> None:
        self.folder = folder
        self.count_done = 0
        self.sharers = 1
        self._retry_failed = retry_failed
        self._retry_damaged = retry_damaged
        self._pending: list[int] = []
        self._has_begun = False
        self._stack = ExitStack()

    def __enter__(self) -> ExclusiveSampleQueue:
        self._stack.enter_context(self.folder.lock(retry_damaged=self._retry_damaged))
        with self._stack as stack:
            if self._retry_failed:
                self.folder.discard(self.folder.failed())
            self._pending = self.folder.pending()
            self.count_done = len(self.folder.samples) - len(self._pending)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def upcoming(self) -> Sequence[int]:
        """All pending samples."""
        return self._pending

    def turn(self, on_wait: OnWait) -> Iterator[int] | None:
        """Return all pending samples at the first call; None if there are none, and at later calls."""
        if self._has_begun or not self._pending:
            return None
        self._has_begun = True
        return iter(self._pending)

    def note(self, result: SampleResult) -> None:
        """Count a finished sample, and compact the files of its block if the whole block is done."""
        self.count_done += 1
        self.folder.gather(result.index)

    def undo(self) -> None:
        """Discard the samples of this queue."""
        self.folder.discard(self._pending)

    def finish(self, finishing: Callable[[RunFolder], None]) -> RunFolder:
        """Finish and return the run."""
        finishing(self.folder)
        return self.folder


class SharedSampleQueue:
    """The samples of a run that several processes share; the first process starts it.

    Args:
        path: path of the run.
        config: configuration of a new run; an existing run must have an equal one.
        data: fingerprints of the data files.
        beside: see `RunFolder.create`.
        workers: number of worker processes of this process.
        retry_failed: run samples again in which something failed; only if no other process is at work.
        retry_damaged: run samples again whose files are damaged or whose values are contradictory; only if no other
            process is at work.
    """

    def __init__(
        self,
        path: Path,
        config: RunConfiguration,
        *,
        data: Fingerprints = (),
        beside: Collection[str] = (),
        workers: int = 1,
        retry_failed: bool = False,
        retry_damaged: bool = False,
    ) -> None:
        self._path = path
        self._config = config
        self._data = data
        self._beside = beside
        self._retry_failed = retry_failed
        self._retry_damaged = retry_damaged
        self._claims = Claims(
            path / CLAIMS, path / PIECES_LEDGER, were_done=self._were_done, workers=workers
        )
        self._done_here: list[int] = []
        self._loose_blocks: set[int] = set()
        self._keeping = ExitStack()
        self._stack = ExitStack()

    @property
    def folder(self) -> RunFolder:
        """The run folder."""
        return self._folder

    @property
    def count_done(self) -> int:
        """Number of finished samples, here and elsewhere."""
        return self._claims.count_done

    @property
    def sharers(self) -> int:
        """Number of processes that share the run."""
        return self._claims.count_sharers

    @property
    def upcoming(self) -> Sequence[int]:
        """No indices, because the other processes decide which samples remain."""
        return ()

    def __enter__(self) -> SharedSampleQueue:
        with ExitStack() as stack:
            stack.enter_context(self._claims)
            with self._claims.keeping():
                self._folder = RunFolder.create(
                    self._path, self._config, data=self._data, beside=self._beside
                )
                self._claims.begin("this run", len(self._folder.samples), self._pending)
            stack.enter_context(self._keeping)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _pending(self) -> list[int]:
        """Discard the samples to retry, and return all pending ones; only the starting process calls this."""
        with self._folder.keep(self._claims.check_kept, retry_damaged=self._retry_damaged):
            if self._retry_failed:
                self._folder.discard(self._folder.failed())
            pending = self._folder.pending()
        # Remove the counts, so that the process that finishes the run counts again.
        if pending and self._folder.config.counts is not None:
            self._folder.write_config(replace(self._folder.config, counts=None))
        return pending

    def _were_done(self, indices: Collection[int]) -> Iterable[int]:
        if not indices:
            return ()
        return set(indices) - set(RunFolder.open(self._path).pending())

    def turn(self, on_wait: OnWait) -> Iterator[int] | None:
        """Return samples that are claimed one by one; None once all samples are done."""
        while not self._claims.wait(on_wait):
            self._keeping.enter_context(self._claims.keeping(on_wait))
            missing = [] if self._claims.is_over else self._folder.pending()
            # Keep the folder locked here: this process finishes the run, unless it is already
            # finished.
            if not missing:
                return None
            self._claims.undo(missing)
            self._keeping.close()
        return self._claims.units()

    def note(self, result: SampleResult) -> None:
        """Publish a finished sample, and compact the blocks that are done for all processes."""
        self._done_here.append(result.index)
        self._loose_blocks.add(result.index // BLOCK_SAMPLES)
        self._claims.done(result.index, result.seconds)
        self._compact()

    def _compact(self) -> None:
        whole = [block for block in self._loose_blocks if self._is_done(block)]
        # If another process has locked the folder, the next finished sample tries again.
        if not whole or not self._claims.try_keeping():
            return
        try:
            with suppress(PresenceLapsed), self._folder.keep(self._claims.check_kept):
                for block in whole:
                    self._folder.gather(block * BLOCK_SAMPLES)
        finally:
            self._claims.stop_keeping()
        self._loose_blocks.difference_update(whole)

    def _is_done(self, block: int) -> bool:
        first = block * BLOCK_SAMPLES
        stop = min(len(self._folder.samples), first + BLOCK_SAMPLES)
        return self._claims.are_done(first, stop)

    def undo(self) -> None:
        """Discard the samples that this process ran, so that any process runs them again."""
        with self._claims.keeping(), self._folder.keep(self._claims.check_kept):
            self._folder.discard(self._done_here)
            self._claims.undo(self._done_here)

    def finish(self, finishing: Callable[[RunFolder], None]) -> RunFolder:
        """Finish the run, unless another process did, and return it."""
        # A process that was presumed dead and came back may have written single files since.
        if self._claims.is_over:
            with suppress(PresenceLapsed), self._folder.keep(self._claims.check_kept):
                pass
        while not self._claims.is_over:
            self._folder.config = RunFolder.open(self._path).config
            try:
                with self._folder.keep(self._claims.check_kept):
                    self._folder.clear_leftovers()
                    finishing(self._folder)
                self._claims.end()
            except PresenceLapsed:
                # Another process finishes the run; wait until it is done or gone.
                self._keeping.close()
                self._keeping.enter_context(self._claims.keeping())
        self._keeping.close()
        self._folder.config = RunFolder.open(self._path).config
        return self._folder

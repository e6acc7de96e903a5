"""The samples of a run, for the process that holds them alone or for one of several that share them.

Both are asked for turns of samples until there is none, told what was held, and asked who finishes the run.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from segarena.engine.sample_job import SampleResult
from segarena.engine.store import RunFolder
from segarena.records.compaction import BLOCK_SAMPLES
from segarena.records.configuration import RunConfiguration
from segarena.records.fingerprints import Fingerprints
from segarena.records.pieces import PIECES_LEDGER
from segarena.work.sharing.claims import CLAIMS, Claims, OnWait
from segarena.work.sharing.presence import PresenceLapsed


class SampleQueue(Protocol):
    """The samples of a run that this process may hold; a context in which it may."""

    @property
    def folder(self) -> RunFolder:
        """The run, once the context was entered."""
        ...

    @property
    def count_done(self) -> int:
        """How many samples need no more doing, whoever did them."""
        ...

    @property
    def sharers(self) -> int:
        """How many processes hold samples of the run."""
        ...

    def __enter__(self) -> SampleQueue: ...

    def __exit__(self, *_: object) -> None: ...

    def turn(self, on_wait: OnWait) -> Iterator[int] | None:
        """Return samples to hold, as places in the run; None when all are done. May wait for others."""
        ...

    def note(self, held: SampleResult) -> None:
        """Take note of a sample that was held."""
        ...

    def undo(self) -> None:
        """Forget what was held, so that it is done again."""
        ...

    def finish(self, finishing: Callable[[RunFolder], None]) -> RunFolder:
        """Have the run finished, by calling `finishing` here unless another process does, and return it."""
        ...


class ExclusiveSampleQueue:
    """The samples of a run that this process holds alone.

    Args:
        folder: of the run.
        retry_failed: do samples again in which something failed.
        retry_damaged: do samples again that are damaged.
    """

    def __init__(
        self, folder: RunFolder, *, retry_failed: bool = False, retry_damaged: bool = False
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

    def turn(self, on_wait: OnWait) -> Iterator[int] | None:
        """Return what is pending, once."""
        if self._has_begun or not self._pending:
            return None
        self._has_begun = True
        return iter(self._pending)

    def note(self, held: SampleResult) -> None:
        """Join the files of its neighbours if all are done."""
        self.count_done += 1
        self.folder.gather(held.index)

    def undo(self) -> None:
        """Forget what was held."""
        self.folder.discard(self._pending)

    def finish(self, finishing: Callable[[RunFolder], None]) -> RunFolder:
        """Finish the run."""
        finishing(self.folder)
        return self.folder


class SharedSampleQueue:
    """The samples of a run that several processes share; which comes first starts it.

    Args:
        path: of the run.
        config: what run.json will say, or must agree with.
        data: of each file of the data.
        beside: as for `RunFolder.create`.
        workers: processes that this one has.
        retry_failed: do samples again in which something failed; done by the one who comes when nobody is at work.
        retry_damaged: do samples again that are damaged; the same.
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
        self._held: list[int] = []
        self._not_gathered: set[int] = set()
        self._keeps = ExitStack()
        self._stack = ExitStack()

    @property
    def folder(self) -> RunFolder:
        """The run."""
        return self._folder

    @property
    def count_done(self) -> int:
        """How many are done, here or elsewhere."""
        return self._claims.count_done

    @property
    def sharers(self) -> int:
        """How many take part."""
        return self._claims.count_sharers

    def __enter__(self) -> SharedSampleQueue:
        with ExitStack() as stack:
            stack.enter_context(self._claims)
            with self._claims.keeping():
                self._folder = RunFolder.create(
                    self._path, self._config, data=self._data, beside=self._beside
                )
                self._claims.begin("this run", len(self._folder.samples), self._pending)
            stack.enter_context(self._keeps)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _pending(self) -> list[int]:
        """Return what is to be done, as the first who comes."""
        with self._folder.keep(self._claims.check_kept, retry_damaged=self._retry_damaged):
            if self._retry_failed:
                self._folder.discard(self._folder.failed())
            pending = self._folder.pending()
        if (
            pending and self._folder.config.counts is not None
        ):  # so that whoever finishes counts anew
            self._folder.write_config(replace(self._folder.config, counts=None))
        return pending

    def _were_done(self, indices: Collection[int]) -> Iterable[int]:
        return set(indices) - set(RunFolder.open(self._path).pending()) if indices else ()

    def turn(self, on_wait: OnWait) -> Iterator[int] | None:
        """Return samples that this process claims as they are asked for; None once all are done everywhere."""
        while not self._claims.wait(on_wait):
            self._keeps.enter_context(self._claims.keeping(on_wait))
            missing = [] if self._claims.is_over else self._folder.pending()
            if not missing:
                return None  # who keeps the folder now finishes the run, unless it is finished
            self._claims.undo(missing)
            self._keeps.close()
        return self._claims.units()

    def note(self, held: SampleResult) -> None:
        """Let the others know when the claim is done, and join files when all know that all neighbours are done."""
        self._held.append(held.index)
        self._not_gathered.add(held.index // BLOCK_SAMPLES)
        self._claims.done(held.index, held.seconds)
        self._gather()

    def _gather(self) -> None:
        count = len(self._folder.samples)
        whole = [
            b
            for b in self._not_gathered
            if self._claims.are_done(b * BLOCK_SAMPLES, min(count, (b + 1) * BLOCK_SAMPLES))
        ]
        if not whole or not self._claims.try_keeping():
            return
        try:
            with suppress(PresenceLapsed), self._folder.keep(self._claims.check_kept):
                for block in whole:
                    self._folder.gather(block * BLOCK_SAMPLES)
        finally:
            self._claims.stop_keeping()
        self._not_gathered.difference_update(whole)

    def undo(self) -> None:
        """Forget what was held here, so that anybody does it again."""
        with self._claims.keeping(), self._folder.keep(self._claims.check_kept):
            self._folder.discard(self._held)
            self._claims.undo(self._held)

    def finish(self, finishing: Callable[[RunFolder], None]) -> RunFolder:
        """Finish the run as the first who finds all done; the others find it finished."""
        if (
            self._claims.is_over
        ):  # one that was given up and came back may have written a sample once more
            with suppress(PresenceLapsed), self._folder.keep(self._claims.check_kept):
                pass
        while not self._claims.is_over:
            self._folder.config = RunFolder.open(self._path).config
            try:
                with self._folder.keep(self._claims.check_kept):
                    self._folder.clear_leftovers()
                    finishing(self._folder)
                self._claims.end()
            except PresenceLapsed:  # another one goes on with it, or has finished
                self._keeps.close()
                self._keeps.enter_context(self._claims.keeping())
        self._keeps.close()
        self._folder.config = RunFolder.open(self._path).config
        return self._folder

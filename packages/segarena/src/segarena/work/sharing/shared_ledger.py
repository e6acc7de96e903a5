"""A ledger shared by several processes: each records its finished units in its own part.

    images.jsonl               the ledger, as for a single process
    images.claims/
      4be1a2f09c3d5e67.jsonl   the part of one process, next to its claims

The finished units are those in the ledger and in all parts. The last process to leave merges the
parts into the ledger; if it failed to, the next process that opens the ledger does so.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import segarena.errors
from segarena.errors import InvalidInput, SegarenaError, UnitFailed
from segarena.files.hashes import fingerprint
from segarena.work.jobs import Outcome, UnitResult
from segarena.work.ledger import Ledger, read_ledger, refuse_other_work
from segarena.work.sharing.claims import Claims, OnWait
from segarena.work.sharing.locks import refuse_sharers, remove_claims


def open_ledger(
    path: Path | None,
    identity: Mapping[str, Any],
    *,
    share: bool = False,
) -> Ledger | SharedLedger:
    """Return a ledger for this process alone, or its part of a shared one, as a context manager.

    Raises:
        InvalidInput: a ledger without a file cannot be shared.
        RunConflict: the ledger belongs to different work, or other processes use it.
        StoreError: the ledger cannot be written, or is not a ledger.
    """
    if path is None:
        if share:
            raise InvalidInput("share: expected --out with a folder that all processes can access")
        return Ledger(None, identity)
    claims = claims_beside(path)
    if share:
        return SharedLedger(claims, path, identity)
    refuse_sharers(claims)
    ledger = Ledger(path, identity)
    _merge_parts(ledger, claims)
    remove_claims(claims)
    return ledger


def claims_beside(path: Path) -> Path:
    """Return the folder of claims of a ledger."""
    return path.with_suffix(".claims")


class SharedLedger:
    """This process's part of a shared ledger; a context manager during whose block the process shares the work.

    Args:
        claims: the folder of claims and parts.
        path: the ledger; None if finished units are stored elsewhere, and the parts only inform the other processes.
        identity: identity of the work, in plain values.

    Attributes:
        done: the value of each unit that was finished before this process joined, or by this process; at the end of the
            work, of all finished units.

    Raises:
        RunConflict: the ledger belongs to different work, or a process uses it alone.
        StoreError: the ledger cannot be written, or is not a ledger.
    """

    def __init__(
        self,
        claims: Path,
        path: Path | None,
        identity: Mapping[str, Any],
    ) -> None:
        self.done: dict[str, Any] = {}
        self._folder = claims
        self._path = path
        self._identity = json.loads(json.dumps(identity))
        lock = claims / "lock" if path is None else path
        self._claims = Claims(
            claims,
            lock,
            were_done=self._were_done,
            before_telling=self._sync,
            before_clearing=self._merge_into_ledger,
        )
        self._names: Sequence[str] = ()
        self._indices: dict[str, int] = {}
        self._part = Ledger(None, identity)
        self._is_discarded = False
        self._stack = ExitStack()

    def __enter__(self) -> SharedLedger:
        with ExitStack() as stack:
            stack.enter_context(self._claims)
            with self._claims.keeping():
                self._read_before()
            part = self._folder / f"{self._claims.name}.jsonl"
            self._part = stack.enter_context(Ledger(part, self._identity, is_locked=False))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def join(self, units: Collection[str], workers: int) -> None:
        """Join the processing of these units with `workers` processes."""
        self._names = list(units)
        self._indices = {name: index for index, name in enumerate(self._names)}
        self._claims.workers = max(1, workers)
        count = len(self._names)
        # Claims identify units by index, so all processes must have the same units in the same
        # order.
        work = json.dumps([self._identity, self._names])
        description = f"{count} units ({fingerprint(work)[:8]})"
        with self._claims.keeping():
            self._claims.begin(description, count, self._pending)

    @property
    def count_done(self) -> int:
        """Total number of finished units over all processes."""
        return self._claims.count_done

    @property
    def sharers(self) -> int:
        """Number of processes that share the work."""
        return self._claims.count_sharers

    @property
    def failures(self) -> dict[str, SegarenaError]:
        """Errors of the failed units of all processes, by unit name."""
        failures: dict[str, SegarenaError] = {}
        for index, (kind, message) in sorted(self._claims.failed.items()):
            failures[self._names[index]] = _error(kind, message)
        return failures

    def turn(self, on_wait: OnWait) -> Iterator[str] | None:
        """Return units, each claimed on request; None once all units are done or have failed."""
        while not self._claims.wait(on_wait):
            self._read_parts()
            missing = set(self._pending()) - self._claims.failed.keys()
            if not missing:
                return None
            self._claims.undo(missing)
        return (self._names[index] for index in self._claims.units())

    def note(self, outcome: Outcome[tuple[str, Any], Any]) -> None:
        """Record the outcome of a unit."""
        name, _ = outcome.unit
        failure = None
        if isinstance(outcome, UnitResult):
            self.done[name] = outcome.result
            self._part.add(name, outcome.result)
        else:
            failure = outcome.error
        self._claims.done(self._indices[name], outcome.seconds, failure)

    def discard(self) -> None:
        """Let the last process that leaves remove the file, because its contents are stored elsewhere."""
        self._is_discarded = True

    def _read_before(self) -> None:
        """Read the units finished before; raise an error if the file belongs to different work."""
        if self._path is None:
            return
        if self._claims.others:
            existing = read_ledger(self._path)
            refuse_other_work(self._path, existing.identity, self._identity)
        with Ledger(self._path, self._identity, is_locked=False) as before:
            self.done.update(before.done)

    def _read_parts(self) -> None:
        # The parts of all processes, including dead ones.
        for done in _parts(self._folder):
            self.done.update(done)

    def _pending(self) -> list[int]:
        self._read_parts()
        return [index for index, name in enumerate(self._names) if name not in self.done]

    def _were_done(self, indices: Collection[int]) -> Iterable[int]:
        # Without finished units, the parts need not be read.
        if not indices:
            return ()
        return set(indices) - set(self._pending())

    def _sync(self) -> None:
        """Flush the part to disk, so that others can read the units published as done."""
        self._part.sync()

    def _merge_into_ledger(self) -> None:
        if self._path is None:
            return
        if self._is_discarded:
            self._path.unlink(missing_ok=True)
        elif any(_parts(self._folder)):
            with Ledger(self._path, self._identity, is_locked=False) as ledger:
                _merge_parts(ledger, self._folder, self._indices)


def _merge_parts(
    ledger: Ledger,
    claims: Path,
    indices: Mapping[str, int] = {},
) -> None:
    """Add the units of the parts to the ledger, in their original order if it is known, otherwise by name."""
    done: dict[str, Any] = {}
    for part in _parts(claims):
        done.update(part)
    last = len(indices)

    def order(name: str) -> tuple[int, str]:
        return indices.get(name, last), name

    # With this order, equal work gives equal ledgers, whichever process finished a unit.
    missing = done.keys() - ledger.done.keys()
    for name in sorted(missing, key=order):
        ledger.add(name, done[name])


def _parts(claims: Path) -> Iterator[dict[str, Any]]:
    for part in sorted(claims.glob("*.jsonl")):
        if part.stat().st_size:
            yield read_ledger(part).done


def _error(kind: str, message: str) -> SegarenaError:
    known = vars(segarena.errors).get(kind)
    if isinstance(known, type) and issubclass(known, SegarenaError):
        return known(message)
    return UnitFailed(message)

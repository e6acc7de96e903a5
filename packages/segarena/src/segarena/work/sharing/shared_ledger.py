"""A ledger shared by several processes: each records its finished units in a part of its own.

    images.jsonl               the ledger, as for a single process
    images.claims/
      4be1a2f09c3d5e67.jsonl   the part of one process, beside its claims

The finished units are those of the ledger and of all parts. The last process to leave merges the parts into the ledger;
if it could not, the next one to open the ledger does.
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
    path: Path | None, identity: Mapping[str, Any], *, share: bool = False
) -> Ledger | SharedLedger:
    """Return a ledger for this process alone, or its part in a shared one; use it as a context.

    Raises:
        InvalidInput: a shared ledger has no file.
        RunConflict: it belongs to other work, or other processes use it.
        StoreError: it cannot be written, or is not a ledger.
    """
    if path is None:
        if share:
            raise InvalidInput("share: which folder? give --out, which all processes see")
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
    """The part of this process in a shared ledger; a context in which it takes part.

    Args:
        claims: the folder of claims and parts.
        path: the ledger; None if finished units are known otherwise, and the parts only inform the other processes.
        identity: identity of the work, in plain values.

    Attributes:
        done: the value of each unit finished before or by this process; of all units once the work is done.

    Raises:
        RunConflict: it belongs to other work, or a process uses it alone.
        StoreError: it cannot be written, or is not a ledger.
    """

    def __init__(self, claims: Path, path: Path | None, identity: Mapping[str, Any]) -> None:
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
        self._places: dict[str, int] = {}
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
        """Take part in doing these units, with `workers` processes."""
        self._names = list(units)
        self._places = {name: place for place, name in enumerate(self._names)}
        self._claims.workers = max(1, workers)
        of = f"{len(self._names)} units ({fingerprint(json.dumps([self._identity, self._names]))[:8]})"
        with self._claims.keeping():
            self._claims.begin(of, len(self._names), self._pending)

    @property
    def count_done(self) -> int:
        """Number of finished units, here and elsewhere."""
        return self._claims.count_done

    @property
    def sharers(self) -> int:
        """Number of processes that take part."""
        return self._claims.count_sharers

    @property
    def failures(self) -> dict[str, SegarenaError]:
        """Errors of failed units, here and elsewhere, by name."""
        failed = self._claims.failed
        return {self._names[place]: _error(*failed[place]) for place in sorted(failed)}

    def turn(self, on_wait: OnWait) -> Iterator[str] | None:
        """Return units, each claimed when it is taken; None once all are done everywhere."""
        while not self._claims.wait(on_wait):
            self._read_parts()
            missing = set(self._pending()) - self._claims.failed.keys()
            if not missing:
                return None
            self._claims.undo(missing)
        return (self._names[place] for place in self._claims.units())

    def note(self, outcome: Outcome[tuple[str, Any], Any]) -> None:
        """Record the outcome of a unit."""
        name, _ = outcome.unit
        failure = None
        if isinstance(outcome, UnitResult):
            self.done[name] = outcome.result
            self._part.add(name, outcome.result)
        else:
            failure = outcome.error
        self._claims.done(self._places[name], outcome.seconds, failure)

    def discard(self) -> None:
        """Have the last process to leave remove the file; its contents are stored elsewhere."""
        self._is_discarded = True

    def _read_before(self) -> None:
        """Read the units finished before; raise for other work."""
        if self._path is not None and self._claims.others:
            refuse_other_work(self._path, read_ledger(self._path).identity, self._identity)
        if self._path is not None:
            with Ledger(self._path, self._identity, is_locked=False) as before:
                self.done.update(before.done)

    def _read_parts(self) -> None:
        # The parts of all processes, dead ones included.
        for done in _parts(self._folder):
            self.done.update(done)

    def _pending(self) -> list[int]:
        self._read_parts()
        return [place for place, name in enumerate(self._names) if name not in self.done]

    def _were_done(self, places: Collection[int]) -> Iterable[int]:
        return set(places) - set(self._pending()) if places else ()

    def _sync(self) -> None:
        """Flush the part to disk, so that others can read the units published as done."""
        self._part.sync()

    def _merge_into_ledger(self) -> None:
        if self._path is not None and self._is_discarded:
            self._path.unlink(missing_ok=True)
        elif self._path is not None and any(_parts(self._folder)):
            with Ledger(self._path, self._identity, is_locked=False) as ledger:
                _merge_parts(ledger, self._folder, self._places)


def _merge_parts(ledger: Ledger, claims: Path, places: Mapping[str, int] = {}) -> None:
    """Add the units of the parts to the ledger, in the order of the units if it is known, else by name."""
    found: dict[str, Any] = {}
    for done in _parts(claims):
        found.update(done)
    missing = found.keys() - ledger.done.keys()
    for name in sorted(missing, key=lambda name: (places.get(name, len(places)), name)):
        ledger.add(name, found[name])


def _parts(claims: Path) -> Iterator[dict[str, Any]]:
    for part in sorted(claims.glob("*.jsonl")):
        if part.stat().st_size:
            yield read_ledger(part).done


def _error(kind: str, message: str) -> SegarenaError:
    known = vars(segarena.errors).get(kind)
    if isinstance(known, type) and issubclass(known, SegarenaError):
        return known(message)
    return UnitFailed(message)

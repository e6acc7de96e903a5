"""One process's interface to shared work, to claim units and to read the claims of other processes.

    claims/
      4be1a2f09c3d5e67.sharer   a process that shares the work (`segarena.work.sharing.process_heartbeats`)
      000000001                 an entry of one process, followed by further entries (`segarena.work.sharing.claim_log`)
      000000002

All processes agree on the order of the entries, and therefore on the claims. The units of a dead
process are released for others. A process that was only paused and resumes does no harm: results
are complete files, equal whichever process writes them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from segarena.errors import RunConflict, SegarenaError
from segarena.version import __version__
from segarena.work.sharing.claim_log import ClaimLog
from segarena.work.sharing.claim_state import ClaimEntry, Ranges, ranges_of
from segarena.work.sharing.locks import clear_claims, shared_lock
from segarena.work.sharing.process_heartbeats import (
    EXPIRE_S,
    Presence,
    PresenceLapsed,
    present_sharers,
)

CLAIMS = "claims"
"""Name of the folder of claims in a folder of work."""

MIN_CLAIM_S = 0.5
MAX_CLAIM_S = 30.0
"""Minimum and maximum work in one claim, in seconds of this process."""

_POLL_S = 0.1
_LONGEST_POLL_S = 2.0
_POLL_GROWTH = 1.2
_LEAST_UNIT_S = 1e-6  # units may take no measurable time

OnWait = Callable[[str], None]
"""Called while this process waits, with a text about the processes for which it waits."""


class Claims:
    """Claims of this process; a context manager during whose block the process shares the work.

    Args:
        folder: folder of the claims; created if it does not exist.
        lock: a file that a process locks to exclude all others.
        were_done: returns the finished units among those that a dead process claimed.
        before_telling: called before units are published as done, to make their results readable.
        before_clearing: called by the last process that leaves.
        workers: number of worker processes of this process.
        expire_s: seconds of silence after which another process counts as dead.

    Raises:
        RunConflict: another version of segarena shares the work, or a process works on it alone.
        StoreError: the folder cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        lock: Path,
        *,
        were_done: Callable[[Collection[int]], Iterable[int]],
        before_telling: Callable[[], None] = lambda: None,
        before_clearing: Callable[[], None] = lambda: None,
        workers: int = 1,
        expire_s: float = EXPIRE_S,
    ) -> None:
        self._folder = folder
        self._lock = lock
        self._were_done = were_done
        self._before_telling = before_telling
        self._before_clearing = before_clearing
        self.workers = max(1, workers)
        self._presence = Presence(folder, expire_s=expire_s)
        self._me = self._presence.me.token
        self._log = ClaimLog(folder)
        self._shares = self._log.shares
        # Finished units that are not published yet.
        self._finished: list[int] = []
        self._failed: dict[int, tuple[str, str]] = {}
        self._seconds = 0.0
        self._timed = 0
        # Whether the last attempt found no further free unit.
        self._is_at_end = False
        self._stack = ExitStack()

    def __enter__(self) -> Claims:
        with ExitStack() as stack:
            # Registered first, so that it runs last: after this process released its lock and its
            # presence.
            stack.callback(clear_claims, self._folder, self._lock, self._before_clearing)
            stack.enter_context(shared_lock(self._lock))
            stack.enter_context(self._presence)
            self._refuse_other_versions()
            stack.callback(self._leave)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def name(self) -> str:
        """The unique name of this process in the folder."""
        return self._me

    # The shared folder

    @contextmanager
    def keeping(self, on_wait: OnWait = lambda _: None) -> Generator[None]:
        """Lock the shared folder to change its files; wait if another process holds the lock."""
        while not self.try_keeping():
            on_wait(f"{self._names(filter(None, [self._shares.keeper]))} has locked the folder")
            time.sleep(_POLL_S)
        try:
            yield
        finally:
            self.stop_keeping()

    def try_keeping(self) -> bool:
        """Try to lock the shared folder; return whether this process now holds the lock."""
        self._log.read()
        self._drop_dead(filter(None, [self._shares.keeper]))
        return self._append(
            lambda: None if self._shares.keeper else ClaimEntry(who=self._me, keeps=True)
        )

    def stop_keeping(self) -> None:
        """Release the shared folder."""
        with suppress(PresenceLapsed):
            self._append(
                lambda: (
                    ClaimEntry(who=self._me, keeps=False)
                    if self._shares.keeper == self._me
                    else None
                )
            )

    def check_kept(self) -> None:
        """Raise `PresenceLapsed` unless this process still holds the shared folder."""
        self._presence.touch()
        self._log.read()
        if self._shares.keeper != self._me or self._presence.take_lapse():
            raise PresenceLapsed(
                f"{self._folder.parent}: this process was silent for too long, and others continued without it"
            )

    def begin(
        self,
        of: str,
        count: int,
        pending: Callable[[], Iterable[int]],
    ) -> None:
        """Join the work of other processes, or begin it; only allowed while this process has locked the shared folder.

        Args:
            of: description of the units.
            count: number of units.
            pending: returns the units that are not done at the start of the work.

        Raises:
            RunConflict: other processes share different work in this folder.
        """
        others = self.others
        # Without other live processes, compute the pending units again instead of relying on the
        # log.
        if not (self._shares.has_begun and others):
            done = ranges_of(set(range(count)) - set(pending()))
            self._append(
                lambda: ClaimEntry(
                    who=self._me,
                    joins=True,
                    count=count,
                    of=of,
                    done=done,
                )
            )
        elif self._shares.of == of:
            self._append(lambda: ClaimEntry(who=self._me, joins=True))
        else:
            raise RunConflict(
                f"{self._folder.parent} is shared by {self._names(others)} for {self._shares.of}, but this command "
                f"works on {of}; choose another --out, or give the same command to all"
            )

    @property
    def others(self) -> list[str]:
        """Tokens of the other live processes that share the work."""
        self._log.read()
        self._drop_dead(self._shares.members)
        return [token for token in self._shares.members if token != self._me]

    @property
    def is_over(self) -> bool:
        """Whether all work is finished, which a process publishes with `end` after the last unit."""
        return self._log.read().is_over

    def end(self) -> None:
        """Publish that the work is finished."""
        self._append(lambda: ClaimEntry(who=self._me, is_over=True))

    # Units

    def units(self) -> Iterator[int]:
        """Yield units claimed for this process until none is free; each is claimed shortly before it is yielded."""
        self._is_at_end = False
        while claimed := self._claim():
            for unit in claimed:
                if self._presence.take_lapse():
                    self._log.read()
                # After a lapse, other processes may have taken over units that this one had
                # claimed.
                if unit in self._shares.claims.get(self._me, ()):
                    yield unit
        self._is_at_end = True
        self._publish()

    def done(
        self,
        unit: int,
        seconds: float,
        failure: SegarenaError | None = None,
    ) -> None:
        """Record a unit that this process finished, with its seconds and its failure, if any."""
        self._finished.append(unit)
        if failure is not None:
            self._failed[unit] = (type(failure).__name__, str(failure))
        self._seconds = self._seconds + seconds
        self._timed = self._timed + 1
        if self._is_at_end:
            self._publish()

    def undo(self, units: Iterable[int]) -> None:
        """Release units that turned out to be unfinished, so that any process can claim them."""
        undone = ranges_of(units)
        self._finished.clear()
        self._failed.clear()
        self._append(lambda: ClaimEntry(who=self._me, undone=undone))

    def wait(self, on_wait: OnWait) -> bool:
        """Wait until a unit is free or all are done; return whether one is free."""
        pause_s = _POLL_S
        while not (self._log.read().is_over or self._shares.is_all_done):
            self._drop_dead(self._shares.claims)
            if self._shares.count_free:
                return True
            on_wait(self._describe_claims())
            time.sleep(pause_s)
            # Wait longer each time, because all waiting processes read the same file.
            pause_s = min(_LONGEST_POLL_S, _POLL_GROWTH * pause_s)
        return False

    @property
    def count_done(self) -> int:
        """Total number of finished units over all processes."""
        return self._shares.count_done + len(self._finished)

    @property
    def count_sharers(self) -> int:
        """Number of processes that share the work, as far as this one knows."""
        return max(1, len(self._shares.members))

    @property
    def failed(self) -> dict[int, tuple[str, str]]:
        """(error class, message) of each failed unit, whichever process ran it."""
        return {**self._shares.failed, **self._failed}

    def are_done(self, first: int, stop: int) -> bool:
        """Return whether the units `first` to `stop` - 1 are done, and published as done."""
        return self._shares.are_done(first, stop)

    def _claim(self) -> list[int]:
        """Claim units and publish finished ones; claims are larger while many fast units are left."""
        claimed: list[int] = []

        def entry() -> ClaimEntry | None:
            claimed[:] = islice(self._shares.free(), self._claim_size())
            if claimed or self._finished:
                return self._with_finished(takes=ranges_of(claimed))
            return None

        if not self._log.read().count_free:
            self._drop_dead(self._shares.claims)
        if self._append(entry):
            self._forget_finished()
        return claimed

    def _claim_size(self) -> int:
        if not self._timed:
            return self.workers
        seconds_per_unit = self._seconds / self._timed
        unit_s = max(_LEAST_UNIT_S, seconds_per_unit / self.workers)
        # Claim half of an equal share of the free units, so that all processes end at about the
        # same time.
        fair = self._shares.count_free // (2 * self.count_sharers)
        smallest = round(MIN_CLAIM_S / unit_s)
        largest = round(MAX_CLAIM_S / unit_s)
        return max(1, min(max(fair, smallest), largest))

    def _publish(self) -> None:
        if self._finished and self._append(self._with_finished):
            self._forget_finished()

    def _with_finished(self, *, takes: Ranges = (), leaves: bool = False) -> ClaimEntry:
        done = ranges_of(self._finished)
        if done:
            self._before_telling()
        return ClaimEntry(
            who=self._me,
            takes=takes,
            leaves=leaves,
            done=done,
            failed=dict(self._failed),
        )

    def _forget_finished(self) -> None:
        self._finished.clear()
        self._failed.clear()

    def _append(self, entry: Callable[[], ClaimEntry | None]) -> bool:
        def as_member() -> ClaimEntry | None:
            wanted = entry()
            # Other processes may have counted this one as dead while its machine was suspended.
            is_given_up = self._shares.has_begun and self._me not in self._shares.members
            if wanted is None or not is_given_up:
                return wanted
            if wanted.leaves or wanted.keeps is not None:
                return wanted
            return msgspec.structs.replace(wanted, joins=True)

        return self._log.append(as_member)

    # Other processes

    def _drop_dead(self, tokens: Iterable[str]) -> None:
        """Free the claims of dead processes, except the units that they finished."""
        for token in list(tokens):
            if self._presence.is_live(token):
                continue
            claimed = self._shares.claims.get(token, set())
            done = ranges_of(self._were_done(claimed))
            self._append(partial(self._drop_entry, token, done))
            self._presence.forget(token)

    def _drop_entry(self, token: str, done: Ranges) -> ClaimEntry | None:
        # Another process may have removed it in the meantime.
        is_known = token in (*self._shares.members, *self._shares.claims, self._shares.keeper)
        if not is_known:
            return None
        return ClaimEntry(who=self._me, ends=(token,), done=done)

    def _leave(self) -> None:
        """Publish finished units and release the rest; ignore errors, because others notice the absence anyway."""
        with suppress(SegarenaError):
            self._append(partial(self._with_finished, leaves=True))

    def _refuse_other_versions(self) -> None:
        for token, who in present_sharers(self._folder).items():
            if who.version != __version__ and self._presence.is_live(token):
                raise RunConflict(
                    f"{self._folder.parent} is shared by {who} with segarena {who.version}, but {__version__} is "
                    f"installed on {self._presence.me.host}; install one version on all machines"
                )

    def _describe_claims(self) -> str:
        descriptions: list[str] = []
        for token, units in self._shares.claims.items():
            if units:
                descriptions.append(f"{self._names([token])} with {len(units)}")
        return ", ".join(descriptions)

    def _names(self, tokens: Iterable[str]) -> str:
        present = present_sharers(self._folder)
        names = [str(present.get(token, "a process that has left")) for token in tokens]
        return ", ".join(names)

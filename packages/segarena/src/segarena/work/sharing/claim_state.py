"""The state of shared work, derived from a log of entries: free, claimed and finished units."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

Ranges = tuple[tuple[int, int], ...]
"""Integers as half-open intervals (first, stop)."""

_FREE = 0
_TAKEN = 1
_DONE = 2


class ClaimEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A log entry of one process; all processes read the entries in the same order.

    Attributes:
        who: token of the process.
        joins, leaves: whether it starts or stops sharing the work; its unfinished units become free when it leaves.
        count: number of units at the start of the work; all are free except those in `done`.
        of: description of the units at the start of the work.
        ends: tokens of dead processes, whose unfinished units become free.
        done: finished units.
        failed: (error class, message) of failed units in `done`.
        undone: finished units that become free again.
        takes: units that the process claims.
        keeps: whether it locks (True) or unlocks (False) the shared folder.
        is_over: whether the work is finished.
    """

    who: str
    joins: bool = False
    leaves: bool = False
    count: int | None = None
    of: str = ""
    ends: tuple[str, ...] = ()
    done: Ranges = ()
    failed: dict[int, tuple[str, str]] = {}
    undone: Ranges = ()
    takes: Ranges = ()
    keeps: bool | None = None
    is_over: bool = False


class ClaimState:
    """The state after the entries so far.

    Attributes:
        of: description of the units.
        members: tokens of the processes that share the work.
        claims: units claimed by each process.
        failed: (error class, message) of failed units.
        keeper: token of the process that has locked the shared folder.
        has_begun: whether the units are known.
        is_over: whether the work is finished.
    """

    def __init__(self) -> None:
        self.of = ""
        self.members: list[str] = []
        self.claims: dict[str, set[int]] = {}
        self.failed: dict[int, tuple[str, str]] = {}
        self.keeper: str | None = None
        self.has_begun = False
        self.is_over = False
        self._units = bytearray()

    @property
    def count_done(self) -> int:
        """Number of finished units."""
        return self._units.count(_DONE)

    @property
    def count_free(self) -> int:
        """Number of free units."""
        return self._units.count(_FREE)

    @property
    def is_all_done(self) -> bool:
        """Whether every unit is done."""
        return self.has_begun and self.count_done == len(self._units)

    def are_done(self, first: int, stop: int) -> bool:
        """Return whether the units `first` to `stop` - 1 are done."""
        return self._units.count(_DONE, first, stop) == stop - first

    def free(self) -> Iterator[int]:
        """Yield the free units, in order."""
        unit = self._units.find(_FREE)
        while unit >= 0:
            yield unit
            unit = self._units.find(_FREE, unit + 1)

    def add(self, entry: ClaimEntry) -> None:
        """Apply the next entry.

        Claims of units that are already claimed or done have no effect, so no unit belongs to two
        processes.
        """
        if entry.count is not None:
            self._begin(entry.count, entry.of)
        if entry.joins and entry.who not in self.members:
            self.members.append(entry.who)
        for unit in self._known(entry.done):
            self._change(unit, _DONE)
        self.failed.update(entry.failed)
        for unit in self._known(entry.undone):
            self._change(unit, _FREE)
        leaving = (*entry.ends, entry.who) if entry.leaves else entry.ends
        for token in leaving:
            self._remove_member(token)
        for unit in self._known(entry.takes):
            if self._units[unit] == _FREE:
                self._units[unit] = _TAKEN
                self.claims.setdefault(entry.who, set()).add(unit)
        if entry.keeps:
            self.keeper = self.keeper or entry.who
        elif entry.keeps is False and self.keeper == entry.who:
            self.keeper = None
        self.is_over = self.is_over or entry.is_over

    def _begin(self, count: int, of: str) -> None:
        self._units = bytearray(count)
        self.claims.clear()
        self.failed.clear()
        self.of = of
        self.has_begun = True
        self.is_over = False

    def _change(self, unit: int, what: int) -> None:
        # Whichever process claimed the unit, because one that was presumed dead may have finished it.
        if self._units[unit] == _TAKEN:
            for taken in self.claims.values():
                taken.discard(unit)
        self._units[unit] = what
        self.failed.pop(unit, None)

    def _remove_member(self, token: str) -> None:
        for unit in self.claims.pop(token, ()):
            self._units[unit] = _FREE
        if token in self.members:
            self.members.remove(token)
        if self.keeper == token:
            self.keeper = None

    def _known(self, ranges: Ranges) -> Iterator[int]:
        for first, stop in ranges:
            # Entries come from files, so their integers may be out of range.
            known_first = max(0, first)
            known_stop = min(stop, len(self._units))
            yield from range(known_first, known_stop)


def ranges_of(units: Iterable[int]) -> Ranges:
    """Return integers as half-open intervals.

    >>> ranges_of([5, 1, 2, 3])
    ((1, 4), (5, 6))
    """
    ranges: list[tuple[int, int]] = []
    for unit in sorted(set(units)):
        first = unit
        if ranges and ranges[-1][1] == unit:
            first, _ = ranges.pop()
        ranges.append((first, unit + 1))
    return tuple(ranges)

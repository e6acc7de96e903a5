"""Which units of a shared work are free, who does which, and what is done: the sum of a log of entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

Ranges = tuple[tuple[int, int], ...]
"""Whole numbers, as first and behind-the-last of each stretch."""

_FREE = 0
_TAKEN = 1
_DONE = 2


class ClaimEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one process says; everyone reads the entries in one order.

    Attributes:
        who: the token of the process.
        joins, leaves: it takes part from now on; no longer, and what it took and did not do is free.
        count: of the units, when the work begins; nothing is done then, or taken, but what `done` says.
        of: what the units are, when the work begins.
        ends: processes that are given up: what they took and did not do is free.
        done: units that need no more doing.
        failed: of these, why some came to nothing: the kind of error, and what it says.
        undone: units that are free again, though they were done.
        takes: units that it does from now on.
        keeps: it alone may change what belongs to all, from now on or no longer.
        is_over: the work is finished.
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
    """The sum of the entries so far.

    Attributes:
        of: what the units are.
        members: who takes part, by token.
        claims: what each of them does.
        failed: why units came to nothing.
        keeper: who may change what belongs to all.
        has_begun: the units are known.
        is_over: the work is finished.
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
        """How many units are done."""
        return self._units.count(_DONE)

    @property
    def count_free(self) -> int:
        """How many units nobody does."""
        return self._units.count(_FREE)

    @property
    def is_all_done(self) -> bool:
        """Whether every unit is done."""
        return self.has_begun and self.count_done == len(self._units)

    def are_done(self, first: int, stop: int) -> bool:
        """Tell whether these units are done."""
        return self._units.count(_DONE, first, stop) == stop - first

    def free(self) -> Iterator[int]:
        """Yield the units that nobody does, in order."""
        unit = self._units.find(_FREE)
        while unit >= 0:
            yield unit
            unit = self._units.find(_FREE, unit + 1)

    def add(self, entry: ClaimEntry) -> None:
        """Take the next entry.

        Whatever it says, no unit is done by two: one that is taken or done is not taken by its `takes`.
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
        for gone in (*entry.ends, *([entry.who] if entry.leaves else [])):
            self._let_go(gone)
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
        if (
            self._units[unit] == _TAKEN
        ):  # by anybody: one that was given up may have done it all the same
            for taken in self.claims.values():
                taken.discard(unit)
        self._units[unit] = what
        self.failed.pop(unit, None)

    def _let_go(self, token: str) -> None:
        for unit in self.claims.pop(token, ()):
            self._units[unit] = _FREE
        if token in self.members:
            self.members.remove(token)
        if self.keeper == token:
            self.keeper = None

    def _known(self, ranges: Ranges) -> Iterator[int]:
        return (
            unit
            for first, stop in ranges
            for unit in range(max(0, first), min(stop, len(self._units)))
        )


def ranges_of(units: Iterable[int]) -> Ranges:
    """Return whole numbers as stretches.

    >>> ranges_of([5, 1, 2, 3])
    ((1, 4), (5, 6))
    """
    ranges: list[tuple[int, int]] = []
    for unit in sorted(set(units)):
        if ranges and ranges[-1][1] == unit:
            ranges[-1] = (ranges[-1][0], unit + 1)
        else:
            ranges.append((unit, unit + 1))
    return tuple(ranges)

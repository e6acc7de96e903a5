"""What went wrong in a run, by cause: messages that differ only in names of samples and in numbers are one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?")


class Failure(NamedTuple):
    """One dialogue that failed, or a whole sample, of which target and user are empty."""

    sample: str
    target: str
    user: str
    message: str

    @property
    def where(self) -> str:
        """The place in words: "cat / tail, user centre"."""
        place = " / ".join(filter(None, (self.sample, self.target)))
        return f"{place}, user {self.user}" if self.user else place

    @property
    def cause(self) -> str:
        """The message without the failure's own names and without numbers."""
        names = sorted(filter(None, self[:3]), key=len, reverse=True)
        own = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
        return _NUMBER.sub("#", re.sub(own, "#", self.message) if own else self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """Failures of one cause: how many, and the first of them."""

    count: int
    first: Failure

    def __str__(self) -> str:
        return f"{self.count} × {self.first.message} (first: {self.first.where})"


def group_by_cause(failures: Iterable[Failure | FailureCause]) -> list[FailureCause]:
    """Return the causes, the most frequent first; of equals the one that came first."""
    found: dict[str, FailureCause] = {}
    for one in failures:
        cause = FailureCause(count=1, first=one) if isinstance(one, Failure) else one
        known = found.setdefault(cause.first.cause, replace(cause, count=0))
        found[cause.first.cause] = replace(known, count=known.count + cause.count)
    return sorted(found.values(), key=lambda cause: -cause.count)

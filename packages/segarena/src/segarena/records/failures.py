"""Group failures by cause: messages that differ only in names of samples and in numbers have one cause."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

_NUMBER = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?")


class Failure(NamedTuple):
    """A failed dialogue, or a failed sample, whose target and user are empty."""

    sample: str
    target: str
    user: str
    message: str

    @property
    def where(self) -> str:
        """The dialogue in words: "cat / tail, user centre"."""
        place = " / ".join(filter(None, (self.sample, self.target)))
        return f"{place}, user {self.user}" if self.user else place

    @property
    def cause(self) -> str:
        """The message without the failure's own names and without numbers."""
        names = [name for name in (self.sample, self.target, self.user) if name]
        # The longest first, because one name may be part of another.
        names.sort(key=len, reverse=True)
        message = self.message
        if names:
            own_names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
            message = re.sub(own_names, "#", message)
        return _NUMBER.sub("#", message)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """The number of failures of one cause, and the first of them."""

    count: int
    first: Failure

    def __str__(self) -> str:
        return f"{self.count} × {self.first.message} (first: {self.first.where})"


def group_by_cause(failures: Iterable[Failure | FailureCause]) -> list[FailureCause]:
    """Return the causes, the most frequent first; ties keep the order of the first failures."""
    found: dict[str, FailureCause] = {}
    for one in failures:
        cause = FailureCause(count=1, first=one) if isinstance(one, Failure) else one
        key = cause.first.cause
        known = found.get(key)
        if known is None:
            found[key] = cause
        else:
            found[key] = replace(known, count=known.count + cause.count)
    return sorted(found.values(), key=lambda cause: -cause.count)

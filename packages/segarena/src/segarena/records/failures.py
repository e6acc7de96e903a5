"""Grouping of failures by cause: messages that differ only in sample names and numbers have the same cause."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

# Hexadecimal numbers come first: memory addresses in messages differ between failures of one cause.
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?")


LOADING_PREFIX = "loading: "
"""Prefix of the engine's failure message for a sample that it could not load."""


class Failure(NamedTuple):
    """A failed dialogue, or a failed sample, which has an empty target and user."""

    sample: str
    target: str
    user: str
    message: str

    @property
    def where(self) -> str:
        """The dialogue as text: "cat / tail, user centre"."""
        names = [name for name in (self.sample, self.target) if name]
        dialogue = " / ".join(names)
        if self.user:
            dialogue = f"{dialogue}, user {self.user}"
        return dialogue

    @property
    def is_of_loading(self) -> bool:
        """Whether the dataset could not load the sample, which does not count as a failure of the segmenter."""
        return not self.target and self.message.startswith(LOADING_PREFIX)

    @property
    def cause(self) -> str:
        """The message without numbers and without the names in this failure."""
        names = [name for name in (self.sample, self.target, self.user) if name]
        # Replace the longest name first, because one name may be part of another.
        names.sort(key=len, reverse=True)
        message = self.message
        if names:
            own_names = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names)
            message = re.sub(own_names, "#", message)
        return _NUMBER.sub("#", message)


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureCause:
    """The number of failures with the same cause, and the first of them."""

    count: int
    first: Failure

    def __str__(self) -> str:
        return f"{self.count} × {self.first.message} (first: {self.first.where})"


def group_by_cause(failures: Iterable[Failure | FailureCause]) -> list[FailureCause]:
    """Return the causes in descending order of frequency; ties keep the order of their first failures."""
    causes: dict[str, FailureCause] = {}
    for failure in failures:
        if isinstance(failure, Failure):
            cause = FailureCause(count=1, first=failure)
        else:
            cause = failure
        key = cause.first.cause
        known = causes.get(key)
        if known is None:
            causes[key] = cause
        else:
            causes[key] = replace(known, count=known.count + cause.count)
    return sorted(causes.values(), key=lambda cause: -cause.count)

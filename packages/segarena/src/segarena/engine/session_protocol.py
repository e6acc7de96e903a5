"""Dialogues whose user and judge are elsewhere: what lockstep needs of a session, and a dataset that opens them.

`segarena.engine.session.Session` has its user, its target and its metrics at hand. Where these are kept from the
segmenter's side, the dataset brings sessions of its own, and the engine holds them like any others.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol, runtime_checkable

from segarena.dialogue import Dialogue
from segarena.engine.rows import Rows
from segarena.samples import Sample


class SessionLike(Protocol):
    """The rounds of one dialogue, as whoever holds the loop sees them; `Session` says what each of these does.

    Attributes:
        user_name: as it appears in the records.
        dialogue: all prompts so far and the last answer.
        is_over: no further prompts will come.
    """

    user_name: str
    dialogue: Dialogue
    is_over: bool

    @property
    def name(self) -> str:
        """What errors call it."""
        ...

    @property
    def judges(self) -> str:
        """What errors call those who judge."""
        ...

    @property
    def answered(self) -> int:
        """Rounds that have been answered."""
        ...

    @property
    def sample(self) -> Sample:
        """What is looked at."""
        ...

    def next(self) -> Dialogue | None:
        """Return the dialogue with the next prompts, None at the end."""
        ...

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Take the answer to the last prompts; return what was measured, as far as that is known here."""
        ...

    def fail(self, message: str) -> None:
        """Record that this dialogue went wrong, and end it."""
        ...

    def spend(self, seconds: float) -> None:
        """Take time off that belongs to no answer."""
        ...

    def rows(self) -> Rows:
        """Return what this dialogue leaves."""
        ...


@runtime_checkable
class RemoteDataset(Protocol):
    """Of a dataset without truth: it opens the dialogues about its samples itself.

    A run builds neither users nor metrics then. What stops it from going on at all, such as a connection that stays
    lost, is raised as `WorkStopped` and recorded nowhere.

    Attributes:
        prompt_kinds: by user, the kinds of prompts that they give; None where that is not known.
        beside: names of files that it keeps in the run's folder, maybe before the run begins.
    """

    prompt_kinds: Mapping[str, AbstractSet[str] | None]
    beside: AbstractSet[str]

    def open_sessions(self, sample: Sample, keep_rounds: tuple[int, ...]) -> Sequence[SessionLike]:
        """Return the sessions about a sample; `keep_rounds` are those after which masks are kept."""
        ...


def taking_part() -> Any:
    """Return what holds runs at challenges; it stands above the engine and is imported when somebody takes part."""
    return importlib.import_module("segarena.client.participate")

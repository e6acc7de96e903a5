"""Interfaces of sessions whose user and judge are remote, and of the datasets that open them.

A `segarena.engine.session.Session` has its user, its target and its metrics at hand. If these are hidden from the
segmenter's side, the dataset opens sessions of its own, and the engine runs them like any others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

from segarena.dialogue import Dialogue
from segarena.engine.rows import Rows
from segarena.errors import PluginError
from segarena.samples import Sample

ENTRY_POINTS = "segarena.remote_evaluation"
"""Entry-point group of the module that takes part in challenges; the first one by name is used."""


class SessionLike(Protocol):
    """The rounds of one dialogue, as the code that runs the loop sees them; `Session` documents each member.

    Attributes:
        user_name: name of the user in the records.
        dialogue: all prompts so far and the last answer.
        is_over: whether the dialogue has ended.
    """

    user_name: str
    dialogue: Dialogue
    is_over: bool

    @property
    def name(self) -> str:
        """Name of the dialogue in error messages."""
        ...

    @property
    def judges(self) -> str:
        """Name of the judges in error messages."""
        ...

    @property
    def answered(self) -> int:
        """Number of answered rounds."""
        ...

    @property
    def sample(self) -> Sample:
        """The sample that is segmented."""
        ...

    def next(self) -> Dialogue | None:
        """Return the dialogue with the next prompts, None at the end."""
        ...

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Submit the answer to the last prompts; return the metric values that are known on this side."""
        ...

    def fail(self, message: str) -> None:
        """Record a failure and end the dialogue."""
        ...

    def spend(self, seconds: float) -> None:
        """Charge time that belongs to no answer to the budget of the dialogue."""
        ...

    def rows(self) -> Rows:
        """Return the rows of this dialogue."""
        ...


@runtime_checkable
class RemoteDataset(Protocol):
    """A dataset without truth, which opens the dialogues about its samples itself.

    Its runs build neither users nor metrics. An error that makes it impossible to go on, such as a lost connection, is
    raised as `WorkStopped` and not recorded.

    Attributes:
        prompt_kinds: by user, the kinds of prompts that they give; None if that is unknown.
        beside: names of its own files in the run's folder, which may exist before the run begins.
    """

    prompt_kinds: Mapping[str, AbstractSet[str] | None]
    beside: AbstractSet[str]

    def open_sessions(self, sample: Sample, keep_rounds: tuple[int, ...]) -> Sequence[SessionLike]:
        """Return the sessions about a sample; masks are kept after the rounds `keep_rounds`."""
        ...


def remote_evaluation() -> Any:
    """Return the module that evaluates at challenges, with the functions `evaluate` and `sessions`.

    It is found by its entry point, because it stands above the engine and imports it.

    Raises:
        PluginError: nothing installed has such an entry point.
    """
    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    if not found:
        raise PluginError(
            f"challenge: nothing installed has an entry point of {ENTRY_POINTS}; reinstall segarena"
        )
    return found[0].load()

"""Interfaces of sessions whose user and metrics run on a server, and of the datasets that open them.

A `segarena.engine.session.Session` has direct access to its user, target and metrics. If these must
be hidden from the segmenter's side, the dataset opens its own sessions, and the engine runs them
like any others.
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
"""Entry-point group of the module that runs participation in challenges; the engine uses the first one by name."""


class SessionLike(Protocol):
    """The rounds of one dialogue, as seen by the code that runs the loop; `Session` documents each member.

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
        """Name of the scoring side in error messages."""
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
        """Return the dialogue with the next prompts, or None once it is over."""
        ...

    def submit(self, answer: Any, seconds: float | None = None) -> Mapping[str, float]:
        """Submit the answer to the last prompts; return the metric values that the caller may see."""
        ...

    def fail(self, message: str) -> None:
        """Record a failure and end the dialogue."""
        ...

    def spend(self, seconds: float) -> None:
        """Charge time that does not belong to an answer to the budget of the dialogue."""
        ...

    def rows(self) -> Rows:
        """Return the rows of this dialogue."""
        ...


@runtime_checkable
class RemoteDataset(Protocol):
    """A dataset without ground truth that opens the dialogues about its samples itself.

    Its runs build neither users nor metrics. An error that prevents the run from continuing, such
    as a lost connection, is raised as `WorkStopped` instead of being recorded.

    Attributes:
        prompt_kinds: kinds of prompts by user; None if unknown.
        beside: names of the dataset's own files in the run's folder, which may exist before the run begins.
        needs_trial: whether the segmenter must answer about a synthetic sample before the run begins.
    """

    prompt_kinds: Mapping[str, AbstractSet[str] | None]
    beside: AbstractSet[str]

    @property
    def needs_trial(self) -> bool:  # noqa: D102 -- among the attributes above
        ...

    def open_sessions(self, sample: Sample, keep_rounds: tuple[int, ...]) -> Sequence[SessionLike]:
        """Return the sessions about a sample; masks are stored after the rounds `keep_rounds`."""
        ...


def remote_evaluation() -> Any:
    """Return the module for runs in challenges, which has the functions `evaluate` and `sessions`.

    It is loaded through its entry point, because it is in a higher layer than the engine and
    imports it.

    Raises:
        PluginError: no installed package has such an entry point.
    """
    found = sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name)
    if not found:
        raise PluginError(
            f"challenge: no installed package has an entry point of {ENTRY_POINTS}; reinstall segarena"
        )
    return found[0].load()

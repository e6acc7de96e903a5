"""Interface between a participant's session and the evaluator, which runs on this machine or on a server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from segarena.roles import Benchmark
from segarena.samples import Labels, Mask
from segarena.systems.videos.scribbles.files import Scribbles

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentSample:
    """The current sample of a session.

    Attributes:
        sequence: name of the sequence.
        scribble_idx: index of the person who drew the first scribbles, from 1.
        shape: (T, H, W).
        objects: number of objects.
        earlier: scribbles of the interactions that were completed before this session was resumed.
    """

    sequence: str
    scribble_idx: int
    shape: tuple[int, ...]
    objects: int
    earlier: tuple[Scribbles, ...] = ()


class Connector(Protocol):
    """Provides samples and scribbles, accepts predictions, measures time and writes records.

    One sample is open at a time. The session rejects calls in the wrong order before they reach the
    connector. A server measures the time itself, so its connector ignores `spend` and `give_up`.

    Attributes:
        rules: the benchmark's rules, as far as they are known on this machine.
    """

    rules: Benchmark

    @property
    def report_name(self) -> str:
        """File name of the report, without its suffixes."""
        ...

    def all_samples(self) -> list[tuple[str, int]]:
        """Return all samples in order: the sequence, and the index (from 1) of the person who starts it."""
        ...

    def advance(self) -> CurrentSample | None:
        """Open the next unfinished sample; None if there is none."""
        ...

    def frames(self) -> Sequence[Any]:
        """Return the frames of the open sample, uint8 (H, W, 3) each."""
        ...

    def ask(self) -> Scribbles | None:
        """Return the next scribbles for the open sample, or None if the sample is finished."""
        ...

    def spend(self, seconds: float) -> None:
        """Charge the participant's own time between two interactions to the open sample."""
        ...

    def give_up(self, seconds: float) -> bool:
        """Drop the pending scribbles if `seconds` more would exceed the time limit.

        Returns:
            Whether they were dropped.
        """
        ...

    def submit(
        self,
        masks: Mask | Labels,
        *,
        seconds: float,
        candidates: Sequence[int] | None,
    ) -> bool:
        """Accept the prediction for the last scribbles; return False if it came after the time limit and was dropped.

        Raises:
            PredictionInvalid: the shape, type or content is wrong; the prediction can be submitted
                again.
        """
        ...

    def report(self) -> pl.DataFrame:
        """Return the report so far, with the columns of `segarena.systems.videos.measures.challenge_report`.

        With a server, it has one row per interaction, without scores.
        """
        ...

    def summary(self) -> dict[str, Any]:
        """Return the summary of the predictions so far, or what a server says about the run."""
        ...

    def finish(self) -> None:
        """Complete the records after the last sample."""
        ...

    def close(self) -> None:
        """Release locks and files; stored predictions are kept."""
        ...

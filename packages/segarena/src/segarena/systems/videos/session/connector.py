"""What stands between a participant's session and who judges: here on this machine, or a server."""

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
class OpenSample:
    """A sample whose turn it is, (T, H, W), with whose first scribbles it begins, from 1.

    `earlier` are the scribbles of the interactions that were answered before this session was continued.
    """

    sequence: str
    scribble_idx: int
    shape: tuple[int, ...]
    objects: int
    earlier: tuple[Scribbles, ...] = ()


class Connector(Protocol):
    """Gives samples and scribbles, takes answers, keeps time and records.

    One sample is open at a time. What a participant does in the wrong order is refused before it gets here.

    Attributes:
        rules: the benchmark, as far as it is known here.
    """

    rules: Benchmark

    @property
    def report_name(self) -> str:
        """The name of the report's file, without what follows the dot."""
        ...

    def all_samples(self) -> list[tuple[str, int]]:
        """Return every sample in order, as its sequence and the number of its first scribbles, from 1."""
        ...

    def advance(self) -> OpenSample | None:
        """Open the next sample that is not over; None when there is none."""
        ...

    def frames(self) -> Sequence[Any]:
        """Return the frames of the open sample, uint8 (H, W, 3) each."""
        ...

    def ask(self) -> Scribbles | None:
        """Return the next scribbles about the open sample; None when it is over."""
        ...

    def spend(self, seconds: float) -> None:
        """Take the participant's own time between two interactions off that of the open sample."""
        ...

    def give_up(self, seconds: float) -> bool:
        """Drop the scribbles that wait if the sample's time is over after `seconds` more; tell whether."""
        ...

    def submit(
        self, masks: Mask | Labels, *, seconds: float, candidates: Sequence[int] | None
    ) -> bool:
        """Take the answer to the last scribbles; False when the sample's time was over and it was dropped.

        Raises:
            PredictionInvalid: wrong shape, type or content; the scribbles still wait for an answer.
        """
        ...

    def report(self) -> pl.DataFrame:
        """Return the report so far, with the columns of `segarena.systems.videos.measures.challenge_report`."""
        ...

    def summary(self) -> dict[str, Any]:
        """Return the summary of what was answered so far."""
        ...

    def finish(self) -> None:
        """Say that all samples are over."""
        ...

    def close(self) -> None:
        """Let go of what is held; what was answered stays."""
        ...

"""Base class of video segmenters that predict labels of all frames from strokes."""

# Annotations are not postponed here: options of subclasses in other modules are validated against
# these annotations, which must therefore be types at run time.
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from segarena.dialogue import Dialogue, Prediction
from segarena.samples import Labels
from segarena.segmenters.videos.tracking.frame_strokes import STROKE_PROMPT_KINDS
from segarena.segmenters.videos.tracking.guided_filter import GuidedFilter
from segarena.segmenters.videos.tracking.stroke_round import Rounds, StrokeRound, answer_round
from segarena.segmenters.videos.tracking.working_video import Field, WorkingVideo


@dataclass(kw_only=True, eq=False)
class StrokeSegmenter(ABC):
    """Predicts labels of all frames of a video from clicks and scribbles in some of them.

    Args:
        work_px: maximum number of pixels of a shrunk frame.
        stroke_px: width of a stroke, in working pixels.
        reach: maximum distance from a stroke at which it contradicts previous labels, as a share of
            the frame's longer side.
        radius_px: half the width of the windows that smooth along edges, or move borders to them.
        edge: step in lightness, of 0 to 255, that counts as an edge.
    """

    work_px: int = 100_000
    stroke_px: int = 2
    reach: float = 0.12
    radius_px: int = 3
    edge: float = 8.0

    prompt_kinds: ClassVar[frozenset[str]] = STROKE_PROMPT_KINDS
    sample_kinds: ClassVar[frozenset[str]] = frozenset({"video"})

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue with masks of all frames; empty if no object is marked.

        Raises:
            SegmenterError: no prompt in this round, one of another kind, or a scribble over several
                frames.
            InvalidPrompt: a prompt is outside the video.
        """
        video: WorkingVideo = encoded.video

        def advance(previous: Labels | None, rounds: Rounds) -> Labels:
            drawn = StrokeRound.of(
                video, previous, rounds, stroke_px=self.stroke_px, reach=self.reach
            )
            if not drawn.has_object:
                return drawn.empty()
            return self._advance(encoded, drawn)

        return [answer_round(dialogue, video.shape, advance) for dialogue in dialogues]

    def smooth(
        self,
        video: WorkingVideo,
        frame: int,
        layers: Field,
    ) -> Field:
        """Smooth layers (n, h, w) of a frame; this moves their borders to edges of the image."""
        lightness = video.lab[frame, :, :, 0]
        guided_filter = GuidedFilter(lightness, radius_px=self.radius_px, edge=self.edge)
        return guided_filter(layers)

    @abstractmethod
    def _advance(self, encoded: Any, drawn: StrokeRound) -> Labels:
        """Return new labels of all frames for a round with at least one object."""

"""SAM 2 on videos: prompts in a few frames, tracking through the others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import PluginInvalid
from segarena.registry import segmenter
from segarena.samples import Sample
from segarena.segmenters.learned.network_segmenter import NetworkSegmenter
from segarena.segmenters.learned.promptable.inference_options import VideoOptions
from segarena.segmenters.learned.promptable.video_prompts import VIDEO_PROMPT_KINDS
from segarena.segmenters.videos.tracking.working_video import require_video


@segmenter("sam2-video")
@dataclass(kw_only=True, eq=False)
class Sam2VideoSegmenter(VideoOptions, NetworkSegmenter):
    """SAM 2 and SAM 2.1 on videos; docs/segmenters.md explains every option.

    Each frame is encoded once, on first use. Every round tracks again from all prompts of all
    rounds, so the segmenter keeps no state between rounds. The answer is a bool mask if all prompts
    are about object 1 or the background (object 0), and labels otherwise.

    Source: Ravi et al., SAM 2: Segment Anything in Images and Videos, ICLR 2025. The tracking is
    that of the transformers library; docs/segmenters.md says how it treats corrections.

    Args:
        features_gb: main memory for the features of one video, in GB; frames beyond it are encoded
            again.
    """

    prompt_kinds = VIDEO_PROMPT_KINDS
    sample_kinds = frozenset({"video"})

    features_gb: float = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.features_gb) and self.features_gb >= 0):
            raise PluginInvalid(
                f"features_gb={self.features_gb!r}: expected a number of at least 0"
            )
        self.load("sam2-video")
        # torch is an optional dependency, and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable.tracking_network import TrackingNetwork

        self.network = TrackingNetwork(self.model, self, int(self.features_gb * 1e9))

    def encode(self, sample: Sample) -> Any:
        """Return the video with a cache for its features; its `passes` counts the frames encoded so far.

        Raises:
            SegmenterError: the sample is not a video.
            InvalidInput: the video has no frames, or frames without pixels.
        """
        return self.network.encode(require_video(sample, "sam2-video"))

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Answer each dialogue with masks of all frames.

        Raises:
            SegmenterError: no prompt in this round, or one of another kind; a box or scribble over several frames.
            InvalidPrompt: a prompt outside of the video.
            InvalidImage: a frame is not an 8-bit image of the video's shape.
            PredictionInvalid: the network gave NaN or infinity.
        """
        return [self.network.predict(encoded, dialogue) for dialogue in dialogues]

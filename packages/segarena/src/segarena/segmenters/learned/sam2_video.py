"""SAM 2 on videos: prompts in a few frames, and tracking through the others."""

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
    """SAM 2 and SAM 2.1 on videos; docs/segmenters.md explains all options.

    Each frame is encoded once, on first use. Every round tracks again from the prompts of all
    rounds, so the segmenter keeps no state between rounds. The prediction is a bool mask if all
    prompts are about object 1 or the background (object 0), and labels otherwise.

    Source: Ravi et al., SAM 2: Segment Anything in Images and Videos, ICLR 2025. The transformers
    library does the tracking; docs/segmenters.md describes how it treats corrections.

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
                f"features_gb={self.features_gb!r}: expected a finite number of at least 0"
            )
        self.load("sam2-video")
        # Imported here, because torch is optional and every listing of plug-ins imports this file.
        from segarena.segmenters.learned.promptable.tracking_network import TrackingNetwork

        self.network = TrackingNetwork(
            self.model, self, int(self.features_gb * 1e9), self.precision
        )

    def encode(self, sample: Sample) -> Any:
        """Return the video with a feature cache, whose `passes` counts the frames encoded so far.

        Raises:
            SegmenterError: the sample is not a video.
            InvalidInput: the video has no frames, or its frames have no pixels.
        """
        return self.network.encode(require_video(sample, "sam2-video"))

    def predict(self, encoded: Any, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict the masks of all frames for each dialogue.

        Raises:
            SegmenterError: no prompt in this round, or one of another kind; a box or scribble over several frames.
            InvalidPrompt: a prompt is outside the video.
            InvalidImage: a frame is not an 8-bit image of the video's shape.
            PredictionInvalid: the network returned NaN or infinity.
        """
        return [self.network.predict(encoded, dialogue) for dialogue in dialogues]

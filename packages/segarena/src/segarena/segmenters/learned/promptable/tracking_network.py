"""A network that tracks objects through a video, asked from nothing but a dialogue."""

from __future__ import annotations

from contextlib import closing
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segarena.dialogue import Dialogue, Prediction
from segarena.errors import SegmenterError
from segarena.pytorch import Tensor, functional, torch
from segarena.samples import Labels, Mask, VideoSample
from segarena.segmenters.learned.promptable.devices import out_of_memory_error
from segarena.segmenters.learned.promptable.image_space import ImageSpace
from segarena.segmenters.learned.promptable.inference_options import VideoOptions
from segarena.segmenters.learned.promptable.sam_network import SAM_VARIANTS
from segarena.segmenters.learned.promptable.tensor_serialization import check_finite
from segarena.segmenters.learned.promptable.video_features import EncodedVideo, Maps
from segarena.segmenters.learned.promptable.video_prompts import (
    FrameMarks,
    corrected_frames,
    prompted_object_ids,
    read_marks,
)
from segarena.segmenters.learned.promptable.video_session import (
    FrameInputs,
    ObjectInputs,
    TrackedFrame,
    TrackingSession,
)

FAMILY = SAM_VARIANTS["sam2"]
BOX_CORNERS = [2, 3]
"""The labels of points that are the corners of a box."""

LOGITS_LIMIT = 32.0
"""Previous logits are handed back within plus and minus so much, as in the authors' code."""


class TrackingNetwork:
    """A loaded SAM 2 for videos, with the choices it is used with, and what kept features of one video may take."""

    def __init__(self, model: Any, options: VideoOptions, limit_bytes: int) -> None:
        self.model = model
        self.options = options
        self.limit_bytes = limit_bytes
        weight = next(model.parameters())
        self.device = weight.device
        self.dtype = weight.dtype
        self.side = int(model.config.prompt_encoder_config.image_size)
        self.low_side = int(model.prompt_encoder.mask_input_size[0])

    def encode(self, sample: VideoSample) -> EncodedVideo:
        """Return the video; its frames are encoded when they are first needed."""
        space = ImageSpace.of(sample.frame_shape, self.side, is_padded=FAMILY.is_padded)

        def look(image: NDArray[np.uint8]) -> tuple[Maps, Maps]:
            pixels = space.pixels(image, *FAMILY.normal).to(self.device, self.dtype)
            seen = self.model.get_image_features(pixels, return_dict=True)
            return seen.fpn_hidden_states, seen.fpn_position_encoding

        return EncodedVideo(sample, space, look, self.device, self.limit_bytes)

    def predict(self, encoded: EncodedVideo, dialogue: Dialogue) -> Prediction:
        """Answer a dialogue: every object it names is tracked from the start, with the prompts of all rounds.

        Raises:
            SegmenterError, InvalidPrompt: see `read_marks`; out of memory.
            PredictionInvalid: the network gave NaN or infinity.
        """
        told = self._told(encoded, dialogue)
        last = 0 if self.options.backwards else min(map(min, told.values()))
        answer = _Answer(encoded.sample, sorted(told), self.options, self.low_side)
        try:
            with (
                torch.inference_mode(),
                closing(TrackingSession(self.model, encoded, told).run(last)) as frames,
            ):
                for tracked in frames:
                    answer.add(tracked, encoded.space)
        except torch.OutOfMemoryError as error:
            raise out_of_memory_error("tracking through one video", error) from error
        return Prediction(mask=answer.mask, logits=answer.logits)

    def _told(self, encoded: EncodedVideo, dialogue: Dialogue) -> ObjectInputs:
        previous = self._previous(dialogue, encoded.sample.shape[0])
        newest = len(dialogue.rounds) - 1
        told: dict[int, dict[int, FrameInputs]] = {}
        for object_id, frames in read_marks(dialogue, encoded.sample.shape, self.options).items():
            corrected = corrected_frames(frames, self.options)
            for frame, marks in frames.items():
                if object_id in previous:
                    hint = previous[object_id][frame].astype(np.float32)
                else:
                    hint = None
                if marks.drawn is not None and (hint is None or marks.drawn_in == newest):
                    hint = encoded.space.mask_logits(marks.drawn, self.low_side)
                inputs = self._inputs(marks, encoded.space, hint, is_correction=frame in corrected)
                told.setdefault(object_id, {})[frame] = inputs
        return told

    def _inputs(
        self,
        marks: FrameMarks,
        space: ImageSpace,
        hint: NDArray[np.float32] | None,
        *,
        is_correction: bool,
    ) -> FrameInputs:
        corners = [] if marks.box is None else list(marks.box)
        labels = BOX_CORNERS[: len(corners)] + [
            int(is_positive) for is_positive in marks.is_positive
        ]
        return FrameInputs(
            points=torch.from_numpy(space.to_network([*corners, *marks.points])),
            labels=torch.tensor(labels, dtype=torch.int32),
            hint=None if hint is None else torch.from_numpy(hint),
            mask=None if marks.mask is None else _resized(marks.mask, self.side),
            is_correction=is_correction,
        )

    def _previous(self, dialogue: Dialogue, frames: int) -> dict[int, NDArray[np.float16]]:
        """Return the logits of the round before, (frames, low, low), by object id; none when they are not fed."""
        logits = None if dialogue.previous is None else dialogue.previous.logits
        if logits is None or not self.options.feed_logits:
            return {}
        ids = prompted_object_ids(chain(*dialogue.rounds[:-1]))
        expected = (len(ids), frames, self.low_side, self.low_side)
        if np.shape(logits) != expected:
            raise SegmenterError(
                f"previous logits: expected shape {expected}, got {np.shape(logits)}; they come from another segmenter"
            )
        return dict(zip(ids, logits, strict=True))


class _Answer:
    """The masks of a video with these objects, ascending, filled frame by frame; frames that never come are empty."""

    def __init__(
        self, sample: VideoSample, ids: list[int], options: VideoOptions, low_side: int
    ) -> None:
        self._ids = np.array(ids, dtype=np.uint8)
        self._threshold = options.threshold
        self._labels: Labels = np.zeros(sample.shape, dtype=np.uint8)
        self.logits: NDArray[np.float16] | None = None
        if options.feed_logits:
            self.logits = np.full(
                (len(ids), len(sample.frames), low_side, low_side), -LOGITS_LIMIT, np.float16
            )

    @property
    def mask(self) -> Mask | Labels:
        """Bool when nothing but object 1 was asked for, else labels: where objects overlap, the likeliest."""
        return self._labels.astype(np.bool_) if self._ids.tolist() == [1] else self._labels

    def add(self, tracked: TrackedFrame, space: ImageSpace) -> None:
        """Enter a frame, replacing what was there; raises `PredictionInvalid` for NaN or infinity."""
        check_finite(tracked.logits, f"in frame {tracked.frame}")
        low = tracked.logits[np.argsort(tracked.object_ids).tolist()]
        full = torch.stack([space.upsample(plane) for plane in low]).cpu().numpy()
        likeliest = self._ids[full.argmax(axis=0)]
        self._labels[tracked.frame] = np.where(full.max(axis=0) > self._threshold, likeliest, 0)
        if self.logits is not None:
            self.logits[:, tracked.frame] = low.clamp(-LOGITS_LIMIT, LOGITS_LIMIT).cpu().numpy()


def _resized(mask: Mask, side: int) -> Tensor:
    """Return the mask in the network's square, 0 and 1, as the library's video processor makes it."""
    planes = torch.from_numpy(mask.astype(np.float32))[None, None]
    if mask.shape != (side, side):
        planes = functional.interpolate(
            planes, (side, side), mode="bilinear", align_corners=False, antialias=True
        )
        planes = (planes >= 0.5).float()
    return planes[0, 0]

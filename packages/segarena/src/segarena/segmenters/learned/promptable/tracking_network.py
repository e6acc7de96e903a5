"""Network that tracks the objects of one dialogue through a video."""

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
from segarena.segmenters.learned.promptable.devices import (
    MixedPrecision,
    bytes_for_features,
    copy_to_host,
    out_of_memory_error,
)
from segarena.segmenters.learned.promptable.image_space import ImageSpace, network_pixels
from segarena.segmenters.learned.promptable.inference_options import VideoOptions
from segarena.segmenters.learned.promptable.sam_network import SAM_VARIANTS
from segarena.segmenters.learned.promptable.tensor_serialization import check_finite
from segarena.segmenters.learned.promptable.video_features import EncodedVideo, FeatureMaps
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

VARIANT = SAM_VARIANTS["sam2"]
BOX_LABELS = [2, 3]
"""Point labels of the two corners of a box, as SAM 2 defines them."""

LOGITS_LIMIT = 32.0
"""Previous logits are clipped to plus and minus this value, as in the authors' code."""


class TrackingNetwork:
    """A loaded SAM 2 network for videos.

    Args:
        model: model in evaluation mode, on its device.
        options: options for prompts and tracking.
        limit_bytes: size of the feature cache of a video.
        precision: formats in which it computes; None is that of its weights.
    """

    def __init__(
        self,
        model: Any,
        options: VideoOptions,
        limit_bytes: int,
        precision: MixedPrecision | None = None,
    ) -> None:
        self.model = model
        self.options = options
        self.limit_bytes = limit_bytes
        weight = next(model.parameters())
        self.device = weight.device
        self.dtype = weight.dtype
        self.precision = precision or MixedPrecision(device=self.device)
        self.side = int(model.config.prompt_encoder_config.image_size)
        self.low_side = int(model.prompt_encoder.mask_input_size[0])

    def encode(self, sample: VideoSample) -> EncodedVideo:
        """Return the video; its frames are encoded on first use."""
        mean, std = VARIANT.normalization
        space = ImageSpace.of(sample.frame_shape, self.side, is_padded=VARIANT.is_padded)

        def encode_frame(image: NDArray[np.uint8]) -> tuple[FeatureMaps, FeatureMaps]:
            pixels = network_pixels(space, image, mean, std, self.device).to(self.dtype)
            features = self.model.get_image_features(pixels, return_dict=True)
            return features.fpn_hidden_states, features.fpn_position_encoding

        return EncodedVideo(
            sample,
            space,
            encode_frame,
            self.device,
            self.limit_bytes,
            device_bytes=bytes_for_features(self.device),
        )

    def predict(self, encoded: EncodedVideo, dialogue: Dialogue) -> Prediction:
        """Predict a dialogue by tracking every prompted object again, with the prompts of all rounds.

        Raises:
            SegmenterError, InvalidPrompt: see `read_marks`; or the device ran out of memory.
            PredictionInvalid: the network returned NaN or infinity.
        """
        inputs = self._object_inputs(encoded, dialogue)
        last = 0
        if not self.options.backwards:
            last = min(min(frames) for frames in inputs.values())
        result = _VideoResult(encoded.sample, sorted(inputs), self.options, self.low_side)
        session = TrackingSession(self.model, encoded, inputs)
        try:
            with self.precision.inference(), closing(session.run(last)) as frames:
                for tracked in frames:
                    result.add(tracked, encoded.space)
        except torch.OutOfMemoryError as error:
            raise out_of_memory_error("tracking through one video", error) from error
        return Prediction(mask=result.mask, logits=result.logits)

    def _object_inputs(self, encoded: EncodedVideo, dialogue: Dialogue) -> ObjectInputs:
        """Return the network's inputs for each object and frame, from the prompts of all rounds."""
        previous = self._previous_logits(dialogue, encoded.sample.shape[0])
        newest = len(dialogue.rounds) - 1
        inputs: dict[int, dict[int, FrameInputs]] = {}
        marks_by_object = read_marks(dialogue, encoded.sample.shape, self.options)
        for object_id, frames in marks_by_object.items():
            corrected = corrected_frames(frames, self.options)
            for frame, marks in frames.items():
                hint = None
                if object_id in previous:
                    hint = previous[object_id][frame].astype(np.float32)
                # A mask prompt replaces the previous logits only in the round in which it is drawn.
                if marks.drawn is not None and (hint is None or marks.drawn_in == newest):
                    hint = encoded.space.mask_logits(marks.drawn, self.low_side)
                frame_inputs = self._frame_inputs(
                    marks, encoded.space, hint, is_correction=frame in corrected
                )
                inputs.setdefault(object_id, {})[frame] = frame_inputs
        return inputs

    def _frame_inputs(
        self,
        marks: FrameMarks,
        space: ImageSpace,
        hint: NDArray[np.float32] | None,
        *,
        is_correction: bool,
    ) -> FrameInputs:
        corners = [] if marks.box is None else list(marks.box)
        labels = BOX_LABELS[: len(corners)]
        labels += [int(is_positive) for is_positive in marks.is_positive]
        return FrameInputs(
            points=torch.from_numpy(space.to_network([*corners, *marks.points])),
            labels=torch.tensor(labels, dtype=torch.int32),
            hint=None if hint is None else torch.from_numpy(hint),
            mask=None if marks.mask is None else _resize_mask(marks.mask, self.side),
            is_correction=is_correction,
        )

    def _previous_logits(self, dialogue: Dialogue, frames: int) -> dict[int, NDArray[np.float16]]:
        """Return the logits of the previous round by object id, (frames, low, low).

        The result is empty if there are no logits, or if the option `feed_logits` is off.
        """
        if dialogue.previous is None or not self.options.feed_logits:
            return {}
        logits = dialogue.previous.logits
        if logits is None:
            return {}
        ids = prompted_object_ids(chain(*dialogue.rounds[:-1]))
        expected = (len(ids), frames, self.low_side, self.low_side)
        if np.shape(logits) != expected:
            raise SegmenterError(
                f"previous logits: expected shape {expected}, got {np.shape(logits)}; "
                "they come from another segmenter"
            )
        return dict(zip(ids, logits, strict=True))


class _VideoResult:
    """Labels and logits of a video, filled frame by frame; frames without results stay empty.

    Args:
        sample: the video.
        ids: ids of the objects, ascending.
        options: threshold of the logits, and whether to keep them.
        low_side: side of the low-resolution logits.
    """

    def __init__(
        self,
        sample: VideoSample,
        ids: list[int],
        options: VideoOptions,
        low_side: int,
    ) -> None:
        self._ids = np.array(ids, dtype=np.uint8)
        self._threshold = options.threshold
        self._labels: Labels = np.zeros(sample.shape, dtype=np.uint8)
        # Half precision suffices for a hint, and halves the memory of a whole video.
        self.logits: NDArray[np.float16] | None = None
        if options.feed_logits:
            shape = (len(ids), len(sample.frames), low_side, low_side)
            # Logits of untracked frames default to a value far outside the object.
            self.logits = np.full(shape, -LOGITS_LIMIT, np.float16)

    @property
    def mask(self) -> Mask | Labels:
        """Bool mask if object 1 is the only object; labels otherwise."""
        if self._ids.tolist() == [1]:
            return self._labels.astype(np.bool_)
        return self._labels

    def add(self, tracked: TrackedFrame, space: ImageSpace) -> None:
        """Set the labels of a frame, replacing earlier ones; where objects overlap, the highest logit wins.

        Raises:
            PredictionInvalid: a logit is NaN or infinite.
        """
        check_finite(tracked.logits, f"in frame {tracked.frame}")
        # The session lists objects in the order of their first prompt, while labels use ids.
        by_id = np.argsort(tracked.object_ids).tolist()
        low = tracked.logits[by_id]
        full = copy_to_host(space.upsample(low))
        likeliest = self._ids[full.argmax(axis=0)]
        is_object = full.max(axis=0) > self._threshold
        self._labels[tracked.frame] = np.where(is_object, likeliest, 0)
        if self.logits is not None:
            clipped = low.clamp(-LOGITS_LIMIT, LOGITS_LIMIT)
            self.logits[:, tracked.frame] = copy_to_host(clipped)


def _resize_mask(mask: Mask, side: int) -> Tensor:
    """Resize the mask to the network's square, as 0 and 1, like the library's video processor."""
    planes = torch.from_numpy(mask.astype(np.float32))[None, None]
    if mask.shape != (side, side):
        planes = functional.interpolate(
            planes, (side, side), mode="bilinear", align_corners=False, antialias=True
        )
        planes = (planes >= 0.5).float()
    return planes[0, 0]

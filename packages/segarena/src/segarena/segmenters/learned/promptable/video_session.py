"""Tracking with the library's video session: start, track forwards and backwards, correct."""

from __future__ import annotations

import importlib
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from segarena.pytorch import Tensor
from segarena.segmenters.learned.promptable.video_features import EncodedVideo


@dataclass(frozen=True, slots=True, eq=False)
class FrameInputs:
    """Inputs of the network for one object in one frame: a mask, or points with a hint.

    Attributes:
        points: float (n, 2), (x, y) in the square; the corners of a box come first.
        labels: int32 (n,), 1 positive, 0 negative, 2 and 3 for the corners of a box.
        hint: (low, low) logits that accompany the points; None if there are none.
        mask: (side, side) of 0 and 1, the object itself; None if there is none.
        is_correction: whether the frame is tracked first and then corrected.
    """

    points: Tensor
    labels: Tensor
    hint: Tensor | None = None
    mask: Tensor | None = None
    is_correction: bool = False


ObjectInputs = Mapping[int, Mapping[int, FrameInputs]]
"""Inputs by object id and frame."""


@dataclass(frozen=True, slots=True, eq=False)
class TrackedFrame:
    """Tracking result of one frame: logits (n, low, low) of the objects with these ids."""

    frame: int
    object_ids: list[int]
    logits: Tensor


class TrackingSession:
    """Tracks the objects of one dialogue through a video.

    The library's session stores inputs and outputs by object index and frame. This class changes
    two things. The library forgets the correction of a frame when it tracks that frame again; here
    a corrected frame counts as a prompted frame afterwards. The library also keeps full-size masks
    that are never read again; here they are dropped. Each object needs at least one frame whose
    inputs are not a correction.
    """

    def __init__(
        self,
        model: Any,
        encoded: EncodedVideo,
        inputs: ObjectInputs,
    ) -> None:
        self._model = model
        self._inputs = inputs
        self._session = _new_session(model, encoded)
        self._hints: list[tuple[Tensor, Tensor]] = []
        self._corrections = self._frames(is_correction=True)

    def run(self, last: int) -> Generator[TrackedFrame]:
        """Yield the tracked frames: forwards from the first prompted frame, then backwards to `last` if it is earlier.

        As in the library, the backward pass yields the first prompted frame again, and the last
        result counts. Corrections are applied in a separate first pass, so that earlier frames are
        tracked with the memory of the corrected ones.
        """
        with self._hints_in_prompt_encoder():
            start = self._start()
            if self._corrections:
                for _ in self._track(start, last):
                    if not self._corrections:
                        break
            yield from self._track(start, last)

    def _frames(self, *, is_correction: bool) -> dict[int, list[int]]:
        """Return the ids of the objects to prompt or to correct in each frame; frames and ids ascend."""
        found: dict[int, list[int]] = {}
        for object_id, frames in sorted(self._inputs.items()):
            for frame, inputs in frames.items():
                if inputs.is_correction is is_correction:
                    found.setdefault(frame, []).append(object_id)
        return dict(sorted(found.items()))

    def _start(self) -> int:
        """Run the network on each prompted frame; return the first of these frames."""
        prompted = self._frames(is_correction=False)
        for frame, ids in prompted.items():
            self._add_inputs(ids, frame)
            self._model(self._session, frame_idx=frame)
        return min(prompted)

    def _track(self, start: int, last: int) -> Iterator[TrackedFrame]:
        """Track from `start` to the end; then, if `last` is before `start`, from `start` backwards to `last`."""
        passes = [(frame, False) for frame in range(start, self._session.num_frames)]
        if last < start:
            passes += [(frame, True) for frame in range(start, last - 1, -1)]
        for frame, reverse in passes:
            corrected = self._corrections.pop(frame, [])
            self._add_inputs(corrected, frame)
            for object_id in corrected:
                # The library treats inputs as a correction only in frames that it has tracked.
                tracked = self._session.frames_tracked_per_obj[self._index(object_id)]
                tracked[frame] = {"reverse": reverse}
            output = self._model(self._session, frame_idx=frame, reverse=reverse)
            self._keep_corrections(corrected, frame)
            logits = output.pred_masks.float()[:, 0]
            yield TrackedFrame(frame, output.object_ids, logits)

    def _add_inputs(self, ids: list[int], frame: int) -> None:
        """Add the inputs of these objects in a frame to the session."""
        session = self._session
        for object_id in ids:
            inputs = self._inputs[object_id][frame]
            index = self._index(object_id)
            if inputs.mask is not None:
                session.add_mask_inputs(index, frame, inputs.mask[None, None])
                continue
            points = {
                "point_coords": inputs.points[None, None],
                "point_labels": inputs.labels[None, None],
            }
            session.add_point_inputs(index, frame, points)
            if inputs.hint is not None:
                stored_points = session.point_inputs_per_obj[index][frame]["point_coords"]
                hint = inputs.hint[None, None].to(session.inference_device, session.dtype)
                self._hints.append((stored_points, hint))
        session.obj_with_new_inputs = list(ids)

    def _keep_corrections(self, corrected: list[int], frame: int) -> None:
        """Store corrected frames as prompted frames, and drop the full-size masks."""
        for object_id in corrected:
            outputs = self._session.output_dict_per_obj[self._index(object_id)]
            output = outputs["non_cond_frame_outputs"].pop(frame)
            outputs["cond_frame_outputs"][frame] = output
        # The library reads full-size masks only while it encodes the memory of their own frame.
        for outputs in self._session.output_dict_per_obj.values():
            for frames in outputs.values():
                frames.get(frame, {}).pop("high_res_masks", None)

    def _index(self, object_id: int) -> int:
        return self._session.obj_id_to_idx(object_id)

    @contextmanager
    def _hints_in_prompt_encoder(self) -> Generator[None]:
        """Add hints to the prompt encoder's arguments by a hook, because the session has no field for them."""

        def add_hint(
            _module: Any,
            arguments: tuple[Any, ...],
            named: dict[str, Any],
        ) -> tuple[tuple[Any, ...], dict[str, Any]]:
            for points, hint in self._hints:
                if points is named.get("input_points"):
                    return arguments, {**named, "input_masks": hint}
            return arguments, named

        handle = self._model.prompt_encoder.register_forward_pre_hook(add_hint, with_kwargs=True)
        try:
            yield
        finally:
            handle.remove()


def _new_session(model: Any, encoded: EncodedVideo) -> Any:
    weight = next(model.parameters())
    height, width = encoded.space.shape
    session = importlib.import_module("transformers").Sam2VideoInferenceSession(
        video_height=height,
        video_width=width,
        inference_device=weight.device,
        inference_state_device=weight.device,
        dtype=weight.dtype,
    )
    session.cache = encoded
    # The session uses only the number of frames, because features come from the cache.
    session.processed_frames = encoded.sample.frames
    return session

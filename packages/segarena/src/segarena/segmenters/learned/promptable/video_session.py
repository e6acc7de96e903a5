"""The library's video session, driven by what one dialogue says: start, walk forwards and back, correct."""

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
    """What the network is told about one object in one frame: the object itself, or points and a hint.

    Attributes:
        points: float (n, 2), (x, y) in the square; the corners of a box come first.
        labels: int32 (n,), 1 positive, 0 negative, 2 and 3 the corners of a box.
        hint: (low, low) logits that go with the points; None without.
        mask: (side, side) of 0 and 1, the object itself; None without.
        is_correction: whether the frame is tracked, and then corrected.
    """

    points: Tensor
    labels: Tensor
    hint: Tensor | None = None
    mask: Tensor | None = None
    is_correction: bool = False


ObjectInputs = Mapping[int, Mapping[int, FrameInputs]]
"""By object id and frame."""


@dataclass(frozen=True, slots=True, eq=False)
class TrackedFrame:
    """One frame: low-resolution logits (n, low, low) of the objects with these ids."""

    frame: int
    object_ids: list[int]
    logits: Tensor


class TrackingSession:
    """One dialogue on its way through a video.

    The library's session keeps what it was told and what it found, by object index and frame. In two things it is
    overruled: it would forget the correction of a tracked frame as soon as it tracks that frame again, where here such
    a frame counts from then on as one that was given; and it would keep masks in full size that nothing reads again.
    Each object is told about in at least one frame that is no correction.
    """

    def __init__(self, model: Any, encoded: EncodedVideo, told: ObjectInputs) -> None:
        self._model = model
        self._told = told
        self._session = _new_session(model, encoded)
        self._hints: list[tuple[Tensor, Tensor]] = []
        self._corrections = self._frames(is_correction=True)

    def run(self, last: int) -> Generator[TrackedFrame]:
        """Yield every frame, forwards from the first given one, then backwards from it to `last`.

        The first given frame comes again on the way back, as in the library; what came last counts. Corrections are
        made on a walk of their own first, so that frames before a corrected one are tracked knowing it.
        """
        with self._hinting():
            start = self._start()
            if self._corrections:
                for _ in self._walk(start, last):
                    if not self._corrections:
                        break
            yield from self._walk(start, last)

    def _frames(self, *, is_correction: bool) -> dict[int, list[int]]:
        """Return the objects about which something is said, by frame, both ascending."""
        found: dict[int, list[int]] = {}
        for object_id, frames in sorted(self._told.items()):
            for frame, inputs in frames.items():
                if inputs.is_correction is is_correction:
                    found.setdefault(frame, []).append(object_id)
        return dict(sorted(found.items()))

    def _start(self) -> int:
        """Let the network see each given frame, and return the first."""
        given = self._frames(is_correction=False)
        for frame, ids in given.items():
            self._tell(ids, frame)
            self._model(self._session, frame_idx=frame)
        return min(given)

    def _walk(self, start: int, last: int) -> Iterator[TrackedFrame]:
        forwards = [(frame, False) for frame in range(start, self._session.num_frames)]
        if last < start:
            backwards = [(frame, True) for frame in range(start, last - 1, -1)]
        else:
            backwards = []
        for frame, reverse in forwards + backwards:
            corrected = self._corrections.pop(frame, [])
            self._tell(corrected, frame)
            for object_id in corrected:
                # To the library, this is what tells a correction from a frame to start from.
                self._session.frames_tracked_per_obj[self._index(object_id)][frame] = {
                    "reverse": reverse
                }
            output = self._model(self._session, frame_idx=frame, reverse=reverse)
            self._settle(corrected, frame)
            yield TrackedFrame(frame, output.object_ids, output.pred_masks.float()[:, 0])

    def _tell(self, ids: list[int], frame: int) -> None:
        """Enter what is said of these objects in the frame."""
        session = self._session
        for object_id in ids:
            inputs = self._told[object_id][frame]
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
                kept = session.point_inputs_per_obj[index][frame]["point_coords"]
                self._hints.append(
                    (kept, inputs.hint[None, None].to(session.inference_device, session.dtype))
                )
        session.obj_with_new_inputs = list(ids)

    def _settle(self, corrected: list[int], frame: int) -> None:
        for object_id in corrected:
            found = self._session.output_dict_per_obj[self._index(object_id)]
            found["cond_frame_outputs"][frame] = found["non_cond_frame_outputs"].pop(frame)
        for found in self._session.output_dict_per_obj.values():
            for kept in found.values():
                kept.get(frame, {}).pop("high_res_masks", None)

    def _index(self, object_id: int) -> int:
        return self._session.obj_id_to_idx(object_id)

    @contextmanager
    def _hinting(self) -> Generator[None]:
        """Let hints reach the prompt encoder with their points: the library's session has no place for them."""

        def add(
            _module: Any, given: tuple[Any, ...], named: dict[str, Any]
        ) -> tuple[tuple[Any, ...], dict[str, Any]]:
            hints = [hint for points, hint in self._hints if points is named.get("input_points")]
            return given, {**named, "input_masks": hints[0]} if hints else named

        handle = self._model.prompt_encoder.register_forward_pre_hook(add, with_kwargs=True)
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
    # Only their number is asked for: every frame's features come from the cache.
    session.processed_frames = encoded.sample.frames
    return session

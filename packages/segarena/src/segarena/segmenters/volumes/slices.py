"""Slice-wise volume segmenter on top of an image segmenter."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Iterable, Sequence
from typing import Any, Literal

from segarena.dialogue import Dialogue, Lift, Prediction, Spread, as_prediction
from segarena.errors import PluginInvalid, PredictionInvalid, SegmenterError
from segarena.options import Protocol
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.prompts import check_prompt
from segarena.registry import build, segmenter
from segarena.roles import Segmenter
from segarena.samples import Sample, VolumeSample
from segarena.segmenters.drawing.prompt_pixel_marks import check_prompt_kinds
from segarena.segmenters.volumes.lifting.propagation import SliceDialogues, SlicePredictions
from segarena.segmenters.volumes.lifting.slice_images import Intensity, SliceEncodings, SliceImages
from segarena.segmenters.volumes.lifting.slice_prompts import DEFAULT_PROMPT_KINDS, kinds_in_volume
from segarena.segmenters.volumes.lifting.slice_wise_prediction import answer_by_slices


@segmenter("slices")
class Slices:
    """Segments volumes slice by slice with an image segmenter on axial slices.

    `dialogue.lift` determines how the prompts of a few slices extend to other slices: see
    `segarena.dialogue.Lift`, and for the rules `spread_prompts`, `propagate`, `draw_on_slices` and
    `answer_by_slices` in the folder `lifting`. Slices are encoded on first use. One call predicts a
    slice for all dialogues that need it.

    Args:
        segmenter: the image segmenter, as a plug-in specification or an object.
        intensity: conversion of a slice to 0..255: "volume-percentiles" (as published for SAM and
            SAM 2), "slice-foreground-percentiles", "slice-positive-percentiles" (as published for
            MedSAM and SAM-Med2D; in CT it drops negative values), "slice-min-max" (ScribblePrompt), or
            "none". "auto" uses the segmenter's own `slice_intensity`, or else "volume-percentiles".
        percentiles: lower and upper percentile; values beyond them are clipped.
        keep_mb: memory for encoded slices; the most recently used are kept.
        spread: how prompts of the first round spread, if the user does not choose.
        keeps_prompts: whether slices are predicted from all their prompts, if the user does not choose.
        protocol: "careful" or "published", if the user does not choose.

    Raises:
        PluginInvalid: an option is unknown, or the segmenter does not accept images.

    Source: Ulrich, Wald, Tempus et al., RadioActive, section 3 and appendices 7 and 8.
    docs/segmenters.md lists the differences between its code and its text.
    """

    sample_kinds = frozenset({"volume"})

    def __init__(
        self,
        *,
        segmenter: str | Segmenter,
        intensity: Literal["auto"] | Intensity = "auto",
        percentiles: tuple[float, float] = (0.5, 99.5),
        keep_mb: float = 1024.0,
        spread: Spread = "stay",
        keeps_prompts: bool = True,
        protocol: Protocol = "careful",
    ) -> None:
        low, high = percentiles
        if not 0 <= low < high <= 100:
            raise PluginInvalid(
                f"percentiles={percentiles!r}: expected two from 0 to 100, the lower one first"
            )
        self.segmenter: Any = segmenter
        if isinstance(segmenter, str):
            self.segmenter = build("segmenter", segmenter)
        abilities = segmenter_capabilities(self.segmenter)
        if "image" not in abilities.sample_kinds:
            raise PluginInvalid(
                f"slices needs a segmenter of images; {type(self.segmenter).__name__} accepts none"
            )
        self.intensity = self._own_intensity(protocol) if intensity == "auto" else intensity
        self.percentiles = (float(low), float(high))
        self.keep_bytes = int(keep_mb * 1e6)
        self.lift = Lift(spread=spread, keeps_prompts=keeps_prompts, protocol=protocol)
        if abilities.prompt_kinds is None:
            self.image_kinds = DEFAULT_PROMPT_KINDS
        else:
            self.image_kinds = abilities.prompt_kinds
        self.prompt_kinds = kinds_in_volume(self.image_kinds)

    @property
    def device(self) -> str:
        """Device of the image segmenter."""
        return segmenter_capabilities(self.segmenter).device

    def encode(self, sample: Sample) -> SliceEncodings:
        """Return the slices; each is encoded on first use.

        Raises:
            SegmenterError: the sample is not a volume.
        """
        if not isinstance(sample, VolumeSample):
            raise SegmenterError(
                f"slices accepts only volumes, got a {type(sample).__name__}; "
                "pass it to the image segmenter itself"
            )
        images = SliceImages(sample, self.intensity, self.percentiles)
        return SliceEncodings(images, self.segmenter, self.keep_bytes)

    def predict(self, encoded: SliceEncodings, dialogues: Sequence[Dialogue]) -> list[Prediction]:
        """Predict each dialogue from its prompts and its previous prediction.

        Raises:
            SegmenterError: no round yet, or a prompt that does not convert to the image segmenter's
                kinds.
            InvalidPrompt: a prompt is outside the volume.
            PredictionInvalid: the image segmenter's answer is not a mask of the slice.
        """
        waiting = {
            index: self._begin(encoded, dialogue) for index, dialogue in enumerate(dialogues)
        }
        asked: dict[int, SliceDialogues] = {}
        answers: dict[int, SlicePredictions | None] = dict.fromkeys(waiting)
        finished: dict[int, Prediction] = {}
        while waiting:
            for index, conversation in list(waiting.items()):
                try:
                    asked[index] = conversation.send(answers[index])
                except StopIteration as end:
                    finished[index] = end.value
                    del waiting[index]
            requests = {index: asked[index] for index in waiting}
            answers = dict(self._answer(encoded, requests))
        return [finished[index] for index in range(len(dialogues))]

    def _own_intensity(self, protocol: str) -> str:
        own = segmenter_capabilities(self.segmenter).slice_intensity or "volume-percentiles"
        if protocol == "published" and own == "slice-foreground-percentiles":
            return "slice-positive-percentiles"
        return own

    def _begin(
        self, encoded: SliceEncodings, dialogue: Dialogue
    ) -> Generator[SliceDialogues, Any, Prediction]:
        if not dialogue.rounds:
            raise SegmenterError("slices needs at least one round of prompts, got none")
        check_prompt_kinds(dialogue.prompts, self.prompt_kinds)
        for prompt in dialogue.prompts:
            check_prompt(prompt, encoded.shape)
        return answer_by_slices(
            dialogue, encoded.shape, self.image_kinds, dialogue.lift or self.lift
        )

    def _answer(
        self, encoded: SliceEncodings, asked: dict[int, SliceDialogues]
    ) -> dict[int, SlicePredictions]:
        """Predict each slice once for all dialogues that need it."""
        indices_by_plane: dict[int, list[int]] = defaultdict(list)
        for index, dialogues in asked.items():
            for plane in dialogues:
                indices_by_plane[plane].append(index)
        answers: dict[int, SlicePredictions] = {index: {} for index in asked}
        planes = sorted(indices_by_plane)
        for position, plane in enumerate(planes):
            indices = indices_by_plane[plane]
            of_plane = [asked[index][plane] for index in indices]
            encoding = encoded.of(plane, following=planes[position + 1 :])
            given: Any = self.segmenter.predict(encoding, of_plane)
            if not isinstance(given, Iterable):
                raise _wrong_count(plane, len(indices), f"a {type(given).__name__}")
            predictions = list(given)
            if len(predictions) != len(indices):
                raise _wrong_count(plane, len(indices), str(len(predictions)))
            for index, answer in zip(indices, predictions, strict=True):
                answers[index][plane] = as_prediction(
                    answer, encoded.shape[1:], name=f"prediction of slice {plane}"
                )
        return answers


def _wrong_count(
    plane: int,
    expected: int,
    received: str,
) -> PredictionInvalid:
    return PredictionInvalid(
        f"slice {plane}: expected a list of {expected} predictions, got {received}"
    )

"""Process of an assistant: runs a segmenter and caches its recent encodings and predictions.

Each request contains all previous prompts about its object, so losing the process costs only time:
its only state is a cache, which is limited by count and bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from segarena.arrays.memory_size import memory_bytes
from segarena.arrays.rle import run_lengths
from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.engine.time_limit import TimeLimit
from segarena.errors import InvalidPrompt, PluginInvalid, UnitHung
from segarena.files.hashes import sha256
from segarena.plugin_capabilities import segmenter_capabilities
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.roles import Segmenter
from segarena.samples import ImageSample, Shape
from segarena.work.deadline import this_deadline
from segarena.work.lru_cache import LruCache
from segarena_studio.annotation.high_bit_depth_pictures import read_display_pixels
from segarena_studio.assistance.prompt_messages import PromptMessage, to_prompt

GRACE_S = 5.0
"""The process is killed this long after a limit has passed."""
_USUAL_KINDS = frozenset({"click", "box", "scribble"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantLimits:
    """Limits of an assistant.

    Attributes:
        answer_s: time limit of an answer; rounds that were answered within it are kept.
        encode_s: time limit of reading and encoding a picture.
        pictures: number of cached encodings.
        picture_bytes: total size of cached encodings; the last one always stays.
        answers: number of cached answers, from which further prompts continue.
        answer_bytes: total size of cached answers.
        processes: number of processes.
        idle_s: a process that is idle this long is ended.
    """

    answer_s: float = 30.0
    encode_s: float = 120.0
    pictures: int = 12
    picture_bytes: int = 2**30
    answers: int = 1000
    answer_bytes: int = 128 * 2**20
    processes: int = 2
    idle_s: float = 600.0


@dataclass(frozen=True, slots=True)
class PictureFile:
    """A picture to segment: its file, and a key that changes with its content."""

    file: Path
    key: str


@dataclass(frozen=True, slots=True)
class EncodeRequest:
    """Work unit that encodes a picture before the first prompt."""

    picture: PictureFile


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """Work unit that answers all prompts about an object so far, one round per prompt."""

    picture: PictureFile
    prompts: tuple[PromptMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantAnswer:
    """Result of a work unit.

    Attributes:
        shape: (H, W).
        runs: run lengths of the mask, row-major, the False run first; empty for `EncodeRequest`.
        predict_s: seconds that the segmenter took to answer.
        encode_s: seconds that reading and encoding the picture took; 0 for a cached encoding.
    """

    shape: Shape
    runs: NDArray[np.int64]
    predict_s: float
    encode_s: float


AssistantRequest: TypeAlias = EncodeRequest | AnswerRequest


@dataclass(frozen=True, slots=True)
class SegmenterJob:
    """Job of an assistant's process.

    Attributes:
        segmenter: specification of the segmenter.
        bounds: its limits.
    """

    segmenter: PluginSpec
    bounds: AssistantLimits

    def open(self) -> Callable[[AssistantRequest], AssistantAnswer]:
        """Build the segmenter, and return the function that executes work units.

        Raises:
            PluginError: the segmenter cannot be built, or does not support photographs and these
                prompts.
        """
        made = build("segmenter", self.segmenter)
        _check(made, self.segmenter)
        return _Answers(made, self.segmenter.name, self.bounds).do


def _check(segmenter: Any, spec: PluginSpec) -> None:
    abilities = segmenter_capabilities(segmenter)
    can = "image" in abilities.sample_kinds and any(map(abilities.understands, _USUAL_KINDS))
    # No ground truth exists during annotation.
    if not can or abilities.sees_truth:
        raise PluginInvalid(
            f"{spec}: expected a segmenter for photographs that accepts clicks, boxes or scribbles"
        )


class _Answers:
    """Executes work units, one after the other."""

    def __init__(
        self,
        segmenter: Segmenter,
        name: str,
        bounds: AssistantLimits,
    ) -> None:
        self._segmenter = segmenter
        self._abilities = segmenter_capabilities(segmenter)
        self._label = f"segmenter {name}"
        self._limit = TimeLimit(bounds.answer_s, this_deadline(), GRACE_S, error=_too_slow)
        # `TimeLimit` has one base limit, so the longer one for encoding is expressed as a multiple
        # of it.
        self._encode_times = bounds.encode_s / bounds.answer_s
        self._encoded = LruCache[str, tuple[Any, Shape]](
            max_bytes=bounds.picture_bytes,
            max_entries=bounds.pictures,
            min_entries=1,
        )
        self._answered = LruCache[str, Prediction](
            max_bytes=bounds.answer_bytes,
            max_entries=bounds.answers,
            min_entries=1,
        )

    def do(self, unit: AssistantRequest) -> AssistantAnswer:
        """Execute a work unit.

        Raises:
            InvalidInput: the picture cannot be read, or a prompt is invalid or not supported.
            PredictionInvalid: the segmenter's answer is not a mask.
            UnitHung: a time limit has passed.
        """
        started = time.perf_counter()
        # Check the cache before calling `_encoding`, which fills the cache.
        is_kept = self._encoded.get(unit.picture.key) is not None
        encoded, shape = self._encoding(unit.picture)
        encode_s = 0.0 if is_kept else time.perf_counter() - started
        if isinstance(unit, EncodeRequest):
            return AssistantAnswer(
                shape=shape,
                # Nobody looks at a mask before the first prompt.
                runs=np.zeros(0, np.int64),
                predict_s=0.0,
                encode_s=encode_s,
            )
        started = time.perf_counter()
        mask = self._answer(encoded, shape, unit).mask
        predict_s = time.perf_counter() - started
        return AssistantAnswer(
            shape=shape,
            runs=run_lengths(mask > 0),
            predict_s=predict_s,
            encode_s=encode_s,
        )

    def _encoding(self, picture: PictureFile) -> tuple[Any, Shape]:
        known = self._encoded.get(picture.key)
        if known is not None:
            return known
        with self._limit.watch("encoding a picture", times=self._encode_times, who=self._label):
            sample = ImageSample(id=picture.key, image=read_display_pixels(picture.file))
            made = self._segmenter.encode(sample), sample.shape
        # Only the encoding counts towards the limit: the shape is a pair of numbers.
        self._encoded.put(picture.key, made, memory_bytes(made[0]))
        return made

    def _answer(
        self,
        encoded: Any,
        shape: Shape,
        unit: AnswerRequest,
    ) -> Prediction:
        """Answer prompts, continuing from the longest prefix in the cache; each further prompt is a round."""
        prompts = [to_prompt(message, shape) for message in unit.prompts]
        for prompt in prompts:
            if not self._abilities.understands(prompt.kind):
                kinds = ", ".join(sorted(self._abilities.prompt_kinds or ()))
                raise InvalidPrompt(f"{self._label} accepts {kinds}; got a {prompt.kind}")
        names = _prefix_names(unit)
        cached = len(prompts)
        previous: Prediction | None = None
        # From the longest prefix down: each further prompt costs a prediction.
        while cached and previous is None:
            previous = self._answered.get(names[cached - 1])
            if previous is None:
                cached -= 1
        # One prompt per round, because the annotator sees the mask after every prompt.
        rounds = tuple((prompt,) for prompt in prompts)
        with self._limit.watch("answering a prompt", who=self._label):
            for at in range(cached, len(prompts)):
                dialogue = Dialogue(rounds[: at + 1], previous)
                (answer,) = self._segmenter.predict(encoded, [dialogue])
                previous = as_prediction(answer, shape, name=self._label)
                self._answered.put(
                    names[at],
                    previous,
                    previous.mask.nbytes + memory_bytes(previous.logits),
                )
        if previous is None:
            raise InvalidPrompt("expected at least one prompt, got none")
        return previous


def _prefix_names(unit: AnswerRequest) -> list[str]:
    """Return a cache key for the first prompt, for the first two, and so on."""
    names: list[str] = []
    # Start the key with the picture: equal prompts on another picture have another prediction.
    previous = unit.picture.key
    for prompt in unit.prompts:
        # Each key contains all earlier prompts, because an answer depends on all of them.
        previous = sha256(f"{previous} {prompt!r}")
        names.append(previous)
    return names


def _too_slow(step: str, seconds: float) -> BaseException:
    return UnitHung(f"{step} took longer than {seconds:g} s")

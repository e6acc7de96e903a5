"""What the process of an assistant does: keeps a segmenter and what it made of the last pictures, and answers.

A question holds all prompts about its object so far, so nothing but time is lost when the process is: what is kept
here is a cache, by count and by bytes.
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
from segarena.capabilities import segmenter_capabilities
from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.engine.time_limit import TimeLimit
from segarena.errors import InvalidPrompt, PluginInvalid, UnitHung
from segarena.files.hashes import sha256
from segarena.files.images import read_image
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.roles import Segmenter
from segarena.samples import ImageSample, Shape
from segarena.work.deadline import this_deadline
from segarena.work.lru_cache import LruCache
from segarena_studio.assistance.prompt_messages import PromptMessage, to_prompt

GRACE_S = 5.0
"""So much after a limit the process is ended from outside."""
_USUAL_KINDS = frozenset({"click", "box", "scribble"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantLimits:
    """What an assistant may take.

    Attributes:
        answer_s: a question that takes longer comes to nothing; what of it was answered is kept.
        encode_s: the same of reading and encoding a picture.
        pictures: of so many, encodings are kept.
        picture_bytes: that these may take together; the last one always stays.
        answers: of the last answers so many are kept, which further prompts go on from.
        answer_bytes: that these may take together.
        processes: that answer side by side.
        idle_s: a process that was asked nothing for so long is ended.
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
    """A picture to be answered about: its file, and a text that is another one when the file is."""

    file: Path
    key: str


@dataclass(frozen=True, slots=True)
class EncodeRequest:
    """The unit that gets a picture ready before anything is asked about it."""

    picture: PictureFile


@dataclass(frozen=True, slots=True)
class AnswerRequest:
    """The unit that answers prompts about an object in a picture: all of them so far, in order, each a round."""

    picture: PictureFile
    prompts: tuple[PromptMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantAnswer:
    """What came of a unit.

    Attributes:
        shape: (H, W).
        runs: run lengths of the mask, row-major, the False run first; empty for `Encode`.
        predict_s: what the segmenter took to answer.
        encode_s: what reading and encoding took; 0 where that was done before.
    """

    shape: Shape
    runs: NDArray[np.int64]
    predict_s: float
    encode_s: float


AssistantRequest: TypeAlias = EncodeRequest | AnswerRequest


@dataclass(frozen=True, slots=True)
class SegmenterJob:
    """The job of an assistant's process.

    Attributes:
        segmenter: who answers.
        bounds: what it may take.
    """

    segmenter: PluginSpec
    bounds: AssistantLimits

    def open(self) -> Callable[[AssistantRequest], AssistantAnswer]:
        """Build the segmenter, and return what does a unit.

        Raises:
            PluginError: it cannot be built, or cannot answer about photographs.
        """
        made = build("segmenter", self.segmenter)
        _check(made, self.segmenter)
        return _Answers(made, self.segmenter.name, self.bounds).do


def _check(segmenter: Any, spec: PluginSpec) -> None:
    abilities = segmenter_capabilities(segmenter)
    can = "image" in abilities.sample_kinds and any(map(abilities.understands, _USUAL_KINDS))
    if not can or abilities.sees_truth:
        raise PluginInvalid(
            f"{spec}: expected a segmenter of photographs that takes clicks, boxes or scribbles"
        )


class _Answers:
    """Does units, one after the other."""

    def __init__(self, segmenter: Segmenter, name: str, bounds: AssistantLimits) -> None:
        self._segmenter = segmenter
        self._abilities = segmenter_capabilities(segmenter)
        self._who = f"segmenter {name}"
        self._limit = TimeLimit(bounds.answer_s, this_deadline(), GRACE_S, error=_too_slow)
        self._encode_times = bounds.encode_s / bounds.answer_s
        self._encoded = LruCache[str, tuple[Any, Shape]](
            max_bytes=bounds.picture_bytes, max_entries=bounds.pictures, keeps_last=True
        )
        self._answered = LruCache[str, Prediction](
            max_bytes=bounds.answer_bytes, max_entries=bounds.answers, keeps_last=True
        )

    def do(self, unit: AssistantRequest) -> AssistantAnswer:
        """Do one.

        Raises:
            InvalidInput: the picture cannot be read, or a prompt is none, or none that the segmenter takes.
            PredictionInvalid: the segmenter's answer is no mask.
            UnitHung: it takes too long.
        """
        started = time.perf_counter()
        is_kept = self._encoded.get(unit.picture.key) is not None
        encoded, shape = self._encoding(unit.picture)
        encode_s = 0.0 if is_kept else time.perf_counter() - started
        if isinstance(unit, EncodeRequest):
            return AssistantAnswer(
                shape=shape, runs=np.zeros(0, np.int64), predict_s=0.0, encode_s=encode_s
            )
        started = time.perf_counter()
        mask = self._answer(encoded, shape, unit).mask
        predict_s = time.perf_counter() - started
        return AssistantAnswer(
            shape=shape, runs=run_lengths(mask > 0), predict_s=predict_s, encode_s=encode_s
        )

    def _encoding(self, picture: PictureFile) -> tuple[Any, Shape]:
        known = self._encoded.get(picture.key)
        if known is not None:
            return known
        with self._limit.watch("encoding a picture", times=self._encode_times, who=self._who):
            sample = ImageSample(id=picture.key, image=read_image(picture.file))
            made = self._segmenter.encode(sample), sample.shape
        self._encoded.put(picture.key, made, memory_bytes(made[0]))
        return made

    def _answer(self, encoded: Any, shape: Shape, unit: AnswerRequest) -> Prediction:
        """Go on from the longest part of these prompts that was answered already; each further one is a round."""
        prompts = [to_prompt(told, shape) for told in unit.prompts]
        for prompt in prompts:
            if not self._abilities.understands(prompt.kind):
                kinds = ", ".join(sorted(self._abilities.prompt_kinds or ()))
                raise InvalidPrompt(f"{self._who} takes {kinds}; got a {prompt.kind}")
        names = _names(unit)
        before = next(
            (at for at in reversed(range(len(prompts))) if self._answered.get(names[at])), -1
        )
        rounds = tuple((prompt,) for prompt in prompts)
        previous = self._answered.get(names[before]) if before >= 0 else None
        with self._limit.watch("answering a prompt", who=self._who):
            for at in range(before + 1, len(prompts)):
                (answer,) = self._segmenter.predict(encoded, [Dialogue(rounds[: at + 1], previous)])
                previous = as_prediction(answer, shape, name=self._who)
                self._answered.put(
                    names[at], previous, previous.mask.nbytes + memory_bytes(previous.logits)
                )
        if previous is None:
            raise InvalidPrompt("expected at least one prompt, got none")
        return previous


def _names(unit: AnswerRequest) -> list[str]:
    """Return what the answers to the first prompt, to the first two, and so on are called, however long they are."""
    found: list[str] = []
    for told in unit.prompts:
        found.append(sha256(f"{found[-1] if found else unit.picture.key} {told!r}"))
    return found


def _too_slow(what: str, seconds: float) -> BaseException:
    return UnitHung(f"{what} took longer than {seconds:g} s")

"""Trying something with a worker: what the steps of a check share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.errors import PluginInvalid, SegarenaError
from segarena.samples import Support
from segarena.segmenters.workers.encoding_handle import EncodingHandle
from segarena.segmenters.workers.synthetic_samples import synthetic_prompts, synthetic_sample
from segarena.segmenters.workers.worker import Worker
from segarena.segmenters.workers.worker_client import WorkerError
from segarena.segmenters.workers.worker_config import WorkerLost
from segarena.worker import PROMPTS


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """One thing that was tried.

    Attributes:
        what: was tried.
        is_right: whether the worker did what it should.
        told: what came.
    """

    what: str
    is_right: bool
    told: str = ""


def run_check(what: str, attempt: Callable[[], str]) -> CheckResult:
    """Try something; it returns what is wrong, or raises."""
    try:
        told = attempt()
    except (SegarenaError, WorkerError, WorkerLost) as error:
        told = str(error)
    return CheckResult(what=what, is_right=not told, told=told)


def tested_prompt_kinds(worker: Worker) -> list[str]:
    """Return the kinds of prompts that it is tried with."""
    return sorted(PROMPTS if worker.prompt_kinds is None else worker.prompt_kinds)


def build_dialogue(worker: Worker, kind: str, shape: Sequence[int], rounds: int) -> Dialogue:
    """Return what is said in so many rounds; examples come encoded, as in a run."""
    said = [
        tuple(
            replace(prompt, encoded=worker.encode(prompt.sample))
            if isinstance(prompt, Support)
            else prompt
            for prompt in synthetic_prompts(kind, tuple(shape), number)
        )
        for number in range(rounds)
    ]
    return Dialogue(tuple(said))


def predict_checked(
    worker: Worker, encoded: EncodingHandle, shape: Sequence[int], dialogues: Sequence[Dialogue]
) -> list[Prediction]:
    """Return its answers, each checked; raise where one is none, or they are too many or too few."""
    given = worker.predict(encoded, dialogues)
    if len(given) != len(dialogues):
        raise PluginInvalid(
            f"{len(dialogues)} dialogues, {len(given)} answers; return one each, in their order"
        )
    return [as_prediction(each, tuple(shape), name="its answer") for each in given]


def predict_two_rounds(
    worker: Worker, kind: str, of: str, shape: Sequence[int], seed: int = 0
) -> list[Prediction]:
    """Return the answers of two rounds, the second one with what the first handed back."""
    encoded = worker.encode(synthetic_sample(of, shape, seed))
    both = build_dialogue(worker, kind, shape, 2)
    (first,) = predict_checked(worker, encoded, shape, [Dialogue(both.rounds[:1])])
    (second,) = predict_checked(worker, encoded, shape, [replace(both, previous=first)])
    return [first, second]

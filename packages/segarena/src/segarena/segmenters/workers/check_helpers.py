"""Shared steps of the checks of a worker: run one check, build dialogues, predict and validate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.errors import PluginInvalid, SegarenaError
from segarena.prompts import Prompt
from segarena.samples import Support
from segarena.segmenters.workers.encoding_handle import EncodingHandle
from segarena.segmenters.workers.synthetic_samples import synthetic_prompts, synthetic_sample
from segarena.segmenters.workers.worker import Worker
from segarena.segmenters.workers.worker_client import WorkerError
from segarena.segmenters.workers.worker_config import WorkerLost
from segarena.worker import PROMPTS


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """Result of one check of a worker.

    Attributes:
        check: expected behaviour of the worker.
        has_passed: whether the worker behaves as expected.
        details: fault of a failed check, or a remark on a passed one.
    """

    check: str
    has_passed: bool
    details: str = ""


def run_check(check: str, attempt: Callable[[], str]) -> CheckResult:
    """Run one check; `attempt` returns a description of the fault ("" if there is none) or raises an error."""
    try:
        fault = attempt()
    except (SegarenaError, WorkerError, WorkerLost) as error:
        fault = str(error)
    return CheckResult(check=check, has_passed=not fault, details=fault)


def tested_prompt_kinds(worker: Worker) -> list[str]:
    """Return the prompt kinds to test: those that the worker declares, or all if it declares none."""
    return sorted(PROMPTS if worker.prompt_kinds is None else worker.prompt_kinds)


def build_dialogue(
    worker: Worker,
    kind: str,
    shape: Sequence[int],
    rounds: int,
) -> Dialogue:
    """Return a dialogue with one synthetic prompt per round; support examples are encoded as in a run."""
    prompts: list[tuple[Prompt, ...]] = []
    for number in range(rounds):
        prompt = synthetic_prompts(kind, tuple(shape), number)
        if isinstance(prompt, Support):
            prompt = replace(prompt, encoded=worker.encode(prompt.sample))
        prompts.append((prompt,))
    return Dialogue(tuple(prompts))


def predict_checked(
    worker: Worker,
    encoded: EncodingHandle,
    shape: Sequence[int],
    dialogues: Sequence[Dialogue],
) -> list[Prediction]:
    """Return the worker's predictions; raise an error if one is invalid or their number is wrong."""
    predictions = worker.predict(encoded, dialogues)
    if len(predictions) != len(dialogues):
        raise PluginInvalid(
            f"expected {len(dialogues)} answers, got {len(predictions)}; "
            "return one answer per dialogue, in order"
        )
    return [as_prediction(each, tuple(shape), name="its answer") for each in predictions]


def predict_two_rounds(
    worker: Worker,
    kind: str,
    sample_kind: str,
    shape: Sequence[int],
    seed: int = 0,
) -> list[Prediction]:
    """Return the predictions of two rounds; the second request contains the first prediction."""
    encoded = worker.encode(synthetic_sample(sample_kind, shape, seed))
    dialogue = build_dialogue(worker, kind, shape, 2)
    first_round = Dialogue(dialogue.rounds[:1])
    (first,) = predict_checked(worker, encoded, shape, [first_round])
    (second,) = predict_checked(worker, encoded, shape, [replace(dialogue, previous=first)])
    return [first, second]

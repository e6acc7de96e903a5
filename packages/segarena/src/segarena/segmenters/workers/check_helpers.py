"""Trying something with a worker: what the steps of a check share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from segarena.dialogue import Dialogue, Prediction, as_prediction
from segarena.errors import PluginInvalid, SegarenaError
from segarena.samples import Support
from segarena.segmenters.workers.encoding_handle import Encoded
from segarena.segmenters.workers.synthetic_samples import said_in, sample_of
from segarena.segmenters.workers.worker import Worker
from segarena.segmenters.workers.worker_client import Told
from segarena.segmenters.workers.worker_config import Lost
from segarena.worker import PROMPTS


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One thing that was tried.

    Attributes:
        what: was tried.
        is_right: whether the worker did what it should.
        told: what came.
    """

    what: str
    is_right: bool
    told: str = ""


def tried(what: str, attempt: Callable[[], str]) -> Checked:
    """Try something; it returns what is wrong, or raises."""
    try:
        told = attempt()
    except (SegarenaError, Told, Lost) as error:
        told = str(error)
    return Checked(what=what, is_right=not told, told=told)


def kinds_of(worker: Worker) -> list[str]:
    """Return the kinds of prompts that it is tried with."""
    return sorted(PROMPTS if worker.prompt_kinds is None else worker.prompt_kinds)


def dialogue_of(worker: Worker, kind: str, shape: Sequence[int], rounds: int) -> Dialogue:
    """Return what is said in so many rounds; examples come encoded, as in a run."""
    said = [
        tuple(
            replace(prompt, encoded=worker.encode(prompt.sample))
            if isinstance(prompt, Support)
            else prompt
            for prompt in said_in(kind, tuple(shape), number)
        )
        for number in range(rounds)
    ]
    return Dialogue(tuple(said))


def answers(
    worker: Worker, encoded: Encoded, shape: Sequence[int], dialogues: Sequence[Dialogue]
) -> list[Prediction]:
    """Return its answers, each checked; raise where one is none, or they are too many or too few."""
    given = worker.predict(encoded, dialogues)
    if len(given) != len(dialogues):
        raise PluginInvalid(
            f"{len(dialogues)} dialogues, {len(given)} answers; return one each, in their order"
        )
    return [as_prediction(each, tuple(shape), name="its answer") for each in given]


def in_two_rounds(
    worker: Worker, kind: str, of: str, shape: Sequence[int], seed: int = 0
) -> list[Prediction]:
    """Return the answers of two rounds, the second one with what the first handed back."""
    encoded = worker.encode(sample_of(of, shape, seed))
    both = dialogue_of(worker, kind, shape, 2)
    (first,) = answers(worker, encoded, shape, [Dialogue(both.rounds[:1])])
    (second,) = answers(worker, encoded, shape, [replace(both, previous=first)])
    return [first, second]

"""Power and false-alarm rate of the knowledge test: python tests/stress/knowledge_power.py [DATASET] [--honest 200].

Attackers answer with prompts that their run did not receive: those of an earlier run of their own, and those of one,
two and five other accounts. Honest runs use segmenters with other options and their own errors on random halves of the
samples. The prompts that others received earlier come from accurate, poor and image-blind participants. Prompts are
clicks of the user `centre`.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from segarena.dialogue import Dialogue, Prediction
from segarena.engine.session import Rules, Session
from segarena.multi_object import empty_comparison
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Prompt
from segarena.registry import build
from segarena.roles import Dataset
from segarena.samples import Mask, Sample, Target
from segarena_server.challenges.prompt_knowledge_test import (
    ALPHA,
    MAX_ANSWERS,
    Answer,
    DialogueExcess,
    KnowledgeTest,
    correct_over_runs,
    excess_of_dialogue,
    measure_knowledge,
)

ROUNDS = 10
POOL = ("graph", "watershed", "grabcut", "image-blind", "graph(compactness=400)")

Key = tuple[str, str]
Rounds = Sequence[Sequence[Prompt]]


@dataclass(frozen=True, slots=True)
class Dialogued:
    """A finished dialogue."""

    target: Target
    rounds: Rounds
    answers: Sequence[Answer]
    ious: Sequence[float]


class EncodedOnce:
    """A segmenter that keeps its encodings, because hundreds of runs use the same samples."""

    def __init__(self, name: str) -> None:
        self._segmenter = build("segmenter", PluginSpec.of(name))
        self._encodings: dict[str, object] = {}

    def encode(self, sample: Sample) -> object:
        """Return the encoding of a sample."""
        if sample.id not in self._encodings:
            self._encodings[sample.id] = self._segmenter.encode(sample)
        return self._encodings[sample.id]

    def predict(self, encoded: object, dialogues: Sequence[Dialogue]) -> Sequence[object]:
        """Return the predictions of the segmenter."""
        return self._segmenter.predict(encoded, dialogues)


def take_part(
    dataset: Dataset,
    names: Sequence[str],
    segmenter: EncodedOnce,
    *,
    known: Mapping[Key, Sequence[Prompt]] | None = None,
    distort: Callable[[Mask], Mask] = lambda mask: mask,
    rounds: int = ROUNDS,
) -> dict[Key, Dialogued]:
    """Return all dialogues of a participant that adds `known` prompts to those it receives."""
    run: dict[Key, Dialogued] = {}
    for name in names:
        sample = dataset.load(name)
        encoded = segmenter.encode(sample)
        for target in sample.targets:
            session = Session(
                rules=Rules(benchmark="", dataset="", metrics=(), rounds=rounds),
                sample=sample,
                target=target,
                start=empty_comparison(sample, target),
                user=build("user", PluginSpec.of("centre")),
                user_name="centre",
            )
            extra = tuple((known or {}).get((name, target.id), ()))
            answers: list[Answer] = []
            ious: list[float] = []
            last = Dialogue()
            while (dialogue := session.next()) is not None:
                last = dialogue
                first, *later = dialogue.rounds
                heard = Dialogue(((*extra, *first), *later), dialogue.previous, dialogue.lift)
                prediction = segmenter.predict(encoded, [heard])[0]
                mask = distort(np.asarray(getattr(prediction, "mask", prediction), np.bool_))
                answers.append(Answer(received=dialogue.prompts, predicted=mask))
                union = np.count_nonzero(mask | target.mask)
                ious.append(np.count_nonzero(mask & target.mask) / union if union else 1.0)
                session.submit(Prediction(mask), 0.0)
            run[name, target.id] = Dialogued(target, last.rounds, answers[:MAX_ANSWERS], ious)
    return run


def judge(run: Mapping[Key, Dialogued], others: Sequence[Mapping[Key, Dialogued]]) -> KnowledgeTest:
    """Return the result of the knowledge test of a run, given the prompts that others received earlier."""
    by_sample: dict[str, list[DialogueExcess]] = {}
    for (name, target), dialogued in run.items():
        told = [other[name, target].rounds for other in others if (name, target) in other]
        if told:
            seed = zlib.crc32(f"{name} {target}".encode())
            excess = excess_of_dialogue(dialogued.target, dialogued.answers, told, seed)
            by_sample.setdefault(name, []).append(excess)
    return measure_knowledge(by_sample)


def distortion(rng: np.random.Generator) -> Callable[[Mask], Mask]:
    """Return errors as of another honest model: a border shifted by up to 2 px, up to 3 % of pixels in blotches."""
    shift = int(rng.integers(-2, 3))
    wrong = rng.uniform(0, 0.03)

    def distort(mask: Mask) -> Mask:
        if shift > 0:
            mask = ndimage.binary_dilation(mask, iterations=shift)
        elif shift < 0:
            mask = ndimage.binary_erosion(mask, iterations=-shift)
        blotches = ndimage.gaussian_filter(rng.standard_normal(mask.shape), 8)
        return mask ^ (blotches > np.quantile(blotches, 1 - wrong))

    return distort


def describe(what: str, run: Mapping[Key, Dialogued], test: KnowledgeTest) -> None:
    first = np.mean([dialogued.ious[0] for dialogued in run.values()])
    print(
        f"{what:44} IoU@1 {first:.3f}   excess {test.excess:+.3f}   p {test.p:.4f}"
        f"   ({test.samples} samples, {test.points} points)",
        flush=True,
    )


def main() -> None:
    """Print power, then false alarms; exit with 1 if an attack is missed or too many honest runs are flagged."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="demo")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--honest", type=int, default=200)
    options = parser.parse_args()
    dataset = build("dataset", PluginSpec.of(options.dataset))
    names = list(dataset.sample_ids)[: options.samples]
    segmenters = {name: EncodedOnce(name) for name in POOL}
    pool = {name: take_part(dataset, names, segmenters[name]) for name in POOL}
    for name, run in pool.items():
        others = [other for other_name, other in pool.items() if other_name != name]
        describe(f"honest: {name}", run, judge(run, others))
    missed = 0
    attacks = {
        "memory of an earlier run": [pool["graph"]],
        "one other account": [pool["watershed"]],
        "two other accounts": [pool["watershed"], pool["grabcut"]],
        "five other accounts": list(pool.values()),
    }
    for what, sources in attacks.items():
        known = {
            key: [prompt for run in sources for round_ in run[key].rounds for prompt in round_]
            for key in pool["graph"]
        }
        run = take_part(dataset, names, segmenters["graph"], known=known, rounds=MAX_ANSWERS)
        test = judge(run, sources)
        missed += test.p > ALPHA
        describe(f"attack: {what}", run, test)
    p_values: list[float] = []
    for number in range(options.honest):
        rng = np.random.default_rng(number)
        half = [str(name) for name in rng.permutation(names)[: max(5, len(names) // 2)]]
        segmenter = segmenters[("graph", "watershed")[number % 2]]
        run = take_part(
            dataset, sorted(half), segmenter, distort=distortion(rng), rounds=MAX_ANSWERS
        )
        sources = rng.permutation(list(pool))[: rng.integers(1, len(pool) + 1)]
        p_values.append(judge(run, [pool[str(name)] for name in sources]).p)
        if (number + 1) % 20 == 0:
            alarms = sum(p <= ALPHA for p in p_values)
            print(f"{number + 1} honest runs: {alarms} with p <= {ALPHA}", flush=True)
    alarms = sum(p <= ALPHA for p in p_values)
    flagged = sum(p <= ALPHA for p in correct_over_runs(p_values))
    print(f"{len(p_values)} honest runs: {alarms} with p <= {ALPHA}, {flagged} after correction")
    raise SystemExit(bool(missed) or alarms > ALPHA * len(p_values))


if __name__ == "__main__":
    main()

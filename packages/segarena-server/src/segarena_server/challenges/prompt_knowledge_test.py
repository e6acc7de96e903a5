"""A test for knowledge of other runs' prompts: is a run right at points that only other runs' prompts reveal?

A participant that remembers the prompts of an earlier run, or receives those of another account,
answers correctly at points that only those prompts reveal. The test compares the correctness of a
run's masks at such points with that at matched points, about which nobody was prompted: points with
the same label in the ground truth, at similar distances from the boundary of the target and from the
nearest prompt that the run itself had received.

Prompts are placed where masks are wrong. Points of earlier prompts are therefore harder than
matched points, and an honest run is right there less often, not more, which makes the one-sided
test conservative. A participant who knows about the test can make deliberate errors at single
pixels whose labels they should not know. The test only detects; the defence is that the board ranks
nothing but first contacts with a sample.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage, spatial

from segarena.arrays.rle import decode_rle
from segarena.engine.run_folder import RunFolder
from segarena.prompts import Click, Lasso, Prompt, Scribble
from segarena.records.prompts import read_prompts
from segarena.samples import Labels, Mask, Target
from segarena.segmenters.drawing.nearest_prompt import marked_places

ALPHA = 0.05
"""Family-wise error rate over all runs of a phase."""

EARLY_ROUNDS = 3
"""Prompts of these first rounds are also tested alone, since a run that remembers only them errs at later ones."""

MAX_ANSWERS = 3
"""Maximum number of masks of a dialogue that are tested. Later masks depend mostly on the run's own prompts."""

_EXCLUSION_PX = 5.0
"""Pixels closer than this to a prompt that the run received are not tested, since that prompt explains them."""

_SPACING_PX = 5
"""Points of prompts are thinned until any two differ by at least this much in row or column, because
a scribble is one piece of evidence, not one per pixel."""

_CANDIDATES = 4096
"""Maximum number of pixels of a plane that are sampled as possible matches, per label."""

_MAX_MATCHES = 16
_MIN_MATCHES = 4

_DEPTH_CALIPER = 0.2
"""Maximum difference of log(1 + distance to the boundary) between a point and its matches."""

_PROMPT_CALIPER = 0.4
"""Maximum difference of log(1 + distance to the nearest received prompt); wider, because that
distance explains less."""

_PERMUTATIONS = 9_999


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A mask, and the prompts that its dialogue had received by then.

    Attributes:
        received: all prompts of the dialogue so far.
        predicted: the mask, or labels for several objects, in the shape of the target.
    """

    received: Sequence[Prompt]
    predicted: Mask | Labels


@dataclass(frozen=True, slots=True, kw_only=True)
class Excess:
    """How much more often a dialogue is right at points of other runs' prompts than at matched points.

    Attributes:
        mean: mean difference of the two shares of correct pixels, from -1 to 1.
        points: number of comparisons, one for each point and mask.
    """

    mean: float
    points: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DialogueExcess:
    """The comparisons of one dialogue; None where no point has enough matches.

    Attributes:
        early: comparisons at points of prompts of the first `EARLY_ROUNDS` rounds of other dialogues.
        every: comparisons at points of all prompts of other dialogues.
    """

    early: Excess | None
    every: Excess | None


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeTest:
    """The test of one run: the more significant of two tests, with Bonferroni's correction.

    One test is about prompts of the first rounds, the other about all prompts.

    Attributes:
        excess: mean difference over samples, from -1 to 1; 0 without samples.
        samples: number of samples with points to compare.
        points: number of comparisons.
        p: p-value of the one-sided permutation test over samples; 1 without samples.
    """

    excess: float
    samples: int
    points: int
    p: float


def excess_of_dialogue(
    target: Target,
    answers: Sequence[Answer],
    others: Sequence[Sequence[Sequence[Prompt]]],
    seed: int,
) -> DialogueExcess:
    """Compare how often a dialogue's masks are right at points of other runs' prompts and at matched points.

    Samples with a third axis are compared within planes of the first axis: slices, or frames of a video.

    Args:
        target: the target with its truth. Ignored pixels are neither points nor matches.
        answers: the first masks of a dialogue; at most `MAX_ANSWERS` are used.
        others: prompts of other dialogues about this target, by round. Clicks, scribbles and lassos have points;
            boxes and masks have none, because they mark areas.
        seed: seed for sampling the possible matches.
    """
    early: list[Prompt] = []
    every: list[Prompt] = []
    for rounds in others:
        for number, prompts in enumerate(rounds, start=1):
            every += prompts
            if number <= EARLY_ROUNDS:
                early += prompts
    return DialogueExcess(
        early=_excess(target, answers, early, seed), every=_excess(target, answers, every, seed)
    )


def read_answers(run: RunFolder, sample: str) -> list[tuple[str, list[Answer]]]:
    """Return (target, answers) for each dialogue of a run about a sample; answers are its first stored masks.

    Raises:
        StoreError: the folder is damaged.
    """
    index = run.samples.index(sample)
    dialogue_columns = ("target", "user", "repeat", "round")
    received: dict[tuple[str, str, int], dict[int, Sequence[Prompt]]] = {}
    records = run.read("records", (*dialogue_columns, "prompts"), only=[index])
    for target, user, repeat, round_, prompts in records.sort("round").iter_rows():
        points = [
            prompt
            for prompt in read_prompts(prompts or "[]")
            if isinstance(prompt, Click | Scribble | Lasso)
        ]
        received.setdefault((target, user, repeat), {})[round_] = points
    columns = (*dialogue_columns, "object", "rle", "shape")
    masks = run.read("masks", columns, only=[index])
    predicted: dict[tuple[str, str, int], dict[int, Labels]] = {}
    for target, user, repeat, round_, object_id, rle, shape in masks.iter_rows():
        by_round = predicted.setdefault((target, user, repeat), {})
        labels = by_round.setdefault(round_, np.zeros(tuple(shape), np.uint8))
        labels[decode_rle(rle, tuple(shape))] = object_id
    dialogues: list[tuple[str, list[Answer]]] = []
    for key, by_round in sorted(predicted.items()):
        answers: list[Answer] = []
        for round_ in sorted(by_round)[:MAX_ANSWERS]:
            earlier = [
                prompt
                for number, prompts in received.get(key, {}).items()
                if number <= round_
                for prompt in prompts
            ]
            answers.append(Answer(received=earlier, predicted=by_round[round_]))
        dialogues.append((key[0], answers))
    return dialogues


def measure_knowledge(by_sample: Mapping[str, Sequence[DialogueExcess]]) -> KnowledgeTest:
    """Test whether a run is right more often at points of other runs' prompts than at matched points.

    Targets of a sample share an image, so the samples are the units: the test permutes the signs of
    their mean differences. With n samples, p is at least about 2 ** (1 - n).
    """
    halves = [
        _permutation_test(
            {name: [found.early for found in each] for name, each in by_sample.items()}
        ),
        _permutation_test(
            {name: [found.every for found in each] for name, each in by_sample.items()}
        ),
    ]
    found = min(halves, key=lambda half: half.p)
    return replace(found, p=min(1.0, len(halves) * found.p))


def correct_over_runs(p_values: Sequence[float]) -> list[float]:
    """Return Holm's corrected p-values in the same order; they control the family-wise error rate."""
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


def _permutation_test(by_sample: Mapping[str, Sequence[Excess | None]]) -> KnowledgeTest:
    means: list[float] = []
    points = 0
    for name in sorted(by_sample):
        compared = [excess for excess in by_sample[name] if excess is not None]
        if compared:
            means.append(float(np.mean([excess.mean for excess in compared])))
            points += sum(excess.points for excess in compared)
    if not means:
        return KnowledgeTest(
            excess=0.0,
            samples=0,
            points=0,
            p=1.0,
        )
    observed = np.asarray(means)
    # A fixed seed, so that a repeated audit gives the same p.
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(_PERMUTATIONS, len(observed)))
    # Sums in another order differ in their last digits, but equal sums must count as equal.
    tolerance = 1e-9 * float(np.abs(observed).sum())
    at_least = int(np.count_nonzero(signs @ observed >= observed.sum() - tolerance))
    return KnowledgeTest(
        excess=float(observed.mean()),
        samples=len(means),
        points=points,
        # One is added to both counts because the observed signs are themselves one of the
        # permutations.
        p=(1 + at_least) / (1 + _PERMUTATIONS),
    )


def _excess(
    target: Target,
    answers: Sequence[Answer],
    others: Sequence[Prompt],
    seed: int,
) -> Excess | None:
    shape = target.mask.shape
    points_by_plane = _points_by_plane(others, shape)
    truth = _as_planes(np.asarray(target.mask).astype(np.uint8))
    ignored = None if target.ignore is None else _as_planes(target.ignore)
    tested = answers[:MAX_ANSWERS]
    predicted = [_as_planes(np.asarray(answer.predicted).astype(np.uint8)) for answer in tested]
    received = [_points_by_plane(answer.received, shape) for answer in tested]
    differences: list[float] = []
    for plane, points in points_by_plane.items():
        counted = np.ones(truth.shape[1:], np.bool_) if ignored is None else ~ignored[plane]
        differences += _plane_differences(
            truth[plane],
            [labels[plane] == truth[plane] for labels in predicted],
            [by_plane.get(plane) for by_plane in received],
            counted,
            points,
            np.random.default_rng((seed, plane)),
        )
    if not differences:
        return None
    return Excess(mean=float(np.mean(differences)), points=len(differences))


def _as_planes(labels: NDArray[np.generic]) -> NDArray[np.generic]:
    return labels if labels.ndim == 3 else labels[None]


def _points_by_plane(
    prompts: Iterable[Prompt], shape: tuple[int, ...]
) -> dict[int, NDArray[np.intp]]:
    """Return the pixels of prompts as (row, column) by plane, at least `_SPACING_PX` apart."""
    pixels: dict[int, list[tuple[int, int]]] = {}
    for prompt in prompts:
        if not isinstance(prompt, Click | Scribble | Lasso):
            continue
        for position in marked_places(prompt, shape).tolist():
            *plane, row, column = position
            pixels.setdefault(plane[0] if plane else 0, []).append((row, column))
    thinned: dict[int, NDArray[np.intp]] = {}
    for plane, found in pixels.items():
        kept: list[tuple[int, int]] = []
        for row, column in dict.fromkeys(found):
            nearest = min(
                (max(abs(row - other[0]), abs(column - other[1])) for other in kept),
                default=_SPACING_PX,
            )
            if nearest >= _SPACING_PX:
                kept.append((row, column))
        thinned[plane] = np.asarray(kept, np.intp)
    return thinned


def _plane_differences(
    truth: NDArray[np.generic],
    correct_by_answer: Sequence[NDArray[np.bool_]],
    received_by_answer: Sequence[NDArray[np.intp] | None],
    counted: NDArray[np.bool_],
    points: NDArray[np.intp],
    rng: np.random.Generator,
) -> list[float]:
    """Return correctness at each point of a plane minus the mean correctness at its matches, for each answer."""
    differences: list[float] = []
    for label in np.unique(truth[tuple(points.T)]):
        same_label = truth == label
        # Without another label there is no boundary, so the distance to it is undefined.
        if same_label.all():
            continue
        depth = np.log1p(ndimage.distance_transform_edt(same_label))
        at = points[same_label[tuple(points.T)] & counted[tuple(points.T)]]
        candidates = np.argwhere(same_label & counted)
        if len(candidates) > _CANDIDATES:
            candidates = candidates[rng.choice(len(candidates), _CANDIDATES, replace=False)]
        candidates = candidates[_distances(candidates, points) >= _EXCLUSION_PX]
        for correct, received in zip(correct_by_answer, received_by_answer, strict=True):
            differences += _label_differences(correct, received, depth, at, candidates)
    return differences


def _label_differences(
    correct: NDArray[np.bool_],
    received: NDArray[np.intp] | None,
    depth: NDArray[np.float64],
    points: NDArray[np.intp],
    candidates: NDArray[np.intp],
) -> list[float]:
    """Return, for each point, the answer's correctness (0 or 1) minus its mean correctness at matched candidates.

    Points and candidates have the same label. Points with too few matched candidates are left out.
    """
    point_gaps = _distances(points, received)
    candidate_gaps = _distances(candidates, received)
    if received is not None:
        is_far = candidate_gaps >= _EXCLUSION_PX
        candidates = candidates[is_far]
        candidate_gaps = candidate_gaps[is_far]
    candidate_depths = depth[tuple(candidates.T)]
    candidate_gaps = np.log1p(candidate_gaps)
    differences: list[float] = []
    for point, gap in zip(points, point_gaps, strict=True):
        if received is not None and gap < _EXCLUSION_PX:
            continue
        depth_apart = np.abs(candidate_depths - depth[tuple(point)])
        gap_apart = np.abs(candidate_gaps - np.log1p(gap))
        fits = np.flatnonzero((depth_apart <= _DEPTH_CALIPER) & (gap_apart <= _PROMPT_CALIPER))
        if len(fits) < _MIN_MATCHES:
            continue
        apart = depth_apart[fits] / _DEPTH_CALIPER + gap_apart[fits] / _PROMPT_CALIPER
        nearest = fits[np.argsort(apart, kind="stable")[:_MAX_MATCHES]]
        expected = correct[tuple(candidates[nearest].T)].mean()
        differences.append(float(correct[tuple(point)]) - float(expected))
    return differences


def _distances(pixels: NDArray[np.intp], prompts: NDArray[np.intp] | None) -> NDArray[np.float64]:
    """Return the distance of each pixel to the nearest prompt; 0 without prompts, so that all pixels match."""
    if prompts is None or not len(prompts):
        return np.zeros(len(pixels))
    if not len(pixels):
        return np.zeros(0)
    distances, _ = spatial.cKDTree(prompts).query(pixels)
    return np.asarray(distances, np.float64)

"""How much of the truth the scores of a test open: python tests/stress/score_oracle.py [DATASET] [--runs 3000].

An attacker has the prompts of one dialogue about each sample and never looks at a picture. It changes blocks at the
edge of the masks that these prompts suggest, sends run after run, and keeps a change where the shown score says that
the run is better. Scores are means of real IoU, shown by the server's own rules: the ladder, the number of repeats with
scores, and the digits. Without these protections the attack must succeed, or this script would prove nothing.

- `vernier`: one block of one mask changes at a time. Pixels that surely belong to another target are left out until the
  mean is just below an edge of rounding, so that a gain far below the last digit moves the shown score.
- `all at once`: a block of every mask changes, because a ladder notices no change of a single sample.
- `from below`: the first run leaves out pixels that are surely true. Each later one gives some back and changes a block
  of every mask, so that the changes decide whether the run is a step of the ladder.
- `grow and shrink`: all masks grow or shrink, the only change for which every sample may answer alike.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import ndimage

from segarena.dialogue import Prediction
from segarena.engine.session import Rules, Session
from segarena.multi_object import empty_comparison
from segarena.plugin_spec import PluginSpec
from segarena.records.configuration import DatasetRecord, PluginRecord
from segarena.registry import build
from segarena.reports.boards.extracts import Extract, TargetColumns
from segarena.reports.run_statistics import mean_over_targets
from segarena.roles import Statistic
from segarena.samples import Mask
from segarena_server.challenges.description import Phase
from segarena_server.challenges.ladder_mechanism import MAX_SCORED_REPEATS, is_step
from segarena_server.challenges.run_sizes import MAX_RANKED_RUNS
from segarena_server.challenges.score_visibility import is_on_ladder, shown_interval

ROUNDS = 10
LONGEST_SIDE = 96
"""Masks are subsampled to this size; an attack on more pixels needs more runs."""
BLOCK_SIDES = (4, 8, 16)
BAR = 0.01
MIN_GAIN_UNPROTECTED = 0.015
CAN_BE_STEPS = MAX_RANKED_RUNS + MAX_SCORED_REPEATS
"""Runs of a team about the same samples whose scores may be shown: at most so many, where a phase takes programs."""


@dataclass(frozen=True, slots=True)
class Truths:
    """The targets, and the masks that the prompts of one dialogue suggest."""

    truths: tuple[Mask, ...]
    blind: tuple[Mask, ...]


class Scores:
    """The scores that a team sees of its runs on the same samples.

    Args:
        targets: targets of a run, one for each sample.
        is_protected: whether the default rules of a test apply; else every score is shown, rounded to two decimals.
    """

    def __init__(self, targets: Truths, *, is_protected: bool) -> None:
        self._targets = targets
        self._is_protected = is_protected
        self._phase = Phase(name="test")
        self._extract = _extract_of(len(targets.truths))
        self._best: Extract | None = None
        self.runs = 0

    def send(self, masks: Sequence[Mask]) -> float | None:
        """Return the shown mean score of a run; None if it is withheld."""
        self.runs += 1
        values = tuple(map(iou, masks, self._targets.truths))
        extract = replace(self._extract, values={"u": {"IoU": values}})
        if self._is_protected and is_on_ladder(self._phase, is_repeat=self.runs > 1):
            if self.runs > CAN_BE_STEPS or not is_step(extract, self._best):
                return None
            self._best = extract
        keys = zip(extract.targets.sample, extract.targets.target, strict=True)
        interval = mean_over_targets(dict(zip(keys, values, strict=True)))
        shown = shown_interval(interval, self._phase, is_closed=not self._is_protected)
        return shown.mean


def vernier(
    scores: Scores, targets: Truths, runs: int, rng: np.random.Generator, side: int
) -> list[Mask]:
    """Change one block at a time, with the mean just below a rounding threshold."""
    masks = list(targets.blind)
    goal = scores.send(masks)
    if goal is None:
        return masks
    while scores.runs < runs:
        changed = int(rng.integers(len(masks)))
        ruler = (changed + 1) % len(masks)
        deep = _pixels_by_depth(masks[ruler])
        send = partial(_send_without, scores, ruler=ruler, deep=deep)
        removed = _edge_of_rounding(send, masks, goal, len(deep) // 2, scores, runs)
        for _ in range(40):
            if scores.runs >= runs:
                break
            tried = [*masks]
            tried[changed] = with_changed_block(masks[changed], side, rng)
            shown = send(tried, removed)
            if shown is not None and shown >= goal:
                masks = tried
                removed = _edge_of_rounding(send, masks, goal, len(deep) // 2, scores, runs)
    return masks


def all_at_once(
    scores: Scores, targets: Truths, runs: int, rng: np.random.Generator, side: int
) -> list[Mask]:
    """Change a block of every mask, and keep all changes of a run with a better score."""
    masks = list(targets.blind)
    best = scores.send(masks)
    while scores.runs < runs:
        tried = [with_changed_block(mask, side, rng) for mask in masks]
        shown = scores.send(tried)
        if shown is not None and (best is None or shown > best):
            masks = tried
            best = shown
    return masks


def from_below(
    scores: Scores, targets: Truths, runs: int, rng: np.random.Generator, side: int, step: float
) -> list[Mask]:
    """Leave much of every mask out at first, and give `step` of it back with each change of all blocks.

    What is given back is surely true, so that a run is near the edge of being a step of the ladder, and the changed
    blocks decide.
    """
    masks = list(targets.blind)
    left_out = 0.6
    scores.send([_without_depths(mask, left_out) for mask in masks])
    while scores.runs < runs:
        tried = [with_changed_block(mask, side, rng) for mask in masks]
        less = max(0.0, left_out - step)
        shown = scores.send([_without_depths(mask, less) for mask in tried])
        if shown is not None:
            masks = tried
            left_out = less
    return masks


def grow_and_shrink(
    scores: Scores, targets: Truths, runs: int, rng: np.random.Generator, side: int
) -> list[Mask]:
    """Grow or shrink all masks by some pixels, and keep the best."""
    best_masks = list(targets.blind)
    best = scores.send(best_masks)
    for radius in (1, -1, 2, -2, 3, -3, 4, -4, 6, -6, 8, -8)[: max(0, runs - 1)]:
        tried = [_grown(mask, radius) for mask in targets.blind]
        shown = scores.send(tried)
        if shown is not None and (best is None or shown > best):
            best_masks = tried
            best = shown
    return best_masks


ATTACKS: dict[str, Callable[..., list[Mask]]] = {
    "vernier": vernier,
    "all at once": all_at_once,
    "grow and shrink": grow_and_shrink,
}
for given_back in (0.003, 0.01, 0.03):
    ATTACKS[f"from below, {given_back:.3f}"] = partial(from_below, step=given_back)


def blind_targets(dataset_name: str, samples: int) -> Truths:
    """Return the largest target of each sample, and the blind mask after a dialogue with the default rules."""
    dataset = build("dataset", PluginSpec.of(dataset_name))
    segmenter = build("segmenter", PluginSpec.of("image-blind"))
    truths: list[Mask] = []
    blind: list[Mask] = []
    for name in list(dataset.sample_ids)[:samples]:
        sample = dataset.load(name)
        target = max(sample.targets, key=lambda target: int(target.mask.sum()))
        session = Session(
            rules=Rules(benchmark="", dataset="", metrics=(), rounds=ROUNDS),
            sample=sample,
            target=target,
            start=empty_comparison(sample, target),
            user=build("user", PluginSpec.of("centre")),
            user_name="centre",
        )
        mask = np.zeros(sample.shape, np.bool_)
        while (dialogue := session.next()) is not None:
            prediction = segmenter.predict(segmenter.encode(sample), [dialogue])[0]
            mask = np.asarray(prediction.mask, np.bool_)
            session.submit(Prediction(mask), 0.0)
        step = -(-max(sample.shape) // LONGEST_SIDE)
        truths.append(np.asarray(target.mask[::step, ::step], np.bool_))
        blind.append(mask[::step, ::step])
    return Truths(tuple(truths), tuple(blind))


def gain_of(
    attack: Callable[..., list[Mask]],
    targets: Truths,
    *,
    runs: int,
    seed: int,
    side: int,
    is_protected: bool,
) -> float:
    """Return the mean gain of IoU over the blind masks."""
    scores = Scores(targets, is_protected=is_protected)
    masks = attack(scores, targets, runs, np.random.default_rng(seed), side)
    return mean_iou(masks, targets) - mean_iou(targets.blind, targets)


def mean_iou(masks: Sequence[Mask], targets: Truths) -> float:
    """Return the mean IoU of masks and truths."""
    return float(np.mean(list(map(iou, masks, targets.truths))))


def iou(mask: Mask, truth: Mask) -> float:
    """Return the IoU of two masks; 1 where both are empty."""
    union = np.count_nonzero(mask | truth)
    return np.count_nonzero(mask & truth) / union if union else 1.0


def with_changed_block(mask: Mask, side: int, rng: np.random.Generator) -> Mask:
    """Return a mask with a block at its edge filled or emptied."""
    edge = np.argwhere(ndimage.binary_dilation(mask) ^ mask)
    changed = mask.copy()
    if not len(edge):
        return changed
    row, column = edge[rng.integers(len(edge))] - rng.integers(side, size=2)
    changed[max(0, row) : row + side, max(0, column) : column + side] = rng.random() < 0.5
    return changed


def _grown(mask: Mask, radius: int) -> Mask:
    if radius > 0:
        return ndimage.distance_transform_edt(~mask) <= radius
    return ndimage.distance_transform_edt(mask) > -radius


def _pixels_by_depth(mask: Mask) -> np.ndarray:
    """Return the pixels of a mask, (n, 2), the deepest first: these are the surest."""
    depth = ndimage.distance_transform_edt(mask)
    pixels = np.argwhere(mask)
    return pixels[np.argsort(-depth[mask], kind="stable")]


def _without_depths(mask: Mask, share: float) -> Mask:
    """Return a mask without a share of its pixels, the deepest ones."""
    deep = _pixels_by_depth(mask)
    rest = mask.copy()
    rest[tuple(deep[: round(share * len(deep))].T)] = False
    return rest


def _send_without(
    scores: Scores, masks: Sequence[Mask], removed: int, ruler: int, deep: np.ndarray
) -> float | None:
    """Send a run in which the ruler lacks its `removed` deepest pixels."""
    sent = [*masks]
    sent[ruler] = masks[ruler].copy()
    sent[ruler][tuple(deep[:removed].T)] = False
    return scores.send(sent)


def _edge_of_rounding(
    send: Callable[[Sequence[Mask], int], float | None],
    masks: Sequence[Mask],
    goal: float,
    most: int,
    scores: Scores,
    runs: int,
) -> int:
    """Return the least number of removed pixels for which the shown score is below the goal."""
    low = 0
    high = most
    while low < high and scores.runs < runs:
        middle = (low + high) // 2
        shown = send(masks, middle)
        if shown is not None and shown >= goal:
            low = middle + 1
        else:
            high = middle
    return low


def _extract_of(samples: int) -> Extract:
    """Return the extract of a complete run without values."""
    names = tuple(f"sample {number}" for number in range(samples))
    nothing = ("",) * samples
    return Extract(
        rules={},
        words=("round", "target", "sample"),
        decides="IoU",
        summary=(Statistic(name="IoU", kind="last", higher_is_better=True),),
        definitions={},
        segmenter=PluginRecord(kind="segmenter", name="x", options={}),
        ignores_image=False,
        users=("u",),
        created="",
        dataset=DatasetRecord(kind="dataset", name="d", options={}, fingerprint="", samples=()),
        finished="",
        samples=samples,
        done=samples,
        failures={},
        seconds={},
        targets=TargetColumns(
            sample=names, target=nothing, label=nothing, attributes=({},) * samples
        ),
        values={},
    )


def main() -> None:
    """Print the gains; exit 1 if a protected score opens more than `BAR`, or the attacks fail without protection."""
    parser = argparse.ArgumentParser()
    parser.add_argument("dataset", nargs="?", default="demo")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--blocks", type=int, nargs="+", default=BLOCK_SIDES)
    options = parser.parse_args()
    targets = blind_targets(options.dataset, options.samples)
    print(
        f"{len(targets.truths)} targets of {options.dataset}, blind IoU "
        f"{mean_iou(targets.blind, targets):.3f} after {ROUNDS} clicks"
    )
    highest = dict.fromkeys((False, True), -1.0)
    for name, attack in ATTACKS.items():
        for side in options.blocks:
            if attack is grow_and_shrink and side != options.blocks[0]:
                continue
            is_for_ladder = name.startswith("from below")
            line = f"{name:19} blocks of {side:2}"
            for is_protected in (True,) if is_for_ladder else (False, True):
                # Later runs show nothing, whatever their number.
                runs = CAN_BE_STEPS + 1 if is_protected else options.runs
                seeds = range(options.seeds) if is_protected else range(1)
                gains: list[float] = []
                for seed in seeds:
                    gain = gain_of(
                        attack, targets, runs=runs, seed=seed, side=side, is_protected=is_protected
                    )
                    gains.append(gain)
                mean = float(np.mean(gains))
                highest[is_protected] = max(highest[is_protected], mean)
                what = "by default" if is_protected else "every score shown"
                line += f"   {what}, {runs} runs: {mean:+.4f}"
            print(line, flush=True)
    is_bounded = highest[True] <= BAR and highest[False] >= MIN_GAIN_UNPROTECTED
    print(
        f"most: {highest[True]:+.4f} by default (at most {BAR:+.2f}), {highest[False]:+.4f} with every score shown "
        f"(at least {MIN_GAIN_UNPROTECTED:+.3f})"
    )
    raise SystemExit(not is_bounded)


if __name__ == "__main__":
    main()

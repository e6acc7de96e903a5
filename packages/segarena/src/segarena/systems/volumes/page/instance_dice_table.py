"""Instance Dice paired by prompt and matched as published, from the predictions that a run kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from segarena.reports.gallery import open_run_dataset
from segarena.reports.recorded_run import DialogueRecord, Run
from segarena.reports.sheets import Cell, Sheet, Value
from segarena.roles import Dataset
from segarena.samples import Mask
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.volumes.measures.instance_dice import count_instances, lw_dice, paired_dice

MOST_CASES = 60
"""Cases that are loaded again for this; with more the table is left out."""


def instances_sheet(runs: Sequence[Run]) -> tuple[Sheet | None, str]:
    """Return the table and a line about what keeps it away; both empty when no case has two targets of a class."""
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        groups = _groups(run)
        if not groups:
            continue
        if len({sample for sample, _ in groups}) > MOST_CASES:
            return (
                None,
                f"Instances were not matched: that would take loading more than {MOST_CASES} cases.",
            )
        dataset, problem = open_run_dataset(run)
        if dataset is None or problem:
            return None, f"Instances cannot be matched as published without the targets. {problem}"
        try:
            rows += _rows(run, groups, dataset)
        except (
            Exception
        ) as error:  # a dataset is foreign code; without it the report still has its numbers
            return (
                None,
                f"Instances cannot be matched as published: {type(error).__name__}: {error}",
            )
    if not rows:
        return None, ""
    head = (
        "Prompts",
        "Segmenter",
        "Groups",
        "Paired by prompt",
        "Matched, empty ignored",
        "Matched as published",
    )
    notes = (
        "A group is two or more targets of one class in one case. Paired: each target is held against the prediction "
        "made for it. Matched: predictions and targets are paired so that the sum of Dice is largest, and whatever is "
        "left over counts 0; as published, empty predictions count 0 once more.",
    )
    caption = "Dice of instances after the last round, three ways."
    return Sheet(name="instances", caption=caption, head=head, rows=tuple(rows), notes=notes), ""


def _groups(run: Run) -> dict[tuple[str, str], list[str]]:
    """Return the targets of each class of a case that has two or more, by (sample, class)."""
    found: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for dialogue in run.finished():
        found[(dialogue.sample, target_class(dialogue))][dialogue.target] = None
    return {key: list(targets) for key, targets in found.items() if len(targets) > 1}


def target_class(dialogue: DialogueRecord) -> str:
    """Return the class of a dialogue's target: its attribute "class", else its label."""
    return str(dialogue.attributes.get("class") or dialogue.label or "no name")


def _rows(
    run: Run, groups: dict[tuple[str, str], list[str]], dataset: Dataset
) -> list[tuple[Cell, ...]]:
    values: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for sample in dict.fromkeys(sample for sample, _ in groups):
        masks = {target.id: target.mask > 0 for target in dataset.load(sample).targets}
        for user in run.users:
            for (of, _), targets in groups.items():
                if of == sample:
                    predictions = [_last_mask(run, sample, target, user) for target in targets]
                else:
                    predictions = []
                kept = [mask for mask in predictions if mask is not None]
                if kept and len(kept) == len(targets):
                    values[user].append(_three_ways(kept, [masks[target] for target in targets]))
    return [(user, run.segmenter, len(found), *_means(found)) for user, found in values.items()]


def _last_mask(run: Run, sample: str, target: str, user: str) -> Mask | None:
    kept = run.masks((sample, target, user, 0))
    return kept[max(kept)] > 0 if kept else None


def _three_ways(predictions: Sequence[Mask], targets: Sequence[Mask]) -> tuple[float, float, float]:
    counts = count_instances(predictions, targets)
    return (
        float(paired_dice(counts).mean()),
        lw_dice(counts),
        lw_dice(counts, empty_predictions="published"),
    )


def _means(found: Sequence[tuple[float, float, float]]) -> list[Value]:
    columns = np.array(found).T
    intervals = [bootstrap_mean(column[np.isfinite(column)]) for column in columns]
    return [Value(mean=i.mean, low=i.low, high=i.high) for i in intervals]

"""Table of instance Dice, paired by prompt and matched as published, from the stored predictions of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from segarena.reports.cells import Cell, Value
from segarena.reports.dialogue_gallery import open_run_dataset
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.sheets import Sheet
from segarena.roles import Dataset
from segarena.samples import Mask
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.volumes.measures.instance_dice import count_instances, lw_dice, paired_dice

MOST_CASES = 60
"""Maximum number of cases to load again; with more, the report omits the table."""


def instances_sheet(runs: Sequence[Run]) -> tuple[Sheet | None, str]:
    """Return the table, and the reason if it is absent.

    There is neither a table nor a reason if no case has two targets of a class with stored
    predictions.
    """
    rows: list[tuple[Cell, ...]] = []
    for run in runs:
        groups = _group_instances(run)
        if not groups:
            continue
        if len({sample for sample, _ in groups}) > MOST_CASES:
            return (
                None,
                f"Instances were not matched, because this would require loading more than {MOST_CASES} cases.",
            )
        dataset, problem = open_run_dataset(run)
        if dataset is None or problem:
            return None, f"Instances cannot be matched as published without the targets. {problem}"
        # A dataset is third-party code, which may raise anything; the report still has its other
        # tables.
        try:
            rows += _rows(run, groups, dataset)
        except Exception as error:
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
        "A group is two or more targets of one class in one case. Paired: each target is compared with the prediction "
        "made for it. Matched: predictions and targets are paired to maximize the sum of Dice, and anything without a "
        "partner counts 0; as published, empty predictions count 0 a second time.",
    )
    caption = "Dice of instances after the last round, by three definitions."
    return Sheet(
        name="instances",
        caption=caption,
        head=head,
        rows=tuple(rows),
        notes=notes,
    ), ""


def _group_instances(run: Run) -> dict[tuple[str, str], list[str]]:
    """Return the targets of each class that has at least two targets in a case, by (sample, class)."""
    # Dictionaries serve as ordered sets.
    targets_by_class: defaultdict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for dialogue in run.finished():
        key = (dialogue.sample, target_class(dialogue))
        targets_by_class[key][dialogue.target] = None
    groups: dict[tuple[str, str], list[str]] = {}
    for key, targets in targets_by_class.items():
        if len(targets) > 1:
            groups[key] = list(targets)
    return groups


def target_class(dialogue: DialogueRecord) -> str:
    """Return the class of a dialogue's target: its attribute "class", or otherwise its label."""
    return str(dialogue.attributes.get("class") or dialogue.label or "no name")


def _rows(
    run: Run,
    groups: dict[tuple[str, str], list[str]],
    dataset: Dataset,
) -> list[tuple[Cell, ...]]:
    groups_by_sample: defaultdict[str, list[list[str]]] = defaultdict(list)
    for (sample, _), targets in groups.items():
        groups_by_sample[sample].append(targets)
    values: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for sample, sample_groups in groups_by_sample.items():
        # Each case is loaded once, for all users.
        masks = {target.id: target.mask > 0 for target in dataset.load(sample).targets}
        for user in run.users:
            for targets in sample_groups:
                predictions = _last_masks(run, sample, targets, user)
                if predictions:
                    group_masks = [masks[target] for target in targets]
                    values[user].append(_instance_dice(predictions, group_masks))
    rows: list[tuple[Cell, ...]] = []
    for user, found in values.items():
        rows.append((user, run.segmenter, len(found), *_mean_columns(found)))
    return rows


def _last_masks(
    run: Run,
    sample: str,
    targets: Sequence[str],
    user: str,
) -> list[Mask]:
    """Return the last stored prediction of each target, or an empty list if any target has none."""
    predictions: list[Mask] = []
    for target in targets:
        by_round = run.masks((sample, target, user, 0))
        if not by_round:
            return []
        predictions.append(by_round[max(by_round)] > 0)
    return predictions


def _instance_dice(
    predictions: Sequence[Mask], targets: Sequence[Mask]
) -> tuple[float, float, float]:
    """Return mean Dice paired by prompt, matched without empty predictions, and matched as published."""
    counts = count_instances(predictions, targets)
    paired = float(paired_dice(counts).mean())
    matched = lw_dice(counts)
    matched_as_published = lw_dice(counts, empty_predictions="published")
    return paired, matched, matched_as_published


def _mean_columns(found: Sequence[tuple[float, float, float]]) -> list[Value]:
    values: list[Value] = []
    for column in np.array(found).T:
        finite = column[np.isfinite(column)]
        interval = bootstrap_mean(finite)
        values.append(Value(mean=interval.mean, low=interval.low, high=interval.high))
    return values

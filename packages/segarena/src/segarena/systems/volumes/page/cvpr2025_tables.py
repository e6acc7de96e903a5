"""The values of the CVPR 2025 challenge: those of cases, made of the recorded rounds of their classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.reports.recorded_run import DialogueRecord, Run
from segarena.reports.sheets import Cell, Sheet, Value
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.volumes.measures.cvpr2025_scores import CaseScores, score_case

CASE_MEASURES = ("dsc_auc", "nsd_auc", "dsc_final", "nsd_final")
TIME_LIMIT_S = 90.0
"""Official scores are 0 for classes that take longer; the script only warns."""


def is_cvpr2025(run: Run) -> bool:
    """Tell whether a run followed the challenge's rules, with all of its steps."""
    rules = run.config.benchmark
    return rules.name == "cvpr2025" and run.rounds == int(rules.options["steps"]) - (
        not rules.options["box"]
    )


def challenge_sheets(runs: Sequence[Run]) -> list[Sheet]:
    """Return the challenge's values, and Dice and NSD of every step, as means over cases."""
    scores = [(run, list(score_cases(run).values())) for run in runs]
    if any(cases for _, cases in scores):
        return [_final_sheet(scores), *_step_sheets(scores)]
    return []


def score_cases(run: Run) -> dict[str, CaseScores]:
    """Return what the challenge's script would make of each case, repeats averaged.

    A class that failed has 0 from the failed step on, a case that could not be used 0 throughout; a class that was
    solved holds its value. Without a box, step 0 is 0.
    """
    groups: defaultdict[tuple[str, int], list[DialogueRecord]] = defaultdict(list)
    for dialogue in run.dialogues:
        groups[dialogue.sample, dialogue.key[3]].append(dialogue)
    steps = int(run.config.benchmark.options["steps"])
    found: defaultdict[str, list[CaseScores]] = defaultdict(list)
    for (sample, _), group in groups.items():
        dice = [_steps(dialogue, "dice", run.rounds, steps) for dialogue in group]
        nsd = [_steps(dialogue, "nsd", run.rounds, steps) for dialogue in group]
        found[sample].append(score_case(dice, nsd))
    means: dict[str, CaseScores] = {}
    for sample, repeats in found.items():
        dsc = [one.dsc for one in repeats]
        nsd = [one.nsd for one in repeats]
        means[sample] = CaseScores(np.mean(dsc, axis=0), np.mean(nsd, axis=0))
    return means


def _steps(dialogue: DialogueRecord, metric: str, rounds: int, steps: int) -> NDArray[np.float64]:
    values = dialogue.values.get(metric, ())[:rounds]
    after = values[-1] if values and dialogue.failure is None else 0.0
    not_run = [0.0] * (steps - rounds)
    return np.array([*not_run, *values, *[after] * (rounds - len(values))])


def _final_sheet(scores: Sequence[tuple[Run, list[CaseScores]]]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for run, cases in scores:
        values = (_mean([getattr(case, name) for case in cases]) for name in CASE_MEASURES)
        rows.append((run.label, len(cases), *values, count_slow_classes(run)))
    notes = (
        "Computed as in the challenge's script: the mean over the classes of a case, then over cases. NSD is 0 in "
        "steps whose Dice is not above 0.2; AUC is the area over the last five steps, at most 4; final means after the "
        f"fifth click; failures count 0. Officially, classes that take longer than {TIME_LIMIT_S:g} s count 0; here they "
        "keep their value. Brackets hold 95 % intervals over cases.",
    )
    return Sheet(
        name="cvpr2025",
        caption="CVPR 2025 challenge: means over cases.",
        head=(
            "Segmenter",
            "Cases",
            "DSC AUC",
            "NSD AUC",
            "DSC final",
            "NSD final",
            f"Classes beyond {TIME_LIMIT_S:g} s",
        ),
        rows=tuple(rows),
        notes=notes,
    )


def _step_sheets(scores: Sequence[tuple[Run, list[CaseScores]]]) -> list[Sheet]:
    steps = int(scores[0][0].config.benchmark.options["steps"])
    made: list[Sheet] = []
    for name, title in (("dsc", "DSC"), ("nsd", "NSD")):
        rows: list[tuple[Cell, ...]] = []
        for run, cases in scores:
            of_steps = zip(*(getattr(case, name) for case in cases), strict=True)
            rows.append((run.label, *map(_mean, of_steps)))
        head = ("Segmenter", "Box", *(f"Click {step}" for step in range(1, steps)))
        made.append(
            Sheet(
                name=f"cvpr2025-{name}",
                caption=f"{title} after each step.",
                head=head,
                rows=tuple(rows),
            )
        )
    return made


def count_slow_classes(run: Run) -> int:
    """Return how many classes of cases took longer than the challenge allows, their share of the encoder included."""
    rows = run.timings
    encoder = (
        rows.filter(round=0).group_by("sample").agg(pl.col("predict_s").sum().alias("encode_s"))
    )
    classes = (
        rows.filter(pl.col("round") > 0)
        .group_by("sample", "target", "repeat")
        .agg(pl.col("predict_s").sum())
    )
    joined = classes.join(encoder, on="sample", how="left").with_columns(
        pl.col("encode_s").fill_null(0.0)
    )
    shared = pl.col("encode_s") / pl.len().over("sample")
    return joined.filter(pl.col("predict_s") + shared > TIME_LIMIT_S).height


def _mean(values: Sequence[float]) -> Value:
    finite = [value for value in values if np.isfinite(value)]
    interval = bootstrap_mean(finite)
    return Value(mean=interval.mean, low=interval.low, high=interval.high)

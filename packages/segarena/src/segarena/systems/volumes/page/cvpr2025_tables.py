"""Tables of the CVPR 2025 challenge: case scores, computed from the recorded rounds of their classes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from segarena.reports.cells import Cell, Column, Value
from segarena.reports.recorded_run import Run
from segarena.reports.round_table import DialogueRecord
from segarena.reports.sheets import Sheet
from segarena.statistics.intervals import bootstrap_mean
from segarena.systems.volumes.measures.cvpr2025_scores import CaseScores, score_case

CASE_MEASURES = ("dsc_auc", "nsd_auc", "dsc_final", "nsd_final")
TIME_LIMIT_S = 90.0
"""Time limit in seconds per class. The official score is 0 for slower classes; the script only warns."""


def is_cvpr2025(run: Run) -> bool:
    """Return whether a run used the benchmark `cvpr2025` with all steps of the challenge."""
    rules = run.config.benchmark
    if rules.name != "cvpr2025":
        return False
    # Step 0 is the box, so without a box it is not run.
    box_steps = 0 if rules.options["box"] else 1
    return run.rounds == int(rules.options["steps"]) - box_steps


def challenge_sheets(runs: Sequence[Run]) -> list[Sheet]:
    """Return tables of the challenge's scores, and of Dice and NSD after every step, as means over cases."""
    scores: list[tuple[Run, list[CaseScores]]] = []
    for run in runs:
        cases = list(score_cases(run).values())
        scores.append((run, cases))
    if not any(cases for _, cases in scores):
        return []
    return [_final_sheet(scores), *_step_sheets(scores)]


def score_cases(run: Run) -> dict[str, CaseScores]:
    """Return the scores of each case as the challenge's script computes them, averaged over repeats.

    A failed class scores 0 from the failed step on, a case that could not be loaded scores 0
    throughout, and a perfectly segmented class keeps its value. Without a box, step 0 scores 0.
    """
    groups: defaultdict[tuple[str, int], list[DialogueRecord]] = defaultdict(list)
    for dialogue in run.dialogues:
        _, _, _, repeat = dialogue.key
        groups[dialogue.sample, repeat].append(dialogue)
    steps = int(run.config.benchmark.options["steps"])
    by_sample: defaultdict[str, list[CaseScores]] = defaultdict(list)
    for (sample, _), group in groups.items():
        dice = [_step_values(dialogue, "dice", run.rounds, steps) for dialogue in group]
        nsd = [_step_values(dialogue, "nsd", run.rounds, steps) for dialogue in group]
        by_sample[sample].append(score_case(dice, nsd))
    means: dict[str, CaseScores] = {}
    for sample, repeats in by_sample.items():
        mean_dsc = np.mean([scores.dsc for scores in repeats], axis=0)
        mean_nsd = np.mean([scores.nsd for scores in repeats], axis=0)
        means[sample] = CaseScores(mean_dsc, mean_nsd)
    return means


def _step_values(
    dialogue: DialogueRecord,
    metric: str,
    rounds: int,
    steps: int,
) -> NDArray[np.float64]:
    """Return the value of a metric after each step of the challenge, (steps,)."""
    values = dialogue.values.get(metric, ())[:rounds]
    # A failed class scores 0 from the failed step on, like a missing output in the script.
    last_value = values[-1] if values and dialogue.failure is None else 0.0
    # Without a box, the script skips step 0 and scores it 0.
    skipped_steps = [0.0] * (steps - rounds)
    # The script gives no further click to a perfect class and scores the same prediction again.
    later_steps = [last_value] * (rounds - len(values))
    return np.array([*skipped_steps, *values, *later_steps])


def _final_sheet(scores: Sequence[tuple[Run, list[CaseScores]]]) -> Sheet:
    rows: list[tuple[Cell, ...]] = []
    for run, cases in scores:
        values: list[Value] = []
        for name in CASE_MEASURES:
            of_cases = [getattr(case, name) for case in cases]
            values.append(_mean_with_interval(of_cases))
        rows.append((run.label, len(cases), *values, count_slow_classes(run)))
    notes = (
        "Computed as in the challenge's script: the mean over the classes of a case, then over cases. NSD is 0 in "
        "steps whose Dice is not above 0.2; AUC is the area over the last five steps, at most 4; final means after the "
        "fifth click; failures count 0. In the official ranking, classes that take longer than "
        f"{TIME_LIMIT_S:g} s count 0; here they keep their value. Brackets hold 95 % intervals over cases.",
    )
    return Sheet(
        name="cvpr2025",
        caption="CVPR 2025 challenge: means over cases.",
        head=(
            "Segmenter",
            "Cases",
            Column("DSC AUC (at most 4)", "interval", key="DSC AUC"),
            Column("NSD AUC (at most 4)", "interval", key="NSD AUC"),
            "DSC final",
            "NSD final",
            f"Classes slower than {TIME_LIMIT_S:g} s",
        ),
        rows=tuple(rows),
        notes=notes,
    )


def _step_sheets(scores: Sequence[tuple[Run, list[CaseScores]]]) -> list[Sheet]:
    first_run, _ = scores[0]
    steps = int(first_run.config.benchmark.options["steps"])
    clicks = [f"Click {step}" for step in range(1, steps)]
    sheets: list[Sheet] = []
    for name, title in (("dsc", "DSC"), ("nsd", "NSD")):
        rows: list[tuple[Cell, ...]] = []
        for run, cases in scores:
            curves = [getattr(case, name) for case in cases]
            means = [_mean_with_interval(values) for values in zip(*curves, strict=True)]
            rows.append((run.label, *means))
        sheet = Sheet(
            name=f"cvpr2025-{name}",
            caption=f"{title} after each step.",
            head=("Segmenter", "Box", *clicks),
            rows=tuple(rows),
        )
        sheets.append(sheet)
    return sheets


def count_slow_classes(run: Run) -> int:
    """Return how many classes exceeded the time limit, with the encoder's time divided among the classes."""
    timings = run.timings
    predict_s = pl.col("predict_s")
    # Round 0 is the encoder pass, which all classes of a case share.
    encoder_s = predict_s.sum().alias("encode_s")
    encoder = timings.filter(round=0).group_by("sample").agg(encoder_s)
    rounds = timings.filter(pl.col("round") > 0)
    classes = rounds.group_by("sample", "target", "repeat").agg(predict_s.sum())
    joined = classes.join(encoder, on="sample", how="left")
    # For samples without a recorded encoder pass, only the rounds count.
    joined = joined.with_columns(pl.col("encode_s").fill_null(0.0))
    encoder_share = pl.col("encode_s") / pl.len().over("sample")
    slow = joined.filter(predict_s + encoder_share > TIME_LIMIT_S)
    return slow.height


def _mean_with_interval(values: Sequence[float]) -> Value:
    finite = [value for value in values if np.isfinite(value)]
    interval = bootstrap_mean(finite)
    return Value(mean=interval.mean, low=interval.low, high=interval.high)

"""Extracts of made-up runs for boards."""

import numpy as np

from segarena.records.configuration import DatasetRecord, PluginRecord
from segarena.reports.boards.extracts import Extract, MeanCurve, TargetColumns, extract_text
from segarena.roles import Statistic

BASE = np.random.default_rng(3).uniform(0.4, 0.8, 40)


def extract(values):
    """Return the extract of a run with a value for each sample."""
    names, nothing = tuple(f"s{number}" for number in range(len(values))), ("",) * len(values)
    statistic = Statistic(name="S", kind="auc", higher_is_better=True)
    made = Extract(
        rules={"name": "clicks"}, words=("round", "target", "sample"), decides="S", summary=(statistic,),
        definitions={"S": ""}, segmenter=PluginRecord(kind="segmenter", name="x", options={}), ignores_image=False,
        users=("u",), created="", finished="", samples=len(names), done=len(names), failures={"u": 0},
        dataset=DatasetRecord(kind="dataset", name="d", options={}, fingerprint="", samples=()), seconds={"u": 0.1},
        targets=TargetColumns(sample=names, target=nothing, label=nothing, attributes=({},) * len(names)),
        values={"u": {"S": tuple(map(float, values))}},
        curves={"u": {"iou": MeanCurve(mean=(0.5,), low=(0.4,), high=(0.6,))}},
    )  # fmt: skip
    return extract_text(made)


def noisy(gain=0.0, seed=0):
    return BASE + gain + np.random.default_rng(seed).normal(0, 0.05, len(BASE))

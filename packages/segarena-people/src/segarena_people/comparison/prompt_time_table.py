"""Table of people's measured and predicted prompting times, to show whether the predictions are calibrated."""

from __future__ import annotations

import math
from collections.abc import Sequence

from segarena.reports.cells import Cell, Column, Value, p_value_text
from segarena.reports.sheets import Sheet
from segarena.reports.wording import seconds_text
from segarena.users.habits.prompt_time import PromptTimeModel
from segarena_people.comparison.results import AnswerScope
from segarena_people.measures.time_calibration import TimeCalibration, calibrate_times
from segarena_people.prompts import PersonPrompt

FEWEST_TIMED = 10
"""Scopes with fewer timed prompts are omitted."""


def prompt_time_sheet(answers: Sequence[tuple[AnswerScope, Sequence[PersonPrompt]]]) -> Sheet:
    """Tabulate measured and predicted seconds, one row for each scope with enough timed prompts.

    Args:
        answers: people's prompts in each scope.
    """
    habits = PromptTimeModel().habits
    timed: list[tuple[AnswerScope, TimeCalibration]] = []
    for scope, prompts in answers:
        with_points = [prompt for prompt in prompts if prompt.points]
        timed.append((scope, calibrate_times(with_points, habits)))
    rows: list[tuple[Cell, ...]] = []
    for scope, found in timed:
        if len(found.seconds) >= FEWEST_TIMED:
            rows.append((scope.title, *_cells(found)))
    head = (
        "Answers",
        Column(
            "Median",
            "number",
            key="median",
            definition="people's median seconds, from the moment a prompt was allowed",
        ),
        Column(
            "Predicted", "number", key="predicted", definition="median seconds that reports predict"
        ),
        Column(
            "From uniform",
            "number",
            key="uniform",
            definition="KS distance of the predicted probabilities of people's seconds from the uniform distribution",
        ),
        Column("p", "text"),
        Column("n", "number"),
    )
    caption = "Seconds that people took for prompts, and the seconds that reports predict for the same prompts."
    notes = (
        "From uniform: if the prediction is right, its probabilities of people's seconds are uniformly distributed. "
        "p assumes independent prompts, but prompts by the same person are dependent.",
    )
    return Sheet(
        name="seconds",
        caption=caption,
        head=head,
        rows=tuple(rows),
        notes=notes,
    )


def _cells(found: TimeCalibration) -> tuple[Cell, ...]:
    distance, p_value = found.uniform()
    return (
        _seconds(found.median_s),
        _seconds(found.predicted_s),
        Value(mean=distance, decimals=2),
        p_value_text(p_value),
        len(found.seconds),
    )


def _seconds(value: float) -> Value:
    printed = "–" if math.isnan(value) else seconds_text(value)
    return Value(mean=value, printed=printed)

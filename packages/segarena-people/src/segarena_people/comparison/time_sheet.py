"""Sheet of people's seconds beside those that reports predict: it tells whether predictions are calibrated."""

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
"""Scopes with fewer timed prompts are not shown."""


def prompt_time_sheet(answers: Sequence[tuple[AnswerScope, Sequence[PersonPrompt]]]) -> Sheet:
    """Return the sheet of seconds, a row for each scope with enough timed prompts.

    Args:
        answers: people's prompts in each scope.
    """
    habits = PromptTimeModel().habits
    timed = [
        (scope, calibrate_times([row for row in rows if row.points], habits))
        for scope, rows in answers
    ]
    rows = tuple(
        (scope.title, *_cells(found))
        for scope, found in timed
        if len(found.seconds) >= FEWEST_TIMED
    )
    head = (
        "Answers",
        Column(
            "Median",
            "number",
            key="median",
            definition="of people's seconds, from when a prompt was allowed",
        ),
        Column("Predicted", "number", key="predicted", definition="median, as reports predict it"),
        Column(
            "From uniform",
            "number",
            key="uniform",
            definition="KS of the shares at which people's seconds lie",
        ),
        Column("p", "text"),
        Column("n", "number"),
    )
    caption = "Seconds of people, beside what reports predict for their prompts."
    notes = (
        "From uniform: of a prediction that is right, people's seconds lie at every share of it alike. "
        "p takes prompts for independent; those of one person are not.",
    )
    return Sheet(name="seconds", caption=caption, head=head, rows=rows, notes=notes)


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
    return Value(mean=value, printed="–" if math.isnan(value) else seconds_text(value))

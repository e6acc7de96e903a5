from __future__ import annotations

import numpy as np
import pytest

from segarena_people.comparison.prompt_time_table import prompt_time_sheet
from segarena_people.comparison.results import AnswerScope
from segarena_people.prompts import PersonPrompt, PointerSample


def clicks(seconds):
    return [
        PersonPrompt(
            id=str(number), study="s", dataset="d", sample=str(number), target="t", width=100, height=100, kind="click",
            points=(PointerSample(stroke=0, x=50.0, y=50.0, time_ms=1000 * took),),
        )
        for number, took in enumerate(seconds)
    ]  # fmt: skip


def test_seconds_stand_beside_what_is_predicted_where_they_are_known():
    scope = AnswerScope(kind="click")
    slow = clicks(np.linspace(29, 31, 21))
    unknown = clicks(np.zeros(21))
    (row,) = prompt_time_sheet([(scope, [*slow, *unknown]), (scope, slow[:9])]).rows
    assert row[0] == "first clicks"
    assert row[1].mean == pytest.approx(30)
    # 2.4 s for the first point on an object (Bearman 2016).
    assert row[2].mean == pytest.approx(2.4, abs=0.3)
    assert row[3].mean > 0.9
    assert row[4] == "p < 0.001"
    assert row[5] == 21

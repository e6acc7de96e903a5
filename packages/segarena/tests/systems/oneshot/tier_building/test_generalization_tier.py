from __future__ import annotations

import numpy as np
import pytest

from segarena.errors import InvalidInput
from segarena.systems.oneshot.tier_building.generalization_tier import (
    read_name_list,
    select_classes,
    write_class_lists,
)


def kept(*given, **how):
    return {verdict.label for verdict in select_classes(*given, **how) if verdict.keep}


def test_classes_called_like_training_classes_go():
    classes = ["passenger_car", "cars", "aeroplanes", "abacus", "bicyle", "carrot"]
    assert kept(classes, ["car", "aeroplane", "bicycle"]) == {"abacus", "carrot"}


def test_classes_that_look_like_training_classes_go():
    looks = {
        "abacus": np.array([1.0, 0.1]),
        "sundial": np.array([0.0, 1.0]),
        "chair": np.array([5.0, 0.0]),
    }
    assert kept(["abacus", "sundial"], ["chair"], looks=looks) == {"sundial"}
    assert kept(["abacus", "sundial"], ["chair"], looks=looks, looks_alike=1.0) == {
        "abacus",
        "sundial",
    }


def test_a_person_has_the_last_word(tmp_path):
    verdicts = select_classes(["car", "abacus"], ["car"], keep=["car"], drop=["abacus"])
    assert {verdict.label: verdict.keep for verdict in verdicts} == {"abacus": False, "car": True}
    with pytest.raises(InvalidInput, match="in the keep list and in the drop list"):
        select_classes(["car"], [], keep=["car"], drop=["car"])


def test_lists_are_written_with_reasons_and_read_again(tmp_path):
    verdicts = select_classes(["sports car", "abacus", "c#1"], ["car"])
    write_class_lists(verdicts, tmp_path)
    assert read_name_list(tmp_path / "keep.txt") == ["abacus", "c#1"]
    assert read_name_list(tmp_path / "drop.txt") == ["sports car"]
    assert "shares the word 'car' with training class car" in (tmp_path / "drop.txt").read_text()
    with pytest.raises(InvalidInput, match="expected a list of classes"):
        read_name_list(tmp_path / "none.txt")

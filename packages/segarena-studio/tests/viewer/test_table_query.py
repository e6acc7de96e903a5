"""Queries of a table, compared with plain Python over its rows."""

import polars as pl
import pytest

from segarena.errors import InvalidInput
from segarena_studio.viewer.table_query import Condition, TableQuery

ROWS = [
    {"name": "Cat", "iou": 0.9, "failure": None},
    {"name": "dog", "iou": None, "failure": "out of memory"},
    {"name": "catfish", "iou": 0.4, "failure": ""},
    {"name": "a (b*", "iou": 0.4, "failure": None},
]
KINDS = {"name": "text", "iou": "number", "failure": "text"}


def names(words="", where=(), sort=""):
    frame = pl.DataFrame(ROWS).lazy()
    return TableQuery.of(words, where, sort).apply(frame, KINDS).collect()["name"].to_list()


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (["iou<0.9"], ["catfish", "a (b*"]),
        (["iou >= 0.4", "name~CAT"], ["Cat", "catfish"]),
        (["iou="], ["dog"]),
        (["iou!="], ["Cat", "catfish", "a (b*"]),
        (["failure!="], ["dog"]),
        (["failure="], ["Cat", "catfish", "a (b*"]),
        (["name=dog"], ["dog"]),
        (["name!=dog", "iou=0.4"], ["catfish", "a (b*"]),
    ],
)
def test_conditions_hold_all_together(where, expected):
    assert names(where=where) == expected


def test_words_are_text_whatever_their_case_and_no_pattern():
    assert names("CAT") == ["Cat", "catfish"]
    assert names("(b*") == ["a (b*"]
    assert names("memory") == ["dog"]


def test_rows_without_a_value_come_last_either_way_and_equal_ones_stay_in_order():
    assert names(sort="iou") == ["catfish", "a (b*", "Cat", "dog"]
    assert names(sort="-iou") == ["Cat", "catfish", "a (b*", "dog"]


@pytest.mark.parametrize("wrong", ["nonsense", "iou<many", "iou<", "other<1", "<1", "iou<1; drop"])
def test_what_cannot_be_asked_is_a_sentence(wrong):
    with pytest.raises(InvalidInput, match=r"expected"):
        names(where=[wrong])


def test_too_many_conditions_are_refused():
    with pytest.raises(InvalidInput, match="at most 20"):
        names(where=["iou<1"] * 21)
    with pytest.raises(InvalidInput, match="column"):
        names(sort="-nothing")


def test_a_condition_is_written_as_it_is_read():
    assert str(Condition.parse(" iou  <=0.5 ")) == "iou<=0.5"

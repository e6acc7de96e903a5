"""Values that the database stores as text."""

import json
import math
from dataclasses import asdict, replace

from segarena_server.db.column_types import DialogueStatuses
from segarena_server.dialogue_status import DialogueStatus

STATUS = DialogueStatus(
    number=3,
    target="cell 1",
    user="clicker",
    repeat=2,
    rounds=4,
    replayed=1,
    values={"iou": 0.8},
    seconds=1.5,
    is_over=True,
    is_late=False,
    failure="",
    heard=5,
    repeated=2,
    is_given_up=True,
)


def stored(*statuses):
    return DialogueStatuses().process_bind_param(statuses, None)


def read(text):
    return DialogueStatuses().process_result_value(text, None)


def test_what_is_stored_is_read_again():
    other = replace(STATUS, number=4, failure="too large", values={})
    assert read(stored(STATUS, other)) == (STATUS, other)
    assert read(stored()) == read(None) == read("[]") == ()


def test_a_metric_that_is_not_finite_stays_as_it_is():
    (again,) = read(stored(replace(STATUS, values={"hd95": math.inf, "iou": math.nan})))
    assert again.values["hd95"] == math.inf
    assert math.isnan(again.values["iou"])


def test_statuses_of_earlier_versions_count_every_round_as_heard():
    fields = asdict(STATUS)
    for name in ("heard", "repeated", "is_given_up"):
        del fields[name]
    assert read(json.dumps([fields])) == (replace(STATUS, heard=4, repeated=1, is_given_up=False),)

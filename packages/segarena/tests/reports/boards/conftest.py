"""Extracts of artificial runs, which have values of one statistic only."""

import numpy as np
import pytest

from segarena.records.configuration import DatasetRecord, PluginRecord
from segarena.reports.boards.board import Entry
from segarena.reports.boards.extracts import Extract, MeanCurve, TargetColumns
from segarena.roles import Statistic

NOC = Statistic(name="NoC@90", kind="noc", threshold=0.9, higher_is_better=False)
AUC = Statistic(name="AuC", kind="auc")


def made(
    values,
    *,
    segmenter="disc",
    options=None,
    data="photos",
    users=("centre",),
    rules=None,
    **changes,
):
    """Return an extract in which each user has these values; each photograph has two, and NaN is a missing one."""
    if "values_by_user" in changes:
        changes["values"] = changes.pop("values_by_user")
    told = [None if np.isnan(value) else float(value) for value in values]
    numbers = range(len(told))
    curve = (0.25, 0.5, 0.75, 1.0)
    given = {
        "rules": {"name": "small", "protocol": "careful", "rounds": 4} | (rules or {}),
        "words": ("click", "target", "photograph"),
        "decides": "NoC@90",
        "summary": (NOC, AUC),
        "definitions": {"NoC@90": "clicks until it is good.", "AuC": "area."},
        "segmenter": PluginRecord(kind="segmenter", name=segmenter, options=options or {}),
        "dataset": DatasetRecord(
            name="folder", options={"name": data, "path": data}, fingerprint=data, samples=()
        ),
        "ignores_image": False,
        "users": users,
        "created": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-02T00:00:00+00:00",
        "samples": len(told) // 2,
        "done": len(told) // 2,
        "failures": dict.fromkeys(users, 0),
        "seconds": dict.fromkeys(users, 0.01),
        "targets": TargetColumns(
            sample=tuple(f"photo-{number // 2}" for number in numbers),
            target=tuple(f"disc-{number % 2}" for number in numbers),
            label=tuple("disc" for _ in numbers),
            attributes=tuple({"size": ("small", "large")[number % 2]} for number in numbers),
        ),
        "values": {user: {"NoC@90": tuple(told), "AuC": tuple(told)} for user in users},
        "curves": {user: {"iou": MeanCurve(mean=curve, low=curve, high=curve)} for user in users},
    }
    return Extract(**(given | changes))


@pytest.fixture(scope="session")
def make_extract():
    return made


@pytest.fixture(scope="session")
def make_entry():
    """Return a function that creates an entry from values and other fields of an extract and an entry."""

    def make(values, *, participant="", name="", at="", is_chosen=False, unranked="", **extract):
        own = {
            "participant": participant,
            "name": name,
            "at": at,
            "is_chosen": is_chosen,
            "unranked": unranked,
        }
        return Entry(extract=made(values, **extract), **own)

    return make

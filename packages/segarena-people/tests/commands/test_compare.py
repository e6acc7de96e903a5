"""`segarena people compare` finds the dataset that a collection or a study's export names."""

import json

import pytest
from collection_factory import collection

from segarena.errors import InvalidInput
from segarena_people.commands import compare


@pytest.fixture
def given(monkeypatch):
    """Record the dataset with which users are compared, instead of comparing them."""
    seen = []

    def record(users, people, *, dataset, **_):
        seen.append(dataset)
        raise InvalidInput("seen")

    monkeypatch.setattr(compare, "compare_users", record)
    return seen


@pytest.mark.parametrize(
    ("named", "option", "used"),
    [
        ("demo", None, "demo"),
        ("demo", "bsds500", "bsds500"),
        ("folder(path='/gone')", None, None),
        ("evil.py:Evil", None, None),
        (None, None, None),
    ],
)
def test_the_dataset_of_a_study_is_used_unless_another_is_named(
    tmp_path, given, segarena, named, option, used
):
    folder = collection(tmp_path)
    if named is not None:
        (folder / "study.json").write_text(json.dumps({"dataset": named}))
    options = () if option is None else ("--dataset", option)
    answer = segarena("people", "compare", "scribble-robot", "--with", folder, *options)
    told = answer.stderr
    assert "error: seen" in told
    assert given == [used]
    assert (f"dataset: {named}, named in" in told) == (used is not None and option is None)
    is_left_out = named is not None and used is None
    assert ("is not used" in told) == is_left_out
    assert ("name it with --dataset" in told) == is_left_out

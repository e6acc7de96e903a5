"""Valid and invalid content of a `dataset.json`."""

import json

import pytest

from segarena.errors import DatasetError
from segarena.systems.volumes.files.case_files import read_description


def test_both_published_forms_are_read(tmp_path):
    file = tmp_path / "dataset.json"
    file.write_text(
        json.dumps(
            {"labels": {"background": 0, "liver": 1, "ignore": 7}, "channel_names": {"0": "CT"}}
        )
    )
    read = read_description(file)
    assert (read.classes, read.ignore_value, read.modalities) == ({"liver": (1,)}, 7, {"0": "CT"})
    file.write_text(json.dumps({"labels": {"0": "background", "1": "liver"}, "modality": "MR"}))
    read = read_description(file)
    assert (read.classes, read.ignore_value, read.modalities) == ({"liver": (1,)}, None, {"": "MR"})


@pytest.mark.parametrize(
    "text",
    [
        '{"labels": {"liver": 1, "ignore": []}}',
        '{"labels": {"ignore": [1, 2]}}',
        '{"labels": {"liver": []}}',
        '{"labels": {"liver": {}}}',
        '{"labels": {"liver": Infinity}}',
        '{"labels": []}',
        '{"modality": 3}',
        "[]",
        "\0",
        "[" * 100_000,
    ],
)
def test_another_content_is_refused(tmp_path, text):
    (tmp_path / "dataset.json").write_text(text)
    with pytest.raises(DatasetError, match=r"expected a dataset\.json"):
        read_description(tmp_path / "dataset.json")

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segarena.benchmark_rules import Statistic, TimeBudget
from segarena.errors import StoreError
from segarena.records.configuration import (
    BenchmarkRecord,
    DatasetRecord,
    PluginRecord,
    RunConfiguration,
    RunCounts,
    UserRecord,
    configuration_text,
    parse_configuration,
    read_configuration,
)
from segarena.records.format_upgrade import RUN_FORMAT

BEFORE = Path(__file__).parents[1] / "data" / "before"
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
OPTIONS = st.dictionaries(st.text(), PLAIN, max_size=3)
CONFIGURATIONS = st.builds(
    RunConfiguration,
    version=st.text(),
    benchmark=st.builds(
        BenchmarkRecord,
        name=st.text(),
        protocol=st.text(),
        stop_at=st.none() | st.tuples(st.text(), st.floats(allow_nan=False)),
        budget=st.none()
        | st.builds(TimeBudget, seconds_per_object=st.floats(0, 1e9), counts_judging=st.booleans()),
        adapter=st.none() | st.builds(PluginRecord, name=st.text(), options=OPTIONS),
        options=OPTIONS,
        summary=st.lists(st.builds(Statistic, name=st.text(), kind=st.text()), max_size=2).map(
            tuple
        ),
    ),
    segmenter=st.builds(
        PluginRecord, name=st.text(), options=OPTIONS, sha256=st.none() | st.text()
    ),
    dataset=st.builds(
        DatasetRecord,
        name=st.text(),
        fingerprint=st.text(),
        samples=st.lists(st.text(), max_size=3).map(tuple),
    ),
    users=st.lists(
        st.builds(UserRecord, name=st.text(), written=st.text()), min_size=1, max_size=2
    ).map(tuple),
    metrics=st.lists(st.builds(PluginRecord, name=st.text()), max_size=2).map(tuple),
    rounds=st.integers(1, 100),
    keep_rounds=st.lists(st.integers(1, 20), max_size=3).map(tuple),
    environment=st.dictionaries(st.text(), st.text(), max_size=2),
    counts=st.none()
    | st.builds(
        RunCounts,
        samples=st.integers(0),
        targets=st.integers(0),
        rounds=st.integers(0),
        encodes=st.integers(0),
        failures=st.integers(0),
    ),
)


@given(CONFIGURATIONS)
def test_what_is_written_is_read_back_as_it_was(config):
    assert parse_configuration(json.loads(configuration_text(config))) == config


@pytest.fixture
def old_text():
    with zipfile.ZipFile(BEFORE / "volumes.zip") as archive:
        return archive.read("run/run.json").decode()


def test_a_file_without_a_format_is_read_in_the_terms_of_today(old_text):
    config = parse_configuration(json.loads(old_text))
    assert config.format == RUN_FORMAT
    assert config.benchmark.adapter.name == "slices"
    assert config.benchmark.summary[0].metric == "dice"
    assert [user.written for user in config.users] == ["3b-inter.scribble", "1-ppv.scribble"]
    assert str(config.dataset.spec) == "phantom(cases=1, shape=[20, 48, 48], seed=0)"
    assert parse_configuration(json.loads(configuration_text(config))) == config


def test_users_without_a_name_of_their_own_and_metrics_as_text_are_understood(old_text):
    plain = json.loads(old_text)
    plain["users"] = [{"name": "centre"}]
    plain["metrics"] = ["dice"]
    plain["benchmark"]["adapter"] = ""
    config = parse_configuration(plain)
    assert (config.users[0].written, config.metrics[0].name, config.benchmark.adapter) == (
        "centre",
        "dice",
        None,
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"rounds": "six"}, "rounds: expected `int`, got `str`"),
        ({"users": 3}, "users: expected `array`, got `int`"),
        ({"users": []}, "users: expected `array` of length >= 1"),
        (
            {"dataset": {"name": "demo", "samples": []}},
            "dataset: object missing required field `fingerprint`",
        ),
        ({"users": [{"name": 3, "written": "a"}]}, "users[0].name: expected `str`, got `int`"),
        ({"benchmark": None}, "benchmark: expected `object`, got `null`"),
        (
            {"format": RUN_FORMAT + 1},
            f"has format {RUN_FORMAT + 1}, but this version reads formats up to {RUN_FORMAT}; update segarena",
        ),
        ({"format": "new"}, "format: expected `int`, got `str`"),
    ],
)
def test_a_wrong_field_is_named_with_what_was_expected_and_found(old_text, tmp_path, change, told):
    file = tmp_path / "run.json"
    plain = json.loads(old_text)
    if "format" not in change:
        plain["format"] = RUN_FORMAT
    file.write_text(json.dumps({**plain, **change}))
    with pytest.raises(StoreError) as caught:
        read_configuration(file)
    assert str(caught.value).startswith(f"{file} is damaged or not a run of segarena: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


@given(st.data())
def test_damaged_bytes_are_one_line_or_still_a_configuration(tmp_path_factory, data):
    with zipfile.ZipFile(BEFORE / "clicks.zip") as archive:
        whole = archive.read("run/run.json")
    place = data.draw(st.integers(0, len(whole)))
    rest = data.draw(st.sampled_from([b"", whole[place + 1 :]]))
    file = tmp_path_factory.getbasetemp() / "damaged.json"
    file.write_bytes(whole[:place] + data.draw(st.binary(max_size=3)) + rest)
    try:
        assert isinstance(read_configuration(file).config, RunConfiguration)
    except StoreError as error:
        assert str(file) in str(error)  # noqa: PT017 - both outcomes are right
        assert "\n" not in str(error)  # noqa: PT017


def test_what_is_not_there_cannot_be_read(tmp_path):
    with pytest.raises(StoreError, match=r"run\.json cannot be read"):
        read_configuration(tmp_path / "run.json")


def test_numbers_that_json_does_not_know_survive():
    config = parse_configuration(
        {
            "version": "0",
            "benchmark": {"name": "b", "protocol": "p", "options": {"limit": float("inf")}},
            "segmenter": {"name": "s"},
            "dataset": {"name": "d", "fingerprint": "f", "samples": ["a"]},
            "users": [{"name": "u", "written": "u"}],
            "metrics": [],
            "rounds": 1,
        }
    )
    assert parse_configuration(json.loads(configuration_text(config))) == config
    assert replace(config, rounds=2) != config

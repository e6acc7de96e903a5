"""Opening of what is named on the command line, and errors."""

from dataclasses import replace

import pytest

from segarena.engine.run_folder import RunFolder
from segarena.errors import SegarenaError
from segarena_studio.viewer.catalog import open_catalog
from segarena_studio.viewer.table_query import TableQuery

ALL = TableQuery()


def shelf(tmp_path, *named, **how):
    return open_catalog(list(map(str, named)), tmp_path / "shelf", **how)


def test_runs_on_the_same_data_stand_side_by_side_and_datasets_alone(
    make_run, make_ramps, tmp_path
):
    named = [
        make_run(make_ramps(), "runs/one"),
        make_run(make_ramps(), "runs/two", segmenter={"name": "square"}),
    ]
    other = make_run(
        make_ramps(), "other", dataset={"options": {"count": 9}, "fingerprint": "other"}
    )
    found = shelf(tmp_path, named[0].parent, other, "demo").collections
    assert [[label for label, _ in one.runs] for one in found] == [["disc", "square"], ["disc"], []]
    assert found[2].counted == "10 samples"


def test_prompts_on_volumes_are_described_in_words(make_run, make_ramps, tmp_path):
    folder = RunFolder.open(make_run(make_ramps()))
    config = folder.config
    user = replace(config.users[0], name="volume", options={"prompts": "3b-inter"})
    rules = replace(config.benchmark, name="radioactive")
    (plain,) = shelf(tmp_path / "plain", folder.path).collections
    folder.write_config(replace(config, users=(user,), benchmark=rules))
    (here,) = shelf(tmp_path / "words", folder.path).collections
    assert plain.user_words == {}
    assert here.user_words == {"centre": "three boxes interpolated"}


def test_a_dataset_that_moved_is_a_sentence_beside_the_records(make_run, make_ramps, tmp_path):
    moved = make_run(
        make_ramps(), dataset={"name": "folder", "options": {"path": str(tmp_path / "gone")}}
    )
    (here,) = shelf(tmp_path, moved).collections
    assert here.table.count(ALL) == 16
    with pytest.raises(SegarenaError, match=r"cannot be opened .*gone"):
        here.describe(("photo-0", "t0", "centre", 0))


def test_code_that_a_run_names_is_run_only_if_trusted(make_run, make_ramps, tmp_path):
    path = make_run(make_ramps())
    (here,) = shelf(tmp_path, path).collections
    row = here.table.rows(ALL, 0, 1)[0]
    key = row["sample"], row["target"], row["user"], row["repeat"]
    with pytest.raises(SegarenaError, match="not part of segarena"):
        here.describe(key)
    (here,) = shelf(tmp_path / "again", path, trust=True).collections
    assert [dialogue.stored for dialogue in here.describe(key).dialogues] == [[1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("empty", "expected a run, a dataset or pictures"),
        ("./nowhere", "does not exist"),
        ("no-such-set", "neither a folder nor a usable dataset: "),
    ],
)
def test_what_is_neither_is_a_sentence(tmp_path, name, reason):
    (tmp_path / "empty").mkdir()
    with pytest.raises(SegarenaError, match=reason):
        shelf(tmp_path, tmp_path / name if name == "empty" else name)


def test_a_run_of_a_later_version_is_refused(make_run, make_ramps, tmp_path):
    path = make_run(make_ramps())
    (path / "run.json").write_text('{"format": 999}')
    with pytest.raises(SegarenaError, match=r"run\.json"):
        shelf(tmp_path, path)

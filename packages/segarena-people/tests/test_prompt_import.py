import numpy as np
import pytest
from msgspec.structs import replace
from repository import ROOT

from segarena.errors import InvalidInput, RunConflict, StoreError
from segarena_people.collection import Collection, read_source
from segarena_people.import_format import (
    ImportedPrompt,
    ImportFormat,
    ImportInputs,
    build_stroke,
    find_format,
    import_formats,
)
from segarena_people.prompt_import import file_name, import_prompts
from segarena_people.prompts import PersonPrompt

ROW = PersonPrompt(
    id="a", study="s", dataset="d", sample="x", target="t", width=9, height=7, kind="click",
    points=build_stroke([(1.0, 2.0)]),
)  # fmt: skip
MASK = np.eye(7, 9, dtype=bool)


def made_format(units):
    texts = dict.fromkeys(("source", "holds", "terms", "origin"), 'a "file"\n')
    return ImportFormat(name="made", open=lambda source, beside: units, **texts)


def failing():
    yield ImportedPrompt(row=replace(ROW, id="c"), goal=MASK, goal_name="half")
    raise InvalidInput("it ends early")


def test_a_unit_that_fails_brings_nothing_and_the_others_do(tmp_path):
    units = {
        "one": lambda: [ImportedPrompt(row=ROW, goal=MASK, previous=~MASK, previous_name="p/q")],
        "two": failing,
        "three": lambda: [
            ImportedPrompt(row=replace(ROW, id="b", sample="y"), goal=MASK, goal_name="other")
        ],
    }
    states = []
    told = import_prompts(
        made_format(units),
        tmp_path,
        tmp_path / "out",
        on_progress=lambda state: states.append((state.done, state.failures)),
    )
    assert states == [(0, 0), (1, 0), (2, 1), (3, 1)]
    assert (told.prompts, told.people, told.units, told.left_out) == (
        2,
        0,
        3,
        ("two: it ends early",),
    )
    given = Collection.open(tmp_path / "out")
    assert [one.row.id for one in given] == ["a", "b"]
    assert np.array_equal(given[0].goal, MASK)
    assert np.array_equal(given[0].previous, ~MASK)
    assert read_source(tmp_path / "out").terms == 'a "file"\n'


def test_a_file_that_may_not_be_read_costs_itself_and_a_place_that_may_not_be_written_all(
    tmp_path, monkeypatch
):
    def unreadable():
        raise PermissionError(13, "Permission denied", "b.xml")

    units = {"a": lambda: [ImportedPrompt(row=ROW, goal=MASK)], "b.xml": unreadable}
    told = import_prompts(made_format(units), tmp_path, tmp_path / "out")
    assert told.left_out == ("[Errno 13] Permission denied: 'b.xml'",)

    def no_room(path, data):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr("pathlib.Path.write_bytes", no_room)
    with pytest.raises(StoreError, match="the disk is full"):
        import_prompts(made_format(units), tmp_path, tmp_path / "other")
    assert not (tmp_path / "other").exists()


def test_only_the_first_units_are_read_when_that_is_asked(tmp_path):
    units = {"one": lambda: [ImportedPrompt(row=ROW, goal=MASK)], "two": failing}
    assert import_prompts(made_format(units), tmp_path, tmp_path / "out", most=1).left_out == ()


@pytest.mark.parametrize("units", [{}, {"two": failing}])
def test_where_nothing_can_be_used_no_folder_is_left(tmp_path, units):
    with pytest.raises(InvalidInput, match="no usable prompt"):
        import_prompts(made_format(units), tmp_path, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_import_leaves_nothing(tmp_path):
    def stopped():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_prompts(
            made_format({"one": lambda: [ImportedPrompt(row=ROW, goal=MASK)], "two": stopped}),
            tmp_path,
            tmp_path / "o",
        )
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_not_written_over(tmp_path):
    (tmp_path / "out").mkdir()
    with pytest.raises(RunConflict, match="already exists"):
        import_prompts(made_format({}), tmp_path, tmp_path / "out")
    with pytest.raises(InvalidInput, match="no such file or folder"):
        import_prompts(made_format({}), tmp_path / "none", tmp_path / "other")


def test_ids_that_occur_twice_are_told(tmp_path):
    units = {
        "one": lambda: [ImportedPrompt(row=ROW, goal=MASK)],
        "two": lambda: [ImportedPrompt(row=ROW, goal=MASK)],
    }
    told = import_prompts(made_format(units), tmp_path, tmp_path / "out")
    assert [finding.message for finding in told.findings] == ["1 rows with a duplicate id"]


def test_names_of_files_are_plain_and_differ():
    names = [
        "../../etc/passwd",
        "Plain_name-1",
        "con",
        "NUL.x",
        "a" * 300,
        "a" * 299 + "b",
        "x\\y",
        "é",
        "..",
        "",
        "plain_name-1",
    ]
    files = [file_name(name) for name in names]
    assert len({file.lower() for file in files}) == len(names)
    assert all(len(file) < 100 and file.count(".") == 1 and "/" not in file for file in files)
    assert files[-1] == "plain_name-1.png"
    assert file_name("con") != "con.png"


def test_all_formats_say_what_they_are_and_the_page_says_so_too():
    page = (ROOT / "docs" / "people.md").read_text(encoding="utf-8")
    for name, form in import_formats().items():
        assert form.name == name
        assert f"| `{name}` |" in page
        assert all((form.source, form.holds, form.terms, form.origin))
    with pytest.raises(InvalidInput, match=r"unknown format 'x'; expected one of .*medscribble"):
        find_format("x")


def test_what_a_format_needs_beside_its_source_is_asked_for(tmp_path):
    with pytest.raises(InvalidInput, match="expected --masks with the masks, got none"):
        ImportInputs().need_masks("the masks")
    with pytest.raises(InvalidInput, match=r"--previous-masks .*expected a folder"):
        ImportInputs(previous=tmp_path / "none").need_previous("the masks")
    with pytest.raises(InvalidInput, match="expected --dataset"):
        ImportInputs().need_targets("the pictures")
    assert ImportInputs(masks=tmp_path).need_masks("the masks") == tmp_path

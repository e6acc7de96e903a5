import json

import numpy as np
import pytest
from collection_factory import collection, ellipse, save
from msgspec.structs import replace
from PIL import Image

from segarena.errors import (
    DatasetError,
    InvalidInput,
    InvalidMask,
    InvalidPrompt,
    UntrustedPlugin,
)
from segarena.prompts import Scribble
from segarena.samples import ImageSample, Target
from segarena_people.collection import (
    Collection,
    CollectionSource,
    find_dataset,
    format_source,
)
from segarena_people.prompt_table import read_prompt_frame, read_prompt_table, write_prompt_table
from segarena_people.prompts import PersonPrompt, PointerSample


def changed(folder, number, **values):
    """Change one row of a collection."""
    rows = read_prompt_table(folder / "prompts.parquet")
    rows[number] = replace(rows[number], **values)
    write_prompt_table(rows, folder / "prompts.parquet")
    return Collection.open(folder)[number]


def test_a_collection_has_what_was_given_and_what_was_asked_for(tmp_path):
    given = Collection.open(collection(tmp_path))
    assert (len(given), given.kinds, given.people) == (8, ("scribble",), ("p1", "p2"))
    assert (given.name, given.source.origin, given.terms) == ("made up", "tests", "none")
    assert given.groups == ("g0", "g1")
    rng = np.random.default_rng(0)
    for number in range(4):
        mask = ellipse(rng)
        for one in given[2 * number : 2 * number + 2]:
            assert np.array_equal(one.goal, mask)
            assert np.array_equal(one.target, mask)
            assert one.previous is None
            assert isinstance(one.prompt, Scribble)


def test_a_collection_is_cut_down_by_what_is_asked(tmp_path):
    given = Collection.open(collection(tmp_path))
    assert [one.row.id for one in given.only(person="p2", groups=["g1"])] == ["2-p2", "3-p2"]
    assert len(given.only(kind="click")) == len(given.only(is_positive=False)) == 0
    assert given.only(person="p1").only(groups={"g0"}).people == ("p1",)
    assert len(given[1:3]) == 2
    changed(tmp_path, 0, fate="far")
    assert len(Collection.open(tmp_path).only(counts=True)) == 7


def test_ink_is_the_raster_or_the_lines_in_their_width(tmp_path):
    lines = Collection.open(collection(tmp_path / "lines"))[0]
    raster = Collection.open(collection(tmp_path / "rasters", as_raster=True))[0]
    assert lines.drawn is None
    assert np.array_equal(raster.ink(), lines.ink())
    assert np.array_equal(raster.ink(9), raster.drawn)
    assert lines.ink(1).sum() < lines.ink().sum() < lines.ink(9).sum()
    with pytest.raises(InvalidPrompt, match=r"only the raster 0-p1\.png"):
        _ = raster.prompt


def test_without_a_goal_of_its_own_a_prompt_is_about_the_target_of_the_dataset(tmp_path):
    collection(tmp_path, objects=2)
    alone = changed(tmp_path, 0, goal_mask="")
    with pytest.raises(InvalidInput, match="name the dataset with --dataset"):
        _ = alone.goal
    mask = ellipse(np.random.default_rng(7))
    dataset = OneImage("s0", Target(id="t", mask=mask))
    assert np.array_equal(Collection.open(tmp_path, dataset)[0].goal, mask)
    assert np.array_equal(
        Collection.open(tmp_path, OneImage("s0", Target(id="t", mask=mask * np.uint8(1))))[0].goal,
        mask,
    )
    with pytest.raises(DatasetError, match="no such target 't'"):
        _ = Collection.open(tmp_path, OneImage("s0", Target(id="u", mask=mask)))[0].goal
    with pytest.raises(InvalidMask, match="is it the same dataset"):
        _ = Collection.open(tmp_path, OneImage("s0", Target(id="t", mask=mask[1:])))[0].goal


def test_of_a_part_the_whole_object_is_known_only_from_the_dataset(tmp_path):
    collection(tmp_path, objects=2)
    save(tmp_path / "previous" / "0.png", np.zeros((48, 64), bool))
    part = changed(tmp_path, 0, goal="missing", previous_mask="0.png")
    assert part.target is None
    assert not part.previous.any()
    whole = np.ones((48, 64), bool)
    assert Collection.open(tmp_path, OneImage("s0", Target(id="t", mask=whole)))[0].target.all()


@pytest.mark.parametrize("name", ["../0.png", "/etc/passwd", "a\\b.png", "C:0.png", "link.png"])
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, name):
    folder = collection(tmp_path / "inside")
    save(tmp_path / "0.png", np.zeros((48, 64), bool))
    (folder / "goals" / "link.png").symlink_to(tmp_path / "0.png")
    with pytest.raises(DatasetError, match="leads out of it"):
        _ = changed(folder, 0, goal_mask=name).goal
    (folder / "previous").symlink_to(tmp_path)
    with pytest.raises(DatasetError, match="leads out of it"):
        _ = changed(folder, 0, previous_mask="0.png").previous


@pytest.mark.parametrize(
    ("size", "told"), [((0, 5), "expected a picture"), ((10**6, 10**6), "at most")]
)
def test_a_row_cannot_ask_for_a_picture_of_any_size(tmp_path, size, told):
    collection(tmp_path, kind="click")
    given = changed(tmp_path, 0, height=size[0], width=size[1])
    for read in (given.ink, lambda: given.goal):
        with pytest.raises(InvalidInput, match=told):
            read()


def grey(path, value):
    Image.new("L", (64, 48), value).save(path)


def bomb(path):
    """A PNG of a kilobyte whose header promises a gigapixel."""
    Image.new("1", (64, 48)).save(path)
    data = bytearray(path.read_bytes())
    data[16:24] = (60_000).to_bytes(4, "big") * 2
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.unlink(), "expected an image file here"),
        (lambda path: path.write_bytes(path.read_bytes()[:60]), "readable image file"),
        (
            lambda path: Image.new("1", (48, 64)).save(path),
            "size of its picture, 64 x 48, got \\(48, 64\\)",
        ),
        (lambda path: grey(path, 128), "only the values 0 and 255"),
        (bomb, "readable image file|at most|size of its picture"),
    ],
)
def test_a_mask_that_cannot_be_used_is_told_in_one_line(tmp_path, damage, told):
    given = Collection.open(collection(tmp_path))
    damage(tmp_path / "goals" / "0.png")
    with pytest.raises(InvalidMask, match=told):
        _ = given[0].goal
    assert given[2].goal.any()


def test_a_source_that_is_no_table_of_texts_is_told(tmp_path):
    collection(tmp_path)
    (tmp_path / "source.toml").write_text("name = 3")
    with pytest.raises(DatasetError, match="name, origin and terms as text"):
        Collection.open(tmp_path)


def test_a_table_of_before_reads_as_one_without_rasters(tmp_path):
    row = PersonPrompt(
        id="a", study="s", dataset="d", sample="x", target="t", width=9, height=9, person="p1", kind="click",
        points=(PointerSample(stroke=0, x=1.0, y=2.0),),
    )  # fmt: skip
    write_prompt_table([row], tmp_path / "new.parquet")
    read_prompt_frame(tmp_path / "new.parquet").drop("group", "raster", "stroke_px").write_parquet(
        tmp_path / "old.parquet"
    )
    (given,) = Collection.open(tmp_path / "old.parquet")
    assert given.row == row
    assert given.group == "d/x"
    assert given.ink().sum() == 1


class OneImage:
    """A dataset of one black picture."""

    name = "one"
    fingerprint = "0"

    def __init__(self, sample_id, target):
        self.sample_ids = (sample_id,)
        self._target = target

    def load(self, sample_id):
        image = np.zeros((*self._target.mask.shape, 3), np.uint8)
        return ImageSample(id=sample_id, image=image, targets=(self._target,))

    def check(self):
        return ()


@pytest.mark.parametrize(
    ("files", "named"),
    [
        ({"study.json": '{"slug": "a", "dataset": "demo"}'}, "demo"),
        ({"source.toml": "dataset = \"bsds500(path='x')\""}, "bsds500(path='x')"),
        ({"source.toml": 'dataset = "demo"', "study.json": '{"dataset": "sbd"}'}, "demo"),
        ({"source.toml": 'name = "old"', "study.json": "{}"}, None),
        ({}, None),
    ],
)
def test_a_folder_names_the_dataset_shown_to_people(tmp_path, files, named):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert find_dataset(tmp_path) == named
    assert find_dataset(tmp_path / "prompts.parquet") == named


def test_a_folder_of_data_chooses_no_code_to_execute(tmp_path):
    for reference in ("evil.py:Evil", "./evil.py:Evil(path='x')"):
        (tmp_path / "evil.py").write_text("raise SystemExit('executed')")
        (tmp_path / "study.json").write_text(json.dumps({"dataset": reference}))
        with pytest.raises(UntrustedPlugin, match="not part of segarena"):
            find_dataset(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", '{"dataset": 3}', "[" * 10**5])
def test_a_damaged_description_of_a_study_is_an_error_in_a_line(tmp_path, text):
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(DatasetError, match="expected the description of a study"):
        find_dataset(tmp_path)


def test_an_origin_without_a_dataset_is_written_as_before():
    assert "dataset" not in format_source(CollectionSource(name="a"))
    assert 'dataset = "demo"\n' in format_source(CollectionSource(dataset="demo"))

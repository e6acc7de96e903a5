"""Recorded strokes: read from tables and pictures, replayed in the first round, rejected with one line."""

import numpy as np
import polars as pl
import pytest
from PIL import Image
from scipy import ndimage

import segarena
from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue
from segarena.errors import RunConflict, SegarenaError
from segarena.plugin_spec import PluginSpec
from segarena.prompts import Click, Scribble
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target
from segarena.systems.clicks.users.recorded_strokes import centre_lines

HEIGHT, WIDTH = 20, 30
POINT = {
    "sample": "a",
    "target": "cup",
    "person": "ann",
    "stroke": 1,
    "is_positive": True,
    "row": 6.0,
    "column": 7.0,
}


@pytest.fixture
def table(tmp_path):
    """Write a table of strokes from rows of changes; return its path."""

    def write(*rows, suffix=".csv"):
        frame = pl.DataFrame([POINT | row for row in rows], infer_schema_length=None, strict=False)
        path = tmp_path / f"strokes{suffix}"
        frame.write_parquet(path) if suffix == ".parquet" else frame.write_csv(path)
        return path

    return write


def drawn(path, **options):
    return build("user", PluginSpec("drawn", {"path": str(path), **options}))


def photograph(name="a", *, targets=("cup",)):
    mask = np.zeros((HEIGHT, WIDTH), dtype=bool)
    mask[5:15, 5:20] = True
    return ImageSample(
        id=name,
        image=np.zeros((HEIGHT, WIDTH, 3), dtype=np.uint8),
        targets=tuple(Target(id=target, mask=mask) for target in targets),
    )


def turn_of(sample, *, target=0, repeat=0, rounds=0):
    truth = sample.targets[target]
    return Turn(
        sample=sample,
        target=truth,
        dialogue=Dialogue(rounds=((),) * rounds),
        comparison=Comparison.empty(Reference.of(truth)),
        rng=np.random.default_rng(0),
        repeat=repeat,
    )


@pytest.mark.long
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_strokes_come_back_as_they_were_drawn(table, suffix):
    rng = np.random.default_rng(3)
    expected = [
        Scribble(
            tuple(map(tuple, rng.uniform(0, (HEIGHT - 1, WIDTH - 1), (9, 2)).tolist())),
            is_positive=sign,
        )
        for sign in (True, False, True)
    ]
    rows = [
        {"stroke": 30 - number, "is_positive": stroke.is_positive, "row": row, "column": column}
        for number, stroke in enumerate(expected)
        for row, column in stroke.points
    ]
    assert list(drawn(table(*rows, suffix=suffix)).next(turn_of(photograph()))) == expected


def test_strokes_whose_rows_alternate_keep_their_own_order(table):
    rows = [{"stroke": step % 2, "row": 10 - step, "column": step} for step in range(8)]
    first, second = drawn(table(*rows)).next(turn_of(photograph()))
    assert first.points == ((10, 0), (8, 2), (6, 4), (4, 6))
    assert second.points == ((9, 1), (7, 3), (5, 5), (3, 7))


def test_each_person_has_a_dialogue_and_each_target_its_own_strokes(table):
    path = table(
        {}, {"person": "bob", "row": 8}, {"target": "jug", "row": 9}, {"sample": "b", "row": 3}
    )
    sample = photograph(targets=("cup", "jug", "pan"))
    user = drawn(path)
    assert [user.repeats(sample, target) for target in sample.targets] == [2, 1, 0]
    given = [
        user.next(turn_of(sample, target=0, repeat=0)),
        user.next(turn_of(sample, target=0, repeat=1)),
    ]
    given.append(user.next(turn_of(sample, target=1)))
    assert [stroke.points[0][0] for (stroke,) in given] == [6, 8, 9]
    bob = drawn(path, person="bob")
    assert [bob.repeats(sample, target) for target in sample.targets] == [1, 0, 0]
    assert bob.next(turn_of(sample))[0].points == ((8, 7),)


def test_a_lone_target_needs_no_name(table):
    user = drawn(table({"target": ""}))
    assert user.repeats(photograph(), photograph().targets[0]) == 1
    two = photograph(targets=("cup", "jug"))
    with pytest.raises(
        SegarenaError, match=r"sample a has strokes on ''; its targets are 'cup', 'jug'"
    ):
        user.repeats(two, two.targets[0])


def test_later_rounds_are_the_correcting_users(table):
    path = table({})
    turn = turn_of(photograph(), rounds=1)
    assert list(drawn(path).next(turn)) == list(build("user", "centre").next(turn))
    assert isinstance(drawn(path).next(turn)[0], Click)
    assert drawn(path).prompt_kinds == {"scribble", "click"}
    assert drawn(path, then="uniform").next(turn) is not None
    assert drawn(path, then=None).next(turn) is None
    assert drawn(path, then=None).prompt_kinds == {"scribble"}


def test_pictures_give_a_stroke_for_each_part(tmp_path):
    picture = np.zeros((HEIGHT, WIDTH), dtype=np.uint8)
    picture[6, 6:15] = 1
    picture[9:14, 8] = 1
    picture[1, 2:9] = 2
    for person in ("ann", "bob"):
        file = tmp_path / "strokes" / "a" / "cup" / f"{person}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(file)
    user = drawn(tmp_path / "strokes")
    assert user.repeats(photograph(), photograph().targets[0]) == 2
    assert list(user.next(turn_of(photograph(), repeat=1))) == [
        Scribble(tuple((6, column) for column in range(6, 15))),
        Scribble(tuple((row, 8) for row in range(9, 14))),
        Scribble(tuple((1, column) for column in range(2, 9)), is_positive=False),
    ]


def test_a_walk_takes_every_step_to_a_neighbour_on_the_line_itself():
    rng = np.random.default_rng(5)
    for _ in range(30):
        mask = ndimage.gaussian_filter(rng.standard_normal((40, 50)), 2) > 0.12
        lines = centre_lines(mask)
        assert len(lines) == ndimage.label(mask, np.ones((3, 3)))[1]
        for line in lines:
            assert all(mask[pixel] for pixel in line)
            steps = np.abs(np.diff(np.array(line), axis=0))
            assert (steps.max(axis=1, initial=1) == 1).all()
    branched = np.zeros((9, 9), dtype=bool)
    branched[4, :] = branched[:, 4] = True
    (line,) = centre_lines(branched)
    assert set(line) == set(map(tuple, np.argwhere(branched).tolist()))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [{}, {"row": float("nan")}],
            "expected numbers as row and column; rows without: 1, the first is row 2",
        ),
        (
            [{"column": None}],
            "expected numbers as row and column; rows without: 1, the first is row 1",
        ),
        ([{"is_positive": "maybe"}], "expected true or false as is_positive"),
        ([{"sample": ""}], "expected the name of a sample"),
        ([{}, {"is_positive": False}], "stroke 1 of sample a: expected one sign"),
        ([{}], "expected strokes of person 'eve', found those of 'ann'"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_in_a_line(table, rows, message):
    with pytest.raises(SegarenaError, match=message) as refused:
        drawn(table(*rows), person="eve")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as a table of strokes"),
        ("sample,target,person\na,b,c\n", "stroke, is_positive, row, column missing"),
        ("sample,target,person,stroke,is_positive,row,column\n", "there are none"),
    ],
)
def test_files_without_strokes_are_refused(tmp_path, text, message):
    file = tmp_path / "strokes.csv"
    file.write_text(text)
    with pytest.raises(SegarenaError, match=message):
        drawn(file)
    with pytest.raises(SegarenaError, match="found neither"):
        drawn(tmp_path / "nowhere.csv")


@pytest.mark.parametrize("place", [{"row": -1}, {"row": HEIGHT}, {"column": WIDTH - 0.5}])
def test_strokes_outside_the_photograph_are_refused(table, place):
    user = drawn(table({}, {"stroke": 2, **place}))
    with pytest.raises(
        SegarenaError,
        match=r"expected strokes within 20 x 30 pixels .*'ann' are for a different size",
    ):
        user.next(turn_of(photograph()))


def test_a_target_that_the_photograph_lacks_is_told(table):
    user = drawn(table({}, {"target": "cap"}))
    with pytest.raises(SegarenaError, match="sample a has strokes on 'cap'; its targets are 'cup'"):
        user.repeats(photograph(), photograph().targets[0])


def test_a_picture_of_another_size_is_refused_wherever_its_strokes_are(tmp_path):
    file = tmp_path / "a" / "cup" / "ann.png"
    file.parent.mkdir(parents=True)
    Image.fromarray(np.eye(HEIGHT, dtype=np.uint8)).save(file)
    with pytest.raises(SegarenaError, match="are for a different size"):
        drawn(tmp_path).next(turn_of(photograph()))


def test_pictures_that_are_no_strokes_are_refused(tmp_path):
    with pytest.raises(SegarenaError, match="found none"):
        drawn(tmp_path)
    file = tmp_path / "a" / "cup" / "ann.png"
    file.parent.mkdir(parents=True)
    Image.fromarray(np.full((HEIGHT, WIDTH), 255, dtype=np.uint8)).save(file)
    with pytest.raises(
        SegarenaError, match="expected 1 on the object, 2 off it and 0 elsewhere, found 255"
    ):
        drawn(tmp_path)


def test_a_picture_of_noise_is_refused_before_it_is_walked(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "segarena.systems.clicks.users.recorded_strokes.MAX_CENTRE_LINE_PIXELS", 100
    )
    dots = np.zeros((60, 60), dtype=bool)
    dots[::2, ::2] = True
    with pytest.raises(
        SegarenaError, match="expected lines, got 900 pixels of centre lines, more than 100"
    ):
        centre_lines(dots)
    file = tmp_path / "a" / "cup" / "ann.png"
    file.parent.mkdir(parents=True)
    Image.fromarray(dots.astype(np.uint8)).save(file)
    with pytest.raises(SegarenaError, match=r"ann\.png: expected lines"):
        drawn(tmp_path)


@pytest.mark.long
def test_a_damaged_parquet_table_is_one_line(table):
    file = table({}, suffix=".parquet")
    data = file.read_bytes()
    for content in (b"", data[:-9], data[:20] + bytes(20) + data[40:]):
        file.write_bytes(content)
        with pytest.raises(SegarenaError, match=r"strokes\.parquet: expected a Parquet table, got"):
            drawn(file)


@pytest.mark.long
def test_a_run_asks_where_people_drew_and_counts_the_rest(table, tmp_path):
    samples = build("dataset", "demo")
    first = samples.load(samples.sample_ids[0])
    row, column = np.argwhere(first.targets[0].mask)[0].tolist()
    place = {"sample": first.id, "target": first.targets[0].id, "row": row}
    path = table({**place, "column": column}, {**place, "column": column + 1})
    run = segarena.evaluate(
        "clicks", segmenter="graph", dataset="demo", users=[f"drawn(path={str(path)!r})"], limit=2,
        out=tmp_path / "run",
    )  # fmt: skip
    records = run.records()
    assert set(zip(records["sample"], records["target"], strict=True)) == {
        (first.id, first.targets[0].id)
    }
    assert records["round"].max() > 1
    every = sum(len(samples.load(name).targets) for name in samples.sample_ids[:2])
    assert run.config.counts.targets == every
    assert run.config.counts.targets_without == {f"drawn(path={str(path)!r})": every - 1}


def test_a_run_does_not_go_on_with_other_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    samples = build("dataset", "demo")
    first = samples.load(samples.sample_ids[0])
    picture = np.zeros(first.shape, dtype=np.uint8)
    picture[4, 4:9] = 2
    file = tmp_path / "strokes" / first.id / first.targets[0].id / "ann.png"
    file.parent.mkdir(parents=True)

    def run():
        Image.fromarray(picture).save(file)
        users = ["drawn(path='strokes')"]
        return segarena.evaluate(
            "clicks", segmenter="graph", dataset="demo", users=users, rounds=1, limit=1, out="run"
        )

    assert run().records().height == 1
    picture[4, 4:9] = 1
    with pytest.raises(RunConflict, match=r"ann\.png"):
        run()

"""Real first clicks from a table, and as many sampled ones."""

import numpy as np
import pytest

from segarena.comparison import Comparison, Reference
from segarena.dialogue import Dialogue
from segarena.errors import InvalidInput
from segarena.registry import build
from segarena.roles import Turn
from segarena.samples import ImageSample, Target
from segarena.systems.clicks.crowd.clicks_table import write_clicks

HEIGHT, WIDTH = 20, 30


@pytest.fixture
def table(tmp_path):
    """Write a clicks table from rows of changes; return its path."""

    def write(*rows):
        import polars as pl

        whole = {
            "dataset": "D", "image_stem": "a", "object_stem": "", "model_type": "", "click_type": "first",
            "full_stem": "", "device": "pc", "x": 1, "y": 1, "w": WIDTH, "h": HEIGHT,
        }  # fmt: skip
        made = [whole | row for row in rows]
        for row in made:
            object_part = f"_______{row['object_stem']}" if row["object_stem"] else ""
            row["full_stem"] = row["full_stem"] or f"{row['image_stem']}{object_part}"
        path = tmp_path / "clicks.csv"
        write_clicks(pl.DataFrame(made), path)
        return str(path)

    return write


def image(name="a", *, targets=("object",), height=HEIGHT, width=WIDTH):
    mask = np.zeros((height, width), dtype=bool)
    mask[5:15, 5:20] = True
    return ImageSample(
        id=name,
        image=np.zeros((height, width, 3), dtype=np.uint8),
        targets=tuple(Target(id=target, mask=mask) for target in targets),
    )


def turn_of(sample, target=0, *, repeat=0, rounds=0):
    truth = sample.targets[target]
    return Turn(
        sample=sample,
        target=truth,
        dialogue=Dialogue(rounds=((),) * rounds),
        comparison=Comparison.empty(Reference.of(truth)),
        rng=np.random.default_rng(repeat),
        repeat=repeat,
    )


def clicks_by(user, sample, target=0):
    return [
        user.next(turn_of(sample, target, repeat=repeat))[0]
        for repeat in range(user.repeats(sample, sample.targets[target]))
    ]


def test_every_first_click_is_a_positive_click_in_one_round(table):
    path = table(
        {"x": 3, "y": 7},
        {"x": 0, "y": 0},
        {"x": 9, "y": 9, "click_type": "fn", "full_stem": "a_sam_fn"},
    )
    user = build("user", f"real-first(clicks={path!r})")
    clicks = clicks_by(user, image())
    assert [click.position for click in clicks] == [(7, 3), (0, 0)]
    assert all(click.is_positive for click in clicks)
    assert user.next(turn_of(image(), rounds=1)) is None


def test_clicks_outside_are_moved_to_the_border(table):
    user = build("user", f"real-first(clicks={table({'x': -4, 'y': 99})!r})")
    assert clicks_by(user, image())[0].position == (HEIGHT - 1, 0)


def test_objects_are_found_by_their_code(table):
    path = table(
        {"object_stem": "7", "x": 7}, {"object_stem": "8", "x": 8}, {"object_stem": "8", "x": 9}
    )
    user = build("user", f"real-first(clicks={path!r})")
    sample = image(targets=("7", "8", "9"))
    columns = [
        [click.position[1] for click in clicks_by(user, sample, target)] for target in range(3)
    ]
    assert columns == [[7], [8, 9], []]


def test_a_lone_target_needs_no_code_and_several_do(table):
    user = build("user", f"real-first(clicks={table({})!r})")
    assert user.repeats(image(), image().targets[0]) == 1
    two = image(targets=("7", "8"))
    assert [user.repeats(two, target) for target in two.targets] == [0, 0]
    other = image("b")
    assert user.repeats(other, other.targets[0]) == 0


def test_clicks_are_scaled_with_the_image_unless_published(table):
    path = table({"x": 15, "y": 10})
    small = image(height=HEIGHT // 2, width=WIDTH // 2)
    assert clicks_by(build("user", f"real-first(clicks={path!r})"), small)[0].position == (5, 7)
    published = build("user", f"real-first(clicks={path!r}, other_size='published')")
    assert clicks_by(published, small)[0].position == (9, 14)  # clipped


def test_an_image_of_other_proportions_is_refused(table):
    user = build("user", f"real-first(clicks={table({})!r})")
    with pytest.raises(
        InvalidInput,
        match=r"expected the aspect ratio of \(20, 30\), the image size in the clicks table, got \(20, 20\)",
    ):
        user.next(turn_of(image(width=20)))
    off_by_rounding = image(height=7, width=10)
    assert user.next(turn_of(off_by_rounding))[0].position == (0, 0)


def test_an_image_of_two_datasets_needs_to_be_told_which(table):
    path = table({"x": 2}, {"x": 5, "dataset": "E"})
    with pytest.raises(InvalidInput, match="is in the datasets 'D' and 'E'; choose one"):
        build("user", f"real-first(clicks={path!r})").repeats(image(), image().targets[0])
    assert clicks_by(build("user", f"real-first(clicks={path!r}, dataset='E')"), image())[
        0
    ].position == (1, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("clicks='nowhere.csv'", "nowhere.csv: expected a clicks table"),
        ("clicks={path!r}, dataset='X'", "expected first clicks on 'X', found those of 'D'"),
        ("clicks={path!r}, other_size='crop'", "other_size"),
    ],
)
def test_what_cannot_be_used_is_refused(table, options, message):
    with pytest.raises(ValueError, match=message):
        build("user", f"real-first({options.format(path=table({}))})")


def test_as_many_clicks_are_sampled_as_there_are_real_ones(table):
    user = build(
        "user",
        f"sampled-first(clicks={table(*({'x': x} for x in range(12)))!r}, click_model='uniform')",
    )
    sample = image()
    clicks = clicks_by(user, sample)
    assert len(clicks) == 12
    assert len({click.position for click in clicks}) > 8
    assert all(sample.targets[0].mask[click.position] for click in clicks)
    assert user.next(turn_of(sample, rounds=1)) is None

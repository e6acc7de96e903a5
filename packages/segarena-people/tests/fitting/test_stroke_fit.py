from __future__ import annotations

import numpy as np
import pytest
from collection_factory import collection, ellipse
from msgspec.structs import replace
from typer.testing import CliRunner

from segarena.errors import InvalidInput
from segarena.users.stroke_model.model import read_stroke_model
from segarena.users.stroke_model.stroke_sampling import sample_strokes
from segarena_people.collection import Collection
from segarena_people.commands.app import app
from segarena_people.fitting.stroke_fit import PersonDrawing, fit_scribbler
from segarena_people.fitting.training_data import read_drawings
from segarena_people.prompt_table import read_prompt_table, write_prompt_table

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def fitted_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    collection(folder / "given", objects=6, people=2)
    result = CliRunner().invoke(
        app,
        ["fit", "scribbler", "--with", str(folder / "given"), "--out", str(folder / "hand.npz")],
    )
    assert result.exit_code == 0, result.output
    assert "12 drawings of p1, p2" in result.output
    return folder / "hand.npz"


@pytest.mark.long
def test_the_same_strokes_give_the_same_bytes(fitted_file):
    again = fit_scribbler(read_drawings(Collection.open(fitted_file.parent / "given")))
    assert again.packed() == fitted_file.read_bytes()


def test_who_draws_more_goes_on_drawing_more(fitted_file):
    fitted = read_stroke_model(fitted_file)
    rng = np.random.default_rng(0)

    def ink(person):
        goals = [ellipse(np.random.default_rng(seed)) for seed in range(6)]
        lines = [
            line
            for goal in goals
            for line in sample_strokes(goal, fitted.habits_of(person), fitted, rng)
        ]
        return sum(np.hypot(*np.diff(line, axis=0).T).sum() for line in lines)

    assert ink("p2") > 1.4 * ink("p1")  # drew twice as much


def test_nothing_can_be_learnt_from_a_single_stroke():
    goal = np.ones((20, 20), np.bool_)
    with pytest.raises(InvalidInput, match="at least two strokes"):
        fit_scribbler([PersonDrawing("p1", goal, np.eye(20, dtype=np.bool_))])


def test_strokes_on_the_background_have_the_background_as_their_goal(tmp_path):
    folder = collection(tmp_path / "given", objects=2, people=1)
    rows = read_prompt_table(folder / "prompts.parquet")
    write_prompt_table(
        [replace(row, is_positive=False) for row in rows], folder / "prompts.parquet"
    )
    given = Collection.open(folder)
    drawings = read_drawings(given, background=True)
    assert len(drawings) == 2
    assert not (drawings[0].goal & given[0].goal).any()
    with pytest.raises(
        InvalidInput, match="people drew on goals, found none; its prompts: scribble"
    ):
        read_drawings(given)


def test_slices_of_a_volume_are_a_series_of_each_person(tmp_path):
    folder = collection(tmp_path / "given", objects=3, people=2)
    rows = read_prompt_table(folder / "prompts.parquet")
    slices = [
        replace(row, sample="volume", plane=number // 2, group="g")
        for number, row in enumerate(rows)
    ]
    write_prompt_table(slices, folder / "prompts.parquet")
    drawings = read_drawings(Collection.open(folder))
    assert [drawing.plane for drawing in drawings] == [0, 0, 1, 1, 2, 2]
    assert len({drawing.series for drawing in drawings}) == 2


def test_boxes_are_no_strokes(tmp_path):
    given = Collection.open(collection(tmp_path / "given", objects=2, people=1, kind="box"))
    with pytest.raises(InvalidInput, match="people drew on goals, found none; its prompts: box"):
        read_drawings(given)


def test_dots_alone_say_nothing_of_courses():
    ink = np.zeros((40, 40), np.bool_)
    ink[20, 20] = True
    goal = np.ones((40, 40), np.bool_)
    with pytest.raises(InvalidInput, match="only dots"):
        fit_scribbler([PersonDrawing("p1", goal, ink), PersonDrawing("p2", goal, ink)])

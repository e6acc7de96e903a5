from pathlib import Path

import numpy as np
import people_users
import pytest
from collection_factory import collection
from msgspec.structs import replace
from people_users import Aimer, Waver, write_people

from segarena.errors import InvalidInput
from segarena_people.collection import Collection
from segarena_people.comparison.segmenter_comparison import compare_segmenters, group_dialogues
from segarena_people.comparison.segmenter_dialogues import planar_prompts
from segarena_people.comparison.segmenter_ranking import rank_segmenters
from segarena_people.comparison.verdict_sentences import ranking_verdict
from segarena_people.prompt_table import read_prompt_table, write_prompt_table
from segarena_people.prompts import PointerSample

USERS_FILE = Path(people_users.__file__)


@pytest.mark.long
def test_a_user_who_is_the_one_that_made_the_people_moves_no_figure(tmp_path):
    folder = write_people(tmp_path / "p", {"anna": Waver(), "ben": Waver()}, images=12)
    found = compare_segmenters(
        ["image-blind", "everything"], [f"{USERS_FILE}:Waver", "scribble-robot"], folder
    )
    waver, robot = found
    assert (waver.user, waver.statistic, waver.dialogues) == ("Waver", "Dice@1", 24)
    assert waver.tau.value == 1
    assert (
        abs(waver.bias[0].value) < 0.05 < robot.bias[0].value
    )  # the robot's straight lines help image-blind
    assert waver.bias[1].value == robot.bias[1].value == 0  # `everything` looks at no prompts


def test_what_was_played_is_not_played_again(tmp_path):
    folder = write_people(tmp_path / "p", {"anna": Aimer()}, images=6)
    told = []
    for _ in range(2):
        compare_segmenters(
            ["image-blind"], ["centre"], folder, kept=tmp_path / "done",
            on_progress=lambda state: told.append((state.resumed, state.units)),
        )  # fmt: skip
    assert told[0] == (0, 6)
    assert told[-1] == (6, 6)


def test_segmenters_that_look_at_pictures_are_refused_where_there_are_none(tmp_path):
    folder = write_people(tmp_path / "p", {"anna": Aimer()}, images=2)
    with pytest.raises(InvalidInput, match=r"graph depends on the picture.*--dataset.*image-blind"):
        compare_segmenters(["graph"], ["centre"], folder)


def test_rasters_are_played_as_their_middle_lines(tmp_path):
    given = Collection.open(collection(tmp_path, objects=1, people=1, as_raster=True))[0]
    lines = planar_prompts(given)
    points = np.concatenate([line.points for line in lines])
    rows, columns = points.round().astype(int).T
    assert given.drawn[rows, columns].mean() > 0.95
    assert len(points) > 10


def test_rounds_of_one_person_about_one_object_are_one_dialogue(tmp_path):
    given = list(Collection.open(collection(tmp_path, objects=2, people=2)))
    pictures = group_dialogues(list(enumerate(given)))
    assert [len(dialogues) for dialogues in pictures.values()] == [2, 2]
    assert pictures["made up\ts0\tNone"][0] == (((0,),), "p1", "g0")


def test_answers_of_nobody_known_are_not_taken_for_one_persons(tmp_path):
    folder = collection(tmp_path, objects=1, people=3)
    rows = [replace(row, person="") for row in read_prompt_table(folder / "prompts.parquet")]
    write_prompt_table(rows, folder / "prompts.parquet")
    (dialogues,) = group_dialogues(list(enumerate(Collection.open(folder)))).values()
    assert [rounds for rounds, _, _ in dialogues] == [((0,),), ((1,),), ((2,),)]


def test_prompts_that_changed_are_played_again(tmp_path):
    folder = write_people(tmp_path / "p", {"anna": Aimer()}, images=6)
    first = compare_segmenters(["image-blind"], ["centre"], folder, kept=tmp_path / "done")
    rows = [
        replace(row, points=(PointerSample(stroke=0, x=1.0, y=1.0),))
        for row in read_prompt_table(folder / "prompts.parquet")
    ]
    write_prompt_table(rows, folder / "prompts.parquet")
    again = compare_segmenters(["image-blind"], ["centre"], folder, kept=tmp_path / "done")
    assert again[0].people != first[0].people


def test_an_order_that_turns_has_tau_minus_one_and_the_sentence_says_who_wins():
    people = np.array([[0.9, 0.8, 0.7, 0.8], [0.5, 0.6, 0.5, 0.4]])
    found = rank_segmenters(
        "robot", "Dice@1", ["a", "b"], people, people[::-1], ["g1", "g2", "g3", "g4"]
    )
    assert found.tau.value == -1
    assert [round(one.value, 3) for one in found.bias] == [-0.3, 0.3]
    assert found.winners == ("a", "b")
    assert "the order changes (τ −1.00): b is first, with people a" in ranking_verdict(found)


def test_dialogues_that_one_side_lacks_are_left_out():
    people = np.array([[0.9, 0.8, np.nan]])
    found = rank_segmenters(
        "robot", "Dice@1", ["a"], people, np.array([[0.9, np.nan, 0.7]]), ["g1", "g2", "g3"]
    )
    assert (found.dialogues, found.people[0].value, found.bias[0].value) == (1, 0.9, 0.0)
    assert np.isnan(found.tau.value)

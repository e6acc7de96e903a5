import doctest

import numpy as np
import pytest

import segarena
from segarena.dialogue import Dialogue
from segarena.engine import user_query
from segarena.errors import InvalidInput, InvalidMask, PluginInvalid
from segarena.prompts import Click, Scribble
from segarena.samples import Target, VideoSample, VolumeSample
from segarena.users.habits.crowd import Crowd

TARGET = np.zeros((30, 40), dtype=bool)
TARGET[5:25, 8:30] = True
SHIFTED = np.roll(TARGET, 9, axis=1)


def test_examples_give_what_they_say():
    assert doctest.testmod(user_query).failed == 0


def test_what_is_said_is_what_a_session_gives(small_run):
    """The prompts of recorded dialogues, requested again from the masks alone."""
    run = small_run("sample-disc", dataset="sample-squares", rounds=1)
    dataset = segarena.registry.build("dataset", "sample-squares")
    for row in run.records().iter_rows(named=True):
        sample = dataset.load(row["sample"])
        target = next(target for target in sample.targets if target.id == row["target"])
        (click,) = segarena.next_prompts("sample-first-pixel", None, target.mask)
        assert str(list(click.position))[1:-1].replace(" ", "") in row["prompts"].replace(" ", "")


def test_a_click_in_the_middle_of_the_largest_error():
    (click,) = segarena.next_prompts("centre", SHIFTED, TARGET)
    wrong = TARGET ^ SHIFTED
    assert wrong[click.position]
    assert click.is_positive == bool(TARGET[click.position])
    said = Dialogue().ask((click,))
    (second,) = segarena.next_prompts("centre", SHIFTED, TARGET, dialogue=said)
    assert second.position != click.position
    assert segarena.next_prompts("centre", TARGET, TARGET) == ()


def test_what_is_excluded_is_no_error():
    ignore = TARGET ^ SHIFTED
    assert segarena.next_prompts("centre", SHIFTED, TARGET, ignore=ignore) == ()
    labels = np.where(ignore, 255, TARGET.astype(np.uint8))
    assert segarena.next_prompts("centre", SHIFTED, labels) == ()
    assert segarena.next_prompts("centre", None, labels)[0].is_positive


def test_drawn_at_random_from_the_seed_alone():
    said = [
        segarena.next_prompts("uniform", SHIFTED, TARGET, seed=seed) for seed in (1, 1, 2, 3, 4)
    ]
    assert said[0] == said[1]
    assert len(set(said)) > 1


@pytest.mark.parametrize("user", ["scribbler", "clicker", "box-drawer"])
def test_each_seed_asks_another_person_who_stays_the_same_in_a_dialogue(user, monkeypatch):
    """Compares the people of the crowd, because prompts also differ by chance."""
    asked = []
    person_of = Crowd.person

    def person(crowd, turn):
        asked.append(person_of(crowd, turn).integers(2**62))
        return person_of(crowd, turn)

    monkeypatch.setattr(Crowd, "person", person)
    target = np.kron(TARGET, np.ones((4, 4))).astype(bool)
    image = np.zeros((*target.shape, 3), dtype=np.uint8)

    def people_of(spec, seed, prediction=None):
        asked.clear()
        segarena.next_prompts(spec, prediction, target, image, seed=seed)
        return set(asked)

    people = [people_of(user, seed) for seed in (0, 1, 2, -1)]
    assert [len(found) for found in people] == [1, 1, 1, 1]
    assert len(set.union(*people)) == 4
    assert people_of(user, 1) == people[1]
    if user != "box-drawer":
        assert people_of(user, 1, np.roll(target, 20, axis=1)) == people[1]
    crowd = [people_of(f"{user}(people=3)", seed) for seed in (0, 1, 2, 3, -1)]
    assert len(set.union(*crowd)) == 3
    assert crowd[3] == crowd[0]
    assert crowd[4] == crowd[2]


def test_click_models_look_at_the_photograph():
    image = np.random.default_rng(0).integers(0, 255, (30, 40, 3), dtype=np.uint8)
    group = "group(click_model='saliency-crop')"
    (click,) = segarena.next_prompts(group, SHIFTED, TARGET, image)
    assert (TARGET ^ SHIFTED)[click.position]
    with pytest.raises(InvalidInput, match="click models need an image"):
        segarena.next_prompts(group, SHIFTED, TARGET)


def test_strokes_on_photographs_are_those_of_a_video_of_one_frame():
    labels = TARGET.astype(np.uint8)
    labels[5:25, 8:18] = 2
    found = segarena.next_prompts("scribble-robot", np.roll(labels, 9, axis=1), labels)
    in_video = segarena.next_prompts(
        "scribble-robot", np.roll(labels, 9, axis=1)[None], labels[None]
    )
    assert {line.object_id for line in found} == {0, 1, 2}
    assert [line.points for line in found] == [
        tuple(point[1:] for point in line.points) for line in in_video
    ]
    for line in found:
        assert all(labels[round(r), round(c)] == line.object_id for r, c in line.points)
    again = Dialogue().ask(found)
    assert (
        segarena.next_prompts("scribble-robot", np.roll(labels, 9, axis=1), labels, dialogue=again)
        == found
    )


def test_strokes_about_one_object_of_a_photograph_are_on_it_or_off_it(tmp_path):
    lines = segarena.next_prompts("scribble-robot", SHIFTED, TARGET)
    assert {(line.is_positive, line.object_id) for line in lines} == {(True, 1), (False, 1)}
    for line in lines:
        assert all(TARGET[round(r), round(c)] == line.is_positive for r, c in line.points)
    users = ["scribble-robot"]
    run = segarena.evaluate(
        "clicks", segmenter="graph", dataset="demo", users=users, limit=1, rounds=2, out=tmp_path
    )
    assert run.config.counts.failures == 0


def test_prompts_in_volumes():
    target = np.zeros((6, 30, 40), dtype=bool)
    target[1:5] = TARGET
    user = "volume(refine='scribble')"
    assert segarena.next_prompts(user, None, target)
    lines = segarena.next_prompts(user, np.roll(target, 9, axis=2), target)
    assert all(isinstance(line, Scribble) and len(line.points[0]) == 3 for line in lines)
    scan = VolumeSample(id="scan", voxels=np.zeros(target.shape), spacing_mm=(2.0, 1.0, 1.0))
    assert segarena.next_prompts(user, None, target, scan) == segarena.next_prompts(
        user, None, target
    )


def test_a_user_may_be_an_object():
    class Corner:
        def next(self, turn):
            assert turn.round == 2
            return (Click((0,) * len(turn.sample.shape), is_positive=False),)

    assert segarena.next_prompts(Corner(), SHIFTED, TARGET) == (Click((0, 0), is_positive=False),)


@pytest.mark.parametrize(
    ("arguments", "error", "expected"),
    [
        (
            ("centre", SHIFTED[1:], TARGET),
            ValueError,
            r"expected a mask of shape \(30, 40\), got \(29, 40\)",
        ),
        (
            ("centre", None, TARGET * 300),
            InvalidMask,
            "target: expected whole numbers 0 to 255, got 300",
        ),
        (
            ("centre", None, TARGET * 2),
            InvalidInput,
            "2 objects that are scored together, but centre corrects only one",
        ),
        (("centre(x=1)", None, TARGET), PluginInvalid, "x"),
        (
            ("centre", None, TARGET, np.zeros((3, 4, 3), np.uint8)),
            InvalidMask,
            "expected a mask in the shape",
        ),
        (("volume", None, TARGET), InvalidInput, "needs one object in a volume"),
        (
            ("centre", None, TARGET[None], np.zeros((1, 30, 40, 3))),
            InvalidInput,
            "expected a VolumeSample or Video",
        ),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, expected):
    with pytest.raises(error, match=expected):
        segarena.next_prompts(*arguments)
    video = VideoSample(
        id="clip", frames=[], frame_shape=(3, 4), targets=(Target(id="a", mask=TARGET),)
    )
    with pytest.raises(InvalidInput, match=r"expected the target's shape .* for sample clip"):
        segarena.next_prompts("centre", None, TARGET, video)

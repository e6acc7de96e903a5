import re

import numpy as np
import pytest

from segarena.errors import DatasetError, InvalidInput
from segarena_people.collection import Collection
from segarena_people.import_format import find_format
from segarena_people.prompt_import import import_prompts

NAMES = ("ACDC/Challenge2017/patient004_axis2_maxslice", "WBC/CV/004_axis0_midslice")


def images(rng):
    """Two images: the object, and strokes of three people on it and next to it."""
    made = {}
    for name in NAMES:
        goal = np.zeros((32, 40), bool)
        goal[8:24, 10:30] = True
        drawn = rng.random((3, 2, 32, 40)) < 0.1
        drawn[:, 0] &= goal
        made[name] = (goal, drawn)
    made[NAMES[1]][1][2, 1] = False  # the third person draws nothing beside the second object
    return made


def as_folders(folder, made):
    for name, (goal, drawn) in made.items():
        place = folder / name
        place.mkdir(parents=True)
        np.save(place / "img.npy", np.zeros(goal.shape, np.float32))
        np.save(place / "seg.npy", np.where(goal, 1.0, 0.2).astype(np.float32))
        for number, both in enumerate(drawn):
            np.save(place / f"scribble_{number}.npy", np.where(both, 0.8, 0.3).astype(np.float32))
    return folder


def as_npz(folder, made):
    goals, drawn = (np.stack([arrays[i] for arrays in made.values()]) for i in (0, 1))
    bits = {
        "mask": np.packbits(goals, axis=-1),
        "positive": np.packbits(drawn[:, :, 0], axis=-1),
        "negative": np.packbits(drawn[:, :, 1], axis=-1),
    }
    np.savez(folder / "some.npz", name=list(made), **bits)
    return folder / "some.npz"


def brought(source, out):
    told = import_prompts(find_format("medscribble"), source, out)
    return told, Collection.open(out)


@pytest.mark.parametrize("write", [as_folders, as_npz])
def test_strokes_of_three_people_come_back(tmp_path, rng, write):
    made = images(rng)
    (tmp_path / "published").mkdir()
    told, given = brought(write(tmp_path / "published", made), tmp_path / "out")
    assert (told.prompts, told.people, told.left_out, told.findings) == (11, 3, (), ())
    assert given.people == ("medscribble-1", "medscribble-2", "medscribble-3")
    for one in given:
        goal, drawn = made[one.row.sample]
        person = int(one.row.person[-1]) - 1
        assert np.array_equal(one.goal, goal)
        assert np.array_equal(one.ink(), drawn[person, 0 if one.row.is_positive else 1])
        assert one.row.pointer == ("mouse" if person == 2 else "pen")
    assert [one.row.label for one in given[::6]] == ["ACDC", "WBC"]
    assert len(list((tmp_path / "out" / "goals").iterdir())) == 2


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda place: (place / "seg.npy").unlink(), "seg.npy: expected a file of arrays here"),
        (lambda place: np.save(place / "seg.npy", np.full((32, 40), np.nan)), "finite numbers"),
        (
            lambda place: np.save(place / "scribble_1.npy", np.zeros((3, 32, 40))),
            "expected shape \\(2, 32, 40\\)",
        ),
        (
            lambda place: (place / "scribble_2.npy").write_bytes(b"\x93NUMPY"),
            "expected a whole .npy",
        ),
        (
            lambda place: np.save(place / "seg.npy", np.array([[None]]), allow_pickle=True),
            "plain numbers",
        ),
    ],
)
def test_an_image_that_cannot_be_used_costs_only_itself(tmp_path, rng, damage, told):
    folder = as_folders(tmp_path / "published", images(rng))
    damage(folder / NAMES[0])
    found, given = brought(folder, tmp_path / "out")
    assert len(found.left_out) == 1
    assert given.groups == (f"medscribble/{NAMES[1]}",)
    assert re.search(told, found.left_out[0])


def test_what_is_no_medscribble_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="expected folders with scribble_0"):
        brought(tmp_path / "empty", tmp_path / "out")
    np.savez(tmp_path / "other.npz", name=["a"], mask=np.zeros((1, 8, 1), np.uint8))
    with pytest.raises(InvalidInput, match="missing: positive, negative"):
        brought(tmp_path / "other.npz", tmp_path / "out")
    bits = np.zeros((1, 8, 1), np.uint8)
    for names in (["a"], "a"):
        np.savez(tmp_path / "flat.npz", name=names, mask=bits, positive=bits, negative=bits)
        with pytest.raises(InvalidInput, match="for people's strokes"):
            brought(tmp_path / "flat.npz", tmp_path / "out")

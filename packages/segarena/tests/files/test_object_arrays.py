import os
import pickle

import numpy as np
import pytest

from segarena.errors import InvalidMask
from segarena.files.object_arrays import read_object_array


def save(path, held):
    """Write an array of objects as NumPy does."""
    array = np.empty(len(held), dtype=object)
    for place, one in enumerate(held):
        array[place] = one
    np.save(path, array, allow_pickle=True)
    return path


def with_pickle(path, data):
    """Write a file with a different pickle."""
    save(path, [])
    whole = path.read_bytes()
    start = 10 + int.from_bytes(whole[8:10], "little")
    path.write_bytes(whole[:start] + data)
    return path


@pytest.mark.parametrize("dtype", ["u1", "<i4", ">i4", "f4", "<f8", ">f8", "?"])
def test_arrays_of_different_lengths_come_back(tmp_path, rng, dtype):
    made = [rng.integers(0, 2, size).astype(dtype) for size in ((0, 2), (3, 2), (4,), (2, 3, 2))]
    found = read_object_array(save(tmp_path / "a.npy", [*made, np.asfortranarray(made[1])]))
    assert all(
        np.array_equal(one, other) for one, other in zip(found, [*made, made[1]], strict=True)
    )
    assert found[1].dtype == made[1].dtype


def test_lists_and_plain_arrays_come_back(tmp_path):
    assert [
        one.tolist() for one in read_object_array(save(tmp_path / "a.npy", [[], [[1, 2.5]]]))
    ] == [[], [[1, 2.5]]]
    np.save(tmp_path / "b.npy", np.arange(6).reshape(3, 2))
    assert [one.tolist() for one in read_object_array(tmp_path / "b.npy")] == [
        [0, 1],
        [2, 3],
        [4, 5],
    ]


class Harmful:
    def __reduce__(self):
        return os.mkdir, ("was-here",)


def test_nothing_in_a_file_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidMask, match=r"posix.mkdir, which could run code"):
        read_object_array(save(tmp_path / "a.npy", [Harmful()]))
    assert not (tmp_path / "was-here").exists()


@pytest.mark.parametrize(
    "held",
    [
        [None],
        ["text"],
        [np.array(["a"])],
        [np.array([None])],
        [[[1], [1, 2]]],
        [np.array([(1, 2)], "i4,i4")],
        [{}],
    ],
)
def test_anything_but_numbers_is_refused(tmp_path, held):
    with pytest.raises(InvalidMask, match=r"expected arrays in a \.npy file"):
        read_object_array(save(tmp_path / "a.npy", held))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        pickle.dumps([np.zeros(3)]),
        pickle.dumps(7),
        pickle.dumps(np.array(None)),
        # An object array that says it holds numbers: their bytes would be taken for addresses.
        pickle.dumps(np.array([None, None])).replace(b"\x8c\x02O8", b"\x8c\x02f8"),
        pickle.dumps(np.zeros(3)).replace(b"\x8c\x02f8", b"\x8c\x02O8"),
    ],
)
def test_pickles_of_something_else_are_refused(tmp_path, data):
    with pytest.raises(InvalidMask, match=r"expected arrays in a \.npy file"):
        read_object_array(with_pickle(tmp_path / "a.npy", data))


def test_truncated_and_missing_files_are_refused(tmp_path):
    path = save(tmp_path / "a.npy", [np.zeros((40, 2))])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InvalidMask, match="copy it again"):
        read_object_array(path)
    with pytest.raises(InvalidMask, match="expected a file of arrays here"):
        read_object_array(tmp_path / "none.npy")
    np.save(tmp_path / "text.npy", np.array(["a", "b"]))
    with pytest.raises(InvalidMask):
        read_object_array(tmp_path / "text.npy")

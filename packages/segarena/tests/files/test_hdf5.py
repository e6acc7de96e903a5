import numpy as np
import pytest

from segarena.errors import InvalidMask, MissingExtra
from segarena.files.hdf5 import read_hdf5

h5py = pytest.importorskip("h5py")


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["label"] = np.arange(12).reshape(3, 4)
        file["text"] = "hello"
        file.create_group("group")
        file.create_dataset("huge", shape=(1 << 20, 1 << 20), chunks=(64, 64), dtype="u1")
    return tmp_path / "a.h5"


def test_arrays_are_read_by_name(path):
    (label,) = read_hdf5(path, ["label"]).values()
    assert np.array_equal(label, np.arange(12).reshape(3, 4))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none", "an array 'none'"),
        ("group", "an array 'group'"),
        ("text", "plain numbers"),
        ("huge", "at most"),
    ],
)
def test_what_is_not_wanted_is_refused(path, name, told):
    with pytest.raises(InvalidMask, match=told):
        read_hdf5(path, [name])


@pytest.mark.parametrize("kept", [0, 10, 500, 1500])
def test_a_truncated_file_is_refused(path, kept):
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InvalidMask, match="readable HDF5 file"):
        read_hdf5(path, ["label"])


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InvalidMask, match=r"none.h5: expected an HDF5 file here"):
        read_hdf5(tmp_path / "none.h5", ["label"])


def test_what_must_be_installed_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(MissingExtra, match=r"segarena\[people\]"):
        read_hdf5(tmp_path / "a.h5", ["label"])


def test_what_is_kept_in_other_files_is_not_read(path, tmp_path):
    (tmp_path / "raw").write_bytes(bytes(16))
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["linked"] = h5py.ExternalLink(str(path), "/label")
        file.create_dataset(
            "raw", shape=(16,), dtype="u1", external=[(str(tmp_path / "raw"), 0, 16)]
        )
        layout = h5py.VirtualLayout(shape=(3, 4), dtype="i8")
        layout[:] = h5py.VirtualSource(str(path), "label", shape=(3, 4))
        file.create_virtual_dataset("virtual", layout)
    for name in ("linked", "raw", "virtual"):
        with pytest.raises(InvalidMask, match=f"expected '{name}' in this file"):
            read_hdf5(tmp_path / "b.h5", (one for one in [name]))

import numpy as np
import pytest

from segarena.errors import InvalidInput, InvalidMask
from segarena_people.collection import Collection
from segarena_people.import_format import ImportInputs, find_format
from segarena_people.prompt_import import import_prompts

SHAPE = (24, 20)


def heart(rng):
    """Labels and scribbles of one slice: three structures below each other, a stroke in each and one next to them."""
    label = np.zeros(SHAPE, np.uint8)
    scribble = np.full(SHAPE, 4, np.uint16)
    for number in (1, 2, 3):
        top = 7 * number - 6
        left = int(rng.integers(1, 8))
        label[top : top + 5, left : left + 9] = number
        scribble[top + 2, left + 1 : left + int(rng.integers(3, 8))] = number
    scribble[:, 19] = 0
    return label, scribble


def slices(rng):
    return {
        f"patient00{patient}_frame01_slice_{plane}": heart(rng)
        for patient in (1, 3)
        for plane in (0, 1)
    }


def as_npz(folder, made):
    path = folder / "slices.npz"
    label, scribble = (
        np.concatenate([arrays[i].ravel() for arrays in made.values()]) for i in (0, 1)
    )
    np.savez(
        path,
        name=list(made),
        shape=np.array([SHAPE] * len(made), np.int32),
        label=label,
        scribble=scribble,
    )
    return path


def as_hdf5(folder, made):
    h5py = pytest.importorskip("h5py")
    for name, (label, scribble) in made.items():
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file.create_dataset("image", data=np.zeros(SHAPE, np.float32), compression="gzip")
            file.create_dataset("label", data=label, compression="gzip")
            file.create_dataset("scribble", data=scribble, compression="gzip")
    return folder


def as_nifti(folder, made):
    nibabel = pytest.importorskip("nibabel")
    for case in dict.fromkeys(name.partition("_slice_")[0] for name in made):
        planes = [arrays for name, arrays in made.items() if name.startswith(case)]
        for ending, number in (("gt", 0), ("scribble", 1)):
            stored = (
                np.stack([arrays[number] for arrays in planes]).astype(np.uint8).transpose(2, 1, 0)
            )
            nibabel.save(
                nibabel.Nifti1Image(stored, np.diag([1.5, 1.5, 10, 1])),
                folder / f"{case}_{ending}.nii.gz",
            )
    return folder


@pytest.fixture(params=[as_npz, as_hdf5, as_nifti])
def written(request, tmp_path, rng):
    made = slices(rng)
    (tmp_path / "published").mkdir()
    return request.param(tmp_path / "published", made), made


def brought(source, out):
    told = import_prompts(find_format("acdc-scribbles"), source, out)
    return told, Collection.open(out)


def test_what_was_drawn_on_each_structure_comes_back(written, tmp_path):
    source, made = written
    told, given = brought(source, tmp_path / "out")
    assert (told.prompts, told.people, told.left_out, told.findings) == (16, 1, (), ())
    assert given.groups == ("patient001", "patient003")
    by_id = {one.row.id: one for one in given}
    for name, (label, scribble) in made.items():
        for number, target in ((1, "right ventricle"), (2, "myocardium"), (3, "left ventricle")):
            one = by_id[f"{name}-{number}"]
            assert np.array_equal(one.goal, label == number)
            assert np.array_equal(one.ink(), scribble == number)
            assert (one.row.sample, one.row.plane) == (name[:18], int(name[-1]))
            assert (one.row.target, one.row.is_positive) == (target, True)
        beside = by_id[f"{name}-0"]
        assert not beside.row.is_positive
        assert np.array_equal(beside.goal, label > 0)
        assert np.array_equal(beside.ink(), scribble == 0)


def test_a_structure_without_a_stroke_or_without_pixels_is_no_prompt(tmp_path, rng):
    made = {"patient001_frame01_slice_0": heart(rng)}
    label, scribble = made["patient001_frame01_slice_0"]
    label[label == 1] = 0
    scribble[scribble == 2] = 4
    _, given = brought(as_npz(tmp_path, made), tmp_path / "out")
    assert [one.row.id[-1] for one in given] == ["3", "0"]


def test_a_damaged_slice_costs_only_itself(tmp_path, rng):
    folder = tmp_path / "published"
    folder.mkdir()
    as_hdf5(folder, slices(rng))
    whole = folder / "patient001_frame01_slice_0.h5"
    whole.write_bytes(whole.read_bytes()[:900])
    told, given = brought(folder, tmp_path / "out")
    assert (told.prompts, told.units, len(told.left_out)) == (12, 4, 1)
    assert "patient001_frame01_slice_0.h5: expected a readable HDF5 file" in told.left_out[0]
    assert len(given) == 12


def test_labels_without_their_volume_are_named(tmp_path, rng):
    folder = tmp_path / "published"
    folder.mkdir()
    as_nifti(folder, slices(rng))
    (folder / "patient003_frame01_gt.nii.gz").unlink()
    told, _ = brought(folder, tmp_path / "out")
    assert len(told.left_out) == 1
    assert (
        "expected this file with the labels for patient003_frame01_scribble.nii.gz"
        in told.left_out[0]
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda arrays: arrays.pop("shape"), "missing: shape"),
        (
            lambda arrays: arrays.update(label=arrays["label"][:-1]),
            "do not match the shapes",
        ),
        (
            lambda arrays: arrays.update(shape=-arrays["shape"]),
            "do not match the shapes",
        ),
        (
            lambda arrays: arrays.update(name=arrays["name"][:-1]),
            "do not match the shapes",
        ),
        (lambda arrays: arrays.update(scribble=arrays["scribble"] + 7), "scribbles 0 to 4, got"),
        (lambda arrays: arrays.update(name=np.array(["../x"] * 4)), "no usable prompt"),
    ],
)
def test_a_pack_of_something_else_is_refused(tmp_path, rng, change, told):
    path = as_npz(tmp_path, slices(rng))
    arrays = dict(np.load(path))
    change(arrays)
    np.savez(path, **arrays)
    with pytest.raises(InvalidInput, match=told):
        brought(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_pack_that_promises_too_much_is_not_unpacked(tmp_path, rng, monkeypatch):
    path = as_npz(tmp_path, slices(rng))
    monkeypatch.setenv("SEGARENA_MAX_PIXELS", "10")
    with pytest.raises(InvalidInput, match="expected at most"):
        brought(path, tmp_path / "out")


@pytest.mark.parametrize(
    "shapes", [np.zeros((0, 2), np.int64), np.array([[1 << 32, 1 << 32]]), np.array([[2.0, 2.0]])]
)
def test_shapes_that_no_slice_has_are_refused(tmp_path, shapes):
    names = np.array(["patient001_frame01_slice_0"])[: len(shapes)]
    blank = np.zeros(4 if shapes.dtype.kind == "f" else 0, np.uint8)
    np.savez(tmp_path / "slices.npz", name=names, shape=shapes, label=blank, scribble=blank)
    with pytest.raises(InvalidMask, match="do not match the shapes of the slices"):
        find_format("acdc-scribbles").open(tmp_path / "slices.npz", ImportInputs())

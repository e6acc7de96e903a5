"""NumPy files: compared with NumPy, and limited by the size that headers may declare."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest

from segarena.errors import InvalidMask
from segarena.files.npy import read_arrays


def npy(shape, dtype="<f8", data=b""):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + data


def npz(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)


def test_arrays_come_back_as_they_were_saved(tmp_path):
    rng = np.random.default_rng(1)
    arrays = {
        "a": rng.random((3, 4)),
        "b": np.asfortranarray(rng.integers(0, 9, (2, 3, 4)).astype(">i2")),
        "c": np.zeros((0, 5), bool),
        "d": np.array(7),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        found = read_arrays(tmp_path / "x.npz")
        assert list(found) == list(arrays)
        for name, array in arrays.items():
            assert found[name].dtype == array.dtype
            np.testing.assert_array_equal(found[name], array)
    np.save(tmp_path / "y.npy", arrays["b"])
    np.testing.assert_array_equal(read_arrays(tmp_path / "y.npy")[""], arrays["b"])
    assert set(read_arrays(tmp_path / "x.npz", ["a", "nothing"])) == {"a"}


@pytest.mark.parametrize("is_archive", [False, True])
def test_a_header_that_claims_fifteen_gigabytes_is_refused_before_anything_is_allocated(
    tmp_path, is_archive
):
    path = tmp_path / "x.npz"
    claim = npy((2_000_000_000,), data=bytes(400))
    if is_archive:
        npz(path, labels=claim)
    else:
        path.write_bytes(claim)
    tracemalloc.start()
    with pytest.raises(
        InvalidMask,
        match=r"expected at most 89,478,485 pixels, but the header claims 2,000,000,000",
    ):
        read_arrays(path)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


def test_the_sum_of_a_file_is_limited_and_the_limit_can_be_raised(tmp_path, monkeypatch):
    np.savez(tmp_path / "x.npz", a=np.ones(60), b=np.ones(60))
    monkeypatch.setenv("SEGARENA_MAX_PIXELS", "100")
    with pytest.raises(
        InvalidMask, match=r"expected at most 100 pixels, but the header claims 120; .*--max-pixels"
    ):
        read_arrays(tmp_path / "x.npz")
    monkeypatch.setenv("SEGARENA_MAX_PIXELS", "120")
    assert len(read_arrays(tmp_path / "x.npz")) == 2


def test_what_the_header_promises_must_be_there(tmp_path):
    (tmp_path / "x.npy").write_bytes(npy((80_000_000,), data=bytes(400)))
    tracemalloc.start()
    with pytest.raises(InvalidMask, match="claims 640,000,000 bytes, but the file has 400"):
        read_arrays(tmp_path / "x.npy")
    assert tracemalloc.get_traced_memory()[1] < 10**7
    tracemalloc.stop()


@pytest.mark.parametrize("shape", ["(-1,)", "(2, -3)", "('a',)", "3", "(1 << 70,)"])
def test_other_shapes_are_refused(tmp_path, shape):
    (tmp_path / "x.npy").write_bytes(npy(shape))
    with pytest.raises(InvalidMask):
        read_arrays(tmp_path / "x.npy")


def test_objects_are_refused_and_nothing_is_unpickled(tmp_path):
    np.save(tmp_path / "x.npy", np.array([{1: 2}], dtype=object))
    with pytest.raises(InvalidMask, match="expected arrays of plain numbers, got object"):
        read_arrays(tmp_path / "x.npy")


def test_damaged_files_are_refused(tmp_path):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, labels=np.arange(300).reshape(3, 10, 10))
    whole = buffer.getvalue()
    rng = np.random.default_rng(5)
    path, refused = tmp_path / "x.npz", 0
    for _ in range(300):
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        path.write_bytes(bytes(data[: rng.integers(len(data))] if rng.random() < 0.3 else data))
        try:
            read_arrays(path)
        except InvalidMask:
            refused += 1
    assert refused > 100

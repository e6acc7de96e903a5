"""MATLAB files: compared with SciPy, and never a crash."""

import struct
import tracemalloc
import zlib

import numpy as np
import pytest
from scipy.io import loadmat, savemat

from segarena.errors import InvalidMask
from segarena.files.matlab import list_matlab_variables, read_matlab

VARIABLES = {
    "numbers": np.random.default_rng(0).random((3, 4)),
    "planes": np.arange(24, dtype=np.uint16).reshape(2, 3, 4),
    "structure": {
        "x": np.int32([[1, -2]]),
        "empty": np.zeros((0, 0)),
        "inner": {"y": np.float32([[0.5]])},
    },
    "cells": np.array([np.eye(2), {"k": np.uint8([[3]])}], dtype=object),
    "text": "passed over",
}


def same(found, expected):
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    if expected.dtype.names:
        for name in expected.dtype.names:
            same(found[name], expected[name])
    elif expected.dtype == object:
        for one, other in zip(found.ravel(), expected.ravel(), strict=True):
            same(one, other)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("is_compressed", [False, True])
def test_what_scipy_writes_is_read_as_scipy_reads_it(tmp_path, is_compressed):
    path = tmp_path / "x.mat"
    savemat(path, VARIABLES, do_compression=is_compressed)
    expected = loadmat(path)
    assert list_matlab_variables(path) == list(VARIABLES)
    for name in ("numbers", "planes", "structure", "cells"):
        same(read_matlab(path, name), expected[name])


def test_logical_values_are_bool(tmp_path):
    savemat(tmp_path / "x.mat", {"edges": np.array([[True, False]])})
    assert read_matlab(tmp_path / "x.mat", "edges").tolist() == [[True, False]]
    assert read_matlab(tmp_path / "x.mat", "edges").dtype == np.bool_


@pytest.mark.long
def test_damaged_files_are_refused_and_none_crashes(tmp_path):
    path, refused = tmp_path / "x.mat", 0
    rng = np.random.default_rng(3)
    for is_compressed in (False, True):
        savemat(path, VARIABLES, do_compression=is_compressed)
        whole = path.read_bytes()
        for _ in range(400):
            data = bytearray(whole)
            for _ in range(rng.integers(1, 4)):
                data[rng.integers(128, len(data))] ^= 1 << rng.integers(8)
            path.write_bytes(bytes(data[: rng.integers(len(data))] if rng.random() < 0.2 else data))
            try:
                for name in list_matlab_variables(path):
                    read_matlab(path, name)
            except InvalidMask:
                refused += 1
    assert refused > 300


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(kind, shape, *parts, name=b"x"):
    flags = element(6, struct.pack("<II", kind, 0))
    dimensions = element(5, struct.pack(f"<{len(shape)}i", *shape))
    return element(14, flags + dimensions + element(1, name) + b"".join(parts))


def write(path, *elements):
    path.write_bytes(
        b"MATLAB 5.0 MAT-file".ljust(124) + struct.pack("<H", 0x0100) + b"IM" + b"".join(elements)
    )


def nested(depth):
    inner = matrix(9, (1, 1), element(2, b"\1"), name=b"")
    for _ in range(depth):
        inner = matrix(1, (1, 1), inner, name=b"x")
    return inner


BOMB = struct.pack("<II", 14, 1 << 30) + bytes(1 << 24)


@pytest.mark.parametrize(("elements", "message"), [
    (
        [matrix(6, (60000, 60000), element(9, bytes(8)))],
        "at most 89,478,485 pixels, but the header claims 3,600,000,000",
    ),
    ([matrix(1, (60000, 600))], "36,000,000 values in"),
    ([matrix(2, (-1, 1))], "a matrix without sizes"),
    ([nested(40)], "more than 16 nested matrices"),
    ([element(15, zlib.compress(BOMB))], "the header claims|bytes instead of the stated 1,073,741,824"),
    ([element(15, b"none")], "incorrect header check|unknown compression"),
    ([struct.pack("<II", 14, 1 << 31)], "an element of 2,147,483,648 bytes, but only 0 are left"),
])  # fmt: skip
def test_what_lies_is_refused_with_little_memory(tmp_path, elements, message):
    write(tmp_path / "x.mat", *elements)
    tracemalloc.start()
    with pytest.raises(InvalidMask, match=message):
        read_matlab(tmp_path / "x.mat", "x")
    assert tracemalloc.get_traced_memory()[1] < 10**8
    tracemalloc.stop()


def test_more_elements_than_anyone_writes_are_refused(tmp_path):
    write(tmp_path / "x.mat", element(14, b"") * 200_001)
    with pytest.raises(InvalidMask, match="more than 200,000 elements"):
        read_matlab(tmp_path / "x.mat", "x")


def test_hdf5_is_refused_by_name(tmp_path):
    (tmp_path / "x.mat").write_bytes(
        b"MATLAB 7.3 MAT-file".ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n"
    )
    with pytest.raises(InvalidMask, match=r"got 7.3 \(HDF5\); save it with '-v7'"):
        read_matlab(tmp_path / "x.mat", "x")

"""Headers that could crash ITK are rejected before it reads them."""

import numpy as np
import pytest
import SimpleITK as sitk

from segarena.errors import InvalidImage
from segarena.systems.volumes.files.volume_io import read_volume


def write(path):
    sitk.WriteImage(
        sitk.GetImageFromArray(np.arange(120, dtype=np.uint8).reshape(6, 5, 4)), str(path)
    )
    return path


def changed(path, old, new):
    data = write(path).read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new, 1))
    return path


@pytest.mark.parametrize(("old", "new"), [
    (b"NDims = 3", b"NDims = -1"),  # these two ended the process
    (b"NDims = 3", b"NDims = 999"),
    (b"NDims = 3", b"NDims = 3\nNDims = 9"),
    (b"NDims = 3", b"NDims = three"),
    (b"DimSize = 4 5 6", b"DimSize = -4 5 6"),
    (b"DimSize = 4 5 6", b"DimSize = 4 5"),
    (b"DimSize = 4 5 6", b"DimSize = 99999999999 5 6"),
    (b"DimSize = 4 5 6", b"DimSize = 2000000000 2000000000 2000000000"),
    (b"DimSize", b"ElementNumberOfChannels = -5\nDimSize"),
    (b"DimSize", b"CompressedDataSize = -9\nDimSize"),
    (b"DimSize", b"CompressedDataSize = 99999999999\nDimSize"),
    (b"DimSize", b"HeaderSize = -7\nDimSize"),
    (b"DimSize", b"Comment = " + b"x" * 5000 + b"\nDimSize"),
    (b"Offset = 0 0 0", b"Offset = 0 0"),
    (b"1 0 0 0 1 0 0 0 1", b"1 0 0 0 1"),
])  # fmt: skip
def test_a_metaimage_header_that_lies_is_refused(tmp_path, old, new):
    with pytest.raises(
        InvalidImage, match=r"a\.mha: expected a valid header, got: .*; copy or export it again"
    ):
        read_volume(changed(tmp_path / "a.mha", old, new))


@pytest.mark.parametrize(("old", "new"), [
    (b"sizes: 4 5 6", b"sizes: 4 5 6" + b" " * 5000),  # these three ended the process
    (b"encoding", b"thicknesses: " + b"1" * 5000 + b"\nencoding"),
    (b"encoding", b"1" * 5000 + b"\nencoding"),
    (b"dimension: 3", b"dimension: -1"),
    (b"dimension: 3", b"dimension: 17"),
    (b"sizes: 4 5 6", b"sizes: 4 5"),
    (b"sizes: 4 5 6", b"sizes: 4 5 -6"),
    (b"encoding: raw", b"encoding: shell"),
    (b"type: unsigned char", b"type: block"),
    (b"NRRD0004", b"NRRD9999"),
    (b"(1,0,0) (0,1,0) (0,0,1)", b"(1,0,0) (0,1,0)"),
])  # fmt: skip
def test_a_nrrd_header_that_lies_is_refused(tmp_path, old, new):
    with pytest.raises(
        InvalidImage, match=r"a\.nrrd: expected a valid header, got: .*; copy or export it again"
    ):
        read_volume(changed(tmp_path / "a.nrrd", old, new))


def test_named_values_and_remarks_of_a_nrrd_may_be_long(tmp_path):
    path = changed(
        tmp_path / "a.nrrd",
        b"encoding",
        b"# " + b"x" * 5000 + b"\nsome.key:=" + b"y" * 50000 + b"\nencoding",
    )
    assert read_volume(path)[0].shape == (6, 5, 4)


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../secret.raw", "link.raw", "LIST", "part%02d.raw", "sub/../../secret.raw"],
)
@pytest.mark.parametrize("suffix", [".mhd", ".nrrd"])
def test_a_data_file_outside_of_the_folder_is_not_read(tmp_path, suffix, name):
    (tmp_path / "in").mkdir()
    (tmp_path / "secret.raw").write_bytes(bytes(120))
    (tmp_path / "in" / "link.raw").symlink_to(tmp_path / "secret.raw")
    if suffix == ".mhd":
        path = changed(tmp_path / "in" / "a.mhd", b"a.raw", name.encode())
    else:
        path = changed(
            tmp_path / "in" / "a.nrrd", b"encoding", b"data file: " + name.encode() + b"\nencoding"
        )
    with pytest.raises(InvalidImage, match="expected a valid header, got: "):
        read_volume(path)


def test_a_data_file_beside_the_header_is_read(tmp_path):
    path = write(tmp_path / "a.mhd")
    expected, _ = read_volume(path)
    header, data = write(tmp_path / "b.nrrd").read_bytes().split(b"\n\n", 1)
    (tmp_path / "b.raw").write_bytes(data)
    (tmp_path / "b.nrrd").write_bytes(header + b"\ndata file: b.raw\n\n")
    np.testing.assert_array_equal(read_volume(tmp_path / "b.nrrd")[0], expected)

"""Volumes from files: two libraries, two conventions, one canonical array, and all errors of files."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import struct
import sys
import zlib

import nibabel
import numpy as np
import pytest
import SimpleITK as sitk

from segarena.arrays.orientation import Grid
from segarena.errors import InvalidImage, InvalidInput, InvalidMask, MissingExtra
from segarena.systems.volumes.files import volume_header
from segarena.systems.volumes.files.nrrd_metaimage import MITK_LABEL_GROUPS
from segarena.systems.volumes.files.volume_io import (
    read_header,
    read_labels,
    read_volume,
    volume_suffix,
    write_volume,
)

SHAPE = (4, 5, 6)
VOXELS = np.arange(120, dtype=np.int16).reshape(SHAPE) - 30
SUFFIXES = (".nii", ".nii.gz", ".nrrd", ".mha", ".mhd")
CODES = [
    "".join(letters)
    for pairs in itertools.permutations(("LR", "PA", "IS"))
    for letters in itertools.product(*pairs)
]
LPI = np.array([[-0.5, 0, 0, 40.0], [0, -0.75, 0, -7.0], [0, 0, -5.0, 300.0], [0, 0, 0, 1]])
OBLIQUE = np.array(
    [[0.48, -0.21, 0.0, 40.0], [0.14, 0.72, 0, -7.0], [0, 0, 5.0, 300.0], [0, 0, 0, 1]]
)


def with_nibabel(path, voxels=VOXELS, affine=LPI, change=None):
    image = nibabel.Nifti1Image(voxels, affine, dtype=voxels.dtype)
    if change:
        change(image.header)
    nibabel.save(image, path)
    return path


def with_sitk(path, voxels=VOXELS, affine=LPI):
    image = sitk.GetImageFromArray(np.ascontiguousarray(voxels.T))
    lps = np.diag([-1, -1, 1, 1]) @ affine
    spacing = np.linalg.norm(lps[:3, :3], axis=0)
    image.SetSpacing(spacing.tolist())
    image.SetOrigin(lps[:3, 3].tolist())
    image.SetDirection((lps[:3, :3] / spacing).ravel().tolist())
    sitk.WriteImage(image, str(path))
    return path


def write(path, voxels=VOXELS, affine=LPI):
    return (with_nibabel if path.name.endswith((".nii", ".nii.gz")) else with_sitk)(
        path, voxels, affine
    )


def field(offset, form, *values):
    """Return a change of the bytes of a NIfTI header."""
    return lambda data: (
        data[:offset] + struct.pack(form, *values) + data[offset + struct.calcsize(form) :]
    )


def damaged(path, change):
    """Write a NIfTI file whose uncompressed bytes were changed."""
    plain = with_nibabel(path.with_name("plain.nii"))
    data = change(plain.read_bytes())
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("affine", [LPI, OBLIQUE], ids=["lpi", "oblique"])
def test_every_format_gives_the_same_canonical_volume(tmp_path, suffix, affine):
    voxels, grid = read_volume(write(tmp_path / f"a{suffix}", affine=affine))
    closest = nibabel.as_closest_canonical(nibabel.Nifti1Image(VOXELS, affine))
    np.testing.assert_array_equal(voxels, np.asarray(closest.dataobj).T)
    np.testing.assert_allclose(grid.affine, affine, atol=1e-5)
    assert voxels.dtype == np.int16
    assert voxels.flags.c_contiguous
    assert voxels.flags.writeable


@pytest.mark.parametrize("code", CODES)
def test_both_libraries_say_the_same_of_one_volume_in_every_axis_code(tmp_path, code):
    affine = np.zeros((4, 4))
    for axis, letter in enumerate(code):
        world = next(i for i, pair in enumerate(("LR", "PA", "IS")) if letter in pair)
        affine[world, axis] = (0.5, 0.75, 5.0)[axis] * (1 if letter in "RAS" else -1)
    affine[:, 3] = (3, -4, 5, 1)
    by_nibabel, first = read_volume(with_nibabel(tmp_path / "a.nii", affine=affine))
    by_sitk, second = read_volume(with_sitk(tmp_path / "a.nrrd", affine=affine))
    by_sitk_nifti, third = read_volume(with_sitk(tmp_path / "b.nii", affine=affine))
    assert first.code == second.code == third.code == code
    assert first.difference(second) is None
    assert first.difference(third) is None
    np.testing.assert_array_equal(by_nibabel, by_sitk)
    np.testing.assert_array_equal(by_nibabel, by_sitk_nifti)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_written_mask_lies_where_both_libraries_expect_it(tmp_path, suffix):
    voxels, grid = read_volume(write(tmp_path / f"a{suffix}", affine=OBLIQUE))
    out = tmp_path / f"mask{suffix}"
    write_volume(out, voxels > 40, grid)
    if suffix.startswith(".nii"):
        written = nibabel.load(out)
        stored = np.asarray(written.dataobj)
        np.testing.assert_allclose(written.affine, OBLIQUE, atol=1e-5)
        np.testing.assert_allclose(written.header.get_qform(), OBLIQUE, atol=1e-4)
    else:
        stored = sitk.GetArrayFromImage(sitk.ReadImage(str(out))).T
    assert stored.dtype == np.uint8
    np.testing.assert_array_equal(stored, VOXELS > 40)
    again = read_labels(out)
    np.testing.assert_array_equal(again.groups[0], voxels > 40)
    assert grid.difference(again.grid) is None


def test_a_sheared_grid_is_written_only_where_the_format_can_say_it(tmp_path):
    tilted = LPI.copy()
    tilted[1, 2] = 1.5
    voxels, grid = read_volume(with_nibabel(tmp_path / "a.nii", affine=tilted))
    write_volume(tmp_path / "b.nii.gz", voxels, grid)
    np.testing.assert_allclose(nibabel.load(tmp_path / "b.nii.gz").affine, tilted, atol=1e-5)
    with pytest.raises(InvalidImage, match="orthogonal axes"):
        write_volume(tmp_path / "b.nrrd", voxels, grid)


def test_writing_wants_the_grids_shape_and_a_known_ending(tmp_path):
    voxels, grid = read_volume(write(tmp_path / "a.nii"))
    with pytest.raises(InvalidInput, match="shape"):
        write_volume(tmp_path / "b.nii", voxels[1:], grid)
    with pytest.raises(InvalidImage, match="ending"):
        write_volume(tmp_path / "b.tif", voxels, grid)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_header_tells_shape_type_and_spacing_without_the_numbers(tmp_path, suffix):
    path = write(tmp_path / f"a{suffix}")
    if suffix in (".nii", ".nrrd"):
        path.write_bytes(path.read_bytes()[:-50])
    header = read_header(path)
    assert header.grid.shape == SHAPE
    assert header.dtype == np.int16
    assert header.decoded_bytes == 240
    assert header.grid.canonical.spacing_mm == pytest.approx((5.0, 0.75, 0.5))


def test_the_axis_of_largest_spacing_can_come_first(tmp_path):
    coronal = LPI.copy()
    coronal[1, 1] = -9
    voxels, grid = read_volume(
        with_nibabel(tmp_path / "a.nii", affine=coronal), slice_axis="largest-spacing"
    )
    assert grid.canonical.code == "ASR"
    np.testing.assert_array_equal(voxels, VOXELS[::-1, ::-1, ::-1].transpose(1, 2, 0))


def test_stored_types_are_kept_and_scaled_ones_become_float32(tmp_path):
    big_endian = nibabel.Nifti1Image(
        VOXELS, LPI, nibabel.Nifti1Header(endianness=">"), dtype=np.int16
    )
    nibabel.save(big_endian, tmp_path / "big.nii")
    voxels, _ = read_volume(tmp_path / "big.nii")
    assert voxels.dtype == np.dtype("=i2")
    np.testing.assert_array_equal(np.sort(voxels, axis=None), np.sort(VOXELS, axis=None))
    scaled, _ = read_volume(damaged(tmp_path / "scaled.nii.gz", field(112, "<2f", 2.0, -1024.0)))
    assert scaled.dtype == np.float32
    np.testing.assert_array_equal(scaled, 2.0 * voxels - 1024)


def test_lengths_in_micrometres_become_millimetres(tmp_path):
    path = with_nibabel(tmp_path / "a.nii", change=lambda header: header.set_xyzt_units("micron"))
    assert read_header(path).grid.spacing_mm == pytest.approx((0.0005, 0.00075, 0.005))


def test_a_qform_is_used_when_there_is_no_sform_and_a_file_without_both_says_so(tmp_path):
    image = nibabel.Nifti1Image(VOXELS, None, dtype=np.int16)
    image.set_qform(OBLIQUE, code="scanner")
    nibabel.save(image, tmp_path / "q.nii")
    header = read_header(tmp_path / "q.nii")
    np.testing.assert_allclose(header.grid.affine, OBLIQUE, atol=1e-4)
    assert header.is_placed
    nibabel.save(nibabel.Nifti1Image(VOXELS, None, dtype=np.int16), tmp_path / "none.nii")
    assert not read_header(tmp_path / "none.nii").is_placed


def test_nifti_2_and_files_of_several_gzip_members_are_read(tmp_path):
    nibabel.save(nibabel.Nifti2Image(VOXELS, LPI, dtype=np.int16), tmp_path / "two.nii")
    expected, _ = read_volume(write(tmp_path / "a.nii"))
    np.testing.assert_array_equal(read_volume(tmp_path / "two.nii")[0], expected)
    data = (tmp_path / "a.nii").read_bytes()
    (tmp_path / "members.nii.gz").write_bytes(
        gzip.compress(data[:400]) + gzip.compress(data[400:]) + bytes(512)
    )
    np.testing.assert_array_equal(read_volume(tmp_path / "members.nii.gz")[0], expected)


@pytest.mark.parametrize("suffix", [".nii.gz", ".mha"])
def test_a_fourth_axis_of_length_one_is_dropped_and_a_longer_one_refused(tmp_path, suffix):
    single, several = VOXELS[..., None], np.stack([VOXELS, VOXELS], axis=3)
    if suffix == ".mha":
        for name, array in (("one", single), ("two", several)):
            sitk.WriteImage(
                sitk.GetImageFromArray(array.T.copy(), isVector=False),
                str(tmp_path / f"{name}{suffix}"),
            )
    else:
        with_nibabel(tmp_path / f"one{suffix}", single)
        with_nibabel(tmp_path / f"two{suffix}", several)
    assert read_volume(tmp_path / f"one{suffix}")[0].size == VOXELS.size
    with pytest.raises(InvalidImage, match="one volume per file"):
        read_volume(tmp_path / f"two{suffix}")


def test_a_single_slice_image_is_not_a_volume(tmp_path):
    with pytest.raises(InvalidImage, match="three axes"):
        read_volume(with_nibabel(tmp_path / "a.nii", VOXELS[0]))
    sitk.WriteImage(sitk.GetImageFromArray(VOXELS[0].copy()), str(tmp_path / "a.mha"))
    with pytest.raises(InvalidImage, match="three axes"):
        read_volume(tmp_path / "a.mha")


class TestLabels:
    def test_stored_integers_stay(self, tmp_path):
        labels = (VOXELS > 10).astype(np.uint16) * 7
        found = read_labels(write(tmp_path / "a.nii.gz", labels))
        assert found.groups[0].dtype == np.uint16
        assert set(np.unique(found.groups[0])) == {0, 7}

    @pytest.mark.parametrize(
        ("highest", "dtype"), [(3, np.uint8), (300, np.uint16), (70000, np.uint32)]
    )
    def test_whole_floats_become_integers(self, tmp_path, highest, dtype):
        labels = (VOXELS > 10).astype(np.float64) * highest
        found = read_labels(write(tmp_path / "a.nii", labels))
        assert found.groups[0].dtype == dtype
        assert found.groups[0].max() == highest

    @pytest.mark.parametrize("value", [0.5, np.nan, np.inf, 1e300])
    def test_other_floats_are_refused(self, tmp_path, value):
        labels = (VOXELS > 10).astype(np.float64)
        labels[1, 2, 3] = value
        with pytest.raises(InvalidMask, match="whole numbers.*got " + re.escape(str(value))):
            read_labels(write(tmp_path / "a.nii", labels))

    @pytest.mark.parametrize("dtype", [np.int16, np.float32])
    def test_negative_labels_are_refused(self, tmp_path, dtype):
        with pytest.raises(InvalidMask, match=r"at least 0, got -30.*exchange the folders"):
            read_labels(write(tmp_path / "a.nii", VOXELS.astype(dtype)))

    def test_an_empty_label_is_refused(self, tmp_path):
        with pytest.raises(InvalidMask, match="at least one labelled voxel"):
            read_labels(write(tmp_path / "a.nii", np.zeros(SHAPE, np.uint8)))

    def test_groups_of_a_multi_label_file_keep_their_overlap_and_names(self, tmp_path):
        first, second = VOXELS > 10, VOXELS > 50
        stack = np.stack([first, second * 2], axis=3).astype(np.uint16)
        image = sitk.GetImageFromArray(
            np.ascontiguousarray(stack.transpose(2, 1, 0, 3)), isVector=True
        )
        image.SetDirection((-1, 0, 0, 0, -1, 0, 0, 0, 1))
        names = [
            {"labels": [{"name": "lung", "value": 1}]},
            {"labels": [{"name": "nodule", "value": 2}]},
        ]
        image.SetMetaData(MITK_LABEL_GROUPS, json.dumps(names))
        sitk.WriteImage(image, str(tmp_path / "a.in.nrrd"))
        found = read_labels(tmp_path / "a.in.nrrd")
        assert found.grid.code == "RAS"
        assert found.names == ({1: "lung"}, {2: "nodule"})
        np.testing.assert_array_equal(found.groups[0], first.transpose(2, 1, 0))
        np.testing.assert_array_equal(found.groups[1], 2 * second.transpose(2, 1, 0))
        with pytest.raises(InvalidImage, match="one value per voxel, got 2"):
            read_volume(tmp_path / "a.in.nrrd")

    def test_segments_of_slicer_have_the_names_and_layers_of_the_header(self, tmp_path):
        stack = np.stack([VOXELS > 10, (VOXELS > 50) * 3], axis=3).astype(np.uint8)
        image = sitk.GetImageFromArray(
            np.ascontiguousarray(stack.transpose(2, 1, 0, 3)), isVector=True
        )
        for number, (name, value, layer) in enumerate(
            [("lung", 1, 0), ("nodule", 3, 1), ("heart", 2, 0)]
        ):
            for key, told in (("Name", name), ("LabelValue", value), ("Layer", layer)):
                image.SetMetaData(f"Segment{number}_{key}", str(told))
        sitk.WriteImage(image, str(tmp_path / "a.seg.nrrd"))
        assert read_labels(tmp_path / "a.seg.nrrd").names == (
            {1: "lung", 2: "heart"},
            {3: "nodule"},
        )
        image.SetMetaData("Segment2_Layer", "2")
        sitk.WriteImage(image, str(tmp_path / "a.seg.nrrd"))
        with pytest.raises(InvalidImage, match="segment 2 in one of 2 layers"):
            read_labels(tmp_path / "a.seg.nrrd")

    def test_segments_of_older_slicers_have_a_layer_each(self, tmp_path):
        image = sitk.GetImageFromArray(np.ascontiguousarray((VOXELS > 10).astype(np.uint8)))
        image.SetMetaData("Segment0_Name", "lung")
        sitk.WriteImage(image, str(tmp_path / "a.seg.nrrd"))
        assert read_labels(tmp_path / "a.seg.nrrd").names == ({1: "lung"},)

    def test_group_names_that_are_no_list_of_labels_are_refused(self, tmp_path):
        image = sitk.GetImageFromArray(VOXELS)
        image.SetMetaData(MITK_LABEL_GROUPS, '{"labels": 3}')
        sitk.WriteImage(image, str(tmp_path / "a.nrrd"))
        with pytest.raises(InvalidImage, match="list of groups"):
            read_labels(tmp_path / "a.nrrd")


class TestBadFiles:
    @pytest.mark.parametrize("spacing", [0.0, -1.0, np.nan])
    def test_spacing_must_be_positive(self, tmp_path, spacing):
        qform_only, spacing_of_rows = field(252, "<2h", 1, 0), field(84, "<f", spacing)
        path = damaged(tmp_path / "a.nii.gz", lambda data: spacing_of_rows(qform_only(data)))
        with pytest.raises(InvalidImage, match="positive spacing"):
            read_volume(path)

    def test_with_an_sform_its_columns_are_the_spacing_whatever_the_header_says_beside(
        self, tmp_path
    ):
        path = damaged(tmp_path / "a.nii", field(84, "<f", 0.0))
        assert read_header(path).grid.spacing_mm == (0.5, 0.75, 5.0)

    @pytest.mark.parametrize("spacing", [b"0", b"-1", b"nan"])
    def test_spacing_must_be_positive_in_mha_too(self, tmp_path, spacing):
        path = with_sitk(tmp_path / "a.mha", affine=np.eye(4))
        path.write_bytes(
            path.read_bytes().replace(
                b"ElementSpacing = 1 1 1", b"ElementSpacing = 1 " + spacing + b" 1"
            )
        )
        with pytest.raises(InvalidImage, match="positive spacing"):
            read_volume(path)

    def test_a_singular_affine_is_refused(self, tmp_path):
        path = damaged(tmp_path / "a.nii", field(280, "<12f", 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 2, 0))
        with pytest.raises(InvalidImage, match=r"a\.nii: .*singular"):
            read_volume(path)

    def test_a_singular_direction_is_refused(self, tmp_path):
        path = with_sitk(tmp_path / "a.mha", affine=np.diag([-1, -1, 1, 1]))
        data = path.read_bytes()
        assert b"TransformMatrix = 1 0 0 0 1 0" in data
        path.write_bytes(
            data.replace(b"TransformMatrix = 1 0 0 0 1 0", b"TransformMatrix = 1 0 0 1 0 0")
        )
        with pytest.raises(InvalidImage, match=r"a\.mha: .*singular"):
            read_volume(path)

    @pytest.mark.parametrize("suffix", [".nii", ".nrrd"])
    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_nonfinite_intensities_are_refused_or_replaced(self, tmp_path, suffix, value):
        voxels = VOXELS.astype(np.float32)
        voxels[1, 2, 3:5] = value
        path = write(tmp_path / f"a{suffix}", voxels)
        with pytest.raises(InvalidImage, match="2 voxels of NaN"):
            read_volume(path)
        replaced, grid = read_volume(path, replace_nonfinite=-1000.0)
        stored = grid.to_stored(replaced)
        assert stored[1, 2, 3] == stored[1, 2, 4] == -1000
        assert stored[0, 0, 0] == -30

    @pytest.mark.parametrize("keep", [20, 300, -30, -4])
    def test_a_truncated_gz_is_refused(self, tmp_path, keep):
        path = with_nibabel(
            tmp_path / "a.nii.gz", np.random.default_rng(0).integers(0, 999, SHAPE).astype(np.int16)
        )
        path.write_bytes(path.read_bytes()[:keep])
        with pytest.raises(InvalidImage, match=r"a\.nii\.gz"):
            read_volume(path)

    def test_corrupt_gz_data_are_refused(self, tmp_path):
        path = write(tmp_path / "a.nii.gz")
        data = bytearray(path.read_bytes())
        data[-8] ^= 0xFF
        path.write_bytes(data)
        with pytest.raises(InvalidImage, match="corrupt gzip"):
            read_volume(path)
        path.write_bytes(write(tmp_path / "b.nii.gz").read_bytes() + b"more")
        with pytest.raises(InvalidImage, match="corrupt gzip"):
            read_volume(path)

    @pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
    def test_less_or_more_than_the_header_says_is_refused(self, tmp_path, suffix):
        path = damaged(tmp_path / f"a{suffix}", lambda data: data[:-10])
        with pytest.raises(
            InvalidImage, match="expected 592 bytes according to the header, the file has only 582"
        ):
            read_volume(path)
        path = damaged(tmp_path / f"a{suffix}", lambda data: data + bytes(10))
        with pytest.raises(
            InvalidImage, match="expected 592 bytes according to the header, the file has more"
        ):
            read_volume(path)

    @pytest.mark.long
    def test_a_bomb_behind_an_honest_header_is_not_unpacked(self, tmp_path):
        path = write(tmp_path / "a.nii")
        packer = zlib.compressobj(wbits=31)
        bomb = packer.compress(path.read_bytes())
        bomb += b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()
        (tmp_path / "a.nii.gz").write_bytes(bomb)
        with pytest.raises(InvalidImage, match="has more"):
            read_volume(tmp_path / "a.nii.gz")

    @pytest.mark.parametrize("suffix", [".nii.gz", ".nrrd", ".mha"])
    def test_a_header_that_promises_more_than_allowed_or_possible_is_refused_undecoded(
        self, tmp_path, suffix
    ):
        path = tmp_path / f"a{suffix}"
        if suffix == ".nii.gz":
            damaged(path, field(42, "<3h", 2000, 2000, 300))
        else:
            data = write(path).read_bytes()
            path.write_bytes(data.replace(b"4 5 6", b"2000 2000 300"))
        with pytest.raises(InvalidImage, match="more than a file of"):
            read_volume(path)
        with pytest.raises(
            InvalidImage, match=r"at most 1,000,000 voxels, but the header claims 1,200,000,000"
        ):
            read_volume(path, max_voxels=1_000_000)

    def test_a_volume_larger_than_the_memory_is_refused_before_it_is_read(
        self, tmp_path, monkeypatch
    ):
        path = write(tmp_path / "a.nii")
        monkeypatch.setattr(volume_header, "available_memory_bytes", lambda: 479)
        with pytest.raises(InvalidImage, match="memory"):
            read_volume(path)
        monkeypatch.setattr(volume_header, "available_memory_bytes", lambda: 480)
        read_volume(path)
        path = damaged(tmp_path / "scaled.nii", field(112, "<2f", 2.0, 0.0))
        with pytest.raises(InvalidImage, match="memory"):
            read_volume(path)

    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_what_is_no_volume_is_refused(self, tmp_path, suffix):
        path = tmp_path / f"a{suffix}"
        path.write_bytes(b"not a volume at all, whatever the name says " * 20)
        with pytest.raises(InvalidImage, match=r"a\.(nii|nrrd|mh)"):
            read_volume(path)
        path.write_bytes(b"")
        with pytest.raises(InvalidImage, match=r"a\.(nii|nrrd|mh)"):
            read_volume(path)

    @pytest.mark.parametrize("suffix", [".nrrd", ".mha"])
    def test_truncated_itk_files_are_refused(self, tmp_path, suffix):
        path = write(tmp_path / f"a{suffix}")
        path.write_bytes(path.read_bytes()[:-50])
        with pytest.raises(InvalidImage, match="readable volume"):
            read_volume(path)

    def test_a_missing_data_file_is_told(self, tmp_path):
        path = write(tmp_path / "a.mhd")
        (tmp_path / "a.raw").unlink()
        with pytest.raises(InvalidImage, match=r"a\.(mhd|raw)"):
            read_volume(path)

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (field(70, "<h", 32), "real number"),
            (field(70, "<h", 77), "valid NIfTI header"),
            (field(112, "<2f", 2, np.inf), "valid NIfTI header"),
            (field(108, "<f", np.nan), "valid NIfTI header"),
            (field(108, "<f", -5.0), "valid NIfTI header"),
            (field(108, "<f", 1e15), "valid NIfTI header"),
            (field(112, "<2f", 1e38, 0.0), "NaN or infinity"),
            (field(42, "<h", -4), "at least one voxel"),
            (field(344, "<4s", b"ni1\0"), "single-file"),
        ],
    )
    def test_headers_without_sense_are_refused(self, tmp_path, change, words):
        with pytest.raises(InvalidImage, match=words):
            read_volume(damaged(tmp_path / "a.nii", change))

    def test_complex_numbers_are_refused(self, tmp_path):
        image = sitk.Cast(
            sitk.GetImageFromArray(VOXELS.astype(np.float32)), sitk.sitkComplexFloat32
        )
        sitk.WriteImage(image, str(tmp_path / "a.mha"))
        with pytest.raises(InvalidImage, match=r"a\.mha"):
            read_volume(tmp_path / "a.mha")

    def test_missing_files_and_unknown_endings_are_told(self, tmp_path):
        with pytest.raises(InvalidImage, match="found no file"):
            read_volume(tmp_path / "a.nii")
        (tmp_path / "a.tif").write_bytes(b"x")
        with pytest.raises(InvalidImage, match="convert it"):
            read_volume(tmp_path / "a.tif")


@pytest.mark.parametrize(("package", "suffix"), [("nibabel", ".nii"), ("SimpleITK", ".nrrd")])
def test_a_missing_package_is_told_with_the_command_that_installs_it(
    tmp_path, monkeypatch, package, suffix
):
    path = write(tmp_path / f"a{suffix}")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'segarena\[radiology\]'"):
        read_volume(path)


@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        ("a.nii.gz", ".nii.gz"),
        ("A.NII", ".NII"),
        ("a.in.nrrd", ".in.nrrd"),
        ("a.b.nrrd", ".nrrd"),
        ("a.gz", ""),
    ],
)
def test_the_ending_is_the_longest_that_fits(tmp_path, name, suffix):
    assert volume_suffix(tmp_path / name) == suffix


def test_available_memory_is_the_less_of_the_machines_and_the_containers(tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text("MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    monkeypatch.setattr(volume_header, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(volume_header, "_CGROUP", tmp_path)
    assert volume_header.available_memory_bytes() == 5_120_000
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("2000000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 600000\n")
    assert volume_header.available_memory_bytes() == 1_600_000
    (tmp_path / "memory.max").write_text("max\n")
    assert volume_header.available_memory_bytes() == 5_120_000
    (tmp_path / "meminfo").unlink()
    assert volume_header.available_memory_bytes() > 0


def test_available_memory_is_between_nothing_and_everything():
    assert 0 < volume_header.available_memory_bytes() < 2**50


def test_a_grid_read_twice_is_the_same(tmp_path):
    path = write(tmp_path / "a.nii.gz", affine=OBLIQUE)
    assert read_header(path).grid.difference(read_volume(path)[1]) is None
    assert isinstance(read_header(path).grid, Grid)

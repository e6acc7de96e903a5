"""DICOM: finding series, reading CT, and resampling segmentations to it."""

import tracemalloc

import numpy as np
import pydicom
import pytest
import SimpleITK as sitk

from segarena.errors import DatasetMissing, SampleInvalid
from segarena.files import limits
from segarena.systems.volumes.preparation.dicom_ct import read_ct
from segarena.systems.volumes.preparation.dicom_seg import read_segmentation
from segarena.systems.volumes.preparation.dicom_series import (
    find_series,
    group_series,
    select_modality,
)

SHAPE = (6, 8, 10)
TURNED = (0.0, 0.8, 0.6, 1.0, 0.0, 0.0)


@pytest.fixture
def hounsfield():
    return np.random.default_rng(0).integers(-512, 512, SHAPE) * 2.0


@pytest.fixture
def ct_at(write_ct, hounsfield, tmp_path):
    """Write a CT and read it: the written data, the volume, its grid."""

    def call(**options):
        told = write_ct(tmp_path / "ct", hounsfield, **options)
        (series,) = find_series(tmp_path / "ct")
        return told, *read_ct(series)

    return call


def test_series_are_told_by_their_headers(write_ct, write_seg, hounsfield, tmp_path, box):
    first = write_ct(tmp_path / "x" / "y", hounsfield[:2], patient="B")
    write_ct(tmp_path / "x", hounsfield[:3], patient="A", description="other")
    write_seg(tmp_path / "seg.bin", first, [("one", box((2, 8, 10), ((0, 0, 0), (1, 1, 1))))])
    (tmp_path / "LICENSE").write_text("terms")
    (tmp_path / "short").write_bytes(b"DICM")
    series = find_series(tmp_path)
    assert [(one.patient, one.modality, len(one.files)) for one in series] == [
        ("A", "CT", 3),
        ("B", "CT", 2),
        ("B", "SEG", 1),
    ]
    (seg,) = select_modality(series, "SEG")
    assert (seg.refers_to, seg.study, seg.description) == (
        first.series,
        first.study,
        "Segmentation",
    )
    assert {
        name: len(group) for name, group in group_series(series, lambda one: one.patient).items()
    } == {"A": 1, "B": 2}


def test_what_was_being_fetched_or_unpacked_is_passed_over(write_ct, hounsfield, tmp_path):
    write_ct(tmp_path / "whole", hounsfield[:2])
    write_ct(tmp_path / "1.2.3.unpacking", hounsfield[:1])
    first = next((tmp_path / "whole").iterdir())
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "1.dcm.part").write_bytes(first.read_bytes())
    assert [len(series.files) for series in find_series(tmp_path)] == [2]


def test_a_folder_without_dicom_says_so(tmp_path):
    with pytest.raises(DatasetMissing, match="expected DICOM files"):
        find_series(tmp_path)


def test_a_dicom_file_that_ends_early_is_one_line(write_ct, hounsfield, tmp_path):
    write_ct(tmp_path, hounsfield)
    path = sorted(tmp_path.iterdir())[2]
    path.write_bytes(path.read_bytes()[:700])
    (series,) = [one for one in find_series(tmp_path) if len(one.files) > 1]
    with pytest.raises(SampleInvalid, match=r"lacks|bytes of pixel data"):
        read_ct(series)


@pytest.mark.parametrize(
    ("tag", "value", "reason"),
    [
        ("Rows", 60_000, "bytes of pixel data"),
        ("PixelData", None, "got no PixelData"),
        ("ImagePositionPatient", [0, 0], "numbers"),
    ],
)
def test_a_slice_whose_header_lies_is_one_line(write_ct, hounsfield, tmp_path, tag, value, reason):
    write_ct(tmp_path, hounsfield)
    for path in tmp_path.iterdir():
        slice_ = pydicom.dcmread(path)
        slice_.pop(tag) if value is None else setattr(slice_, tag, value)
        slice_.save_as(path)
    (series,) = find_series(tmp_path)
    with pytest.raises(SampleInvalid, match=reason):
        read_ct(series)


def deflate(path):
    """Rewrite a DICOM file, deflated as a whole, with a hundred megabytes of zeros in it."""
    content = pydicom.dcmread(path)
    content.add_new((0x0009, 0x0010), "LO", "NOTHING")
    content.add_new((0x0009, 0x1001), "OB", bytes(100 << 20))
    content.file_meta.TransferSyntaxUID = pydicom.uid.DeflatedExplicitVRLittleEndian
    content.save_as(path, enforce_file_format=True)


@pytest.mark.long
def test_deflated_files_are_refused_before_they_are_inflated(ct_at, write_seg, tmp_path, box):
    told, _, grid = ct_at()
    seg = write_seg(tmp_path / "seg" / "seg.dcm", told, [("A", box(SHAPE, ((0, 0, 0), (2, 2, 2))))])
    deflate(seg)
    deflate(sorted((tmp_path / "ct").iterdir())[0])
    assert seg.stat().st_size < 1 << 20
    tracemalloc.start()
    for read in (
        lambda: find_series(tmp_path / "ct"),
        lambda: find_series(seg.parent),
        lambda: read_segmentation(seg, grid),
    ):
        with pytest.raises(SampleInvalid, match="expected a DICOM file that is not deflated"):
            read()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 << 20


def test_a_damaged_word_before_the_header_is_told_before_itk_takes_it_for_a_length(
    write_ct, hounsfield, tmp_path
):
    write_ct(tmp_path / "ct", hounsfield)
    path = sorted((tmp_path / "ct").iterdir())[0]
    version = b"\x02\x00\x12\x00U"  # (0002,0012), of the representation UI
    assert version + b"I" in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(version + b"I", version + b"M"))
    with pytest.raises(
        SampleInvalid, match="expected a DICOM file, got: Unknown Value Representation 'UM'"
    ):
        find_series(tmp_path / "ct")


def test_a_series_may_have_as_many_voxels_as_a_volume(ct_at, monkeypatch):
    monkeypatch.setenv(
        limits.PIXEL_LIMIT_VARIABLE, str(limits.DEFAULT_PIXEL_LIMIT // 2**23)
    )  # 256 voxels in place of 2^31; a slice has 80
    with pytest.raises(
        SampleInvalid, match=r"CT series .*: expected at most 2.. voxels, but the header claims 480"
    ):
        ct_at()


def test_a_segmentation_may_claim_as_many_voxels_as_a_volume(
    ct_at, write_seg, tmp_path, box, monkeypatch
):
    told, _, grid = ct_at()
    masks = [(name, box(SHAPE, ((0, 0, 0), (2, 2, 2)))) for name in "AB"]
    path = write_seg(tmp_path / "seg.dcm", told, masks, all_frames=False)
    assert len(read_segmentation(path, grid).masks) == 2
    with monkeypatch.context() as patch:  # what its segments come to on the CT
        patch.setenv(limits.PIXEL_LIMIT_VARIABLE, str(limits.DEFAULT_PIXEL_LIMIT * 800 // 2**31))
        with pytest.raises(
            SampleInvalid, match=r"seg\.dcm: its segments: expected at most .* claims 960"
        ):
            read_segmentation(path, grid)
        assert len(read_segmentation(path, grid, wanted=lambda _: [0]).masks) == 1
    content = pydicom.dcmread(path)
    content.NumberOfFrames = 2**31 - 1
    content.save_as(path)
    with pytest.raises(
        SampleInvalid, match=r"seg\.dcm: expected at most .* claims 171,798,691,760"
    ):
        read_segmentation(path, grid)


@pytest.mark.parametrize(
    "orientation", [(1, 0, 0, 0, 1, 0), (1, 0, 0, 0, 0, -1), (0, 1, 0, 0, 0, -1), TURNED]
)
def test_slices_are_sorted_by_position_and_rescaled(ct_at, hounsfield, orientation):
    told, image, grid = ct_at(orientation=tuple(map(float, orientation)))
    assert np.array_equal(sitk.GetArrayFromImage(image), hounsfield)
    normal = np.cross(orientation[:3], orientation[3:])
    for index in [(0, 0, 0), (5, 7, 9), (2, 3, 4)]:
        plane, row, column = index
        place = np.array(told.origin) + plane * 2.0 * normal
        place += row * 0.5 * np.array(orientation[3:]) + column * 0.75 * np.array(orientation[:3])
        assert np.allclose(image.TransformIndexToPhysicalPoint(index[::-1]), place)
    assert grid.shape == SHAPE
    assert grid.plane_spacing == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("positions", "reason"),
    [([0, 2, 4, 8, 10, 12], "slices are missing"), ([0, 2, 4, 4, 6, 8], "at one position")],
)
def test_stacks_with_holes_or_doubles_are_refused(ct_at, positions, reason):
    with pytest.raises(SampleInvalid, match=reason):
        ct_at(positions=positions)


def test_slices_of_two_sizes_are_refused(write_ct, hounsfield, tmp_path):
    import pydicom

    write_ct(tmp_path, hounsfield)
    path = sorted(tmp_path.iterdir())[3]
    ds = pydicom.dcmread(path)
    ds.PixelSpacing = [0.5, 0.5]
    ds.save_as(path)
    (series,) = find_series(tmp_path)
    with pytest.raises(SampleInvalid, match="different sizes, spacings or orientations"):
        read_ct(series)


@pytest.mark.parametrize("all_frames", [True, False])
@pytest.mark.parametrize("orientation", [(1, 0, 0, 0, 1, 0), TURNED])
def test_overlapping_segments_come_back_voxel_by_voxel(
    ct_at, write_seg, tmp_path, all_frames, orientation
):
    told, _, grid = ct_at(orientation=tuple(map(float, orientation)))
    masks = np.random.default_rng(1).random((2, *SHAPE)) < 0.4
    masks[1, [0, 3]] = False
    path = write_seg(
        tmp_path / "seg.dcm", told, [("A", masks[0]), ("B", masks[1])], all_frames=all_frames
    )
    found = read_segmentation(path, grid)
    assert found.names == ("A", "B")
    assert np.array_equal(found.masks, masks)
    assert (found.own_shape, found.frames_outside) == (SHAPE, 0)


@pytest.mark.parametrize("planes", [[1, 2, 3], [1, 3], [2], [0, 2, 4]])
def test_missing_frames_stay_empty_also_when_no_spacing_is_told(ct_at, write_seg, tmp_path, planes):
    told, _, grid = ct_at()
    mask = np.zeros(SHAPE, bool)
    mask[planes, 2:5, 3:6] = True
    path = write_seg(
        tmp_path / "seg.dcm", told, [("A", mask)], all_frames=False, says_spacing=False
    )
    found = read_segmentation(path, grid)
    assert np.array_equal(found.masks[0], mask)
    assert found.own_shape == (planes[-1] - planes[0] + 1, 8, 10)


def test_a_spacing_larger_than_the_distance_of_frames_is_not_believed(ct_at, write_seg, tmp_path):
    import pydicom

    told, _, grid = ct_at()
    mask = np.zeros(SHAPE, bool)
    mask[1:4, 2:5, 3:6] = True
    path = write_seg(tmp_path / "seg.dcm", told, [("A", mask)], all_frames=False)
    ds = pydicom.dcmread(path)
    ds.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0].SpacingBetweenSlices = 5.0
    ds.save_as(path)
    found = read_segmentation(path, grid)
    assert np.array_equal(found.masks[0], mask)
    assert found.own_shape == (3, 8, 10)


def test_only_wanted_segments_are_read_and_names_may_repeat(ct_at, write_seg, tmp_path, box):
    told, _, grid = ct_at()
    first, second = box(SHAPE, ((0, 0, 0), (2, 2, 2))), box(SHAPE, ((3, 3, 3), (5, 5, 5)))
    path = write_seg(tmp_path / "seg.dcm", told, [("same", first), ("same", second)])
    found = read_segmentation(path, grid, wanted=lambda names: [len(names) - 1])
    assert np.array_equal(found.masks, [second])


def test_fractional_segments_are_cut_at_half(ct_at, write_seg, tmp_path):
    told, _, grid = ct_at()
    values = np.random.default_rng(2).integers(0, 201, SHAPE)
    path = write_seg(tmp_path / "seg.dcm", told, [("A", values)], kind="FRACTIONAL")
    assert np.array_equal(read_segmentation(path, grid).masks[0], values >= 100)


def test_a_segmentation_of_some_slices_lands_on_them(ct_at, write_seg, tmp_path):
    told, _, grid = ct_at()
    part = np.random.default_rng(3).random((3, 8, 10)) < 0.5
    path = write_seg(tmp_path / "seg.dcm", told, [("A", part)], first_plane=2)
    found = read_segmentation(path, grid)
    expected = np.zeros(SHAPE, bool)
    expected[2:5] = part
    assert np.array_equal(found.masks[0], expected)
    assert found.own_shape == (3, 8, 10)


def test_frames_beyond_the_ct_are_counted(ct_at, write_seg, tmp_path):
    told, _, grid = ct_at()
    path = write_seg(tmp_path / "seg.dcm", told, [("A", np.ones((4, 8, 10), bool))], first_plane=4)
    found = read_segmentation(path, grid)
    assert found.frames_outside == 2
    assert found.masks[0].sum(axis=(1, 2)).tolist() == [0, 0, 0, 0, 80, 80]


@pytest.mark.parametrize("says_spacing", [True, False])
@pytest.mark.parametrize(
    ("spacing", "shape", "shift", "turned"),
    [
        ((2.0, 1.0, 1.5), (6, 4, 5), 0.1, False),  # coarser in the plane
        ((4.0, 0.5, 0.75), (3, 8, 10), 0.3, False),  # coarser across planes
        ((1.0, 0.5, 0.75), (12, 8, 10), -0.2, False),  # finer across planes
        ((2.0, 0.5, 0.75), (6, 8, 10), 0.11, True),  # upside down
    ],
)
def test_other_grids_are_resampled_like_itk_does(
    ct_at, write_seg, tmp_path, spacing, shape, shift, turned, says_spacing
):
    told, image, grid = ct_at()
    origin = tuple(x + shift for x in told.origin)
    orientation = (1.0, 0.0, 0.0, 0.0, -1.0, 0.0) if turned else told.orientation
    if turned:
        origin = (origin[0], origin[1] + 7 * 0.5, origin[2] + 5 * 2.0)
    mask = np.random.default_rng(4).random(shape) < 0.5
    path = write_seg(
        tmp_path / "seg.dcm",
        told,
        [("A", mask)],
        spacing=spacing,
        origin=origin,
        orientation=orientation,
    )
    own = sitk.GetImageFromArray(mask.astype(np.uint8))
    own.SetSpacing(spacing[::-1])
    own.SetOrigin(origin)
    normal = np.cross(orientation[:3], orientation[3:])
    own.SetDirection(np.stack([orientation[:3], orientation[3:], normal], axis=1).ravel().tolist())
    expected = (
        sitk.GetArrayFromImage(
            sitk.Resample(own, image, sitk.Transform(), sitk.sitkNearestNeighbor)
        )
        == 1
    )
    found = read_segmentation(path, grid)
    assert np.array_equal(found.masks[0], expected)
    assert found.own_shape == shape


def test_segmentations_across_the_slices_are_refused(ct_at, write_seg, tmp_path):
    told, _, grid = ct_at()
    across = (1.0, 0.0, 0.0, 0.0, 0.0, -1.0)
    path = write_seg(tmp_path / "seg.dcm", told, [("A", np.ones(SHAPE, bool))], orientation=across)
    with pytest.raises(SampleInvalid, match="not parallel"):
        read_segmentation(path, grid)


def test_what_is_no_segmentation_is_refused(ct_at, write_seg, tmp_path):
    import pydicom

    told, _, grid = ct_at()
    with pytest.raises(SampleInvalid, match="expected a BINARY or FRACTIONAL"):
        read_segmentation(next((tmp_path / "ct").iterdir()), grid)
    path = write_seg(tmp_path / "seg.dcm", told, [("A", np.ones(SHAPE, bool))])
    ds = pydicom.dcmread(path)
    del ds.SharedFunctionalGroupsSequence[0].PlaneOrientationSequence
    ds.save_as(path)
    with pytest.raises(SampleInvalid, match="its frames have no ImageOrientationPatient"):
        read_segmentation(path, grid)
    ds.PerFrameFunctionalGroupsSequence = ds.PerFrameFunctionalGroupsSequence[:2]
    ds.save_as(path)
    with pytest.raises(SampleInvalid, match="position for each of 6 frames, got 2"):
        read_segmentation(path, grid)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(SampleInvalid, match="expected a"):
        read_segmentation(path, grid)

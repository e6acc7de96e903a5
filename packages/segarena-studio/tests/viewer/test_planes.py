"""Planes of volumes: anatomical orientation, and values that survive encoding."""

import io

import numpy as np
import pytest
from PIL import Image

from segarena.arrays.quantization import fit_quantization
from segarena.samples import ImageSample, VideoSample, VolumeSample
from segarena_studio.viewer.planes import encode_plane, list_planes

SHAPE = (3, 4, 5)


def volume(voxels=None, affine=None):
    made = np.zeros(SHAPE, np.int16) if voxels is None else voxels
    return VolumeSample(id="v", voxels=made, spacing_mm=(5.0, 1.0, 2.0), affine=affine)


def canonical():
    """Return an affine: plane to Superior, row to Anterior, column to Right, as columns of RAS+ millimetres."""
    affine = np.eye(4)
    affine[:3, :3] = [[0, 0, 2.0], [0, 1.0, 0], [5.0, 0, 0]]
    return affine


def test_the_sides_of_a_patient_are_where_radiologists_look_for_them():
    axial, coronal, sagittal = list_planes(volume(affine=canonical()))
    assert [(plane.name, plane.letters) for plane in (axial, coronal, sagittal)] == [
        ("axial", "ALPR"),
        ("coronal", "SLIR"),
        ("sagittal", "SPIA"),
    ]
    assert [plane.edges for plane in (axial, coronal, sagittal)] == [
        (1.0, 2.0),
        (2.5, 1.0),
        (5.0, 1.0),
    ]


def test_another_order_of_axes_has_other_names_and_an_unknown_one_no_letters():
    turned = canonical()[:, [1, 0, 2, 3]]  # planes to Anterior, rows to Superior
    assert [(plane.name, plane.axis) for plane in list_planes(volume(affine=turned))] == [
        ("axial", 1),
        ("coronal", 0),
        ("sagittal", 2),
    ]
    assert {plane.letters for plane in list_planes(volume())} == {""}


def test_a_slice_is_turned_round():
    marked = np.zeros(SHAPE, np.int16)
    marked[2, 3, 4] = 1  # superior, anterior, right
    for plane in list_planes(volume(marked, canonical())):
        shown = plane.cut(marked, plane.count - 1)
        assert shown.shape == plane.size
        assert shown[0, 0] == 1


@pytest.mark.parametrize("kind", [np.int16, np.uint8, np.uint16, np.float32])
def test_values_survive_as_sixteen_bits(rng, kind):
    voxels = (
        rng.integers(0, 255, SHAPE) if kind is np.uint8 else rng.integers(-900, 3000, SHAPE)
    ).astype(kind)
    sample = volume(voxels)
    levels, axial = fit_quantization(voxels), list_planes(sample)[0]
    content, media = encode_plane(sample, axial, 1, levels)
    pixels = np.asarray(Image.open(io.BytesIO(content)), np.int64)
    values = levels.offset + levels.step * (256 * pixels[:, :, 0] + pixels[:, :, 1])
    expected = voxels[1][::-1, ::-1].astype(np.float64)
    assert media == "image/png"
    np.testing.assert_allclose(
        values, expected, atol=0.0 if kind is not np.float32 else levels.step
    )


def test_what_is_not_finite_is_as_low_as_can_be():
    voxels = np.linspace(-1, 1, 60, dtype=np.float32).reshape(SHAPE)
    voxels[1, 0, 0] = np.nan
    levels = fit_quantization(voxels)
    assert (levels.offset, round(levels.offset + 65535 * levels.step, 6)) == (-1.0, 1.0)
    content, _ = encode_plane(volume(voxels), list_planes(volume(voxels))[0], 1, levels)
    assert np.asarray(Image.open(io.BytesIO(content)))[-1, -1].tolist() == [0, 0, 0]


def test_photographs_are_as_they_are_and_frames_come_one_at_a_time(rng):
    image = rng.integers(0, 256, (6, 7, 3), dtype=np.uint8)
    photograph = ImageSample(id="p", image=image)
    content, _ = encode_plane(photograph, list_planes(photograph)[0], 0, None)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(content))), image)

    class Frames(list):
        loaded = ()

        def __getitem__(self, place):
            self.loaded += (place,)
            return image

    frames = Frames([None] * 4)
    video = VideoSample(id="c", frames=frames, frame_shape=(6, 7))
    content, media = encode_plane(video, list_planes(video)[0], 2, None)
    assert (media, frames.loaded) == ("image/jpeg", (2,))
    assert Image.open(io.BytesIO(content)).size == (7, 6)

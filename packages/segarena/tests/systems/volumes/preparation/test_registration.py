import numpy as np
import pytest
import SimpleITK as sitk

from segarena.errors import SampleInvalid
from segarena.systems.volumes.preparation.registration import register_rigidly


@pytest.fixture
def phantom():
    """A head of several tissues, 2 mm voxels, without symmetry."""
    z, y, x = np.indices((40, 44, 48)) * 2.0
    tissue = np.zeros(x.shape, int)
    for value, (centre, radii) in enumerate(
        [
            ((48, 44, 40), (36, 30, 28)),
            ((38, 30, 48), (8, 7, 6)),
            ((62, 34, 46), (5, 9, 8)),
            ((50, 58, 28), (12, 6, 9)),
        ],
        1,
    ):
        inside = (
            sum(((a - c) / r) ** 2 for a, c, r in zip((x, y, z), centre, radii, strict=True)) <= 1
        )
        tissue[inside] = value
    return tissue


def image(values):
    made = sitk.GetImageFromArray(values.astype(np.float32))
    made.SetSpacing((2.0, 2.0, 2.0))
    return made


@pytest.mark.long
def test_a_known_rotation_and_shift_between_two_modalities_is_found(phantom):
    ct = image(np.array([-1000, 40, 300, -200, 900])[phantom])
    truth = sitk.Euler3DTransform((48.0, 44.0, 40.0), 0.06, -0.04, 0.1, (5.0, -4.0, 3.0))
    tissue = sitk.Resample(image(phantom), truth, sitk.sitkNearestNeighbor, 0.0)
    mr = image(np.array([0, 500, 200, 900, 350])[sitk.GetArrayFromImage(tissue).astype(int)])
    found = register_rigidly(ct, mr)
    # Where the centre and the ends of the head go, in mm.
    for point in [(48.0, 44.0, 40.0), (20.0, 44.0, 40.0), (48.0, 70.0, 40.0), (48.0, 44.0, 60.0)]:
        assert (
            np.linalg.norm(np.subtract(found.TransformPoint(point), truth.TransformPoint(point)))
            < 1.0
        )


@pytest.mark.long
def test_the_same_images_give_the_same_transform(phantom):
    coarse = phantom[::2, ::2, ::2]
    ct, mr = image(coarse * -100.0), image(coarse**2 * 1.0)
    first, second = (register_rigidly(ct, mr).GetParameters() for _ in range(2))
    assert np.allclose(first, second, atol=1e-6)


def test_images_without_content_are_refused():
    with pytest.raises(SampleInvalid, match="cannot be registered"):
        register_rigidly(image(np.zeros((8, 8, 8))), image(np.zeros((8, 8, 8))))

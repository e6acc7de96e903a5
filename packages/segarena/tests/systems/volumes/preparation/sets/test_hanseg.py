import numpy as np
import pytest
import SimpleITK as sitk

from segarena.systems.volumes.preparation.sets.hanseg import HANSEG_ORGANS

SPACING = (3.0, 3.0, 3.0)
SHIFT_MM = np.array([6.0, -3.0, 4.5])
OBLIQUE = (1.0, 0.0, 0.0, 0.0, 0.6, -0.8, 0.0, 0.8, 0.6)


def blob(centre_mm, radius_mm, shape=(24, 28, 30)):
    """A ball (plane, row, column), its centre given in (x, y, z)."""
    z, y, x = np.indices(shape) * 3.0
    return (x - centre_mm[0]) ** 2 + (y - centre_mm[1]) ** 2 + (
        z - centre_mm[2]
    ) ** 2 <= radius_mm**2


def head(shift):
    """Skull, two eyes and a throat, as numbers of tissues."""
    tissue = np.zeros((24, 28, 30), int)
    for value, centre, radius in (
        (1, (44, 40, 35), 30),
        (2, (34, 26, 40), 7),
        (3, (54, 26, 40), 7),
        (4, (44, 52, 24), 9),
    ):
        tissue[blob(np.array(centre) + shift, radius)] = value
    return tissue


def patient(write_volume, raw, name="case_01"):
    folder = raw / "HaN-Seg" / "set_1" / name
    noise = np.random.default_rng(0).normal(0, 5, (24, 28, 30))
    mr, ct = (
        np.array([0, 400, 900, 800, 100])[head(0)],
        np.array([-1000, 50, 20, 10, -300])[head(SHIFT_MM)],
    )
    write_volume(
        folder / f"{name}_IMG_MR_T1.nrrd",
        (mr + noise).astype(np.float32),
        SPACING,
        direction=OBLIQUE,
    )
    write_volume(folder / f"{name}_IMG_CT.nrrd", (ct + noise).astype(np.float32), SPACING)
    for organ, value in (("Eye_AL", 2), ("Eye_AR", 3), ("Glottis", 4)):
        mask = (head(SHIFT_MM) == value).astype(np.uint8)
        write_volume(folder / f"{name}_OAR_{organ}.seg.nrrd", mask, SPACING)
    # Shares its voxels with half of the left eye, whose id is lower.
    mask = (head(SHIFT_MM) == 2).astype(np.uint8)
    mask[:, :, :14] = 0
    write_volume(folder / f"{name}_OAR_OpticNrv_L.seg.nrrd", mask, SPACING)


def test_organs_drawn_on_the_ct_land_on_the_mr(tmp_path, write_volume, prepared, read_array):
    patient(write_volume, tmp_path / "raw")
    result, summary = prepared("hanseg")
    assert result.failed == {}
    assert summary["counts"]["objects"] == {"all": 4}
    labels = read_array(tmp_path / "out" / "labelsTr" / "case_01.nii.gz")
    ids = [HANSEG_ORGANS.index(name) + 1 for name in ("Eye_AR", "Glottis")]
    assert ids == [13, 21]
    for number, value in zip(ids, (3, 4), strict=True):
        wanted = head(0) == value
        found = labels == number
        assert 2 * np.count_nonzero(wanted & found) / (wanted.sum() + found.sum()) > 0.8
    assert set(np.unique(labels)) == {0, 12, 13, 21, 25}


def test_image_and_labels_have_one_grid_of_identity_direction(tmp_path, write_volume, prepared):
    patient(write_volume, tmp_path / "raw")
    prepared("hanseg")
    for folder, name in (("imagesTr", "case_01_0000"), ("labelsTr", "case_01")):
        image = sitk.ReadImage(str(tmp_path / "out" / folder / f"{name}.nii.gz"))
        assert np.allclose(image.GetDirection(), np.eye(3).ravel())
        assert image.GetSize() == (30, 28, 24)


@pytest.mark.long
def test_a_patient_without_ct_fails_alone(tmp_path, write_volume, prepared):
    patient(write_volume, tmp_path / "raw", "case_01")
    patient(write_volume, tmp_path / "raw", "case_02")
    next((tmp_path / "raw").rglob("case_02_IMG_CT.nrrd")).unlink()
    result, _ = prepared("hanseg")
    assert [case.id for case in result.cases] == ["case_01"]
    assert result.failed == {"case_02": "no CT next to the MR"}


def test_the_thirty_organs_are_in_alphabetical_order():
    assert len(HANSEG_ORGANS) == 30
    assert list(HANSEG_ORGANS) == sorted(HANSEG_ORGANS)

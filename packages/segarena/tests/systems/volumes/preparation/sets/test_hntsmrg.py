import numpy as np


def patient(write_volume, raw, name, mask):
    for time in ("preRT", "midRT"):
        folder = raw / "HNTSMRG24_train" / name / time
        write_volume(folder / f"{name}_{time}_T2.nii.gz", np.ones((3, 4, 5), np.float32))
        write_volume(folder / f"{name}_{time}_mask.nii.gz", np.asarray(mask, np.float32))


def test_only_primary_tumours_before_radiotherapy_remain(
    tmp_path, write_volume, prepared, read_array
):
    both = np.zeros((3, 4, 5))
    both[0, 0, 0:2] = both[2, 3, 4] = 1  # two parts stay one tumour
    both[1, 1, 1:4] = 2
    patient(write_volume, tmp_path / "raw", "10", both)
    patient(write_volume, tmp_path / "raw", "11", np.where(both == 1, 0, both))
    result, summary = prepared("hntsmrg")
    assert [case.id for case in result.cases] == ["10_preRT"]
    assert summary["left_out"] == {"11_preRT": "no primary tumour"}
    assert not result.failed
    labels = read_array(tmp_path / "out" / "labelsTr" / "10_preRT.nii.gz")
    assert np.array_equal(labels, both == 1)
    assert sorted(path.name for path in (tmp_path / "out" / "imagesTr").iterdir()) == [
        "10_preRT_0000.nii.gz"
    ]


def test_a_patient_without_mask_fails_alone(tmp_path, write_volume, prepared):
    patient(write_volume, tmp_path / "raw", "10", np.ones((3, 4, 5)))
    patient(write_volume, tmp_path / "raw", "11", np.ones((3, 4, 5)))
    next((tmp_path / "raw").rglob("11_preRT_mask.nii.gz")).unlink()
    result, _ = prepared("hntsmrg")
    assert (len(result.cases), result.failed) == (1, {"11_preRT": "no mask next to the T2"})

import numpy as np
import SimpleITK as sitk


def patient(write_volume, raw, number, lesions, spacing=(1.0, 1.0, 1.0)):
    folder = raw / "Brain MRI" / f"Patient-{number}"
    write_volume(
        folder / f"{number}-Flair.nii", np.arange(64, dtype=np.int16).reshape(4, 4, 4), spacing
    )
    write_volume(folder / f"{number}-T1.nii", np.zeros((4, 4, 4), np.int16))
    if lesions is not None:
        write_volume(folder / f"{number}-LesionSeg-Flair.nii", lesions, spacing)


def sheet(raw, *rows):
    head = ",T1,T1,FLAIR,\nID,Rows,Spacing Between Slices,Rows,Spacing Between Slices\n"
    lines = "".join(f"{number},0,99,0,{spacing}\n" for number, spacing in rows)
    (raw / "Supplementary Table 2 for  sequence parameters .csv").write_text(head + lines)


def test_lesions_become_instances_and_planes_get_the_spacing_of_the_sheet(
    tmp_path, write_volume, prepared, read_array
):
    raw = tmp_path / "raw"
    lesions = np.zeros((4, 4, 4), np.float32)
    lesions[0, 0, 0] = lesions[1, 1, 1] = 1  # corner to corner: one lesion of two voxels
    lesions[3, 3, 0:3] = 1
    lesions[0, 3, 3] = 2  # another label is no lesion
    patient(write_volume, raw, 2, lesions)
    patient(write_volume, raw, 10, lesions)
    sheet(raw, (2, 3.5), (10, 5))
    result, summary = prepared("ms_flair")
    assert [case.id for case in result.cases] == ["2_Flair", "10_Flair"]
    assert summary["counts"] == {
        "stated": 60,
        "prepared": 2,
        "left_out": 0,
        "failed": 0,
        "objects": {"all": 4},
    }
    labels = read_array(tmp_path / "out" / "labelsTr" / "2_Flair.nii.gz")
    assert [np.count_nonzero(labels == number) for number in (1, 2, 3)] == [2, 3, 0]
    for folder, name in (("imagesTr", "10_Flair_0000"), ("labelsTr", "10_Flair")):
        assert sitk.ReadImage(str(tmp_path / "out" / folder / f"{name}.nii.gz")).GetSpacing() == (
            1.0,
            1.0,
            5.0,
        )


def test_patients_that_lack_something_fail_alone(tmp_path, write_volume, prepared):
    raw = tmp_path / "raw"
    lesions = np.ones((4, 4, 4), np.uint8)
    patient(write_volume, raw, 1, lesions)
    patient(write_volume, raw, 2, None)
    patient(write_volume, raw, 3, lesions * 0)
    patient(write_volume, raw, 4, lesions)
    patient(write_volume, raw, 5, lesions[:3])
    sheet(raw, (1, 3), (2, 3), (3, 3), (5, 3))
    result, _ = prepared("ms_flair")
    assert [case.id for case in result.cases] == ["1_Flair"]
    assert {case: reason[:25] for case, reason in result.failed.items()} == {
        "2_Flair": "no lesion file next to th",
        "3_Flair": "3_Flair: expected at leas",
        "4_Flair": "patient 4: expected a pos",
        "5_Flair": "5-LesionSeg-Flair.nii: ex",
    }

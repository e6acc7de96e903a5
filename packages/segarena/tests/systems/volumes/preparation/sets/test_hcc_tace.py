import json

import numpy as np

from segarena.systems.volumes.preparation.sets.hcc_tace import LISTED_PATIENTS

SHAPE = (4, 8, 8)


def segments(box):
    return [
        ("Liver", box(SHAPE, ((0, 0, 0), (4, 2, 8)))),  # 64 voxels
        (
            "Mass",
            box(SHAPE, ((0, 2, 0), (1, 3, 2)), ((1, 3, 2), (2, 4, 4))),
        ),  # corner to corner: 2 and 2
        (
            "Necrosis",
            box(SHAPE, ((0, 2, 2), (1, 3, 3)), ((3, 4, 0), (4, 5, 1))),
        ),  # edge to the second part; alone
        ("Portal vein", box(SHAPE, ((2, 6, 0), (3, 7, 8)))),  # 8
        ("Abdominal aorta", box(SHAPE, ((0, 7, 0), (4, 8, 8)))),
    ]


def test_one_scan_gives_a_liver_and_its_lesions(
    tmp_path, write_ct, write_seg, prepared, box, read_array
):
    raw = tmp_path / "raw"
    ct = write_ct(raw / "a", np.zeros(SHAPE), patient="HCC_004", description="Recon 3: LIVER")
    write_ct(
        raw / "b", np.zeros(SHAPE), patient="HCC_004", study=ct.study, description="Recon 2: PRE"
    )
    write_seg(raw / "1.dcm", ct, segments(box))
    result, summary = prepared("hcc_tace")
    assert [case.id for case in result.cases] == ["HCC_004"]
    assert summary["counts"]["objects"] == {"liver": 1, "lesion": 2}
    liver = read_array(tmp_path / "out" / "liver" / "labelsTr" / "HCC_004.nii.gz")
    lesion = read_array(tmp_path / "out" / "lesion" / "labelsTr" / "HCC_004.nii.gz")
    assert (np.count_nonzero(liver), liver.max()) == (64 + 4 + 2 + 8, 1)
    # The necrosis between the parts of the mass touches one with a face and the other with an edge.
    assert [np.count_nonzero(lesion == number) for number in (1, 2)] == [5, 1]
    images = [
        tmp_path / "out" / name / "imagesTr" / "HCC_004_0000.nii.gz" for name in ("liver", "lesion")
    ]
    assert images[0].read_bytes() == images[1].read_bytes()
    kinds = {
        name: json.loads((tmp_path / "out" / name / "dataset.json").read_text())["kind"]
        for name in ("liver", "lesion")
    }
    assert kinds == {"liver": "organ", "lesion": "instance"}


def test_lesions_that_touch_at_corners_only_are_two(tmp_path, write_ct, write_seg, prepared, box):
    ct = write_ct(tmp_path / "raw" / "a", np.zeros(SHAPE), patient="HCC_004", description="Recon 3")
    write_seg(
        tmp_path / "raw" / "1.dcm",
        ct,
        [
            ("Liver", np.ones(SHAPE)),
            ("Mass", box(SHAPE, ((0, 0, 0), (1, 1, 1)), ((1, 1, 1), (2, 2, 2)))),
        ],
    )
    result, _ = prepared("hcc_tace")
    assert result.cases[0].objects == {"liver": 1, "lesion": 2}


def test_patients_are_left_out_by_list_series_and_shape(
    tmp_path, write_ct, write_seg, prepared, box
):
    raw = tmp_path / "raw"

    def patient(name, scans=("Recon 3",), planes=4, seg="Segmentation"):
        study = None
        for number, description in enumerate(scans):
            ct = write_ct(
                raw / f"{name}{number}",
                np.zeros(SHAPE),
                patient=name,
                study=study,
                description=description,
            )
            study = ct.study
        write_seg(
            raw / f"{name}.dcm", ct, [(n, m[:planes]) for n, m in segments(box)], description=seg
        )

    patient("HCC_012")
    patient("HCC_001")  # not in the list
    patient("HCC_013", scans=("Recon 3: A", "Recon 3: B"))
    patient("HCC_017", seg="Other")
    patient("HCC_020", planes=3)
    result, _ = prepared("hcc_tace")
    assert [case.id for case in result.cases] == ["HCC_012"]
    assert {name: reason[:24] for name, reason in result.left_out.items()} == {
        "HCC_001": "not among the 66 patient",
        "HCC_013": "expected one study with ",
        "HCC_017": "expected one study with ",
        "HCC_020": "the SEG has shape (3, 8,",
    }


def test_the_list_has_66_patients():
    assert len(set(LISTED_PATIENTS)) == 66

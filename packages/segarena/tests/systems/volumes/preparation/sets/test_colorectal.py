import numpy as np

from segarena.systems.volumes.preparation.sets.colorectal import (
    MISSING_PATIENTS,
    OVERLAPPING_PATIENTS,
)

SHAPE = (4, 6, 6)


def test_each_tumour_segment_is_one_instance(
    tmp_path, write_ct, write_seg, prepared, box, read_array
):
    raw = tmp_path / "raw"
    ct = write_ct(raw / "ct", np.zeros(SHAPE), patient="CRLM-CT-1001")
    first = box(
        SHAPE, ((0, 0, 0), (1, 1, 3)), ((3, 5, 5), (4, 6, 6))
    )  # in two parts, and one instance
    second = box(SHAPE, ((0, 1, 0), (1, 2, 5)))  # touches the first
    liver = np.ones(SHAPE)
    write_seg(
        raw / "1.dcm",
        ct,
        [("Liver", liver), ("Tumor_1", first), ("Hepatic", liver), ("Tumor_2", second)],
    )
    write_seg(raw / "2.dcm", ct, [("Tumor_1", liver)], description="Another")
    result, summary = prepared("colorectal")
    assert [case.id for case in result.cases] == ["CRLM-CT-1001"]
    assert summary["counts"]["objects"] == {"all": 2}
    labels = read_array(tmp_path / "out" / "labelsTr" / "CRLM-CT-1001.nii.gz")
    assert [np.count_nonzero(labels == number) for number in (1, 2)] == [4, 5]


def test_patients_are_left_out_by_name_and_others_fail(
    tmp_path, write_ct, write_seg, prepared, box
):
    raw = tmp_path / "raw"
    mask = box(SHAPE, ((0, 0, 0), (1, 1, 1)))
    for number, segments in (
        (1020, [("Tumor_1", mask)]),
        (1183, [("Tumor_1", mask)]),
        (1002, [("Tumor_1", mask), ("Tumor_2", mask)]),
        (1003, [("Liver", mask)]),
        (1004, [("Tumor_1", mask)]),
    ):
        ct = write_ct(raw / str(number), np.zeros(SHAPE), patient=f"CRLM-CT-{number}")
        write_seg(raw / f"{number}.dcm", ct, segments)
    write_ct(raw / "more", np.zeros(SHAPE), patient="CRLM-CT-1005")
    result, _ = prepared("colorectal")
    assert [case.id for case in result.cases] == ["CRLM-CT-1004"]
    assert sorted(result.left_out) == ["CRLM-CT-1020", "CRLM-CT-1183"]
    assert "tumours overlap" in result.failed["CRLM-CT-1002"]
    assert "it has Liver" in result.failed["CRLM-CT-1003"]
    assert "found 1 and 0" in result.failed["CRLM-CT-1005"]


def test_197_patients_less_those_left_out_are_the_171_of_the_paper():
    assert 197 - len(set(OVERLAPPING_PATIENTS + MISSING_PATIENTS)) == 171

import numpy as np

SHAPE = (5, 12, 40)


def test_grown_parts_join_and_small_ones_go(
    tmp_path, write_ct, write_seg, prepared, box, read_array
):
    raw = tmp_path / "raw"
    ct = write_ct(raw / "ct", np.zeros(SHAPE), patient="Adrenal_Ki67_Seg_001")
    mask = box(
        SHAPE,
        ((0, 0, 0), (1, 4, 5)),  # 20 voxels
        ((0, 0, 7), (1, 4, 10)),  # 12 more, two voxels away: one component of 32
        ((0, 8, 0), (1, 9, 29)),  # 29 voxels: goes
        ((4, 0, 20), (5, 3, 30)),  # 30 voxels: stays
    )
    write_seg(raw / "1.dcm", ct, [("Adrenal", mask)])
    result, summary = prepared("adrenal")
    assert summary["counts"]["objects"] == {"all": 2}
    labels = read_array(tmp_path / "out" / "labelsTr" / "Adrenal_Ki67_Seg_001.nii.gz")
    assert [np.count_nonzero(labels == number) for number in (1, 2)] == [32, 30]
    assert (tmp_path / "out" / "dataset.json").is_file()
    assert result.cases[0].id == "Adrenal_Ki67_Seg_001"


def test_other_shapes_are_left_out_and_other_scans_not_taken(
    tmp_path, write_ct, write_seg, prepared, box
):
    raw = tmp_path / "raw"
    mask = np.ones(SHAPE)
    for name, planes in (("A", 5), ("B", 4)):
        ct = write_ct(raw / name, np.zeros(SHAPE), patient=name)
        write_ct(raw / f"{name}2", np.ones(SHAPE), patient=name, study=ct.study)
        write_seg(raw / f"{name}.dcm", ct, [("Adrenal", mask[:planes])])
    ct = write_ct(raw / "C", np.zeros(SHAPE), patient="C")
    write_seg(raw / "C.dcm", ct, [("Adrenal", mask)], refers_to="1.2.3")
    result, _ = prepared("adrenal")
    assert [case.id for case in result.cases] == ["A"]
    assert result.left_out == {"B": "the SEG has shape (4, 12, 40), the CT (5, 12, 40)"}
    assert "found 0 and 1" in result.failed["C"]
    assert sorted(path.name for path in (tmp_path / "out" / "imagesTr").iterdir()) == [
        "A_0000.nii.gz"
    ]

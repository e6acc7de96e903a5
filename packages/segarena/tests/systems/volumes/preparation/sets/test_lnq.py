import numpy as np

SHAPE = (5, 6, 6)


def test_nodes_of_a_smaller_segmentation_land_on_the_ct(
    tmp_path, write_ct, write_seg, prepared, box, read_array
):
    raw = tmp_path / "raw"
    ct = write_ct(raw / "ct", np.zeros(SHAPE))
    part = box((3, 6, 6), ((0, 0, 0), (1, 2, 2)), ((1, 3, 3), (3, 5, 5)))
    write_seg(raw / "seg.dcm", ct, [("Lymph node", part)], first_plane=1)
    result, summary = prepared("lnq")
    assert summary["counts"]["objects"] == {"all": 2}
    labels = read_array(tmp_path / "out" / "labelsTr" / "lnq_0000.nii.gz")
    assert [np.count_nonzero(plane) for plane in labels] == [0, 4, 4, 4, 0]
    assert sorted(path.name for path in (tmp_path / "out" / "labelsTr").iterdir()) == [
        "lnq_0000.nii.gz"
    ]
    assert ct.study in result.cases[0].notes[0]


def test_studies_are_numbered_in_order_also_where_one_fails(
    tmp_path, write_ct, write_seg, prepared, box
):
    mask = box(SHAPE, ((0, 0, 0), (1, 1, 1)))
    for number in range(3):
        ct = write_ct(tmp_path / "raw" / str(number), np.zeros(SHAPE))
        if number != 1:
            write_seg(tmp_path / "raw" / f"{number}.dcm", ct, [("Lymph node", mask)])
    result, _ = prepared("lnq")
    assert [case.id for case in result.cases] == ["lnq_0000", "lnq_0002"]
    assert "found 1 and 0" in result.failed["lnq_0001"]

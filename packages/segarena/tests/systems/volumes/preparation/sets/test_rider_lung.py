import numpy as np

SHAPE = (4, 6, 6)


def test_the_second_segment_is_the_truth_and_its_parts_are_instances(
    tmp_path, write_ct, write_seg, prepared, box, read_array
):
    raw = tmp_path / "raw"
    ct = write_ct(raw / "ct", np.zeros(SHAPE))
    drawn = box(SHAPE, ((0, 0, 0), (2, 2, 2)), ((2, 2, 2), (3, 3, 3)), ((3, 5, 5), (4, 6, 6)))
    write_seg(raw / "seg" / "1.dcm", ct, [("Neoplasm", np.ones(SHAPE)), ("Neoplasm", drawn)])
    result, summary = prepared("rider_lung")
    assert [case.id for case in result.cases] == ["rider_lung_0000"]
    assert summary["counts"]["objects"] == {"all": 2}  # the first two boxes touch at a corner
    labels = read_array(tmp_path / "out" / "labelsTr" / "rider_lung_0000.nii.gz")
    assert [np.count_nonzero(labels == number) for number in (1, 2)] == [9, 1]


def test_an_only_segment_is_the_truth(tmp_path, write_ct, write_seg, prepared, box):
    ct = write_ct(tmp_path / "raw" / "ct", np.zeros(SHAPE))
    write_seg(tmp_path / "raw" / "1.dcm", ct, [("Lesion", box(SHAPE, ((0, 0, 0), (1, 2, 3))))])
    result, _ = prepared("rider_lung")
    assert result.cases[0].objects == {"": 1}


def test_several_scans_of_a_study_are_matched_by_reference(
    tmp_path, write_ct, write_seg, prepared, box, read_array
):
    raw = tmp_path / "raw"
    test = write_ct(raw / "a", np.full(SHAPE, 100))
    retest = write_ct(raw / "b", np.full(SHAPE, 200), study=test.study)
    third = write_ct(raw / "c", np.full(SHAPE, 300), study=test.study)
    one, two = box(SHAPE, ((0, 0, 0), (1, 1, 1))), box(SHAPE, ((1, 1, 1), (3, 3, 3)))
    write_seg(raw / "s1.dcm", retest, [("L", two)])
    write_seg(raw / "s2.dcm", test, [("L", one)])
    alone = write_ct(raw / "d", np.full(SHAPE, 400))
    result, _ = prepared("rider_lung")
    assert len(result.cases) == 2
    sizes = {}
    for case in result.cases:
        image = read_array(tmp_path / "out" / "imagesTr" / f"{case.id}_0000.nii.gz")
        label = read_array(tmp_path / "out" / "labelsTr" / f"{case.id}.nii.gz")
        sizes[int(image[0, 0, 0])] = np.count_nonzero(label)
    assert sizes == {100: 1, 200: 8}
    assert sorted(result.left_out) == sorted([alone.series, third.series])
    assert not result.failed

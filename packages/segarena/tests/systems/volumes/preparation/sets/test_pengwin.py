import numpy as np


def test_every_fragment_is_an_instance_with_ids_from_1(
    tmp_path, write_volume, prepared, read_array
):
    raw = tmp_path / "raw"
    labels = np.zeros((2, 3, 4), np.int8)
    labels[0, 0] = [1, 2, 0, 11]
    labels[1, 2] = [11, 21, 0, 12]
    for name in ("002", "001"):
        write_volume(
            raw / "PENGWIN_CT_train_images_part1" / f"{name}.mha", np.ones((2, 3, 4), np.int16)
        )
    write_volume(raw / "PENGWIN_CT_train_labels" / "001.mha", labels)
    result, summary = prepared("pengwin")
    assert [case.id for case in result.cases] == ["001"]
    assert result.failed == {"002": "no label of that name"}
    assert summary["counts"]["objects"] == {"all": 5}
    written = read_array(tmp_path / "out" / "labelsTr" / "001.nii.gz")
    assert written[0, 0].tolist() == [1, 2, 0, 3]
    assert written[1, 2].tolist() == [3, 5, 0, 4]


def test_labels_of_another_size_fail_alone(tmp_path, write_volume, prepared):
    raw = tmp_path / "raw"
    for name, planes in (("001", 2), ("002", 3)):
        write_volume(raw / "images" / f"{name}.mha", np.ones((2, 3, 4), np.int16))
        write_volume(raw / "labels" / f"{name}.mha", np.ones((planes, 3, 4), np.uint8))
    result, _ = prepared("pengwin")
    assert [case.id for case in result.cases] == ["001"]
    assert "expected the size of its image, (4, 3, 2), got (4, 3, 3)" in result.failed["002"]

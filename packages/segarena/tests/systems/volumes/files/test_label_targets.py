"""Targets from label volumes: classes, numbers and connected components, compared with full-volume references."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import ndimage
from skimage.measure import label as skimage_label
from skimage.morphology import ball

from segarena.errors import PluginInvalid
from segarena.systems.volumes.files.label_targets import LabelGroup, TargetRules, find_label_windows

SPACING = (5.0, 0.5, 0.5)
LABELS = npst.arrays(
    np.uint8, st.tuples(*(st.integers(1, 7),) * 3), elements=st.sampled_from([0, 0, 0, 1, 2, 5])
)


def volume(*boxes, shape=(6, 8, 10), dtype=np.uint8):
    labels = np.zeros(shape, dtype)
    for number, *window in boxes:
        labels[tuple(slice(*span) for span in window)] = number
    return labels


TWO_PARTS = volume(
    (1, (0, 2), (0, 2), (0, 2)), (1, (2, 4), (2, 4), (2, 4)), (2, (5, 6), (6, 8), (8, 10))
)


def targets(array, /, spacing=SPACING, **rules):
    return TargetRules(**rules).targets([LabelGroup(array)], spacing)


@given(labels=LABELS)
def test_windows_are_the_smallest_that_hold_each_number(labels):
    found = find_label_windows(labels)
    assert list(found) == [n for n in np.unique(labels).tolist() if n]
    for number, window in found.items():
        places = np.argwhere(labels == number)
        assert [w.start for w in window] == places.min(axis=0).tolist()
        assert [w.stop - 1 for w in window] == places.max(axis=0).tolist()


def test_windows_of_large_numbers_are_found_too():
    labels = volume(
        (70000, (1, 3), (2, 4), (3, 5)), (2_000_000_000, (4, 5), (0, 1), (0, 1)), dtype=np.uint32
    )
    assert find_label_windows(labels) == {
        70000: (slice(1, 3), slice(2, 4), slice(3, 5)),
        2_000_000_000: (slice(4, 5), slice(0, 1), slice(0, 1)),
    }


@given(labels=LABELS)
def test_each_class_is_one_target_with_its_volume(labels):
    found = targets(labels)
    assert [target.id for target in found] == [str(n) for n in np.unique(labels) if n]
    for target in found:
        np.testing.assert_array_equal(target.mask, labels == int(target.id))
        assert target.mask.dtype == bool
        assert target.attributes == {"volume_mm3": target.mask.sum() * 1.25}


@given(labels=LABELS, connectivity=st.sampled_from([6, 18, 26]))
def test_components_are_those_of_the_whole_volume(labels, connectivity):
    found = targets(labels, labels="components", connectivity=connectivity)
    expected = []
    for number in (n for n in np.unique(labels) if n):
        parts = skimage_label(labels == number, connectivity={6: 1, 18: 2, 26: 3}[connectivity])
        expected += [(f"{number}/{n}", parts == n) for n in range(1, parts.max() + 1)]
    assert [target.id for target in found] == [name for name, _ in expected]
    for target, (_, mask) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(target.mask, mask)


@given(labels=LABELS, radius=st.sampled_from([1, 2]))
def test_components_that_meet_when_grown_are_one(labels, radius):
    found = targets(labels, labels="components", dilation_voxels=radius)
    expected = set()
    for number in (n for n in np.unique(labels) if n):
        mask = labels == number
        grown = skimage_label(ndimage.binary_dilation(mask, ball(radius)))
        expected |= {((grown == n) & mask).tobytes() for n in range(1, grown.max() + 1)}
    assert {target.mask.tobytes() for target in found} == expected
    firsts = [(target.label, np.flatnonzero(target.mask)[0]) for target in found]
    assert firsts == sorted(firsts)


@pytest.mark.parametrize(("connectivity", "parts"), [(6, 2), (18, 2), (26, 1)])
def test_corners_touch_only_with_26(connectivity, parts):
    found = targets(TWO_PARTS, labels="components", connectivity=connectivity)
    assert sum(target.label == "1" for target in found) == parts


def test_each_number_is_one_instance():
    found = targets(TWO_PARTS, labels="instance", classes={"lesion": (1,)})
    assert [(target.id, target.label) for target in found] == [("1", "lesion"), ("2", "lesion")]
    found = targets(
        TWO_PARTS,
        labels="instance",
        classes={"lesion": (1,), "node": (2,)},
        excluded_classes=("node",),
    )
    assert [(target.id, target.label) for target in found] == [("1", "lesion")]
    assert [target.label for target in targets(TWO_PARTS, labels="instance")] == ["", ""]


def test_classes_may_join_and_share_numbers():
    found = targets(TWO_PARTS, classes={"any": (1, 2), "tumour": (2,), "absent": (9,)})
    assert [target.id for target in found] == ["any", "tumour"]
    np.testing.assert_array_equal(found[0].mask, TWO_PARTS > 0)
    np.testing.assert_array_equal(found[1].mask, TWO_PARTS == 2)


def test_excluded_and_unnamed_classes():
    found = targets(TWO_PARTS, classes={"tumour": (2,)}, excluded_classes=("tumour",))
    assert [target.id for target in found] == ["1"]


def test_small_targets_are_left_out_and_the_others_keep_their_number():
    found = targets(TWO_PARTS, labels="components", connectivity=6, min_voxels=5)
    assert [target.id for target in found] == ["1/1", "1/2"]
    assert [target.id for target in targets(TWO_PARTS, min_voxels=5)] == ["1"]
    assert [target.id for target in targets(TWO_PARTS, min_volume_mm3=5.1)] == ["1"]
    assert [target.id for target in targets(TWO_PARTS, min_volume_mm3=5.0)] == ["1", "2"]
    small_first = volume((1, (0, 1), (0, 1), (0, 1)), (1, (3, 6), (3, 6), (3, 6)))
    assert [target.id for target in targets(small_first, labels="components", min_voxels=2)] == [
        "1/2"
    ]


def test_unjudged_voxels_are_no_target_and_shared_by_all():
    labels = volume(
        (1, (0, 2), (0, 2), (0, 2)), (3, (2, 3), (0, 8), (0, 10)), (255, (4, 6), (0, 8), (0, 10))
    )
    found = targets(labels, ignore_value=255)
    assert [target.id for target in found] == ["1", "3"]
    np.testing.assert_array_equal(found[0].ignore, labels == 255)
    assert found[0].ignore is found[1].ignore
    assert targets(TWO_PARTS, ignore_value=255)[0].ignore is None


def test_attributes_say_modality_and_kind():
    found = targets(TWO_PARTS, modality="CT", kind={"2": "pathology"})
    assert found[0].attributes == {"modality": "CT", "volume_mm3": 16 * 1.25}
    assert found[1].attributes == {"modality": "CT", "kind": "pathology", "volume_mm3": 4 * 1.25}
    assert targets(TWO_PARTS, kind="organ")[0].attributes["kind"] == "organ"


def test_overlapping_groups_and_files_of_one_class_each():
    first, second = volume((1, (0, 4), (0, 4), (0, 4))), volume((1, (2, 6), (2, 6), (2, 6)))
    groups = [LabelGroup(first, names={1: "lesion"}), LabelGroup(second, names={1: "lesion"})]
    found = TargetRules().targets(groups, SPACING)
    assert [target.id for target in found] == ["lesion", "lesion#2"]
    assert [target.label for target in found] == ["lesion", "lesion"]
    np.testing.assert_array_equal(found[1].mask, second == 1)
    files = [
        LabelGroup(first, "liver"),
        LabelGroup(TWO_PARTS, "lungs"),
        LabelGroup(0 * first, "spleen"),
    ]
    assert [target.id for target in TargetRules().targets(files, SPACING)] == [
        "liver",
        "lungs/1",
        "lungs/2",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dilation_voxels": 1}, "only with labels='components'"),
        ({"labels": "components", "dilation_voxels": -1}, "0 or more"),
    ],
)
def test_impossible_rules_are_refused(options, words):
    with pytest.raises(PluginInvalid, match=words):
        TargetRules(**options)

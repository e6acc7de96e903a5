from __future__ import annotations

import time
from itertools import combinations

import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt, label

from segarena.errors import PluginInvalid, SampleInvalid
from segarena.registry import build
from segarena.roles import Dataset
from segarena.systems.volumes.datasets.phantom import Phantom
from segarena.systems.volumes.phantom.distance_fields import FAR_MM, VoxelSpace

EVERYWHERE = np.ones((3, 3, 3))


@pytest.fixture(scope="module")
def samples():
    dataset = Phantom()
    return [dataset.load(sample_id) for sample_id in dataset.sample_ids]


def target(sample, name):
    return next(t for t in sample.targets if t.id == name)


def planes_of(mask):
    return np.flatnonzero(mask.any(axis=(1, 2)))


def pieces(mask):
    return label(mask, EVERYWHERE)[1]


@pytest.mark.long
def test_is_a_dataset_of_alternating_modalities(samples):
    dataset = build("dataset", "phantom")
    assert isinstance(dataset, Dataset)
    assert dataset.sample_ids == ("ct-01", "mr-01", "ct-02", "mr-02", "ct-03", "mr-03")
    assert [sample.modality for sample in samples] == ["CT", "MR"] * 3
    for sample in samples:
        assert sample.shape == (40, 96, 96)
        assert sample.voxels.dtype == np.int16
        for one in sample.targets:
            assert one.mask.dtype == np.bool_
            assert one.mask.any()
            assert one.ignore is None
            assert set(one.attributes) == {"modality", "kind", "volume_mm3"}
            assert one.attributes["modality"] == sample.modality
            assert np.isclose(
                one.attributes["volume_mm3"], one.mask.sum() * np.prod(sample.spacing_mm)
            )
        kinds = {one.label: one.attributes["kind"] for one in sample.targets}
        organs = dict.fromkeys(("liver", "spleen", "kidney", "heart", "arm", "vessels"), "organ")
        assert kinds == organs | dict.fromkeys(
            ("liver lesion", "lymph nodes", "kidney stone"), "pathology"
        )


@pytest.mark.long
def test_equal_options_give_equal_voxels_whatever_was_loaded_before(samples):
    again = Phantom(cases=20).load("ct-02")
    before = samples[2]
    assert np.array_equal(again.voxels, before.voxels)
    assert np.array_equal(again.affine, before.affine)
    for one, other in zip(again.targets, before.targets, strict=True):
        assert one.id == other.id
        assert np.array_equal(one.mask, other.mask)
    assert not np.array_equal(Phantom(seed=1).load("ct-02").voxels, before.voxels)
    assert not np.array_equal(samples[0].voxels, before.voxels)


def test_fingerprint_changes_with_every_option():
    options = [{}, {"cases": 5}, {"seed": 1}, {"shape": (41, 96, 96)}]
    assert len({Phantom(**given).fingerprint for given in options}) == len(options)
    assert Phantom().fingerprint == Phantom(cases=6, shape=[40, 96, 96]).fingerprint


def test_each_volume_takes_less_than_five_seconds():
    start = time.process_time()
    Phantom().load("mr-01")
    assert time.process_time() - start < 5.0


def test_lesions_are_small_several_and_apart(samples):
    for sample in samples:
        lesions = [t.mask for t in sample.targets if t.label == "liver lesion"]
        liver = target(sample, "liver").mask
        assert 3 <= len(lesions) <= 6
        assert (
            pieces(np.logical_or.reduce(lesions))
            == sum(pieces(lesion) for lesion in lesions)
            == len(lesions)
        )
        for lesion in lesions:
            assert lesion.sum() < 0.05 * liver.sum()
            assert not (lesion & ~liver).any()
            assert not (lesion & target(sample, "vessels").mask).any()


def test_masks_overlap_only_where_one_thing_lies_in_another(samples):
    for sample in samples:
        for one, other in combinations(sample.targets, 2):
            if (one.mask & other.mask).any():
                pair = {one.label, other.label}
                assert pair in (
                    {"liver", "liver lesion"},
                    {"liver", "vessels"},
                    {"kidney", "kidney stone"},
                )


def test_vessels_are_one_thin_branching_curved_tree(samples):
    for sample in samples:
        vessels = target(sample, "vessels").mask
        assert pieces(vessels) == 1
        counts = [label(plane, np.ones((3, 3)))[1] for plane in vessels]
        assert max(counts) >= 3  # several branches in one plane
        depth_mm = distance_transform_edt(np.pad(vessels, 1), sampling=sample.spacing_mm)
        assert depth_mm.max() < 7
        assert np.median(depth_mm[depth_mm > 0]) < 2.5


def test_nodes_have_a_gap_between_slices(samples):
    for sample in samples:
        planes = planes_of(target(sample, "nodes").mask)
        assert (np.diff(planes) > 2).sum() == 1


def test_stone_is_seen_in_one_plane_only(samples):
    for sample in samples:
        stone = target(sample, "stone").mask
        assert len(planes_of(stone)) == 1
        assert stone.sum() >= 5
        assert not (stone & ~target(sample, "kidney").mask).any()


def test_heart_and_arm_are_cut_by_the_frame(samples):
    for sample in samples:
        assert target(sample, "heart").mask[-1].any()
        assert target(sample, "arm").mask[:, :, 0].any()
        assert target(sample, "vessels").mask[0].any()


def test_spacing_is_that_of_the_affine_and_anisotropic(samples):
    for sample in samples:
        assert np.allclose(np.linalg.norm(sample.affine[:3, :3], axis=0), sample.spacing_mm)
        assert sample.spacing_mm[0] > 1.5 * sample.spacing_mm[1]
        oblique = np.abs(sample.affine[:3, :3]) > 1e-9
        assert oblique.sum() == (3 if sample.modality == "CT" else 5)


def test_tissues_can_be_told_apart_but_not_by_intensity_alone(samples):
    for sample in samples:
        values = sample.voxels.astype(float)
        liver, everything = (
            target(sample, "liver").mask,
            np.logical_or.reduce([t.mask for t in sample.targets]),
        )
        lesions = np.logical_or.reduce(
            [t.mask for t in sample.targets if t.label == "liver lesion"]
        )
        rest = liver & ~lesions & ~target(sample, "vessels").mask
        apart = abs(np.median(values[lesions]) - np.median(values[rest])) / values[rest].std()
        assert 0.8 < apart < 6
        low, high = np.quantile(values[lesions], (0.25, 0.75))
        others = ~everything & (values >= low) & (values <= high)
        assert others.sum() > 5 * lesions.sum()


@pytest.mark.long
def test_other_shapes_show_the_same_field():
    fine = Phantom(shape=(60, 128, 112)).load("ct-01")
    assert fine.shape == (60, 128, 112)
    assert np.allclose(np.multiply(fine.shape, fine.spacing_mm), (120, 144, 144))
    coarse = Phantom(shape=(20, 48, 48)).load("mr-01")
    assert {t.label for t in coarse.targets} == {t.label for t in fine.targets}


@pytest.mark.long
def test_check_counts_what_there_is(samples):
    (finding,) = Phantom(cases=2).check()
    count = len(samples[0].targets) + len(samples[1].targets)
    assert not finding.is_error
    assert finding.message.startswith(
        f"phantom: {count} targets (12 organ, {count - 12} pathology) in 2 volumes"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cases": 0}, "at least 1 case"),
        ({"shape": (40, 96)}, "shape of at least"),
        ({"shape": (10, 96, 96)}, "shape of at least"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(PluginInvalid, match=message):
        Phantom(**options)


def test_unknown_sample_is_refused_with_those_there_are():
    with pytest.raises(SampleInvalid, match="no sample 'ct-09'; its samples are ct-01, mr-01"):
        Phantom(cases=2).load("ct-09")


def test_distance_to_a_row_of_balls_is_that_to_the_nearest():
    space = VoxelSpace((9, 20, 20), (2.0, 1.0, 1.0))
    balls = [((0.0, float(y), 1.5), 1.0) for y in (-5, 0, 5)]
    grid = np.stack(np.broadcast_arrays(*space.axes_mm), axis=-1)
    expected = np.min(
        [np.linalg.norm(grid - centre, axis=-1) - radius for centre, radius in balls], axis=0
    )
    found = space.balls(balls)
    near = found < FAR_MM
    assert np.allclose(found[near], expected[near], atol=1e-4)
    assert near[expected <= 7].all()


def test_distance_to_an_ellipsoid_is_right_on_axes_and_has_the_right_sign():
    space = VoxelSpace((21, 21, 21), (1.0, 1.0, 1.0))
    found = space.ellipsoid((0, 0, 0), (8, 6, 4))
    assert np.allclose(found[10, 10, 11:], np.arange(1, 11) - 4.0, atol=1e-3)
    plane, row, column = space.axes_mm
    inside = (plane / 8) ** 2 + (row / 6) ** 2 + (column / 4) ** 2 < 1
    assert np.array_equal(found[inside] < 0, np.ones(inside.sum(), dtype=bool))

"""Your own volumes: cases in every layout, targets, and all errors of a case."""

from __future__ import annotations

import gzip
import json
import sys

import nibabel
import numpy as np
import pytest

from segarena.errors import DatasetError, DatasetMissing, MissingExtra, PluginInvalid, SampleInvalid
from segarena.plugin_spec import PluginSpec
from segarena.registry import build
from segarena.roles import Dataset
from segarena.systems.volumes.datasets.nifti_folder import NiftiFolder
from segarena.systems.volumes.files.volume_io import write_volume

SHAPE = (10, 8, 6)
LPI = np.array([[-0.5, 0, 0, 40.0], [0, -0.5, 0, -7.0], [0, 0, -5.0, 300.0], [0, 0, 0, 1]])
LABELS = np.zeros(SHAPE, np.uint8)
LABELS[1:4, 1:4, 1:3] = 1
LABELS[6:9, 5:7, 1:5] = 2
LABELS[6:9, 1:3, 1:5] = 2
CT = np.random.default_rng(5).integers(-1000, 1000, SHAPE).astype(np.int16)


def save(path, voxels=CT, affine=LPI):
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(voxels, affine, dtype=voxels.dtype), path)
    return path


@pytest.fixture
def root(tmp_path):
    save(tmp_path / "images" / "a.nii.gz")
    save(tmp_path / "labels" / "a.nii.gz", LABELS)
    return tmp_path


def folder(root, **options):
    return NiftiFolder(path=str(root), **options)


def messages(found):
    return [finding.message for finding in found.check()]


def test_nifti_folder_is_a_dataset_named_after_its_folder(root):
    found = build("dataset", f"nifti-folder(path={str(root)!r}, class_names={{1: 'kidney'}})")
    assert isinstance(found, Dataset)
    assert found.name == root.name
    assert [target.id for target in found.load("a").targets] == ["kidney", "2"]


def test_a_label_table_names_the_targets_and_dataset_json_comes_first(root):
    table = '1 255 0 0 1 1 1 "left kidney"\n2 0 255 0 1 1 1 "spleen"\n'
    (root / "organs.label").write_text(table)
    targets = folder(root).load("a").targets
    assert [target.label for target in targets] == ["left kidney", "spleen"]
    (root / "dataset.json").write_text(json.dumps({"labels": {"background": 0, "liver": 1}}))
    assert [target.label for target in folder(root).load("a").targets] == ["liver", "2"]


def test_a_sample_is_canonical_with_its_spacing_and_place(root):
    sample = folder(root, modality="CT").load("a")
    np.testing.assert_array_equal(sample.voxels, CT[::-1, ::-1, ::-1].transpose(2, 1, 0))
    assert sample.spacing_mm == (5.0, 0.5, 0.5)
    assert sample.modality == "CT"
    first_stored = sample.affine @ (5, 7, 9, 1)
    np.testing.assert_allclose(first_stored[:3], LPI[:3, 3])
    kidney = sample.targets[0]
    np.testing.assert_array_equal(kidney.mask, (LABELS == 1)[::-1, ::-1, ::-1].transpose(2, 1, 0))
    assert kidney.attributes == {"modality": "CT", "volume_mm3": 18 * 1.25}


def test_the_same_case_stored_along_other_axes_is_the_same_sample(root):
    ornt = nibabel.orientations.ornt_transform(
        nibabel.io_orientation(LPI), nibabel.orientations.axcodes2ornt("IPL")
    )
    for kind, voxels in (("images", CT), ("labels", LABELS)):
        turned = nibabel.Nifti1Image(voxels, LPI, dtype=voxels.dtype).as_reoriented(ornt)
        nibabel.save(turned, root / kind / "b.nii.gz")
    save(root / "images" / "mixed.nii.gz")
    (root / "labels" / "mixed.nii.gz").write_bytes((root / "labels" / "b.nii.gz").read_bytes())
    one, *others = [folder(root).load(case) for case in ("a", "b", "mixed")]
    for other in others:
        np.testing.assert_array_equal(one.voxels, other.voxels)
        np.testing.assert_allclose(one.affine, other.affine)
        for mine, its in zip(one.targets, other.targets, strict=True):
            assert mine.id == its.id
            np.testing.assert_array_equal(mine.mask, its.mask)


def test_a_prediction_goes_back_to_the_grid_of_the_image(root):
    found = folder(root)
    target = found.load("a").targets[1]
    write_volume(root / "out.nii.gz", target.mask, found.grid("a"))
    written = nibabel.load(root / "out.nii.gz")
    np.testing.assert_array_equal(np.asarray(written.dataobj), LABELS == 2)
    np.testing.assert_allclose(written.affine, LPI)
    with pytest.raises(SampleInvalid, match="no image"):
        found.grid("b")


def test_planes_can_lie_along_the_axis_of_largest_spacing(root):
    sagittal = np.diag([4.0, 1.0, 1.0, 1.0])
    save(root / "images" / "a.nii.gz", affine=sagittal)
    save(root / "labels" / "a.nii.gz", LABELS, affine=sagittal)
    sample = folder(root, slice_axis="largest-spacing").load("a")
    assert sample.spacing_mm == (4.0, 1.0, 1.0)
    np.testing.assert_array_equal(sample.voxels, CT.transpose(0, 2, 1))
    np.testing.assert_array_equal(sample.targets[0].mask, (LABELS == 1).transpose(0, 2, 1))


def test_the_same_scan_and_the_same_target_twice_are_named(root):
    save(root / "images" / "b.nii.gz", CT[:, ::-1], LPI @ np.diag([1, -1, 1, 1]))
    save(root / "labels" / "b.nii.gz", LABELS[:, ::-1], LPI @ np.diag([1, -1, 1, 1]))
    save(root / "images" / "c.nii.gz", CT + np.int16(1))
    save(root / "labels" / "c.nii.gz", np.minimum(LABELS, 1))
    found = folder(root, class_names={"kidney": [1, 2], "organ": [1, 2]})
    scans, targets = (message for message in messages(found) if "more than once" in message)
    assert scans.startswith("samples with the same voxels as an earlier one (1)")
    assert "b = a; remove the copies" in scans, "whatever the order of its axes"
    assert targets.startswith("targets with the same mask as another target of their sample (3)")
    assert "organ = kidney in c" in targets


def test_components_and_minimum_sizes_are_options(root):
    found = folder(root, labels="components", class_names={"kidney": 1, "cyst": 2}, min_voxels=20)
    assert [target.id for target in found.load("a").targets] == ["cyst/1", "cyst/2"]


class TestLayouts:
    def test_nnunet_names_and_description(self, tmp_path):
        save(tmp_path / "imagesTr" / "case_1_0000.nii.gz")
        save(tmp_path / "imagesTr" / "case_1_0001.nii.gz", CT + 1)
        save(tmp_path / "labelsTr" / "case_1.nii.gz", LABELS)
        description = {
            "channel_names": {"0": "T1", "1": "FLAIR"},
            "labels": {"background": 0, "lesion": 1, "ignore": 2},
        }
        (tmp_path / "dataset.json").write_text(json.dumps(description))
        found = folder(tmp_path)
        assert found.sample_ids == ("case_1",)
        sample = found.load("case_1")
        assert sample.modality == "T1"
        assert [target.id for target in sample.targets] == ["lesion"]
        assert sample.targets[0].ignore.sum() == (LABELS == 2).sum()
        assert any(
            "volumes that match no file name pattern are skipped (1)" in message
            and "0001" in message
            for message in messages(found)
        )
        second = folder(tmp_path, image_pattern="{case}_0001").load("case_1")
        assert second.modality == "FLAIR"
        assert second.voxels.sum() == sample.voxels.sum() + CT.size

    def test_decathlon_description(self, root):
        description = {
            "modality": {"0": "CT"},
            "labels": {"0": "background", "1": "kidney", "2": "tumour"},
        }
        (root / "dataset.json").write_text(json.dumps(description))
        sample = folder(root, kind={"kidney": "organ", "tumour": "pathology"}).load("a")
        assert [(t.id, t.attributes["kind"], t.attributes["modality"]) for t in sample.targets] == [
            ("kidney", "organ", "CT"),
            ("tumour", "pathology", "CT"),
        ]

    def test_decathlon_names_have_no_channel(self, tmp_path):
        save(tmp_path / "imagesTr" / "spleen_2.nii.gz")
        save(tmp_path / "imagesTr" / "._spleen_2.nii.gz")
        save(tmp_path / "labelsTr" / "spleen_2.nii.gz", LABELS)
        assert folder(tmp_path).sample_ids == ("spleen_2",)

    def test_a_prepared_set_says_that_its_numbers_are_instances(self, root):
        description = {
            "kind": "instance",
            "modality": "MR",
            "channel_names": {"0": "T2"},
            "labels": {"lesion": 1},
        }
        (root / "dataset.json").write_text(json.dumps(description))
        sample = folder(root).load("a")
        assert [(target.id, target.label) for target in sample.targets] == [
            ("1", "lesion"),
            ("2", "lesion"),
        ]
        assert sample.modality == "MR"
        assert [target.id for target in folder(root, labels="semantic").load("a").targets] == [
            "lesion",
            "2",
        ]

    def test_one_folder_with_a_label_pattern(self, tmp_path):
        save(tmp_path / "sub-1_ct.nii.gz")
        save(tmp_path / "sub-1_ct_seg.nii.gz", LABELS)
        save(tmp_path / "sub-2_ct.nii.gz")
        found = folder(tmp_path, label_pattern="{case}_seg")
        assert found.sample_ids == ("sub-1_ct", "sub-2_ct")
        assert len(found.load("sub-1_ct").targets) == 2
        assert folder(tmp_path, label_pattern="{case}_seg", unpaired="skip").sample_ids == (
            "sub-1_ct",
        )
        with pytest.raises(PluginInvalid, match="label_pattern"):
            folder(tmp_path, image_folder=".", label_folder=".")

    def test_a_folder_of_one_file_per_class(self, root):
        (root / "labels" / "a.nii.gz").unlink()
        save(root / "labels" / "a" / "kidney.nii.gz", (LABELS == 1).astype(np.uint8))
        save(root / "labels" / "a" / "both.nii.gz", (LABELS > 0).astype(np.uint8))
        save(root / "labels" / "a" / "spleen.nii.gz", 0 * LABELS)
        sample = folder(root).load("a")
        assert [target.id for target in sample.targets] == ["both", "kidney"]
        assert sample.targets[0].mask.sum() == (LABELS > 0).sum()

    def test_nested_folders_are_mirrored_and_formats_may_differ(self, root):
        save(root / "images" / "site" / "b.nii")
        save(root / "labels" / "site" / "b.nii.gz", LABELS)
        assert folder(root).sample_ids == ("a", "site/b")
        assert len(folder(root).load("site/b").targets) == 2

    def test_labels_that_fit_no_pattern_are_told(self, root):
        save(root / "labels" / "a_seg.nii.gz", LABELS)
        found = folder(root, label_pattern="{case}_seg", unpaired="skip")
        assert found.sample_ids == ("a",)
        assert any(
            "volumes that match no file name pattern are skipped (1)" in m
            and "labels/a.nii.gz" in m
            for m in messages(found)
        )

    def test_other_folders_are_options(self, root):
        (root / "images").rename(root / "scans")
        (root / "labels").rename(root / "truth")
        assert folder(root, image_folder="scans", label_folder="truth").sample_ids == ("a",)

    @pytest.mark.parametrize("pattern", ["scan", "{case}/{case}", "x/{case}"])
    def test_a_pattern_needs_its_case(self, root, pattern):
        with pytest.raises(PluginInvalid, match=r"\{case\}"):
            folder(root, label_pattern=pattern)


class TestFaults:
    def test_missing_folders_and_empty_ones(self, tmp_path):
        with pytest.raises(DatasetMissing, match="images"):
            folder(tmp_path)
        (tmp_path / "images").mkdir()
        with pytest.raises(DatasetMissing, match="labels"):
            folder(tmp_path)
        (tmp_path / "labels").mkdir()
        with pytest.raises(DatasetMissing, match="expected volumes"):
            folder(tmp_path)

    def test_a_missing_package_is_told_before_anything_is_read(self, root, monkeypatch):
        monkeypatch.setitem(sys.modules, "nibabel", None)
        with pytest.raises(MissingExtra, match="radiology"):
            folder(root)

    def test_two_images_of_one_case(self, root):
        save(root / "images" / "a.nii")
        with pytest.raises(DatasetError, match="got two"):
            folder(root)

    def test_two_label_files_of_one_case(self, root):
        save(root / "labels" / "a.nii", LABELS)
        with pytest.raises(DatasetError, match="one label file"):
            folder(root)

    def test_names_that_fit_no_pattern(self, root):
        with pytest.raises(DatasetMissing, match=r"named '\{case\}_ct'"):
            folder(root, image_pattern="{case}_ct")

    def test_files_without_partner_fail_or_are_skipped_and_are_always_named(self, root):
        save(root / "images" / "b.nii.gz")
        save(root / "labels" / "c.nii.gz", LABELS)
        found = folder(root)
        assert found.sample_ids == ("a", "b", "c")
        with pytest.raises(SampleInvalid, match="image without label"):
            found.load("b")
        with pytest.raises(SampleInvalid, match="label without image"):
            found.load("c")
        skipping = folder(root, unpaired="skip")
        assert skipping.sample_ids == ("a",)
        assert any(
            "images or labels without a counterpart are skipped (2)" in m
            and "b.nii.gz" in m
            and "c.nii.gz" in m
            for m in messages(skipping)
        )

    @pytest.mark.parametrize(
        ("labels", "affine", "words"),
        [
            (LABELS[:-1], LPI, r"\(6, 8, 9\) voxels .* against \(6, 8, 10\)"),
            (LABELS, LPI + np.outer([0, 0, 1, 0], [0, 0, 0, 2.5]), "2.5 mm away"),
            (LABELS, np.diag([-0.5, 0.5, -5, 1]), "mm away"),
        ],
    )
    def test_labels_on_another_grid_are_refused_with_the_difference(
        self, root, labels, affine, words
    ):
        save(root / "labels" / "a.nii.gz", labels, affine)
        with pytest.raises(SampleInvalid, match=words):
            folder(root).load("a")

    def test_a_larger_tolerance_accepts_a_shifted_label(self, root):
        shifted = LPI.copy()
        shifted[0, 3] += 0.2
        save(root / "labels" / "a.nii.gz", LABELS, shifted)
        with pytest.raises(SampleInvalid, match=r"0\.2 mm away"):
            folder(root).load("a")
        assert folder(root, tolerance_voxels=0.5).load("a").targets

    def test_empty_and_fractional_labels(self, root):
        save(root / "labels" / "a.nii.gz", 0 * LABELS)
        with pytest.raises(SampleInvalid, match="at least one labelled voxel"):
            folder(root).load("a")
        save(root / "labels" / "a.nii.gz", LABELS * np.float32(0.5))
        with pytest.raises(SampleInvalid, match="whole numbers"):
            folder(root).load("a")

    def test_nan_intensities_can_be_replaced(self, root):
        voxels = CT.astype(np.float32)
        voxels[0, 0, 0] = np.nan
        save(root / "images" / "a.nii.gz", voxels)
        with pytest.raises(SampleInvalid, match="replace_nonfinite"):
            folder(root).load("a")
        assert folder(root, replace_nonfinite=-1024).load("a").voxels.min() == -1024

    def test_too_many_voxels(self, root):
        with pytest.raises(SampleInvalid, match="max_voxels"):
            folder(root, max_voxels=479).load("a")
        assert folder(root, max_voxels=480).load("a").targets

    def test_a_broken_file_is_one_error_of_the_check_and_the_others_go_on(self, root):
        save(root / "images" / "b.nii.gz")
        path = save(root / "labels" / "b.nii.gz", LABELS)
        path.write_bytes(path.read_bytes()[:-9])
        findings = folder(root).check()
        (error,) = [finding for finding in findings if finding.is_error]
        assert "b.nii.gz" in error.message
        assert any(
            "2 targets in 1 readable volume; sides 6 to 10 voxels" in finding.message
            for finding in findings
        )
        assert any(
            "stored axes 2 LPI; spacing (plane, row, column) 5 x 0.5 x 0.5 mm" in finding.message
            for finding in findings
        )

    def test_a_volume_that_does_not_say_how_it_lies_is_told(self, root):
        for kind, voxels in (("images", CT), ("labels", LABELS)):
            save(root / kind / "a.nii.gz", voxels, None)
        assert any("in their header are a guess" in message for message in messages(folder(root)))

    def test_no_target_at_all_is_an_error_of_the_check(self, root):
        found = folder(root, min_voxels=1000)
        assert any(
            finding.is_error and "no targets" in finding.message for finding in found.check()
        )

    @pytest.mark.parametrize(
        "text", ["{", '{"labels": 3}', '{"labels": {"a": "b"}}', "[]", '{"modality": 3}']
    )
    def test_a_description_without_sense_is_refused(self, root, text):
        (root / "dataset.json").write_text(text)
        with pytest.raises(DatasetError, match=r"dataset\.json"):
            folder(root)

    @pytest.mark.parametrize(
        "options",
        [
            {"unpaired": "drop"},
            {"slice_axis": "coronal"},
            {"labels": "x"},
            {"connectivity": 8},
            {"class_names": {"a": "b"}},
        ],
    )
    def test_impossible_options_are_refused(self, root, options):
        with pytest.raises(PluginInvalid):
            build("dataset", PluginSpec("nifti-folder", {"path": str(root), **options}))


def test_the_fingerprint_follows_files_and_rules_but_not_place(root, tmp_path_factory):
    first = folder(root).fingerprint
    other = tmp_path_factory.mktemp("other")
    for kind in ("images", "labels"):
        (other / kind).mkdir()
        (other / kind / "a.nii.gz").write_bytes((root / kind / "a.nii.gz").read_bytes())
    assert folder(other).fingerprint == first
    assert folder(other, labels="components").fingerprint != first
    (other / "dataset.json").write_text('{"labels": {"kidney": 1}}')
    assert folder(other).fingerprint != first
    plain = gzip.decompress((root / "labels" / "a.nii.gz").read_bytes())
    (root / "labels" / "a.nii.gz").write_bytes(gzip.compress(plain, compresslevel=0))
    assert folder(root).fingerprint != first

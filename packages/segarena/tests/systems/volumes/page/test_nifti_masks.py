"""Predicted masks of volumes as NIfTI: they have the position of the scan and the values of the table."""

import csv

import numpy as np
import pytest

import segarena
from segarena.registry import build
from segarena.reports.mask_export import export_masks

nibabel = pytest.importorskip("nibabel")
DATA = "phantom(cases=1, shape=(20, 48, 48))"


def test_a_mask_lies_where_its_target_lies_in_millimetres(tmp_path):
    run = segarena.evaluate(
        "radioactive", segmenter="everything", dataset=DATA, out=tmp_path / "r", users=["volume"]
    )
    with export_masks(run.path, tmp_path / "masks", as_format="nifti").open(
        encoding="utf-8"
    ) as file:
        rows = list(csv.DictReader(file))
    sample = build("dataset", DATA).load(rows[0]["sample"])
    assert len(rows) == len(sample.targets)
    for row in rows:
        image = nibabel.load(tmp_path / "masks" / row["file"])
        assert image.shape == sample.shape[::-1]
        target = next(target.mask for target in sample.targets if target.id == row["target"])
        mask = np.asarray(image.dataobj).T > 0
        assert 2 * (mask & target).sum() / (mask.sum() + target.sum()) == pytest.approx(
            float(row["dice"]), abs=1e-12
        )
        place = np.array([3, 5, 7])  # of the sample: plane, row, column
        affine = np.diag([*sample.spacing_mm, 1]) if sample.affine is None else sample.affine
        expected = affine[:3, :3] @ place + affine[:3, 3]
        assert np.allclose(image.affine[:3, :3] @ place[::-1] + image.affine[:3, 3], expected)

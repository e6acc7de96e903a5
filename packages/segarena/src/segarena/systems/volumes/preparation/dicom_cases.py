"""Cases of DICOM datasets: a CT with its segmentation, converted to an image with instances."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from segarena.errors import SampleInvalid
from segarena.systems.volumes.preparation.dataset_case_types import (
    ConvertedCase,
    LabelArray,
    RawCase,
    SkippedCase,
)
from segarena.systems.volumes.preparation.dicom_ct import read_ct
from segarena.systems.volumes.preparation.dicom_seg import Segmentation, read_segmentation
from segarena.systems.volumes.preparation.dicom_series import DicomSeries
from segarena.systems.volumes.preparation.optional_packages import sitk

SegmentSelector = Callable[[tuple[str, ...]], Iterable[int]]
ConvertPair = Callable[[DicomSeries, DicomSeries], ConvertedCase | SkippedCase]


def make_case(
    case: str,
    ct: DicomSeries,
    seg: DicomSeries,
    convert: ConvertPair,
) -> RawCase:
    """Return the case that `convert` creates from a CT and its segmentation."""
    return RawCase(id=case, inputs=(*ct.files, *seg.files), convert=partial(convert, ct, seg))


def make_single_case(
    case: str,
    cts: Sequence[DicomSeries],
    segs: Sequence[DicomSeries],
    convert: ConvertPair,
    *,
    expected: str,
) -> RawCase | SkippedCase:
    """Return the case if there is one CT and one SEG; otherwise skip it and report what was `expected`."""
    if len(cts) == len(segs) == 1:
        return make_case(case, cts[0], segs[0], convert)
    reason = f"expected {expected}, found {len(cts)} and {len(segs)}"
    return SkippedCase(id=case, reason=reason, by_rule=False)


def read_ct_and_segmentation(
    ct: DicomSeries,
    seg: DicomSeries,
    *,
    wanted: SegmentSelector | None = None,
) -> tuple[sitk.Image, Segmentation, tuple[str, ...]]:
    """Return the CT, its segmentation, and notes about their series and lost frames.

    Raises:
        SampleInvalid: the CT or the SEG cannot be used, or the SEG consists of several files.
    """
    if len(seg.files) != 1:
        raise SampleInvalid(f"SEG series {seg.uid}: expected one file, got {len(seg.files)}")
    image, grid = read_ct(ct)
    segmentation = read_segmentation(seg.files[0], grid, wanted=wanted)
    notes = [f"study {ct.study}, CT series {ct.uid}, SEG series {seg.uid}"]
    if segmentation.frames_outside:
        notes.append(
            f"{segmentation.frames_outside} frames of the SEG lie outside the CT and are lost"
        )
    return image, segmentation, tuple(notes)


def describe_shape_mismatch(segmentation: Segmentation, image: sitk.Image) -> str:
    """Return how the shape of the SEG's own grid differs from the CT's shape, or "" if they are equal."""
    shape = image.GetSize()[::-1]
    if segmentation.own_shape == shape:
        return ""
    return f"the SEG has shape {segmentation.own_shape}, the CT {shape}"


def convert_union(
    ct: DicomSeries,
    seg: DicomSeries,
    *,
    label: Callable[[NDArray[np.bool_]], LabelArray],
    wanted: SegmentSelector | None = None,
    same_shape_or: str | None = None,
) -> ConvertedCase | SkippedCase:
    """Return a CT with the instances that `label` derives from the union of the SEG's segments.

    `wanted` selects segments by name; None selects all. If `same_shape_or` is given, it is the name
    of the case, which is skipped if the SEG's own shape differs from the CT's.

    Raises:
        SampleInvalid: as `read_ct_and_segmentation`.
    """
    image, segmentation, notes = read_ct_and_segmentation(ct, seg, wanted=wanted)
    if same_shape_or:
        reason = describe_shape_mismatch(segmentation, image)
        if reason:
            return SkippedCase(id=same_shape_or, reason=reason, by_rule=True)
    union = np.logical_or.reduce(segmentation.masks)
    return ConvertedCase(image=image, labels={"": label(union)}, notes=notes)

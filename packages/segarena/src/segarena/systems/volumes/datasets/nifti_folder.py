"""Dataset of your own volumes and label volumes, in NIfTI, NRRD or MetaImage format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from segarena.arrays.connected_components import Connectivity
from segarena.arrays.orientation import Grid
from segarena.datasets.listed_dataset import CheckTally, Files, ListedDataset, abbreviate_names
from segarena.errors import InvalidImage, InvalidInput, InvalidMask, PluginInvalid, SampleInvalid
from segarena.files.limits import DEFAULT_VOXEL_LIMIT
from segarena.registry import dataset
from segarena.roles import Finding
from segarena.samples import VolumeSample
from segarena.systems.volumes.files.case_files import (
    CaseFiles,
    collect_cases,
    find_layout,
    parse_classes,
    read_description,
)
from segarena.systems.volumes.files.label_table import read_label_table
from segarena.systems.volumes.files.label_targets import LabelGroup, LabelMeaning, TargetRules
from segarena.systems.volumes.files.volume_io import (
    check_readers,
    read_header,
    read_labels,
    read_volume,
)


@dataset("nifti-folder")
class NiftiFolder(ListedDataset[VolumeSample]):
    """Image and label volumes in two folders, in nnU-Net's layout, or together in one folder.

    Volumes are read into canonical order (planes towards Superior, rows towards Anterior, columns
    towards Right). The labels of case `a` are one file `a`, or a folder `a` with one file per
    class. A `dataset.json` in `path` gives the class names, the label of ignored voxels ("ignore"),
    the modality, and whether label values identify instances; options override it. Without class
    names there, they come from a label table in `path`: one of ITK-SNAP (`*.label`) or 3D Slicer
    (`*.ctbl`). Without any names, a class is named after its label value.

    Args:
        path: the folder of the dataset.
        labels: "semantic": each class is one target; "instance": each label value is one target;
            "components": each connected component of a class is one target. The default is
            "instance" if `dataset.json` has `"kind": "instance"`, otherwise "semantic".
        image_folder: folder of the images in `path`; by default `images` or `imagesTr`, or `path`
            itself if neither exists and a `label_pattern` is given.
        label_folder: folder of the labels in `path`; by default `labels` beside `images`,
            `labelsTr` beside `imagesTr`, and otherwise `path` itself.
        image_pattern: pattern of image file names without suffix; by default "{case}", or
            "{case}_0000" if `imagesTr` has such names.
        label_pattern: pattern of label file names without suffix.
        class_names: label values by class, `{"kidney": 1, "any": [1, 2]}`, or class names by label
            value, `{1: "kidney"}`.
        excluded_classes: classes that do not become targets.
        connectivity: connectivity of components: 6 (faces), 18 (also edges) or 26 (also corners).
        dilation_voxels: components that touch after dilation by a ball of this radius are merged.
        min_voxels: targets with fewer voxels are skipped.
        min_volume_mm3: targets with a smaller volume are skipped.
        ignore_value: label value of voxels that are excluded from scoring.
        kind: "organ" or "pathology" for all targets, or by class; becomes an attribute of the
            targets.
        modality: "CT", "MR", ...; becomes an attribute of the targets.
        slice_axis: "axial", or "largest-spacing" to slice along the axis with the largest spacing.
        replace_nonfinite: value that replaces NaN and infinity in images; None makes them an error.
        tolerance_voxels: maximum distance between corresponding voxels of image and label, as a
            share of the smallest spacing.
        max_voxels: volumes with more voxels are rejected before decoding; the default grows with
            `segarena --max-pixels`.
        unpaired: "error" makes an image without label, or a label without image, a sample that
            fails to load; "skip" ignores such files. `check` lists all of them in both cases.
        name: name in records; by default the name of the folder at `path`.

    Raises:
        DatasetMissing: a folder does not exist or contains no volume.
        DatasetError: a case has two images or two label files of the same name, or `dataset.json`
            or the label table is invalid.
        PluginInvalid: options contradict each other.
        MissingExtra: the extra `radiology` is not installed.
    """

    sample_kind = "volume"
    reports_duplicates = True

    def __init__(
        self,
        *,
        path: str,
        labels: LabelMeaning | None = None,
        image_folder: str | None = None,
        label_folder: str | None = None,
        image_pattern: str | None = None,
        label_pattern: str = "{case}",
        class_names: Mapping[Any, Any] | None = None,
        excluded_classes: Sequence[str] = (),
        connectivity: Connectivity = 26,
        dilation_voxels: int = 0,
        min_voxels: int = 1,
        min_volume_mm3: float = 0.0,
        ignore_value: int | None = None,
        kind: str | Mapping[str, str] = "",
        modality: str | None = None,
        slice_axis: Literal["axial", "largest-spacing"] = "axial",
        replace_nonfinite: float | None = None,
        tolerance_voxels: float = 0.1,
        max_voxels: int = DEFAULT_VOXEL_LIMIT,
        unpaired: Literal["error", "skip"] = "error",
        name: str | None = None,
    ) -> None:
        root = Path(path).expanduser()
        layout = find_layout(root, image_folder, label_folder, image_pattern, label_pattern)
        description = read_description(root / "dataset.json")
        if labels is None:
            labels = "instance" if description.has_instances else "semantic"
        if class_names is not None:
            classes = _classes(class_names)
        else:
            classes = description.classes or read_label_table(root)
        if isinstance(excluded_classes, str):
            excluded_classes = (excluded_classes,)
        if ignore_value is None:
            ignore_value = description.ignore_value
        if modality is None:
            modality = description.modality_of(layout.image_pattern)
        self._target_rules = TargetRules(
            labels=labels,
            connectivity=connectivity,
            dilation_voxels=dilation_voxels,
            min_voxels=min_voxels,
            min_volume_mm3=min_volume_mm3,
            classes=classes,
            excluded_classes=tuple(excluded_classes),
            kind=kind,
            ignore_value=ignore_value,
            modality=modality,
        )
        self._slice_axis = slice_axis
        self._replace_nonfinite = replace_nonfinite
        self._tolerance_voxels = tolerance_voxels
        # None stands for the default, which grows with --max-pixels.
        self._max_voxels = None if max_voxels == DEFAULT_VOXEL_LIMIT else max_voxels
        cases, self._others = collect_cases(layout)
        self._unpaired = [case.files[0] for case in cases.values() if not case.is_complete]
        self._is_skipping = unpaired == "skip"
        self._cases = {
            key: case for key, case in cases.items() if case.is_complete or not self._is_skipping
        }
        check_readers(file for case in self._cases.values() for file in case.files)
        rules = {
            **asdict(self._target_rules),
            "slice_axis": slice_axis,
            "replace_nonfinite": replace_nonfinite,
        }
        super().__init__(
            name or root.resolve().name,
            {key: case.files for key, case in self._cases.items()},
            rules,
        )

    def grid(self, sample_id: str) -> Grid:
        """Return the stored grid of a sample's image, on which `write_volume` writes a prediction.

        Raises:
            SampleInvalid: the sample does not exist, or its image is missing or unreadable.
        """
        case = self._cases.get(sample_id)
        if case is None or case.image is None:
            raise SampleInvalid(
                f"dataset {self.name} has no image for sample {sample_id!r}; see sample_ids"
            )
        try:
            return read_header(case.image, slice_axis=self._slice_axis).grid
        except InvalidInput as error:
            raise SampleInvalid(f"sample {sample_id!r}: {error}") from error

    def _read(self, sample_id: str, files: Files) -> VolumeSample:
        del files
        case = self._cases[sample_id]
        if case.image is None:
            raise InvalidImage(
                f"{case.files[0]}: label without image; add the image or set unpaired='skip'"
            )
        if not case.labels:
            raise InvalidMask(
                f"{case.image}: image without label; add the label or set unpaired='skip'"
            )
        expected = read_header(case.image, slice_axis=self._slice_axis).grid
        labels = self._labels(case, expected)
        voxels, grid = read_volume(
            case.image,
            slice_axis=self._slice_axis,
            replace_nonfinite=self._replace_nonfinite,
            max_voxels=self._max_voxels,
        )
        canonical = grid.canonical
        return VolumeSample(
            id=sample_id,
            voxels=voxels,
            spacing_mm=canonical.spacing_mm,
            affine=canonical.affine,
            modality=self._target_rules.modality,
            targets=self._target_rules.targets(labels, canonical.spacing_mm),
        )

    def _labels(self, case: CaseFiles, image: Grid) -> list[LabelGroup]:
        found: list[LabelGroup] = []
        for name, path in case.labels:
            header = read_header(path, slice_axis=self._slice_axis)
            difference = image.difference(header.grid, tolerance_voxels=self._tolerance_voxels)
            if difference:
                raise InvalidMask(
                    f"{path}: expected the grid of {case.image}, got a different grid ({difference}); resample it"
                )
            volume = read_labels(
                path, slice_axis=self._slice_axis, may_be_empty=True, max_voxels=self._max_voxels
            )
            for labels, names in zip(volume.groups, volume.names, strict=True):
                found.append(LabelGroup(labels, name, names))
        if not any(group.labels.max() for group in found):
            first = case.labels[0][1]
            raise InvalidMask(
                f"{first}: expected at least one labelled voxel, got none; leave the case out"
            )
        return found

    def _oddities(self) -> Iterable[Finding]:
        if self._is_skipping and self._unpaired:
            yield _oddity(
                f"images or labels without a counterpart are skipped ({len(self._unpaired)})",
                self._unpaired,
            )
        if self._others:
            yield _oddity(
                f"volumes that match no file name pattern are skipped ({len(self._others)})",
                self._others,
            )

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        codes: Counter[str] = Counter()
        spacings: set[tuple[float, ...]] = set()
        guessed: list[Path] = []
        for case in self._cases.values():
            try:
                header = read_header(case.image or case.files[0])
            except InvalidInput:
                continue  # `check` reports it when it loads the sample
            codes[header.grid.code] += 1
            spacings.add(header.grid.canonical.spacing_mm)
            if not header.is_placed:
                guessed.append(header.path)
        if guessed:
            yield _oddity(
                f"the axes of volumes without an orientation in their header are a guess ({len(guessed)})",
                guessed,
            )
        if spacings:
            by_axis = list(zip(*spacings, strict=True))
            ranges = " x ".join(_range_text(axis) for axis in by_axis)
            stored = ", ".join(f"{count} {code}" for code, count in sorted(codes.items()))
            message = f"{self.name}: stored axes {stored}; spacing (plane, row, column) {ranges} mm"
            yield Finding(is_error=False, message=message)
        if not tally.targets:
            message = f"{self.name}: no targets; expected at least one object to segment"
            yield Finding(is_error=True, message=message)


def _range_text(values: Sequence[float]) -> str:
    """Return "LOW..HIGH" with three significant digits, or one number if both are then equal."""
    low = f"{min(values):.3g}"
    high = f"{max(values):.3g}"
    return low if low == high else f"{low}..{high}"


def _classes(class_names: Mapping[Any, Any]) -> dict[str, tuple[int, ...]]:
    try:
        return parse_classes(class_names)
    except (TypeError, ValueError) as error:
        raise PluginInvalid(
            f"class_names={class_names!r}: expected {{'kidney': 1, 'any': [1, 2]}} or {{1: 'kidney'}}; {error}"
        ) from error


def _oddity(description: str, paths: Sequence[Path]) -> Finding:
    return Finding(
        is_error=False,
        message=f"{description}: {abbreviate_names([str(path) for path in paths], 20)}",
    )

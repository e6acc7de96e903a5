"""Which files of a folder of volumes belong to one case, and what a `dataset.json` beside them says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from segarena.datasets.listing import Files
from segarena.errors import DatasetError, DatasetMissing, PluginInvalid
from segarena.systems.volumes.files.volume_io import volume_suffix

EXPECTED_LAYOUT = (
    "PATH/images/CASE.nii.gz with PATH/labels/CASE.nii.gz, or nnU-Net's PATH/imagesTr/CASE_0000.nii.gz with "
    "PATH/labelsTr/CASE.nii.gz, or one folder and label_pattern='{case}_seg'"
)
_CASE = "{case}"


@dataclass(slots=True)
class CaseFiles:
    """The files of one case: its image, and its label file, or one label file per class by name."""

    image: Path | None = None
    labels: list[tuple[str, Path]] = field(default_factory=list[tuple[str, Path]])

    @property
    def files(self) -> Files:
        """All of them."""
        return (*((self.image,) if self.image else ()), *(path for _, path in self.labels))

    @property
    def is_complete(self) -> bool:
        """Whether it has both."""
        return self.image is not None and bool(self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLayout:
    """Where images and labels lie, and how their names without ending tell the case."""

    images: Path
    labels: Path
    image_pattern: str
    label_pattern: str

    def __post_init__(self) -> None:
        for pattern in (self.image_pattern, self.label_pattern):
            if pattern.count(_CASE) != 1 or "/" in pattern:
                raise PluginInvalid(
                    f"pattern {pattern!r}: expected a file name without ending that holds {_CASE} once"
                )

    @property
    def is_flat(self) -> bool:
        """Whether images and labels lie in one folder."""
        return self.images == self.labels


class CaseCollection(NamedTuple):
    """What a folder holds: its cases by name, in order, and the volumes that no pattern fits."""

    cases: dict[str, CaseFiles]
    others: list[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDescription:
    """What a `dataset.json` says; nothing where there is none."""

    # Numbers by class, without the background.
    classes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    ignore_value: int | None = None  # the number of voxels excluded from scoring
    modalities: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # of each channel, or one for all under ""
    has_instances: bool = (
        False  # whether each number is an object, as in what `segarena data prepare` writes
    )

    def modality_of(self, image_pattern: str) -> str:
        """Return the modality of the channel that a pattern such as "{case}_0001" names; "" when unknown."""
        channel = re.search(r"_0*(\d+)$", image_pattern)
        return self.modalities.get("") or self.modalities.get(channel[1] if channel else "0", "")


def find_layout(
    root: Path,
    images: str | None,
    labels: str | None,
    image_pattern: str | None,
    label_pattern: str,
) -> CaseLayout:
    """Return where images and labels lie: as told, else `images`, `imagesTr`, or the folder itself.

    Raises:
        DatasetMissing: a folder is not there.
        PluginInvalid: a pattern without `{case}`, or one folder whose patterns do not tell images from labels.
    """
    is_nnunet = images is None and not (root / "images").is_dir() and (root / "imagesTr").is_dir()
    if images is None:
        if is_nnunet:
            images = "imagesTr"
        else:
            images = "images" if label_pattern == _CASE or (root / "images").is_dir() else "."
    if labels is None:
        labels = {"imagesTr": "labelsTr", "images": "labels"}.get(images, ".")
    for folder, what in ((root / images, "images"), (root / labels, "labels")):
        if not folder.is_dir():
            raise DatasetMissing(
                f"{folder}: expected a folder with {what}, found none; the layout is {EXPECTED_LAYOUT}"
            )
    has_channels = is_nnunet and any((root / images).glob("*_0000.*"))
    layout = CaseLayout(
        images=root / images,
        labels=root / labels,
        image_pattern=image_pattern or ("{case}_0000" if has_channels else _CASE),
        label_pattern=label_pattern,
    )
    if layout.is_flat and layout.label_pattern == layout.image_pattern:
        raise PluginInvalid(
            "images and labels in one folder: expected a label_pattern such as '{case}_seg'"
        )
    return layout


def collect_cases(layout: CaseLayout) -> CaseCollection:
    """Return the cases of a folder, by path; a case lacks what is not there.

    Raises:
        DatasetError: two images of one case, or two label files of one name.
        DatasetMissing: no image at all.
    """
    cases: dict[str, CaseFiles] = {}
    others: list[Path] = []
    labels = dict(_keys(layout.labels))
    is_label = {
        path
        for path, key in labels.items()
        if layout.is_flat and _case_of(key, layout.label_pattern)
    }
    for path, key in _keys(layout.images):
        name = None if path in is_label else _case_of(key, layout.image_pattern)
        if name is None:
            others.extend([] if path in is_label else [path])
        elif name in cases:
            raise DatasetError(
                f"{path} and {cases[name].image}: expected one image of this case, got two; rename one"
            )
        else:
            cases[name] = CaseFiles(path)
    if not cases:
        raise DatasetMissing(
            f"{layout.images}: expected volumes named {layout.image_pattern!r}, found none; the layout is {EXPECTED_LAYOUT}"
        )
    known = frozenset(cases)
    for path, key in labels.items():
        if layout.is_flat and path not in is_label:
            continue
        owner = _owner(key, layout.label_pattern, known)
        if owner is None:
            others.append(path)
            continue
        case = cases.setdefault(owner[0], CaseFiles())
        name = owner[1]
        twin = dict(case.labels).get(name)
        if twin is not None:
            raise DatasetError(
                f"{path} and {twin}: expected one label file of this name, got two; remove one"
            )
        case.labels.append((name, path))
    return CaseCollection(cases, others)


def read_description(path: Path) -> DatasetDescription:
    """Read a `dataset.json` of nnU-Net (names to numbers) or of the Medical Segmentation Decathlon (the reverse).

    Raises:
        DatasetError: not JSON, or its labels are not what either of them has.
    """
    if not path.is_file():
        return DatasetDescription()
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        classes = parse_classes(data.get("labels", {}))
        modality = data.get("modality", {})
        modalities: dict[Any, Any] = {"": modality} if isinstance(modality, str) else dict(modality)
        modalities.update(data.get("channel_names", {}))
        has_instances = data.get("kind") == "instance"
        ignored = classes.pop("ignore", ())
        if len(ignored) > 1:
            raise ValueError(f"'ignore' with the numbers {ignored} where one was expected")
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise DatasetError(
            f"{path}: expected a dataset.json with labels by name, got: {error}; repair it"
        ) from error
    return DatasetDescription(
        ignore_value=ignored[0] if ignored else None,
        classes=classes,
        modalities={str(key): str(value) for key, value in modalities.items()},
        has_instances=has_instances,
    )


def parse_classes(names: Mapping[Any, Any]) -> dict[str, tuple[int, ...]]:
    """Return numbers by class from `{"liver": 1}`, `{"tumour": [2, 3]}` or `{1: "liver"}`; background is left out.

    Raises:
        ValueError: neither side of an entry is a number, or a class has none.
    """
    classes: dict[str, tuple[int, ...]] = {}
    for key, value in names.items():
        is_reversed = isinstance(value, str) and not value.isdecimal()
        name, numbers = (value, key) if is_reversed else (str(key), value)
        found = tuple(
            int(number) for number in (numbers if isinstance(numbers, (list, tuple)) else [numbers])
        )
        if not found:
            raise ValueError(f"{name!r} without a number")
        if found != (0,):
            classes[name] = classes.get(name, ()) + found
    return classes


def _keys(folder: Path) -> Iterator[tuple[Path, str]]:
    """Return the volumes under a folder with their path in it, without ending; hidden ones are left out."""
    for path in sorted(folder.rglob("*")):
        suffix = volume_suffix(path)
        inner = path.relative_to(folder)
        if suffix and path.is_file() and not any(part.startswith(".") for part in inner.parts):
            yield path, inner.as_posix().removesuffix(suffix)


def _case_of(key: str, pattern: str) -> str | None:
    """Return the case that a path without ending names: its folder, and what stands for `{case}`; None if none."""
    folder, slash, name = key.rpartition("/")
    before, _, after = pattern.partition(_CASE)
    fits = re.fullmatch(f"{re.escape(before)}(.+){re.escape(after)}", name)
    return f"{folder}{slash}{fits[1]}" if fits else None


def _owner(key: str, pattern: str, known: frozenset[str]) -> tuple[str, str] | None:
    """Return the case of a label file and the class it shows ("" for all); itself when there is no such case."""
    case = _case_of(key, pattern)
    if case in known:
        return case, ""
    folder, _, last = key.rpartition("/")
    if folder in known:
        return folder, last
    return None if case is None else (case, "")

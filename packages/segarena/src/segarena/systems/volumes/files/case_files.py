"""Discovery of the image and label files of each case in a folder, and reading of its `dataset.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from segarena.datasets.folder_detection import layout_hint
from segarena.datasets.listed_dataset import Files
from segarena.errors import DatasetError, DatasetMissing, PluginInvalid
from segarena.systems.volumes.files.volume_io import volume_suffix

EXPECTED_LAYOUT = (
    "PATH/images/CASE.nii.gz with PATH/labels/CASE.nii.gz, or nnU-Net's PATH/imagesTr/CASE_0000.nii.gz with "
    "PATH/labelsTr/CASE.nii.gz, or one folder and label_pattern='{case}_seg'"
)
_CASE = "{case}"
_LABEL_FOLDERS = {"imagesTr": "labelsTr", "images": "labels"}


@dataclass(slots=True)
class CaseFiles:
    """Image file of one case, with one label file for all classes or one label file per class."""

    image: Path | None = None
    labels: list[tuple[str, Path]] = field(default_factory=list[tuple[str, Path]])

    @property
    def files(self) -> Files:
        """All files of the case, the image before the labels."""
        label_paths = [path for _, path in self.labels]
        if self.image is None:
            return tuple(label_paths)
        return (self.image, *label_paths)

    @property
    def is_complete(self) -> bool:
        """Whether the case has an image and at least one label file."""
        return self.image is not None and bool(self.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseLayout:
    """Folders of images and labels, and the patterns that extract the case from a file name."""

    images: Path
    labels: Path
    image_pattern: str
    label_pattern: str

    def __post_init__(self) -> None:
        for pattern in (self.image_pattern, self.label_pattern):
            if pattern.count(_CASE) != 1 or "/" in pattern:
                raise PluginInvalid(
                    f"pattern {pattern!r}: expected a file name that contains {_CASE} once and has no suffix"
                )

    @property
    def is_flat(self) -> bool:
        """Whether images and labels are in the same folder."""
        return self.images == self.labels


class CaseCollection(NamedTuple):
    """Content of a folder: the cases by name, in order, and the volumes that match no pattern."""

    cases: dict[str, CaseFiles]
    others: list[Path]


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetDescription:
    """Content of a `dataset.json`; empty if there is none."""

    # Label values by class, without the background.
    classes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    # Label value of voxels excluded from scoring.
    ignore_value: int | None = None
    # Modality by channel index, or a single modality for all channels under the key "".
    modalities: Mapping[str, str] = field(default_factory=dict[str, str])
    # Whether each label value is a separate object, as in the output of `segarena data prepare`.
    has_instances: bool = False

    def modality_of(self, image_pattern: str) -> str:
        """Return the modality of the channel in a pattern such as "{case}_0001", or "" if it is unknown."""
        if self.modalities.get(""):
            return self.modalities[""]
        channel = re.search(r"_0*(\d+)$", image_pattern)
        number = channel[1] if channel else "0"
        return self.modalities.get(number, "")


def find_layout(
    root: Path,
    images: str | None,
    labels: str | None,
    image_pattern: str | None,
    label_pattern: str,
) -> CaseLayout:
    """Return folders and patterns of images and labels: the given ones, otherwise those of a known layout.

    Images are then in `images` or `imagesTr`, or in `root` itself if neither exists and a
    `label_pattern` is given.

    Raises:
        DatasetMissing: a folder does not exist.
        PluginInvalid: a pattern does not contain `{case}` exactly once or contains a folder, or
            images and labels have the same folder and the same pattern.
    """
    has_images_folder = (root / "images").is_dir()
    is_nnunet = images is None and not has_images_folder and (root / "imagesTr").is_dir()
    if images is None:
        if is_nnunet:
            images = "imagesTr"
        elif label_pattern == _CASE or has_images_folder:
            images = "images"
        else:
            images = "."
    if labels is None:
        labels = _LABEL_FOLDERS.get(images, ".")
    for folder, content in ((root / images, "images"), (root / labels, "labels")):
        if not folder.is_dir():
            # Often a folder is given that lies above or below that of the dataset.
            hint = layout_hint(root) if root.is_dir() else ""
            help_text = hint or f"the layout is {EXPECTED_LAYOUT}"
            raise DatasetMissing(
                f"{folder}: expected a folder with {content}, found none; {help_text}"
            )
    if image_pattern is None or not image_pattern:
        has_channels = is_nnunet and any((root / images).glob("*_0000.*"))
        image_pattern = "{case}_0000" if has_channels else _CASE
    layout = CaseLayout(
        images=root / images,
        labels=root / labels,
        image_pattern=image_pattern,
        label_pattern=label_pattern,
    )
    if layout.is_flat and layout.label_pattern == layout.image_pattern:
        raise PluginInvalid(
            "images and labels in one folder: expected a label_pattern such as '{case}_seg'"
        )
    return layout


def collect_cases(layout: CaseLayout) -> CaseCollection:
    """Return the cases of a folder in the order of their paths, including incomplete ones.

    Raises:
        DatasetError: a case has two images, or two label files have the same name.
        DatasetMissing: there is no image at all.
    """
    cases: dict[str, CaseFiles] = {}
    others: list[Path] = []
    label_keys = dict(_list_volumes(layout.labels))
    if layout.is_flat:
        # Images are in the same folder, so only the pattern shows which files are labels.
        label_keys = {
            path: key for path, key in label_keys.items() if _match_case(key, layout.label_pattern)
        }
    for path, key in _list_volumes(layout.images):
        if layout.is_flat and path in label_keys:
            continue
        name = _match_case(key, layout.image_pattern)
        if name is None:
            others.append(path)
        elif name in cases:
            raise DatasetError(
                f"{path} and {cases[name].image}: expected one image of this case, got two; rename one"
            )
        else:
            cases[name] = CaseFiles(path)
    if not cases:
        raise DatasetMissing(
            f"{layout.images}: expected volumes named {layout.image_pattern!r}, found none; "
            f"the layout is {EXPECTED_LAYOUT}"
        )
    known_cases = frozenset(cases)
    for path, key in label_keys.items():
        owner = _find_owner(key, layout.label_pattern, known_cases)
        if owner is None:
            others.append(path)
            continue
        case_name, class_name = owner
        case = cases.setdefault(case_name, CaseFiles())
        _add_label(case, class_name, path)
    return CaseCollection(cases, others)


def _add_label(
    case: CaseFiles,
    class_name: str,
    path: Path,
) -> None:
    twin = dict(case.labels).get(class_name)
    if twin is not None:
        raise DatasetError(
            f"{path} and {twin}: expected one label file of this name, got two; remove one"
        )
    case.labels.append((class_name, path))


def read_description(path: Path) -> DatasetDescription:
    """Read a `dataset.json` of nnU-Net (names to label values) or the Medical Segmentation Decathlon (the reverse).

    If the file does not exist, the description is empty.

    Raises:
        DatasetError: the file is not JSON, or its labels have neither form.
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
            raise ValueError(f"'ignore' with the numbers {ignored} instead of one number")
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
    """Return label values by class from `{"liver": 1}`, `{"tumour": [2, 3]}` or `{1: "liver"}`, without background.

    Raises:
        ValueError: neither side of an entry is a number, or a class has no label value.
    """
    classes: dict[str, tuple[int, ...]] = {}
    for key, value in names.items():
        # nnU-Net writes `{"liver": 1}`, the Medical Segmentation Decathlon `{"1": "liver"}`.
        if isinstance(value, str) and not value.isdecimal():
            name, numbers = value, key
        else:
            name, numbers = str(key), value
        listed = numbers if isinstance(numbers, (list, tuple)) else [numbers]
        found = tuple(int(number) for number in listed)
        if not found:
            raise ValueError(f"{name!r} without a number")
        is_background = found == (0,)
        if not is_background:
            classes[name] = classes.get(name, ()) + found
    return classes


def _list_volumes(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield each volume below a folder, and its relative path without suffix; hidden files are skipped."""
    for path in sorted(folder.rglob("*")):
        suffix = volume_suffix(path)
        inner = path.relative_to(folder)
        is_hidden = any(part.startswith(".") for part in inner.parts)
        if suffix and path.is_file() and not is_hidden:
            yield path, inner.as_posix().removesuffix(suffix)


def _match_case(key: str, pattern: str) -> str | None:
    """Return the case (folder and text at `{case}`) of a path without suffix; None if it does not match."""
    folder, slash, name = key.rpartition("/")
    before, _, after = pattern.partition(_CASE)
    fits = re.fullmatch(f"{re.escape(before)}(.+){re.escape(after)}", name)
    return f"{folder}{slash}{fits[1]}" if fits else None


def _find_owner(
    key: str,
    pattern: str,
    known_cases: frozenset[str],
) -> tuple[str, str] | None:
    """Return the case of a label file and its class, "" for all classes; None if it belongs to no case."""
    case = _match_case(key, pattern)
    if case in known_cases:
        return case, ""
    folder, _, last = key.rpartition("/")
    if folder in known_cases:
        return folder, last
    return None if case is None else (case, "")

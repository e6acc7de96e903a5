"""Detection of the dataset that can read a folder, so that `--dataset photos` needs neither name nor options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from segarena.datasets.annotations.annotation_files import list_annotation_files
from segarena.datasets.annotations.record_parsing import read_json_file
from segarena.datasets.coco import is_coco
from segarena.datasets.cvat import is_cvat_file
from segarena.datasets.label_studio import is_label_studio, is_mask_export
from segarena.datasets.labelme import is_labelme, list_json_files
from segarena.errors import DatasetError, DatasetMissing
from segarena.files.images import list_image_files
from segarena.plugin_spec import PluginSpec

# Names of the folders of images and of masks, in the order in which they are tried.
_IMAGE_FOLDERS = ("images", "image", "imgs", "img", "JPEGImages")
_MOST_READ = 20
_MASK_FOLDERS = ("masks", "mask", "gt", "SegmentationObject")
_VOLUME_SUFFIXES = (".nii.gz", ".nii", ".nrrd", ".mha", ".mhd")


class DetectedDataset(NamedTuple):
    """A dataset that can read a folder, and the layout by which it was recognized, as text."""

    spec: PluginSpec
    layout: str

    def __str__(self) -> str:
        return f"{self.spec}: {self.layout}"


def detect_dataset(folder: Path) -> DetectedDataset:
    """Return the dataset that can read a folder, judging by the files and subfolders in it.

    Raises:
        DatasetMissing: the layout is not known; the message lists the known ones.
    """
    for detect in DETECTORS:
        detected = detect(folder)
        if detected is not None:
            return detected
    if is_mask_export(folder):
        raise DatasetMissing(
            f"{folder}: expected an export of Label Studio as JSON, got one as PNG, whose names do not say to which "
            "images the masks belong. Export it as JSON, which contains the same masks, and put it beside the images"
        )
    hint = layout_hint(folder)
    if hint:
        raise DatasetMissing(f"{folder}: expected the folder of a dataset; {hint}")
    layouts = "; ".join(KNOWN_LAYOUTS)
    raise DatasetMissing(
        f"{folder}: expected one of these layouts: {layouts}; found none. Arrange the files like one of them, or "
        f"name a dataset with its folder, such as sbd(path={str(folder)!r}); 'segarena list datasets' shows all"
    )


def layout_hint(folder: Path) -> str:
    """Return which dataset reads a folder, its parent or a folder in it, as a hint; "" if none does.

    For messages about a folder that a dataset cannot read. Only layouts of subfolders are tried, because
    annotation files would have to be read.
    """
    folder = folder.resolve()
    subfolders = []
    if folder.is_dir():
        subfolders = sorted(path for path in folder.iterdir() if path.is_dir())
    for candidate in (folder, folder.parent, *subfolders[:_MOST_READ]):
        for detect in SUBFOLDER_DETECTORS:
            detected = detect(candidate)
            if detected is not None:
                return f"{candidate} has {detected.layout}: use -d {str(detected.spec)!r}"
    return ""


def _image_and_mask_folders(folder: Path) -> DetectedDataset | None:
    images = _first_with_images(folder, _IMAGE_FOLDERS)
    masks = _first_with_images(folder, _MASK_FOLDERS)
    if not images or not masks:
        return None
    options: dict[str, str] = {"path": str(folder)}
    if images != "images":
        options["images"] = images
    if masks != "masks":
        options["masks"] = masks
    return DetectedDataset(
        PluginSpec("folder", options), f"photographs in {images}/ with masks in {masks}/"
    )


def _masks_by_class(folder: Path) -> DetectedDataset | None:
    """Detect masks/CLASS/NAME.png of images/NAME.jpg, but not masks/NAME/OBJECT.png, which `folder` reads."""
    if not (folder / "images").is_dir() or not (folder / "masks").is_dir():
        return None
    names = {path.stem for path in list_image_files(folder / "images")}
    masks = [path.relative_to(folder / "masks") for path in list_image_files(folder / "masks")]
    if not masks or any(len(mask.parts) != 2 for mask in masks):
        return None
    has_folders_of_images = any((folder / "images" / mask.parts[0]).is_dir() for mask in masks)
    has_masks_by_image = any(mask.parts[0] in names for mask in masks)
    if has_folders_of_images or has_masks_by_image or not any(mask.stem in names for mask in masks):
        return None
    spec = PluginSpec("oneshot-folder", {"path": str(folder)})
    return DetectedDataset(spec, "photographs in images/ with masks in masks/CLASS/")


def _volume_folders(folder: Path) -> DetectedDataset | None:
    for images, labels in (("images", "labels"), ("imagesTr", "labelsTr")):
        if _has_volumes(folder / images) and _has_volumes(folder / labels):
            spec = PluginSpec("nifti-folder", {"path": str(folder)})
            return DetectedDataset(spec, f"volumes in {images}/ with labels in {labels}/")
    return None


def _has_volumes(folder: Path) -> bool:
    return any(path.name.lower().endswith(_VOLUME_SUFFIXES) for path in folder.rglob("*"))


def _frame_and_mask_folders(folder: Path) -> DetectedDataset | None:
    if not _first_with_images(folder, ("frames",)) or not _first_with_images(folder, ("masks",)):
        return None
    spec = PluginSpec("video-folder", {"path": str(folder)})
    return DetectedDataset(spec, "videos in frames/ with masks in masks/")


def _folders_by_resolution(folder: Path) -> DetectedDataset | None:
    """Detect frames in JPEGImages/480p/VIDEO/ with masks in Annotations/480p/VIDEO/."""
    for resolution in ("480p", "Full-Resolution"):
        frames = f"JPEGImages/{resolution}"
        masks = f"Annotations/{resolution}"
        if not (folder / frames).is_dir() or not (folder / masks).is_dir():
            continue
        options = {"path": str(folder), "frames": frames, "masks": masks}
        if (folder / "Scribbles").is_dir():
            options["scribbles"] = "Scribbles"
        layout = f"videos in {frames}/ with masks in {masks}/"
        return DetectedDataset(PluginSpec("video-folder", options), layout)
    return None


def _first_with_images(folder: Path, names: Sequence[str]) -> str:
    for name in names:
        if (folder / name).is_dir() and list_image_files(folder / name):
            return name
    return ""


def _cvat_file(folder: Path) -> DetectedDataset | None:
    for file in list_annotation_files(folder, ".xml"):
        if is_cvat_file(file):
            return _by_file("cvat", folder, file, "annotations of CVAT for images in")
    return None


def _json_file(folder: Path) -> DetectedDataset | None:
    for file in list_annotation_files(folder, ".json"):
        value = _json_value(file)
        if is_coco(value):
            return _by_file("coco", folder, file, "COCO instances in")
        if is_label_studio(value):
            return _by_file("label-studio", folder, file, "an export of Label Studio in")
    return None


def _labelme_files(folder: Path) -> DetectedDataset | None:
    for file in list_json_files(folder)[:_MOST_READ]:
        if is_labelme(_json_value(file)):
            spec = PluginSpec("labelme", {"path": str(folder)})
            layout = f"JSON files of labelme, such as {file.relative_to(folder).as_posix()}"
            return DetectedDataset(spec, layout)
    return None


def _by_file(
    name: str,
    folder: Path,
    file: Path,
    what: str,
) -> DetectedDataset:
    spec = PluginSpec(name, {"path": str(folder)})
    return DetectedDataset(spec, f"{what} {file.relative_to(folder).as_posix()}")


def _json_value(file: Path) -> Any:
    """Return the value of a JSON file; None if it cannot be read."""
    try:
        return read_json_file(file).value
    except DatasetError:
        return None


SUBFOLDER_DETECTORS: Sequence[Callable[[Path], DetectedDataset | None]] = (
    _masks_by_class,
    _image_and_mask_folders,
    _volume_folders,
    _frame_and_mask_folders,
    _folders_by_resolution,
)
"""Functions that recognize a layout by its subfolders."""

DETECTORS: Sequence[Callable[[Path], DetectedDataset | None]] = (
    *SUBFOLDER_DETECTORS,
    _cvat_file,
    _json_file,
    _labelme_files,
)
"""Functions that recognize one layout each; the first match is used."""

KNOWN_LAYOUTS = (
    "images/ with masks/ next to it",
    "images/ with masks/CLASS/ (one-shot)",
    "volumes in images/ with labels/ next to it",
    "frames/VIDEO/ with masks/VIDEO/",
    "JPEGImages/480p/VIDEO/ with Annotations/480p/VIDEO/",
    "images with COCO instances (.json)",
    "with CVAT for images (.xml)",
    "with labelme's files (.json)",
    "with an export of Label Studio (.json)",
)

"""Images whose objects are listed in files of annotation tools; base of `coco`, `cvat`, `labelme` and `label-studio`.

Reading the files keeps the shapes as stored. They are checked and drawn when their image is loaded,
so that one damaged record costs one sample and not the whole dataset.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from segarena.arrays.polygon_fill import Patch, join_patches
from segarena.datasets.annotations.annotation_shapes import StoredShape
from segarena.datasets.file_names import confusable_names, normal_form
from segarena.datasets.listed_dataset import CheckTally, Files, ListedDataset, abbreviate_names
from segarena.datasets.mask_encodings import size_class
from segarena.datasets.mask_orientation import (
    MaskedPhotograph,
    MaskOrientation,
    orientation_assumptions,
)
from segarena.errors import DatasetError, DatasetMissing, InvalidImage, InvalidInput, InvalidMask
from segarena.files.images import (
    list_image_files,
    read_image,
    read_orientation,
    read_stored_size,
    turn_upright,
)
from segarena.files.limits import check_mask_pixels, check_pixels, voxel_limit
from segarena.roles import Finding
from segarena.samples import ImageSample, Mask, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedObject:
    """An object as stored.

    Attributes:
        id: id within its image.
        label: its category; "" without one.
        drawings: its shapes; the object is their union.
        is_ignored: whether its pixels are ignored, such as a crowd, instead of a target.
    """

    id: str
    label: str
    drawings: tuple[StoredShape, ...]
    is_ignored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedPicture:
    """An image as listed in an annotation file.

    Attributes:
        name: path of the image in the file, with "/" between folders.
        source: the annotation file.
        shape: (H, W) in the file; None if it does not say.
        objects: the objects.
        folder: folder of the image in the dataset, if `name` is relative to one; else "".
        other_names: names under which to look for the image if there is none called `name`.
        embedded: returns the content of an image that the annotation file contains; None for none. It is used
            if there is no image file.
    """

    name: str
    source: Path
    shape: tuple[int, int] | None
    objects: tuple[AnnotatedObject, ...]
    folder: str = ""
    other_names: tuple[str, ...] = ()
    embedded: Callable[[], bytes] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """Content of a dataset's annotation files.

    Attributes:
        format: name of the format.
        pictures: the images.
        sha256: hash of the files.
        remarks: remarks on the files, which `check` reports.
    """

    format: str
    pictures: Sequence[AnnotatedPicture]
    sha256: str
    remarks: Sequence[str]


class AnnotatedImages(ListedDataset[ImageSample]):
    """Images whose objects are listed in files of an annotation tool.

    Args:
        path: the folder of images and annotations.
        images: folder of the images in `path`; by default `path` with its subfolders.
        labels: labels of the targets; by default all.
        min_area_px: smallest area of a target, in pixels.
        mask_orientation: "stored" if the annotations refer to the stored pixels of photographs that
            EXIF rotates; by default, they refer to the "upright" photograph.
        name: name of the dataset in records; by default the name of the folder at `path`.
        annotations: the content of the files.

    Raises:
        DatasetMissing: the folder of images is missing; or it contains none of the listed images, and no
            annotation file contains one.
        DatasetError: an image is listed twice.
    """

    reports_duplicates = True

    def __init__(
        self,
        *,
        path: Path,
        images: str | None,
        labels: list[str] | None,
        min_area_px: int,
        mask_orientation: MaskOrientation | None,
        name: str | None,
        annotations: Annotations,
    ) -> None:
        self._root = path / (images or "")
        self._labels = labels
        self._min_area_px = min_area_px
        self._mask_orientation: MaskOrientation = mask_orientation or "upright"
        self._remarks = annotations.remarks
        index = _ImageIndex(self._root)
        self._pictures: dict[str, AnnotatedPicture] = {}
        self._images: dict[str, Path | None] = {}
        found: dict[Path, AnnotatedPicture] = {}
        for picture in annotations.pictures:
            image = index.find(picture)
            if image is not None and image in found:
                raise DatasetError(
                    f"{picture.source}: expected each image once, got {image.name} twice "
                    f"(as {found[image].name[:80]!r} and {picture.name[:80]!r}); remove one record"
                )
            if image is not None:
                found[image] = picture
            sample_id = index.sample_id(image, picture)
            if sample_id in self._pictures:
                raise DatasetError(
                    f"{picture.source}: expected each image once, got {sample_id[:80]!r} twice; remove one record"
                )
            self._pictures[sample_id] = picture
            self._images[sample_id] = image
        has_embedded = any(picture.embedded is not None for picture in annotations.pictures)
        if not found and not has_embedded:
            pictures = annotations.pictures
            example = f", such as {pictures[0].name[:80]!r}" if pictures else ""
            raise DatasetMissing(
                f"{self._root}: expected images that the annotations name{example}, found none of {len(pictures)}; "
                "copy them there, or set images= to their folder"
            )
        self._unlisted = sorted(set(index.paths) - set(found))
        files: dict[str, Files] = {}
        for sample_id in sorted(self._pictures):
            image = self._images[sample_id]
            source = self._pictures[sample_id].source
            files[sample_id] = (source,) if image is None else (image, source)
        rules: dict[str, object] = {
            "labels": None if labels is None else sorted(labels),
            "min_area_px": min_area_px,
            "mask_orientation": self._mask_orientation,
            "format": annotations.format,
            "annotations": annotations.sha256,
        }
        super().__init__(name or path.resolve().name, files, rules)

    def assumptions(self, sample_ids: Sequence[str]) -> Sequence[str]:
        """Return how coordinates in rotated photographs are interpreted; see `orientation_assumptions`."""
        pictures: list[MaskedPhotograph] = []
        for sample_id in sample_ids:
            image = self._images[sample_id]
            picture = self._pictures[sample_id]
            if image is not None and picture.objects:
                pictures.append(MaskedPhotograph(image, (picture.source,)))
        return orientation_assumptions(
            pictures, self._mask_orientation, remedy="set mask_orientation='stored'"
        )

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        del files
        picture = self._pictures[sample_id]
        path, content = self._file_of(sample_id)
        image = read_image(path, data=content)
        orientation = None
        if self._mask_orientation == "stored":
            orientation = read_orientation(path, data=content)
        shape = (image.shape[0], image.shape[1])
        if orientation is not None:
            shape = read_stored_size(path, data=content)
        _check_size(picture, path, shape)
        objects = self._draw(picture, shape)
        targets: list[Target] = []
        crowds = [turn_upright(mask, orientation) for one, mask in objects if one.is_ignored]
        crowd = np.logical_or.reduce(crowds) if crowds else None
        for one, drawn in objects:
            if one.is_ignored:
                continue
            mask = np.ascontiguousarray(turn_upright(drawn, orientation))
            # A crowd may be drawn across the object itself, which is judged all the same.
            ignore = None if crowd is None else crowd & ~mask
            target = Target(
                id=one.id,
                mask=mask,
                ignore=ignore,
                label=one.label,
                attributes={"size": size_class(mask)},
            )
            targets.append(target)
        return ImageSample(id=sample_id, image=image, targets=tuple(targets))

    def _file_of(self, sample_id: str) -> tuple[Path, bytes | None]:
        """Return the file of an image, and its content if the annotation file contains it."""
        picture = self._pictures[sample_id]
        path = self._images[sample_id]
        if path is not None:
            return path, None
        if picture.embedded is not None:
            return Path(picture.name), picture.embedded()
        raise InvalidImage(
            f"{picture.source} names {picture.name[:80]!r}: expected this image below {self._root}, found none "
            "or several; copy it there or set images= to its folder"
        )

    def _draw(
        self,
        picture: AnnotatedPicture,
        shape: tuple[int, int],
    ) -> list[tuple[AnnotatedObject, Mask]]:
        """Return the masks of the selected objects, and of ignored regions, in pixels of the file."""
        patches: list[tuple[AnnotatedObject, Patch]] = []
        drawn_px = 0
        for one in picture.objects:
            if not one.is_ignored and not self._is_selected(one):
                continue
            parts: list[Patch] = []
            for drawing in one.drawings:
                try:
                    patch = drawing.draw(shape)
                    drawn_px += patch.mask.size
                    check_mask_pixels(drawn_px, "all shapes of the image", error=InvalidMask)
                except InvalidInput as error:
                    raise InvalidMask(
                        f"{picture.source}, object {one.id[:80]} of {picture.name[:80]}: {error}"
                    ) from error
                parts.append(patch)
            patch = parts[0] if len(parts) == 1 else join_patches(parts)
            smallest = 1 if one.is_ignored else self._min_area_px
            if np.count_nonzero(patch.mask) >= smallest:
                patches.append((one, patch))
        # Every target has a mask of the whole image.
        whole_px = len(patches) * shape[0] * shape[1]
        check_pixels(
            whole_px, f"masks of {picture.name[:80]}", error=InvalidMask, most=voxel_limit()
        )
        return [(one, patch.full(shape)) for one, patch in patches]

    def _is_selected(self, one: AnnotatedObject) -> bool:
        return self._labels is None or one.label in self._labels

    def _oddities(self) -> Iterable[Finding]:
        for remark in self._remarks:
            yield Finding(is_error=False, message=remark)
        if self._unlisted:
            names = [path.relative_to(self._root).as_posix() for path in self._unlisted]
            listed = abbreviate_names(names)
            message = (
                f"images without a record in the annotations are not used ({len(names)}): {listed}"
            )
            yield Finding(is_error=False, message=message)
        used = [path for path in self._images.values() if path is not None]
        yield from confusable_names([path.relative_to(self._root).as_posix() for path in used])

    def _verdict(self, tally: CheckTally) -> Iterable[Finding]:
        listed = 0
        labels: set[str] = set()
        for picture in self._pictures.values():
            for one in picture.objects:
                labels.add(one.label)
                if not one.is_ignored and self._is_selected(one):
                    listed += 1
        unknown = sorted(set(self._labels or ()) - labels)
        if unknown:
            known = abbreviate_names(sorted(labels), 20)
            message = f"labels: expected categories of the annotations ({known}), got {abbreviate_names(unknown)}"
            yield Finding(is_error=True, message=message)
        is_complete = tally.samples == len(self._pictures)
        if is_complete and listed > tally.targets:
            message = (
                f"{listed - tally.targets} of {listed} objects have fewer than "
                f"{self._min_area_px} pixels and are not targets"
            )
            yield Finding(is_error=False, message=message)
        if not tally.targets:
            message = f"{self.name}: no targets; expected at least one object to segment"
            yield Finding(is_error=True, message=message)


class _ImageIndex:
    """Images in a folder, found by the names that annotations give them."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise DatasetMissing(f"{root}: expected a folder of images, found none")
        self._root = root
        self.paths = list_image_files(root)
        self._by_path: dict[str, Path] = {}
        self._by_last_name: defaultdict[str, list[str]] = defaultdict(list)
        self._by_stem: defaultdict[str, int] = defaultdict(int)
        for path in self.paths:
            relative = path.relative_to(root)
            self._by_path.setdefault(relative.as_posix(), path)
            form = normal_form(relative.name)
            self._by_last_name[form].append(relative.as_posix())
            self._by_stem[relative.with_suffix("").as_posix()] += 1

    def find(self, picture: AnnotatedPicture) -> Path | None:
        """Return the file of a picture, or None if there is none or several could be meant.

        The name may lack leading folders of the dataset, or have further ones, and may have another
        Unicode form. Names only select among the listed files, so none leads out of the folder.
        """
        for name in (picture.name, *picture.other_names):
            path = self._find(name.replace("\\", "/"), picture.folder)
            if path is not None:
                return path
        return None

    def _find(self, name: str, folder: str) -> Path | None:
        for exact in (str(PurePosixPath(folder, name)), name):
            if exact in self._by_path:
                return self._by_path[exact]
        parts = PurePosixPath(normal_form(name)).parts
        if not parts:
            return None
        candidates = self._by_last_name.get(parts[-1], [])
        # Candidates that share the most trailing folders with the name.
        shared = [_shared_parts(parts, normal_form(path)) for path in candidates]
        best = [
            path for path, count in zip(candidates, shared, strict=True) if count == max(shared)
        ]
        return self._by_path[best[0]] if len(best) == 1 else None

    def sample_id(self, image: Path | None, picture: AnnotatedPicture) -> str:
        """Return the path of the image without suffix; with suffix if several images differ only in it.

        Without an image file, it is the path of the annotation file that contains the image, or else
        the name in the annotations.
        """
        if image is None and picture.embedded is not None:
            # Such an annotation file belongs to this image alone; its name for the image may be anything.
            return PurePosixPath(picture.folder, picture.source.stem).as_posix()
        if image is None:
            return picture.name or "?"
        relative = image.relative_to(self._root)
        stem = relative.with_suffix("").as_posix()
        return stem if self._by_stem[stem] == 1 else relative.as_posix()


def _shared_parts(parts: Sequence[str], path: str) -> int:
    count = 0
    for one, other in zip(reversed(parts), reversed(PurePosixPath(path).parts), strict=False):
        if one != other:
            break
        count += 1
    return count


def _check_size(
    picture: AnnotatedPicture,
    path: Path,
    shape: tuple[int, int],
) -> None:
    """Raise `InvalidMask` if the annotations state another size than that of the image."""
    if picture.shape is None or picture.shape == shape:
        return
    hint = "annotate this image, or find the one that was annotated"
    if picture.shape == shape[::-1]:
        hint = (
            "EXIF rotates one of them by 90 degrees: set mask_orientation='stored' if the annotations refer to the "
            "stored pixels, else 'upright'"
        )
    raise InvalidMask(
        f"{picture.source}: expected the size of {path.name}, {shape[1]} x {shape[0]} pixels, "
        f"got {picture.shape[1]} x {picture.shape[0]}; {hint}"
    )

"""Annotated images with one annotation file for all of them; base of `coco`, `cvat` and `label-studio`."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

from segarena.datasets.annotated_images import AnnotatedImages, Annotations
from segarena.datasets.annotations.annotation_files import find_annotation_file
from segarena.datasets.mask_orientation import MaskOrientation


class SingleFileAnnotations(AnnotatedImages):
    """Images with objects in one file. A subclass reads the file, and describes the options that differ.

    Args:
        path: the folder of images and annotations, or the JSON file.
        annotations: the JSON file in `path`; by default the only one there or in `annotations`.

    Raises:
        DatasetMissing: the file or the images are missing.
        DatasetError: the file has another format, several files could be meant, or an image is listed twice.
    """

    what: ClassVar[str]
    """Description of the file, for messages."""
    suffix: ClassVar[str] = ".json"
    """Suffix of the file."""

    def __init__(
        self,
        *,
        path: str,
        annotations: str | None = None,
        images: str | None = None,
        labels: list[str] | None = None,
        min_area_px: int = 1,
        mask_orientation: MaskOrientation | None = None,
        name: str | None = None,
    ) -> None:
        root = Path(path).expanduser()
        file = find_annotation_file(
            root,
            annotations,
            suffix=self.suffix,
            what=self.what,
            is_one=self.is_one,
        )
        super().__init__(
            path=root.parent if root.is_file() else root,
            images=images,
            labels=labels,
            min_area_px=min_area_px,
            mask_orientation=mask_orientation,
            name=name,
            annotations=self.read_annotations(file),
        )

    @classmethod
    @abstractmethod
    def is_one(cls, file: Path) -> bool:
        """Return whether a file with the suffix has this format."""

    @classmethod
    @abstractmethod
    def read_annotations(cls, file: Path) -> Annotations:
        """Return the content of a file.

        Raises:
            DatasetError: the file has another format.
        """

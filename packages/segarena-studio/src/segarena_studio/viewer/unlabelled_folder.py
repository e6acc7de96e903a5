"""Folder of pictures without masks."""

from __future__ import annotations

from pathlib import Path

from segarena.datasets.listed_dataset import Files, ListedDataset
from segarena.files.images import list_image_files, read_image
from segarena.samples import ImageSample


class UnlabelledFolder(ListedDataset[ImageSample]):
    """Pictures in a folder and its subfolders, without targets."""

    def __init__(self, path: Path) -> None:
        files = {file.relative_to(path).as_posix(): (file,) for file in list_image_files(path)}
        super().__init__(path.resolve().name, files, {})

    def _read(self, sample_id: str, files: Files) -> ImageSample:
        return ImageSample(id=sample_id, image=read_image(files[0]))

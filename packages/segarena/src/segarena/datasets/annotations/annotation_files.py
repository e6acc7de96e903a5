"""Search for the annotation file in the folder of a dataset."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from segarena.errors import DatasetError, DatasetMissing

# Folders in which tools put the annotation file: that of the dataset itself, and a subfolder.
_FOLDERS = ("", "annotations")
_MOST_NAMED = 5


def find_annotation_file(
    root: Path,
    annotations: str | None,
    *,
    suffix: str,
    what: str,
    is_one: Callable[[Path], bool],
) -> Path:
    """Return the annotation file.

    Args:
        root: folder of the dataset, or the file itself.
        annotations: path of the file in `root`; None takes the only one in `root` or `root/annotations`.
        suffix: suffix of the file, such as ".json".
        what: description of the file, for messages.
        is_one: whether a file with the suffix has the right format; called only if there are several files.

    Raises:
        DatasetMissing: there is no such file.
        DatasetError: there are several; the message names up to five.
    """
    if root.is_file():
        return root
    if annotations is not None:
        file = root / Path(annotations).expanduser()
        if not file.is_file():
            raise DatasetMissing(f"{file}: expected {what}, found no file; correct annotations=")
        return file
    if not root.is_dir():
        raise DatasetMissing(f"{root}: expected a folder with {what} and its images, found none")
    files = list_annotation_files(root, suffix)
    if len(files) > 1:
        files = [file for file in files if is_one(file)]
    if not files:
        raise DatasetMissing(
            f"{root}: expected {what} (*{suffix}) here or in 'annotations', found none; set annotations= to its path"
        )
    if len(files) > 1:
        names = [repr(file.relative_to(root).as_posix()) for file in files[:_MOST_NAMED]]
        raise DatasetError(
            f"{root}: expected one file with {what}, got {len(files)}; choose one by annotations={' or '.join(names)}"
        )
    return files[0]


def list_annotation_files(root: Path, suffix: str) -> list[Path]:
    """Return the files with a suffix in the folder of a dataset and in its subfolder `annotations`, sorted."""
    files: list[Path] = []
    for folder in _FOLDERS:
        if not (root / folder).is_dir():
            continue
        for file in sorted((root / folder).iterdir()):
            is_hidden = file.name.startswith(".")
            if file.suffix.lower() == suffix and not is_hidden and file.is_file():
                files.append(file)
    return files

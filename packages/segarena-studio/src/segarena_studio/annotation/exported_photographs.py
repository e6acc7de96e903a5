"""Photographs in an export: upright pixels, under names with the extension that fits the content.

A studio stores a JPEG unchanged, even one that its EXIF tag rotates, because browsers follow the
tag. It stores every file that browsers would show differently (CMYK, TIFF, ...) as PNG, under the
name of the original. Drawings refer to upright pixels, and other tools may ignore the tag or trust
the extension, so an export writes rotated photographs as upright PNG and corrects extensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from segarena.files.images import read_image, read_orientation
from segarena.systems.scenes.files.label_png import encode_png
from segarena_server.storage.content_store import ContentStore
from segarena_studio.annotation.export_contents import ExportedTask
from segarena_studio.annotation.high_bit_depth_pictures import is_deep
from segarena_studio.annotation.pictures import media_type

# Extensions of each stored type; the first one is given to a file with another extension.
_EXTENSIONS = {
    "image/jpeg": (".jpg", ".jpeg"),
    "image/png": (".png",),
    "image/webp": (".webp",),
}
_FIRST_BYTES = 16
_UPRIGHT = (None, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPhotograph:
    """A photograph of an export.

    Attributes:
        picture: name of the picture in the project.
        name: name of the file in the export; differs from `picture` only in its extension.
        sha256: hash of the stored file.
        is_turned: whether EXIF rotates the stored file, so that the export writes upright pixels
            instead.
        is_deep: whether the file is a 16-bit picture, which is exported unchanged.
    """

    picture: str
    name: str
    sha256: str
    is_turned: bool
    is_deep: bool = False

    def read(self, photographs: ContentStore) -> bytes:
        """Return the content of the file in the export."""
        if not self.is_turned:
            return photographs.read(self.sha256)
        content = photographs.read(self.sha256)
        return encode_png(read_image(Path(self.picture), data=content))


def list_photographs(
    tasks: Sequence[ExportedTask],
    photographs: ContentStore,
) -> list[ExportedPhotograph]:
    """Return the photographs of tasks, one per picture, in order of their first task; read only the files' headers."""
    by_picture = {task.picture: task for task in tasks}
    # Unchanged names come first: a corrected name must not collide with any of them, not even on a
    # file system that ignores case.
    taken = {picture.casefold() for picture in by_picture}
    listed: list[ExportedPhotograph] = []
    for picture, task in by_picture.items():
        file = photographs.fetch(task.sha256)
        is_turned = read_orientation(file) not in _UPRIGHT
        if is_turned:
            kind = "image/png"
        else:
            with file.open("rb") as opened:
                kind = media_type(opened.read(_FIRST_BYTES))
        name = _true_name(picture, kind, taken)
        taken.add(name.casefold())
        listed.append(
            ExportedPhotograph(
                picture=picture,
                name=name,
                sha256=task.sha256,
                is_turned=is_turned,
                is_deep=is_deep(task.kind),
            )
        )
    return listed


def _true_name(
    picture: str,
    kind: str,
    taken: set[str],
) -> str:
    extensions = _EXTENSIONS.get(kind, ())
    path = PurePosixPath(picture)
    if not extensions or path.suffix.lower() in extensions:
        return picture
    name = str(path.with_suffix(extensions[0]))
    while name.casefold() in taken:
        # "a.jpg" next to "a.png" becomes "a.jpg.png".
        path = PurePosixPath(f"{path}{extensions[0]}")
        name = str(path)
    return name

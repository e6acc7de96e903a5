"""Pictures of a project: validated before decoding, and stored upright in a format that browsers can show.

The first bytes determine the file type, and only the decoder of that type reads the file. The size
in the header is checked against `segarena.files.limits` before decoding.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray
from PIL import ExifTags, Image
from sqlalchemy import event, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from segarena.errors import DatasetError, InvalidInput, StoreError
from segarena.files.hashes import sha256
from segarena.files.images import IMAGE_SUFFIXES, has_more_pages, read_image
from segarena.files.safe_paths import safe_join
from segarena.systems.scenes.files.label_png import encode_png
from segarena_server import http_errors
from segarena_server.server_log import LOG
from segarena_server.storage.content_store import ContentStore
from segarena_studio.annotation.high_bit_depth_pictures import (
    DEEP,
    DICOM,
    is_dicom,
    read_deep_picture,
)
from segarena_studio.orm_models import Picture, Project, Task

MOST_BYTES = 64 * 2**20
"""Size limit of one file."""
PICTURE_SUFFIXES = IMAGE_SUFFIXES | {".dcm"}
THUMBNAIL_PX = 360
# The sender chooses names and media types, so they prove nothing; rely on the first bytes.
_BEGINNINGS = {
    b"\xff\xd8\xff": "image/jpeg",
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"RIFF": "image/webp",
    b"BM": "image/bmp",
    b"II*\0": "image/tiff",
    b"MM\0*": "image/tiff",
    b"P5": "image/x-portable-anymap",
    b"P6": "image/x-portable-anymap",
}
# Types that every browser shows in the colours that `read_image` decodes, for plain RGB or grey
# pictures. JPEG is the only type whose orientation tag all browsers follow.
_SHOWN_AS_THEY_ARE = ("image/jpeg", "image/png", "image/webp")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedPicture:
    """An uploaded file after validation as a picture.

    Attributes:
        name: normalized name.
        content: content to store: the unchanged file, or a PNG if browsers would show the file
            differently.
        kind: media type of the content.
        thumbnail: a JPEG of at most 360 pixels per side.
        shape: (H, W), upright.
        note: one line if only part of the file is used, such as the first of several pages; else "".
    """

    name: str
    content: bytes
    kind: str
    thumbnail: bytes
    shape: tuple[int, int]
    note: str = ""


def check_picture(name: str, content: bytes) -> CheckedPicture:
    """Check an uploaded file and prepare it for storage.

    Raises:
        InvalidInput: the name is invalid, or the file is too large, damaged, not a picture, or has
            more than one frame; of a TIFF, the first page is used instead.
        MissingExtra: the file is DICOM, and pydicom is not installed.
    """
    name = picture_name(name)
    if len(content) > MOST_BYTES:
        raise InvalidInput(
            f"{name}: expected at most {MOST_BYTES:,} bytes, got {len(content):,}; scale it down"
        )
    kind = media_type(content)
    if not kind:
        raise InvalidInput(
            f"{name}: expected JPEG, PNG, WebP, TIFF, BMP, PNM or DICOM, got something else; export it again"
        )
    note = ""
    if kind == "image/tiff" and has_more_pages(Path(name), data=content):
        note = f"{name}: the first of several pages is used"
    # Decoding validates the picture: a damaged one fails here and not in the editor.
    deep = read_deep_picture(name, content)
    if deep is not None:
        pixels = deep.render()
        kind += DEEP
    else:
        pixels = read_image(Path(name), data=content, first_page=True)
        if not _is_shown_as_it_is(content, kind):
            content = encode_png(pixels)
            kind = "image/png"
    return CheckedPicture(
        name=name,
        content=content,
        kind=kind,
        thumbnail=_thumbnail(pixels),
        shape=(pixels.shape[0], pixels.shape[1]),
        note=note,
    )


def picture_name(name: str) -> str:
    """Return the normalised name of a picture.

    Raises:
        InvalidInput: the name points outside its folder, is not a plain name, or lacks the suffix
            of a picture.
    """
    # macOS decomposes accented letters; the same name must match across systems.
    name = unicodedata.normalize("NFC", name)
    try:
        safe_join(Path("pictures"), name)
    except DatasetError as error:
        raise InvalidInput(f"{name[:80]!r}: expected a plain file name; rename the file") from error
    if len(name) > 255 or not name.isprintable():
        raise InvalidInput(f"{name[:80]!r}: expected at most 255 printable characters; rename it")
    if PurePosixPath(name).suffix.lower() not in PICTURE_SUFFIXES:
        raise InvalidInput(
            f"{name[:80]!r}: expected a name that ends in {', '.join(sorted(PICTURE_SUFFIXES))}"
        )
    return name


def add_picture(
    session: Session,
    project: Project,
    storage: ContentStore,
    checked: CheckedPicture,
    now: float,
) -> bool:
    """Add a picture and its tasks to a project; return False if it already exists.

    Raises:
        InvalidInput: another picture already has the name, or one name would be a folder of the
            other.
        StoreError: the file cannot be stored.
    """
    _check_folders(session, project, checked.name)
    _lock_files(session, [sha256(checked.content), sha256(checked.thumbnail)])
    known = session.scalar(
        select(Picture).where(Picture.project_id == project.id, Picture.name == checked.name)
    )
    if known is not None:
        if known.sha256 == sha256(checked.content):
            return False
        raise InvalidInput(
            f"{checked.name}: the project has another picture of this name; rename one of them"
        )
    picture = Picture(
        project_id=project.id,
        name=checked.name,
        sha256=storage.keep(checked.content),
        kind=checked.kind,
        thumbnail=storage.keep(checked.thumbnail),
        height=checked.shape[0],
        width=checked.shape[1],
        bytes=len(checked.content),
        place=_place(project, checked.name),
        made_at=now,
    )
    session.add(picture)
    session.flush()
    session.add_all(
        Task(project_id=project.id, picture_id=picture.id) for _ in range(project.annotators)
    )
    return True


def find_same_content(
    session: Session,
    project: Project,
    checked: CheckedPicture,
) -> str:
    """Return the name of the first other picture of the project with the same content, or ""."""
    query = (
        select(Picture.name)
        .where(Picture.project_id == project.id, Picture.sha256 == sha256(checked.content))
        .where(Picture.name != checked.name)
        .order_by(Picture.id)
        .limit(1)
    )
    return session.scalar(query) or ""


def remove_picture(
    session: Session,
    storage: ContentStore,
    picture: Picture,
) -> None:
    """Remove a picture that nobody has begun to annotate, with its tasks and its otherwise unused files.

    Raises:
        Refusal: somebody has begun to annotate the picture.
    """
    # Lock and read again: an annotator may begin at the same moment.
    query = select(Task).where(Task.picture_id == picture.id).order_by(Task.id)
    locked = query.with_for_update().execution_options(populate_existing=True)
    states = {task.state for task in session.scalars(locked)}
    if states - {"clean"}:
        raise http_errors.conflict(
            "somebody has begun to annotate this picture, so it cannot be removed"
        )
    drop_unused(session, storage, {picture.sha256, picture.thumbnail})
    session.delete(picture)
    session.flush()


def list_files_of_project(session: Session, project_id: int) -> set[str]:
    """Return the hashes of the files that the pictures of a project use."""
    query = select(Picture.sha256, Picture.thumbnail).where(Picture.project_id == project_id)
    hashes: set[str] = set()
    for content, thumbnail in session.execute(query):
        hashes |= {content, thumbnail}
    return hashes


def drop_unused(
    session: Session,
    storage: ContentStore,
    names: Iterable[str],
) -> None:
    """Delete those files that no picture uses any more, after the transaction is committed.

    Usage is checked after the commit, so that a picture added at the same moment keeps its file.
    """
    engine = session.get_bind()
    names = sorted(names)

    def drop(_: Session) -> None:
        try:
            with Session(engine) as after, after.begin():
                _lock_files(after, names)
                for name in names:
                    if not _is_used(after, name):
                        storage.drop(name)
        except (SQLAlchemyError, StoreError) as error:
            # The commit has succeeded; only unused files remain.
            LOG.warning("unused files could not be deleted: %s", error)

    event.listen(session, "after_commit", drop, once=True)


def _is_used(session: Session, name: str) -> bool:
    is_used = (Picture.sha256 == name) | (Picture.thumbnail == name)
    used = select(Picture.id).where(is_used)
    return session.scalar(used.limit(1)) is not None


def _lock_files(session: Session, names: Iterable[str]) -> None:
    """Lock files against adding and deleting until the transaction ends; SQLite has one writer anyway."""
    if session.get_bind().dialect.name == "postgresql":
        # Lock in the same order in all transactions, so that no deadlock is possible.
        for name in sorted(names):
            # Advisory lock ids have 64 bits; 15 hexadecimal digits have 60.
            lock_number = int(name[:15], 16)
            session.execute(select(func.pg_advisory_xact_lock(lock_number)))


def _check_folders(
    session: Session,
    project: Project,
    name: str,
) -> None:
    """Raise `InvalidInput` if one name is a folder of another: an export could not write both."""
    folders = [str(folder) for folder in PurePosixPath(name).parents][:-1]
    is_other = Picture.name.in_(folders) | Picture.name.startswith(f"{name}/", autoescape=True)
    other = session.scalar(
        select(Picture.name).where(Picture.project_id == project.id, is_other).limit(1)
    )
    if other is not None:
        raise InvalidInput(
            f"{name}: the project has {other}, and a file cannot be a folder too; rename one of them"
        )


def place_pictures(session: Session, project: Project) -> None:
    """Reorder the pictures of a project, after its folders have become videos or are no longer videos."""
    for picture in session.scalars(select(Picture).where(Picture.project_id == project.id)):
        picture.place = _place(project, picture.name)


def video_of(name: str) -> str:
    """Return the folder of a picture, which is its video; "" for pictures without a folder."""
    folder = PurePosixPath(name).parent.as_posix()
    return "" if folder == "." else folder


def _place(project: Project, name: str) -> float:
    """Return the position of a picture in the order of a project, 0 to 1, independent of other pictures.

    The frames of a video have the same position, and are ordered by name.
    """
    ordered = video_of(name) if project.has_videos else name
    # Hash the name, so that pictures added later do not move the others.
    return int(sha256(f"{project.seed}:{ordered}")[:13], 16) / 16**13


def media_type(content: bytes) -> str:
    """Return the media type of a picture from its first 132 bytes or more; "" for other files."""
    for start, kind in _BEGINNINGS.items():
        if content.startswith(start):
            # RIFF is a container format, which sound files use too.
            is_other_riff = kind == "image/webp" and content[8:12] != b"WEBP"
            return "" if is_other_riff else kind
    return DICOM if is_dicom(content) else ""


def _is_shown_as_it_is(content: bytes, kind: str) -> bool:
    if kind not in _SHOWN_AS_THEY_ARE:
        return False
    with Image.open(io.BytesIO(content)) as image:
        is_upright = kind == "image/jpeg" or image.getexif().get(ExifTags.Base.Orientation, 1) == 1
        return image.mode in ("RGB", "L") and "transparency" not in image.info and is_upright


def _thumbnail(pixels: NDArray[np.uint8]) -> bytes:
    image = Image.fromarray(pixels)
    image.thumbnail((THUMBNAIL_PX, THUMBNAIL_PX))
    buffer = io.BytesIO()
    image.save(buffer, format="JPEG", quality=82)
    return buffer.getvalue()

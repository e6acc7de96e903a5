"""Tasks that begin with what a model or somebody else drew before, from any format that `segarena amodal` reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from tempfile import TemporaryDirectory

import cv2
import msgspec
import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from segarena.errors import DatasetError, InvalidInput
from segarena.systems.scenes.files.formats import read_scenes
from segarena.systems.scenes.model.polygon_fill import Patch
from segarena.systems.scenes.model.polygons import Points
from segarena.systems.scenes.model.rasters import amodal_patch
from segarena.systems.scenes.model.scene import Scene, SceneSet, make_scene
from segarena_server.site import Site
from segarena_studio.annotation.drafts import add_revision
from segarena_studio.annotation.scene_document import Document, encode_document, read_document
from segarena_studio.orm_models import Picture, Task

TOLERANCE_PX = 1.0
"""How far the outline of a mask may be from the mask."""
_LEAST_AREA_PX = 20
"""Smaller pieces of a mask are no regions of their own."""
_MOST_TOLD = 20


class StartResult(msgspec.Struct, kw_only=True):
    """What came of a file.

    Attributes:
        tasks: that begin with it.
        unknown: annotations of pictures that are not here.
        left: annotations for which no clean task was left.
        told: what is wrong with the file, a line each.
    """

    tasks: int = 0
    unknown: int = 0
    left: int = 0
    told: list[str] = []


def read_annotations(name: str, content: bytes) -> SceneSet:
    """Return the scenes in a file that somebody brought, which states the sizes of its images.

    Args:
        name: of the file, which tells `.xml` from JSON.
        content: of the file.

    Raises:
        InvalidInput: it cannot be read, or is of no format that is known.
    """
    ending = PurePosixPath(name).suffix.lower()
    if ending not in (".json", ".xml"):
        raise InvalidInput(f"{name[:80]!r}: expected a file of annotations, .json or .xml")
    with TemporaryDirectory(prefix="segarena-") as scratch:
        path = Path(scratch) / f"annotations{ending}"
        path.write_bytes(content)
        try:
            return read_scenes(path)
        except (InvalidInput, DatasetError) as error:
            raise InvalidInput(str(error).replace(str(path), name[:80])) from error


def start_tasks(site: Site, project_id: int, scenes: SceneSet, annotator: str = "") -> StartResult:
    """Begin clean tasks with scenes of pictures of the same file name, or of the same without folders and ending.

    Of a picture that several people annotated, each clean task gets the next one's.

    Args:
        site: where.
        project_id: which project.
        scenes: what was drawn.
        annotator: only what they drew; "" for all.
    """
    started = StartResult(
        told=[str(defect) for defect in scenes.defects if defect.severity == "error"][:_MOST_TOLD]
    )
    with site.database.reading() as session:
        found = _Pictures(
            session.scalars(select(Picture).where(Picture.project_id == project_id)).all()
        )
    drawn: list[tuple[int, bytes, Document]] = []
    for scene in scenes.scenes:
        if annotator and scene.annotator != annotator:
            continue
        picture = found.of(scene)
        if picture is None:
            started.unknown += 1
            continue
        text = encode_document(
            masks_to_polygons(scene)
        )  # takes long, so that nobody who writes waits for it
        drawn.append((picture.id, text, read_document(text)))
    with site.database.writing() as session:
        _begin(session, project_id, drawn, started, site.now())
    return started


def _begin(
    session: Session,
    project_id: int,
    drawn: Iterable[tuple[int, bytes, Document]],
    started: StartResult,
    now: float,
) -> None:
    """Begin clean tasks with documents of pictures, and count them."""
    asked = (
        select(Task)
        .where(Task.project_id == project_id, Task.state == "clean")
        .order_by(Task.id.desc())
    )
    clean: dict[int, list[Task]] = {}
    for task in session.scalars(
        asked.with_for_update(of=Task)
    ):  # an annotator may save the first draft right now
        clean.setdefault(task.picture_id, []).append(task)
    for picture_id, text, document in drawn:
        if not clean.get(picture_id):
            started.left += 1
            continue
        task = clean[picture_id].pop()
        add_revision(session, task, text, document, now, client_id="start", is_kept=True)
        started.tasks += 1


class _Pictures:
    """Pictures of a project by what files of annotations call them."""

    def __init__(self, pictures: Sequence[Picture]) -> None:
        self._names = {one.name: one for one in pictures}
        counts = Counter(_stem(one.name) for one in pictures)
        self._stems = {_stem(one.name): one for one in pictures if counts[_stem(one.name)] == 1}

    def of(self, scene: Scene) -> Picture | None:
        """Return the picture of a scene; None when there is none of its name and size, or it could be several."""
        name = scene.image.file_name or scene.image.id
        picture = self._names.get(name) or self._stems.get(_stem(name))
        return picture if picture and scene.shape == (picture.height, picture.width) else None


def masks_to_polygons(scene: Scene) -> Scene:
    """Return a scene in which all regions are polygons: masks become their outer borders, without holes."""
    drawn = [
        (
            replace(region, mask=None),
            scene.polygons(region) or trace_mask(amodal_patch(scene, region)),
        )
        for region in scene.regions
    ]
    return make_scene(scene.image, drawn, annotator=scene.annotator, has_depth=scene.has_depth)


def trace_mask(patch: Patch) -> list[Points]:
    """Return the outer borders of a mask's pieces, the largest first, as polygons within a pixel of it.

    Corners are those of pixels, (row, column), as everywhere in scenes.
    """
    if not patch.mask.any():
        return []
    # Doubled, so that what follows the pixels runs along one side of each, and rounds to its corners.
    doubled = np.repeat(np.repeat(np.pad(patch.mask, 1), 2, axis=0), 2, axis=1).astype(np.uint8)
    borders, _ = cv2.findContours(doubled, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    top = patch.window[0].start
    left = patch.window[1].start
    found: list[tuple[float, Points]] = []
    for border in borders:
        corners = np.round((border.reshape(-1, 2) + 0.5) / 2 - 1).astype(np.float32)
        slim = cv2.approxPolyDP(corners, TOLERANCE_PX, True).reshape(-1, 2)[:, ::-1]
        size = float(cv2.contourArea(corners))
        if len(slim) >= 3 and size >= _LEAST_AREA_PX:
            found.append((size, np.add(slim, (top, left), dtype=np.float64)))
    return [points for _, points in sorted(found, key=lambda pair: -pair[0])]


def _stem(name: str) -> str:
    return PureWindowsPath(name).stem

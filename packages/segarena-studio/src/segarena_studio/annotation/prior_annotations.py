"""Tasks that start from earlier annotations by a model or a person, in any format of `segarena amodal`."""

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

from segarena.arrays.polygon_fill import Patch
from segarena.arrays.polygon_points import Points
from segarena.errors import DatasetError, InvalidInput
from segarena.systems.scenes.files.formats import read_scenes
from segarena.systems.scenes.model.polygons import are_holes
from segarena.systems.scenes.model.rasters import amodal_patch
from segarena.systems.scenes.model.scene import Region, Scene, SceneSet, make_scene
from segarena_server.site import Site
from segarena_studio.annotation.drafts import add_revision
from segarena_studio.annotation.scene_document import Document, encode_document, read_document
from segarena_studio.orm_models import Picture, Project, Task

# Exact outlines of masks have a corner at every pixel, which would be impossible to edit.
TOLERANCE_PX = 1.0
"""Maximum distance between a mask and its simplified outline."""
# Minimum size of a mask component that becomes a region.
_LEAST_AREA_PX = 20
_MOST_TOLD = 20


class StartResult(msgspec.Struct, kw_only=True):
    """Result of starting tasks from a file.

    Attributes:
        tasks: number of tasks that were started.
        unknown: number of annotations that match no picture of the project by name and size.
        left: number of annotations for which no clean task was left.
        told: the first errors in the annotations, one per line.
    """

    tasks: int = 0
    unknown: int = 0
    left: int = 0
    told: list[str] = []


def read_annotations(name: str, content: bytes) -> SceneSet:
    """Read the scenes of an uploaded file that contains the sizes of its images.

    Args:
        name: file name, whose suffix distinguishes XML from JSON.
        content: content of the file.

    Raises:
        InvalidInput: the file cannot be read, or its format is unknown.
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
            # The temporary path means nothing to the sender.
            raise InvalidInput(str(error).replace(str(path), name[:80])) from error


def start_tasks(
    site: Site,
    project_id: int,
    scenes: SceneSet,
    annotator: str = "",
) -> StartResult:
    """Start clean tasks from scenes, which are matched to pictures by file name or by file stem.

    If several people annotated a picture, each clean task gets a different person's scene.

    Args:
        site: site of the project.
        project_id: number of the project.
        scenes: the annotations.
        annotator: use only scenes of this annotator; "" uses all.
    """
    errors = [str(defect) for defect in scenes.defects if defect.severity == "error"]
    started = StartResult(told=errors[:_MOST_TOLD])
    with site.database.reading() as session:
        query = select(Picture).where(Picture.project_id == project_id)
        pictures = _PictureIndex(session.scalars(query).all())
        has_videos = session.get_one(Project, project_id).has_videos
    drawn: list[tuple[int, bytes, Document]] = []
    for scene in scenes.scenes:
        if annotator and scene.annotator != annotator:
            continue
        picture = pictures.find(scene)
        if picture is None:
            started.unknown += 1
            continue
        # Slow, so it runs before the write transaction.
        # In the frames of a video, equal ids would make different objects one track.
        prefix = f"p{picture.id}-" if has_videos else "r"
        text = encode_document(masks_to_polygons(scene), prefix)
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
    """Start clean tasks from documents of pictures, and count the started tasks."""
    # Lock the tasks, because an annotator may save the first draft at the same time.
    query = (
        select(Task)
        .where(Task.project_id == project_id, Task.state == "clean")
        # In descending order, because `pop` takes from the end and the first task must be started
        # first.
        .order_by(Task.id.desc())
        .with_for_update(of=Task)
    )
    clean: dict[int, list[Task]] = {}
    for task in session.scalars(query):
        clean.setdefault(task.picture_id, []).append(task)
    for picture_id, text, document in drawn:
        if not clean.get(picture_id):
            started.left += 1
            continue
        task = clean[picture_id].pop()
        add_revision(session, task, text, document, now, client_id="start", is_kept=True)
        started.tasks += 1


class _PictureIndex:
    """Index of a project's pictures by the names that annotation files use."""

    def __init__(self, pictures: Sequence[Picture]) -> None:
        self._by_name = {picture.name: picture for picture in pictures}
        counts = Counter(_stem(picture.name) for picture in pictures)
        self._by_stem: dict[str, Picture] = {}
        for picture in pictures:
            stem = _stem(picture.name)
            # A stem shared by two pictures identifies neither.
            if counts[stem] == 1:
                self._by_stem[stem] = picture

    def find(self, scene: Scene) -> Picture | None:
        """Return the picture of a scene; None if name or size do not match or the name is ambiguous."""
        name = scene.image.file_name or scene.image.id
        picture = self._by_name.get(name) or self._by_stem.get(_stem(name))
        # Annotations of a resized copy would not align with the objects.
        if picture is None or scene.shape != (picture.height, picture.width):
            return None
        return picture


def masks_to_polygons(scene: Scene) -> Scene:
    """Return a scene in which all regions are polygons: replace masks by their borders."""
    regions: list[tuple[Region, list[Points]]] = []
    for region in scene.regions:
        polygons = list(scene.polygons(region))
        has_holes = region.has_holes
        if not polygons:
            polygons = trace_mask(amodal_patch(scene, region))
            has_holes = len(polygons) > 1 and any(are_holes(polygons))
        regions.append((replace(region, mask=None, has_holes=has_holes), polygons))
    return make_scene(scene.image, regions, annotator=scene.annotator, has_depth=scene.has_depth)


def trace_mask(patch: Patch) -> list[Points]:
    """Trace the borders of the pieces and holes of a mask as polygons, to within a pixel, largest first.

    Pieces and holes of fewer than 20 pixels are left out. Corners are pixel corners, (row, column),
    as everywhere in scenes.
    """
    if not patch.mask.any():
        return []
    # OpenCV traces pixel centres; in the doubled mask these lie next to the pixel corners and round
    # to them.
    padded = np.pad(patch.mask, 1)
    doubled_rows = np.repeat(padded, 2, axis=0)
    doubled = np.repeat(doubled_rows, 2, axis=1).astype(np.uint8)
    borders, _ = cv2.findContours(doubled, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    top = patch.window[0].start
    left = patch.window[1].start
    found: list[tuple[float, Points]] = []
    for border in borders:
        # Convert back to pixels of the mask, without its one-pixel border.
        halved = (border.reshape(-1, 2) + 0.5) / 2
        corners = np.round(halved - 1).astype(np.float32)
        simplified = cv2.approxPolyDP(corners, TOLERANCE_PX, True)
        slim = simplified.reshape(-1, 2)[:, ::-1]
        size = float(cv2.contourArea(corners))
        if len(slim) >= 3 and size >= _LEAST_AREA_PX:
            found.append((size, np.add(slim, (top, left), dtype=np.float64)))
    return [points for _, points in sorted(found, key=lambda pair: -pair[0])]


def _stem(name: str) -> str:
    # PureWindowsPath accepts both separators: files may come from Windows.
    return PureWindowsPath(name).stem

"""The page a reviewer of amodal annotations works from: every drawing over its photograph, and what is wrong where.

One HTML file that needs nothing else. Decisions stay in the browser until they are saved as a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PureWindowsPath

from segarena.errors import DatasetError, InvalidImage, InvalidMask
from segarena.files.images import read_image
from segarena.files.within import within
from segarena.reports.html_document import document
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.systems.scenes.checks.consensus import check_each
from segarena.systems.scenes.checks.defects import Defect
from segarena.systems.scenes.checks.quality import region_centre
from segarena.systems.scenes.model.rasters import Rasters, rasterise
from segarena.systems.scenes.model.scene import Region, Scene, SceneSet
from segarena.systems.scenes.page.measurement_tables import NOT_ANNOTATED

LONGEST_PX = 900
MOST_ANNOTATIONS = 200
_SEVERITIES = ("error", "warning", "note")
_COLOURS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionView:
    """A region as the page has it.

    Attributes:
        id: as in the file.
        name: "" where it has none.
        order: from the front, from 1.
        path: SVG path data in pixels of the image; "" where there is nothing to draw.
        centre: (row, column) of its number; None where it has no pixels.
        hidden: share that others hide, as text; "" where it has no pixels.
    """

    id: str
    name: str
    order: int
    path: str
    centre: tuple[float, float] | None
    hidden: str

    @property
    def colour(self) -> str:
        """The CSS class."""
        return f"c{(self.order - 1) % _COLOURS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationView:
    """A drawing as the page has it, with its findings, the worst first; `photograph` is a data URI or ""."""

    number: int
    scene: Scene
    defects: Sequence[Defect]
    photograph: str
    regions: Sequence[RegionView]

    @property
    def key(self) -> str:
        """What its decision is kept under."""
        return f"{self.scene.image.id} {self.scene.annotator} {self.scene.attributes.get('id', '')}"

    @property
    def counts(self) -> tuple[int, ...]:
        """Errors, warnings, notes."""
        return _counts(self.defects)


def review_page(
    scenes: SceneSet, *, images: Path, title: str = "annotations", most: int = MOST_ANNOTATIONS
) -> str:
    """Return the page of a set: the annotations with the most errors first.

    Args:
        scenes: what to review.
        images: folder of the photographs; where one is missing the drawing is shown on grey.
        title: what the set is called.
        most: annotations shown; the page says how many were left out.
    """
    found, general = _found(scenes)
    pairs = sorted(
        zip(scenes.scenes, found, strict=True), key=lambda pair: _counts(pair[1]), reverse=True
    )
    counts = zip(_counts([*chain(*found), *general]), _SEVERITIES, strict=True)
    told = ", ".join(f"{count} {severity}s" for count, severity in counts)
    return document(
        "segarena.systems.scenes.page",
        "review.html",
        style="review.css",
        scripts=("review.js",),
        title=f"Review of {title}",
        name=title,
        counted=f"{len(scenes.scenes)} annotations of {len(scenes.by_image())} images: {told}",
        general=_worst_first(general),
        left_out=max(0, len(pairs) - most),
        annotations=[
            _shown(number, scene, defects, images)
            for number, (scene, defects) in enumerate(pairs[:most])
        ],
    )


def _found(scenes: SceneSet) -> tuple[list[list[Defect]], list[Defect]]:
    """Return the findings of each scene, and those that are of no scene."""
    found = check_each(scenes)
    places = {(scene.image.id, scene.annotator): place for place, scene in enumerate(scenes.scenes)}
    general: list[Defect] = []
    for defect in scenes.defects:
        place = places.get((defect.image, defect.annotator))
        (general if place is None else found[place]).append(defect)
    return found, general


def _counts(defects: Sequence[Defect]) -> tuple[int, ...]:
    counts = Counter(defect.severity for defect in defects)
    return tuple(counts[severity] for severity in _SEVERITIES)


def _worst_first(defects: Sequence[Defect]) -> list[Defect]:
    return sorted(defects, key=lambda defect: _SEVERITIES.index(defect.severity))


def _shown(number: int, scene: Scene, defects: Sequence[Defect], images: Path) -> AnnotationView:
    try:
        rasters = rasterise(scene)
    except InvalidMask:
        rasters = None
    return AnnotationView(
        number=number,
        scene=scene,
        defects=_worst_first(defects),
        photograph=_photograph(scene, images),
        regions=[
            _region(scene, place, region, rasters) for place, region in enumerate(scene.regions)
        ],
    )


def _region(scene: Scene, place: int, region: Region, rasters: Rasters | None) -> RegionView:
    hidden = "" if rasters is None else f"{rasters.regions[place].occlusion:.0%}"
    return RegionView(
        id=region.id,
        name=region.name.strip(),
        order=place + 1,
        path=_path(scene, region, rasters, place),
        centre=None if rasters is None else region_centre(rasters.regions[place]),
        hidden=hidden if scene.tells_hidden else NOT_ANNOTATED,
    )


def _path(scene: Scene, region: Region, rasters: Rasters | None, place: int) -> str:
    parts: list[str] = []
    for points in scene.polygons(region):
        corners = " ".join(f"{column:.1f},{row:.1f}" for row, column in points.tolist())
        parts += [f"M{corners}Z"] if corners else []
    if not parts and rasters is not None:
        return outline(rasters.amodal(place), _view(scene))
    return "".join(parts)


def _view(scene: Scene, scale: float = 1.0) -> View:
    return View((slice(0, scene.shape[0]), slice(0, scene.shape[1])), scale)


def _photograph(scene: Scene, folder: Path) -> str:
    """Return the photograph as a data URI; "" where there is none of the scene's size."""
    # An annotation must not be able to put other files of this machine on the page; it may have been made on another.
    stated = PureWindowsPath(scene.image.file_name)
    for place, name in (
        (folder, stated.relative_to(stated.anchor).as_posix()),
        (folder / "images", stated.name),
    ):
        try:
            image = read_image(within(place, name))
        except (DatasetError, InvalidImage):
            continue
        if image.shape[:2] != scene.shape:
            return ""
        return jpeg_uri(image, _view(scene, min(1.0, LONGEST_PX / max(scene.shape))))
    return ""

"""Review page for amodal annotations: every drawing over its photograph, with the position of its defects.

The page is a self-contained HTML file. Decisions stay in the browser until the reviewer saves them
as a file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path, PureWindowsPath

from segarena.errors import DatasetError, InvalidImage, InvalidMask
from segarena.files.images import read_image
from segarena.files.safe_paths import safe_join
from segarena.reports.html_document import document
from segarena.reports.overlays import View, jpeg_uri, outline
from segarena.reports.wording import count_text
from segarena.systems.scenes.checks.consensus import check_each
from segarena.systems.scenes.checks.single_annotation_checks import region_centre
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.rasters import Rasters, rasterise
from segarena.systems.scenes.model.scene import Region, Scene, SceneSet
from segarena.systems.scenes.page.measurement_tables import NOT_ANNOTATED

LONGEST_PX = 900
MOST_ANNOTATIONS = 200
_SEVERITIES = ("error", "warning", "note")
_COLOURS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionView:
    """A region on the page.

    Attributes:
        id: id in the file.
        name: name of the region; "" if it has none.
        order: position in the depth order, 1 for the front.
        path: SVG path data in pixels of the image; "" if there is nothing to draw.
        centre: (row, column) of the region's label; None if the region has no pixels or a mask of
            the scene is damaged.
        hidden: hidden share as text, or "not annotated"; "" if a mask of the scene is damaged.
    """

    id: str
    name: str
    order: int
    path: str
    centre: tuple[float, float] | None
    hidden: str

    @property
    def colour(self) -> str:
        """CSS class of the region's colour."""
        return f"c{(self.order - 1) % _COLOURS}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationView:
    """An annotation on the page, with its worst defects first; `photograph` is a data URI, or "" if there is none."""

    number: int
    scene: Scene
    defects: Sequence[Defect]
    photograph: str
    regions: Sequence[RegionView]

    @property
    def key(self) -> str:
        """Key under which the browser stores the reviewer's decision."""
        return f"{self.scene.image.id} {self.scene.annotator} {self.scene.attributes.get('id', '')}"

    @property
    def counts(self) -> tuple[int, ...]:
        """Number of errors, warnings and notes."""
        return _counts(self.defects)


def review_page(
    scenes: SceneSet,
    *,
    images: Path,
    title: str = "annotations",
    most: int = MOST_ANNOTATIONS,
) -> str:
    """Render the review page of a set; annotations with the most errors come first.

    Args:
        scenes: the annotations to review.
        images: folder of the photographs; a drawing without a photograph has a grey background.
        title: name of the set.
        most: maximum number of annotations on the page, which states how many were left out.
    """
    defects_of, general = _split_defects(scenes)
    pairs = list(zip(scenes.scenes, defects_of, strict=True))
    pairs.sort(key=lambda pair: _counts(pair[1]), reverse=True)
    totals = _counts([*chain.from_iterable(defects_of), *general])
    counts = zip(totals, _SEVERITIES, strict=True)
    counted = ", ".join(count_text(count, severity) for count, severity in counts)
    annotations = count_text(len(scenes.scenes), "annotation")
    images_drawn = count_text(len(scenes.by_image()), "image")
    views: list[AnnotationView] = []
    for number, (scene, defects) in enumerate(pairs[:most]):
        views.append(_annotation_view(number, scene, defects, images))
    return document(
        "segarena.systems.scenes.page",
        "review.html",
        style="review.css",
        scripts=("review.js",),
        title=f"Review of {title}",
        name=title,
        counted=f"{annotations} of {images_drawn}: {counted}",
        general=_worst_first(general),
        left_out=max(0, len(pairs) - most),
        annotations=views,
    )


def _split_defects(scenes: SceneSet) -> tuple[list[list[Defect]], list[Defect]]:
    """Divide defects into those of each scene and those of no scene."""
    defects_of = check_each(scenes)
    index_of: dict[tuple[str, str], int] = {}
    for index, scene in enumerate(scenes.scenes):
        index_of[scene.image.id, scene.annotator] = index
    general: list[Defect] = []
    for defect in scenes.defects:
        index = index_of.get((defect.image, defect.annotator))
        if index is None:
            general.append(defect)
        else:
            defects_of[index].append(defect)
    return defects_of, general


def _counts(defects: Sequence[Defect]) -> tuple[int, ...]:
    counts = Counter(defect.severity for defect in defects)
    return tuple(counts[severity] for severity in _SEVERITIES)


def _worst_first(defects: Sequence[Defect]) -> list[Defect]:
    return sorted(defects, key=lambda defect: _SEVERITIES.index(defect.severity))


def _region(
    scene: Scene,
    place: int,
    region: Region,
    rasters: Rasters | None,
) -> RegionView:
    hidden = ""
    centre = None
    if rasters is not None:
        raster = rasters.regions[place]
        hidden = f"{raster.occlusion:.0%}"
        centre = region_centre(raster)
    if not scene.tells_hidden:
        hidden = NOT_ANNOTATED
    return RegionView(
        id=region.id,
        name=region.name.strip(),
        order=place + 1,
        path=_path(scene, region, rasters, place),
        centre=centre,
        hidden=hidden,
    )


def _path(
    scene: Scene,
    region: Region,
    rasters: Rasters | None,
    place: int,
) -> str:
    """Return the SVG path of a region: its polygons, or else the outline of its mask."""
    parts: list[str] = []
    for points in scene.polygons(region):
        corners = [f"{column:.1f},{row:.1f}" for row, column in points.tolist()]
        if corners:
            parts.append(f"M{' '.join(corners)}Z")
    if not parts and rasters is not None:
        return outline(rasters.amodal(place), _view(scene))
    return "".join(parts)


def _view(scene: Scene, scale: float = 1.0) -> View:
    return View((slice(0, scene.shape[0]), slice(0, scene.shape[1])), scale)


def _photograph(scene: Scene, folder: Path) -> str:
    """Return the photograph as a data URI; "" if there is none with the scene's size."""
    # `safe_join` prevents an annotation from embedding other files of this machine. The name may be
    # a Windows path from another machine.
    stated = PureWindowsPath(scene.image.file_name)
    relative = stated.relative_to(stated.anchor).as_posix()
    for root, name in ((folder, relative), (folder / "images", stated.name)):
        try:
            image = read_image(safe_join(root, name))
        except (DatasetError, InvalidImage):
            continue
        if image.shape[:2] != scene.shape:
            return ""
        scale = min(1.0, LONGEST_PX / max(scene.shape))
        return jpeg_uri(image, _view(scene, scale))
    return ""


def _annotation_view(
    number: int,
    scene: Scene,
    defects: Sequence[Defect],
    images: Path,
) -> AnnotationView:
    try:
        rasters = rasterise(scene)
    except InvalidMask:
        rasters = None  # the defects say which mask is damaged
    regions = [_region(scene, index, region, rasters) for index, region in enumerate(scene.regions)]
    return AnnotationView(
        number=number,
        scene=scene,
        defects=_worst_first(defects),
        photograph=_photograph(scene, images),
        regions=regions,
    )

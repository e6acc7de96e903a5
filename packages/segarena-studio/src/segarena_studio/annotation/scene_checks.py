"""What is wrong with a scene before it is finished: faults, which have to go, and remarks, which are worth a look.

The rules of the paper's tool, in pixels of the picture, and those checks of `segarena amodal check` that one drawing
can be held against alone: what passes here passes there. A fault is an error of these, a remark a warning or a note.
"""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec

from segarena.systems.scenes.checks.defects import Defect
from segarena.systems.scenes.checks.quality import QualityLimits, check_scene
from segarena.systems.scenes.model.polygon_fill import fill_polygons
from segarena.systems.scenes.model.scene import Scene
from segarena_studio.annotation.scene_document import Document, document_to_scene
from segarena_studio.orm_models import Picture

_OTHER_RULE = (
    "as the editor counts, but exports are counted by COCO's rule: draw it a little larger"
)


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong: what was expected, what came, what to do.

    Attributes:
        kind: the same for all of a kind.
        message: in a line.
        regions: ids of those it is about.
        at: (x, y) in the picture; None when it has no place.
    """

    kind: str
    message: str
    regions: tuple[str, ...] = ()
    at: tuple[float, float] | None = None


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was found: `faults` keep a scene from being finished, `remarks` do not."""

    faults: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()


def check_document(document: Document, picture: Picture) -> CheckResult:
    """Return what is wrong with a document about a picture; regions in depth order."""
    scene = document_to_scene(document, name=picture.name, shape=(picture.height, picture.width))
    found = [_with_other_count(scene, defect) for defect in check_scene(scene)]
    faults = [_remark(document, defect) for defect in found if defect.severity == "error"]
    if document.open:
        if document.open[0] < len(document.points):
            at = document.points[document.open[0]]
        else:
            at = None
        text = (
            "expected every outline closed, got one that is being drawn; close it or take it back"
        )
        faults.insert(0, Finding(kind="open", message=text, at=at))
    remarks = [_remark(document, defect) for defect in found if defect.severity != "error"]
    return CheckResult(faults=tuple(faults), remarks=tuple(remarks))


def _with_other_count(scene: Scene, defect: Defect) -> Defect:
    """Return that a region is too small with what the editor says of it, where by that it would be large enough.

    Exports are filled by COCO's rule, and the editor takes the pixels whose centres are inside; at a border they differ
    by a few.
    """
    if defect.kind != "small":
        return defect
    region = next(one for one in scene.regions if one.id == defect.regions[0])
    count = fill_polygons(scene.polygons(region), scene.shape, rule="pixel-centre").mask.sum()
    if count < QualityLimits().least_area_px:
        return defect
    return replace(
        defect, message=f"{defect.message}; {count} by the centres of pixels, {_OTHER_RULE}"
    )


def _remark(document: Document, defect: Defect) -> Finding:
    """Return a defect as people read it: regions by their places in the order and their names."""
    at = None if defect.place is None else (defect.place[1], defect.place[0])
    message = defect.message
    for place, region in enumerate(document.regions, 1):
        if region.id in defect.regions:
            known = f"region {place}{f' ({region.name})' if region.name.strip() else ''}"
            message = re.sub(
                rf"\bregion {re.escape(region.id)}\b", lambda _, known=known: known, message
            )
    return Finding(kind=defect.kind, message=message, regions=defect.regions, at=at)

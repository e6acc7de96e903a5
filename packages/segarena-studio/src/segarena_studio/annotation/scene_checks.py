"""Checks before a scene can be finished: faults, which must be corrected, and remarks, which may remain.

The checks comprise the rules of the tool of Zhu et al. (Semantic Amodal Segmentation), in pixels of the
picture, and the checks of `segarena amodal check-annotations` that need only one drawing. Therefore a scene
that passes here also passes there. An error of that command is a fault here; a warning or a note is a remark.
"""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec

from segarena.arrays.polygon_fill import fill_polygons
from segarena.systems.scenes.checks.single_annotation_checks import QualityLimits, check_scene
from segarena.systems.scenes.model.defects import Defect
from segarena.systems.scenes.model.incremental_check_cache import CheckMemory
from segarena.systems.scenes.model.rasters import Rasters
from segarena.systems.scenes.model.scene import Scene
from segarena_studio.annotation.scene_document import Document, document_to_scene
from segarena_studio.orm_models import Picture

_OTHER_RULE = "but exports use COCO's rule: draw the region a little larger"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One problem: what was expected, what was found, and what to do.

    Attributes:
        kind: identifier of the check.
        message: one line of text.
        regions: ids of the regions concerned.
        at: (x, y) in the picture; None without a position.
    """

    kind: str
    message: str
    regions: tuple[str, ...] = ()
    at: tuple[float, float] | None = None


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """Result of the checks: `faults` prevent a scene from being finished, `remarks` do not."""

    faults: tuple[Finding, ...] = ()
    remarks: tuple[Finding, ...] = ()


def check_document(
    document: Document,
    picture: Picture,
    *,
    scene: Scene | None = None,
    rasters: Rasters | None = None,
    memory: CheckMemory | None = None,
) -> CheckResult:
    """Check the document of a picture and return what is wrong with it.

    Pass its `scene` and `rasters` if they exist already, and the `memory` of an earlier check of the
    same picture to check only what has changed.
    """
    shape = picture.height, picture.width
    scene = scene or document_to_scene(document, name=picture.name, shape=shape)
    faults: list[Finding] = []
    remarks: list[Finding] = []
    if document.open:
        faults.append(_unclosed_outline(document))
    proposals = tuple(one.id for one in document.regions if one.propagation == "proposed")
    if proposals:
        faults.append(_unaccepted_proposals(proposals))
    for defect in check_scene(scene, rasters=rasters, memory=memory):
        finding = _finding(document, _with_editor_count(scene, defect))
        if defect.severity == "error":
            faults.append(finding)
        else:
            remarks.append(finding)
    return CheckResult(faults=tuple(faults), remarks=tuple(remarks))


def _unclosed_outline(document: Document) -> Finding:
    first = document.open[0]
    # The unfinished ring is not validated with the others.
    at = document.points[first] if first < len(document.points) else None
    text = (
        "expected all outlines to be closed, got one that is still being drawn; close or remove it"
    )
    return Finding(kind="open", message=text, at=at)


def _unaccepted_proposals(region_ids: tuple[str, ...]) -> Finding:
    text = (
        "expected proposals to be accepted, corrected or deleted, "
        f"got {len(region_ids)} that nobody has decided on yet"
    )
    return Finding(kind="proposed", message=text, regions=region_ids)


def _with_editor_count(scene: Scene, defect: Defect) -> Defect:
    """Add the editor's pixel count to a "region too small" defect if that count is large enough.

    Exports are filled by COCO's rule, while the editor counts pixels whose centres are inside; the
    two differ by a few pixels along the border.
    """
    if defect.kind != "small":
        return defect
    region = next(one for one in scene.regions if one.id == defect.regions[0])
    count = fill_polygons(
        scene.polygons(region),
        scene.shape,
        rule="pixel-centre",
        is_even_odd=region.has_holes,
    ).mask.sum()
    if count < QualityLimits().least_area_of(scene.shape):
        return defect
    message = (
        f"{defect.message}; the editor counts {count}, by the centres of pixels, {_OTHER_RULE}"
    )
    return replace(defect, message=message)


def _finding(document: Document, defect: Defect) -> Finding:
    """Describe a defect to annotators, with regions identified by their depth position and name."""
    at = None if defect.place is None else (defect.place[1], defect.place[0])
    message = defect.message
    for position, region in enumerate(document.regions, 1):
        if region.id not in defect.regions:
            continue
        label = f"region {position}"
        if region.name.strip():
            label += f" ({region.name})"
        # Pass a function as replacement, so that backslashes in a name are not interpreted.
        pattern = rf"\bregion {re.escape(region.id)}\b"
        message = re.sub(pattern, lambda _, label=label: label, message)
    return Finding(
        kind=defect.kind,
        message=message,
        regions=defect.regions,
        at=at,
    )

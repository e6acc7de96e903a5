"""The page a reviewer of amodal annotations works from: every drawing over its photograph, and what is wrong where.

One HTML file that needs nothing else. Decisions stay in the browser until they are saved as a file.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from itertools import chain
from pathlib import Path, PureWindowsPath

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from segarena.errors import InvalidImage, InvalidMask
from segarena.files.images import read_image
from segarena.reports.overlays import View, outline
from segarena.systems.scenes.checks.consensus import check_each
from segarena.systems.scenes.checks.defects import Defect
from segarena.systems.scenes.checks.quality import centre
from segarena.systems.scenes.model.rasters import Rasters, rasterise
from segarena.systems.scenes.model.scene import Region, Scene, SceneSet

LONGEST_PX = 900
MOST = 200
_SEVERITIES = ("error", "warning", "note")
_COLOURS = 6


def review_page(scenes: SceneSet, *, images: Path, title: str = "annotations", most: int = MOST) -> str:
    """Return the page of a set: the annotations with the most errors first.

    Args:
        scenes: what to review.
        images: folder of the photographs; where one is missing the drawing is shown on grey.
        title: what the set is called, as on the page.
        most: annotations shown; the page says how many were left out.
    """
    found, general = _found(scenes)
    pairs = sorted(zip(scenes.scenes, found, strict=True), key=lambda pair: _weight(pair[1]), reverse=True)
    shown = pairs[:most]
    sections = [_section(number, scene, defects, images) for number, (scene, defects) in enumerate(shown)]
    rows = "".join(_row(number, scene, defects) for number, (scene, defects) in enumerate(shown))
    left_out = f"<p class='note'>{len(pairs) - most} annotations with fewer errors are not shown.</p>" * (
        len(pairs) > most
    )
    body = (
        f'<header class="top"><p class="kicker">amodal annotations · review</p><h1>{escape(title)}</h1>'
        f'<p class="mode">{_counted([*chain(*found), *general], scenes)}</p></header>'
        f"{_listed(general, 'About the file') if general else ''}{left_out}"
        '<p class="lead">Click a finding to see its regions and its place; J and K go on and back, Z zooms in '
        "and out. Approve an annotation or return it with a comment; decisions stay in this browser until you save "
        'them. <button type="button" class="save">Save decisions</button> <output></output></p>'
        '<table class="contents"><thead><tr><th>image</th><th>annotator</th><th class="num">regions</th>'
        '<th class="num">errors</th><th class="num">warnings</th><th class="num">notes</th><th>decision</th></tr>'
        f"</thead><tbody>{rows}</tbody></table>{''.join(sections)}"
    )
    return _document(f"Review of {title}", body)


def _found(scenes: SceneSet) -> tuple[list[list[Defect]], list[Defect]]:
    """Return the findings of each scene, and those that are of no scene."""
    found = check_each(scenes)
    places = {(scene.image.id, scene.annotator): place for place, scene in enumerate(scenes.scenes)}
    general: list[Defect] = []
    for defect in scenes.defects:
        place = places.get((defect.image, defect.annotator))
        (general if place is None else found[place]).append(defect)
    return found, general


def _weight(defects: Sequence[Defect]) -> tuple[int, ...]:
    counts = Counter(defect.severity for defect in defects)
    return tuple(counts[severity] for severity in _SEVERITIES)


def _counted(defects: Sequence[Defect], scenes: SceneSet) -> str:
    counts = Counter(defect.severity for defect in defects)
    told = ", ".join(f"{counts[severity]} {severity}s" for severity in _SEVERITIES)
    return f"{len(scenes.scenes)} annotations of {len(scenes.by_image())} images: {told}"


def _row(number: int, scene: Scene, defects: Sequence[Defect]) -> str:
    counts = "".join(f'<td class="num">{count or ""}</td>' for count in _weight(defects))
    return (
        f'<tr><td><a href="#a{number}">{escape(scene.image.file_name or scene.image.id)}</a></td>'
        f'<td>{escape(scene.annotator)}</td><td class="num">{len(scene.regions)}</td>{counts}'
        f'<td data-decision="{number}"></td></tr>'
    )


def _section(number: int, scene: Scene, defects: Sequence[Defect], images: Path) -> str:
    key = escape(f"{scene.image.id} {scene.annotator} {scene.attributes.get('id', '')}", quote=True)
    name = escape(scene.image.file_name or f"image {scene.image.id}")
    ranked = sorted(defects, key=lambda defect: _SEVERITIES.index(defect.severity))
    try:
        rasters = rasterise(scene)
    except InvalidMask:
        rasters = None
    return (
        f'<section class="annotation" id="a{number}" data-key="{key}" data-number="{number}" '
        f'data-image="{escape(scene.image.id, quote=True)}" data-author="{escape(scene.annotator, quote=True)}">'
        f"<h2>{name} <small>{escape(scene.annotator)}</small></h2>"
        f'<div class="pair"><figure>{_picture(scene, rasters, images)}<div class="buttons">'
        '<button type="button" class="zoom">Zoom to place</button>'
        '<label><input type="checkbox" class="fills" checked> fill</label></div></figure>'
        f'<div class="side">{_listed(ranked, "Findings")}{_regions(scene, rasters)}{_decision(number)}</div></div>'
        "</section>"
    )


def _picture(scene: Scene, rasters: Rasters | None, images: Path) -> str:
    height, width = scene.shape
    # Behind first, so that the front region lies on top and a wrong order is seen at once.
    shapes = [_shape(scene, place, rasters) for place in reversed(range(len(scene.regions)))]
    return (
        f'<svg class="drawing" viewBox="0 0 {width} {height}" data-whole="0 0 {width} {height}">'
        f'<rect class="ground" width="{width}" height="{height}"/>{_photograph(scene, images)}'
        f"{''.join(shapes)}<circle class='place' r='{max(height, width) / 60:.1f}' hidden='hidden'/></svg>"
    )


def _shape(scene: Scene, place: int, rasters: Rasters | None) -> str:
    region = scene.regions[place]
    path = _path(scene, region, rasters, place)
    if not path:
        return ""
    name = escape(region.name.strip() or "(no name)")
    return (
        f'<path class="region c{place % _COLOURS}" data-region="{escape(region.id, quote=True)}" '
        f'd="{path}"><title>{place + 1} {name}</title></path>{_number(place, rasters, scene)}'
    )


def _path(scene: Scene, region: Region, rasters: Rasters | None, place: int) -> str:
    parts: list[str] = []
    for points in scene.polygons(region):
        corners = " ".join(f"{column:.1f},{row:.1f}" for row, column in points.tolist())
        parts += [f"M{corners}Z"] if corners else []
    if not parts and rasters is not None:
        whole = tuple(slice(0, side) for side in scene.shape)
        return outline(rasters.amodal(place), View(whole, 1.0))
    return "".join(parts)


def _number(place: int, rasters: Rasters | None, scene: Scene) -> str:
    where = centre(rasters.regions[place]) if rasters is not None else None
    if where is None:
        return ""
    size = max(scene.shape) / 32
    return f'<text x="{where[1]:.1f}" y="{where[0] + size / 3:.1f}" font-size="{size:.1f}">{place + 1}</text>'


def _photograph(scene: Scene, images: Path) -> str:
    height, width = scene.shape
    image = _read_photograph(images, scene.image.file_name)
    if image is None or image.shape[:2] != scene.shape:
        size = max(height, width) / 30
        return f'<text class="absent" x="4" y="{height - 6}" font-size="{size:.1f}">no photograph</text>'
    return f'<image href="{_jpeg(image)}" width="{width}" height="{height}" preserveAspectRatio="none"/>'


def _read_photograph(folder: Path, file_name: str) -> NDArray[np.uint8] | None:
    # An annotation must not be able to put other files of this machine on the page.
    parts = [part for part in PureWindowsPath(file_name).parts if part not in ("..", PureWindowsPath(file_name).anchor)]
    for path in (folder.joinpath(*parts), folder / "images" / "".join(parts[-1:])):
        try:
            return read_image(path)
        except InvalidImage:
            continue
    return None


def _jpeg(image: NDArray[np.uint8]) -> str:
    picture = Image.fromarray(image)
    picture.thumbnail((LONGEST_PX, LONGEST_PX))
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(buffer.getvalue()).decode("ascii")


def _listed(defects: Sequence[Defect], title: str) -> str:
    if not defects:
        return f"<h3>{title}</h3><p class='note'>Nothing was found.</p>"
    items = "".join(_finding(defect) for defect in defects)
    return f'<h3>{title}</h3><ol class="findings">{items}</ol>'


def _finding(defect: Defect) -> str:
    place = f' data-x="{defect.place[1]:.1f}" data-y="{defect.place[0]:.1f}"' if defect.place else ""
    regions = escape(" ".join(defect.regions), quote=True)
    where = f"region {escape(', '.join(defect.regions))}: " if defect.regions else ""
    return (
        f'<li><button type="button" class="finding {defect.severity}" data-regions="{regions}"{place}>'
        f"<b>{defect.severity}</b> <i>{escape(defect.kind)}</i> {where}{escape(defect.message)}</button></li>"
    )


def _regions(scene: Scene, rasters: Rasters | None) -> str:
    rows = [
        f'<tr><td class="num">{place + 1}</td><td>{escape(region.id)}</td>'
        f'<td><i class="swatch c{place % _COLOURS}"></i>{escape(region.name) or "<em>no name</em>"}</td>'
        f'<td class="num">{f"{rasters.regions[place].occlusion:.0%}" if rasters else ""}</td></tr>'
        for place, region in enumerate(scene.regions)
    ]
    return (
        f"<details><summary>{len(scene.regions)} regions, front first</summary><table><thead><tr><th>order</th>"
        f'<th>region</th><th>name</th><th class="num">hidden</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
        "</details>"
    )


def _decision(number: int) -> str:
    choices = "".join(
        f'<label><input type="radio" name="decision-{number}" value="{value}"> {text}</label>'
        for value, text in (("approved", "approve"), ("returned", "return"))
    )
    return f'<div class="decision">{choices}<textarea rows="2" placeholder="Comment to the annotator"></textarea></div>'


def _document(title: str, body: str) -> str:
    shared, own = files("segarena.reports"), files("segarena.systems.scenes.page")
    style = "\n".join(file.read_text(encoding="utf-8") for file in (shared / "page.css", own / "review.css"))
    script = (own / "review.js").read_text(encoding="utf-8")
    # Only this script may run: a name that slipped through unescaped could still do nothing.
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n"
        f"<body><main>{body}</main>\n<script>{script}</script></body></html>\n"
    )

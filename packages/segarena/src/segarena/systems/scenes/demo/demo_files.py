"""Files of the generated scenes: photographs, drawings, and the ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from segarena.demos import NamedDemo
from segarena.files.atomic_write import write_atomic
from segarena.systems.scenes.demo.scene_generator import DemoDrawing, DemoScene
from segarena.systems.scenes.files.cocoa import write_cocoa
from segarena.systems.scenes.files.label_png import encode_png
from segarena.systems.scenes.files.record_encoding import write_json
from segarena.systems.scenes.model.scene import Scene, SceneSet

SCENES = "scenes.json"
TRUE_SCENES = "true_scenes.json"
TRUTH = "truth.json"

GENERATED_SCENES = NamedDemo(
    name="scenes",
    command="segarena amodal demo",
    summary="generated scenes with known ground truth, and the drawings of five annotators",
)


def write_demo(scenes: Sequence[DemoScene], folder: Path) -> list[Path]:
    """Write generated scenes into a folder, and return the files.

    The drawings are written as COCO-Amodal: `scenes.json` by the five annotators,
    `true_scenes.json` without errors. `truth.json` contains depth, occlusion and overlap as
    generated, and the errors of the annotators. `images/` contains the photographs.
    """
    photos: list[Path] = []
    drawings: list[Scene] = []
    for scene in scenes:
        drawings += [drawing.scene for drawing in scene.drawings]
        file = folder / "images" / scene.truth.scene.image.file_name
        photos.append(write_atomic(file, encode_png(scene.truth.photo)))
    true_scenes = tuple(scene.truth.scene for scene in scenes)
    truths = [_truth(scene) for scene in scenes]
    return [
        *photos,
        *write_cocoa(SceneSet(scenes=tuple(drawings)), folder / SCENES),
        *write_cocoa(SceneSet(scenes=true_scenes), folder / TRUE_SCENES),
        write_json(truths, folder / TRUTH),
    ]


def _truth(scene: DemoScene) -> dict[str, Any]:
    truth = scene.truth
    # The file numbers regions from 1, like the `order` of COCO-Amodal.
    pairs = [[front + 1, behind + 1] for front, behind in truth.pairs]
    components: list[list[int]] = []
    for component in truth.components:
        components.append([index + 1 for index in component])
    return {
        "image_id": int(truth.scene.image.id),
        "names": [shape.name for shape in truth.shapes],
        "kinds": [shape.kind for shape in truth.shapes],
        "areas_px": truth.overlap_px.diagonal().tolist(),
        "occlusion": list(truth.occlusion),
        "overlap_px": truth.overlap_px.tolist(),
        "pairs": pairs,
        "components": components,
        "layers": list(truth.layers),
        "annotators": [_errors(drawing) for drawing in scene.drawings],
    }


def _errors(drawing: DemoDrawing) -> dict[str, Any]:
    sloppiness = drawing.sloppiness
    return {
        "author": sloppiness.annotator,
        "vertex_noise_px": sloppiness.vertex_noise_px,
        "missing": [int(region_id) for region_id in drawing.missing],
        "swapped": [[int(a), int(b)] for a, b in drawing.swapped],
        "renamed": [int(region_id) for region_id in drawing.renamed],
    }

"""ES modules of the studio: their own tests, and agreement of their results with Python."""

import json
import re
import shutil
import subprocess
from itertools import chain, pairwise
from pathlib import Path

import cv2
import numpy as np
import pytest

from segarena.arrays.rle import run_lengths
from segarena.systems.scenes.checks.single_annotation_checks import check_scene
from segarena.systems.scenes.model import polygons
from segarena.systems.scenes.model.rasters import rasterise
from segarena.systems.scenes.model.scene import ImageRecord, Region, Scene
from segarena_server.extensions.site_sections import strip_comment_lines
from segarena_studio.annotation.scene_document import have_holes

HERE = Path(__file__).parent / "static"
PACKAGES = Path(__file__).parents[2]
SIZE = (160, 120)
# The checks before finishing find more: what needs pictures, other people or seconds.
FOUND_AT_ONCE = {
    *("unnamed", "repeated-vertex", "degenerate", "few-vertices", "self-intersection"),
    *("spike", "small", "contained", "hidden", "duplicate"),
}


def node(script, text="", *words):
    """Return the output of a script; skips without node."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("no node here; make test installs Debian's")
    return subprocess.run(
        [program, HERE / script, *words], input=text, capture_output=True, text=True, timeout=120
    )


def test_patterns_of_form_fields_are_valid_in_browsers():
    texts = [path.read_text() for path in PACKAGES.glob("*/src/**/templates/*.html")]
    patterns = [found for text in texts for found in re.findall(r'pattern="([^"]+)"', text)]
    assert patterns
    program = shutil.which("node")
    if program is None:
        pytest.skip("no node here; make test installs Debian's")
    # Browsers compile them with the flag v, and ignore a pattern that is not valid.
    script = "for (const one of JSON.parse(process.argv[1])) new RegExp(one, 'v');"
    subprocess.run([program, "-e", script, json.dumps(patterns)], check=True, timeout=60)


def test_modules_do_what_their_tests_say():
    done = node("all.js")
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr
    assert "\n# pass 0" not in done.stdout


def test_modules_lose_only_comments_when_they_are_sent():
    compiler = shutil.which("tsc")
    if compiler is None or shutil.which("node") is None:
        pytest.skip("no tsc here; make test installs Debian's")
    sources = [
        path.read_text()
        for folder in (
            "segarena-studio/src/segarena_studio/static",
            "segarena/src/segarena/reports",
        )
        for path in (PACKAGES / folder).rglob("*.js")
    ]
    pairs = [(text, strip_comment_lines(text)) for text in sources]
    assert len(pairs) > 100
    done = node("same_code.js", json.dumps(pairs), str(Path(compiler).resolve().parents[1]))
    assert done.stdout == f"{len(pairs)} equal\n", done.stdout + done.stderr


def random_document(rng):
    """Return a random document with shared, outside and repeated vertices and crossing outlines."""
    width, height = SIZE
    points, regions = [], []
    for number in range(1, int(rng.integers(1, 8))):
        count = int(rng.integers(3, 14))
        angles = np.sort(rng.random(count)) * 2 * np.pi
        reach = rng.uniform(4, 70) * rng.uniform(0.3, 1, (count, 1))
        outline = (
            rng.uniform((-10, -10), (width + 10, height + 10))
            + reach * np.c_[np.cos(angles), np.sin(angles)]
        )
        outline = outline.round(int(rng.integers(0, 4)))
        if rng.random() < 0.2:
            outline[rng.integers(count)] = rng.uniform((0, 0), SIZE).round(1)
        if rng.random() < 0.1:
            outline[1] = outline[0]
        ring = list(range(len(points), len(points) + count))
        points += outline.tolist()
        if regions and rng.random() < 0.5:  # a piece of a neighbour's border
            other = regions[-1]["ring"]
            ring[: int(rng.integers(1, 4))] = other[: int(rng.integers(1, len(other)))]
        if regions and rng.random() < 0.1:
            ring = list(regions[-1]["ring"])
        flags = {"is_stuff": False, "is_hidden": False, "is_locked": False}
        region = {"id": f"r{number}", "ring": ring, "name": rng.choice(["", " ", "dog"]), **flags}
        if rng.random() < 0.3:  # a hole, or an outline that crosses the first one
            region["starts"] = [len(ring)]
            middle = np.mean([points[at] for at in ring], axis=0)
            corners = rng.uniform(2, 20) * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
            region["ring"] = [*ring, *range(len(points), len(points) + 4)]
            points += (middle + corners).round(1).tolist()
        regions.append(region)
    return {"version": 1, "points": points, "regions": regions, "next_id": 9}


def scene_of(document):
    """Convert a document to points and rings, rows before columns."""
    vertices = tuple((y, x) for x, y in document["points"])
    regions = []
    for one in document["regions"]:
        bounds = [0, *one.get("starts", []), len(one["ring"])]
        rings = tuple(tuple(one["ring"][first:end]) for first, end in pairwise(bounds))
        outlines = [np.array([vertices[at] for at in ring]) for ring in rings]
        # Outside the frame there are no edges to leave out.
        has_holes = have_holes(outlines, (-1, -1))
        regions.append(Region(id=one["id"], name=one["name"], rings=rings, has_holes=has_holes))
    image = ImageRecord(id="1", shape=SIZE[::-1])
    return Scene(image=image, regions=tuple(regions), vertices=vertices)


def filled_parts(mask):
    """Return each 4-connected part of a mask with its holes filled."""
    count, labels = cv2.connectedComponents(mask.astype(np.uint8), connectivity=4)
    for label in range(1, count):
        outlines = cv2.findContours(
            (labels == label).astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE
        )[0]
        yield cv2.drawContours(
            np.zeros(mask.shape, np.uint8), outlines, -1, 1, thickness=cv2.FILLED
        ).astype(bool)


@pytest.fixture(scope="module")
def asked():
    """Random documents, and the results of the modules for each."""
    rng = np.random.default_rng(18)
    documents = [random_document(rng) for _ in range(120)]
    done = node(
        "answers.js", json.dumps([{"size": SIZE, "document": document} for document in documents])
    )
    assert done.returncode == 0, done.stderr
    return list(zip(documents, json.loads(done.stdout), strict=True))


@pytest.mark.long
def test_documents_come_back_as_they_were(asked):
    assert all(said["document"] == document for document, said in asked)


@pytest.mark.long
def test_outlines_measure_the_same(asked):
    simple = 0
    for document, said in asked:
        scene = scene_of(document)
        drawn = [ring for region in scene.regions for ring in scene.polygons(region)]
        areas, perimeters, are_simple = (
            list(chain.from_iterable(said[key])) for key in ("areas", "perimeters", "simple")
        )
        np.testing.assert_allclose(
            areas, [polygons.area(one) for one in drawn], rtol=1e-12, atol=1e-9
        )
        np.testing.assert_allclose(
            perimeters, [polygons.perimeter(one) for one in drawn], rtol=1e-12
        )
        assert are_simple == [len(one) > 2 and not polygons.crossings(one) for one in drawn]
        assert {tuple(edge) for edge in said["shared"]} == {
            edge for edge in scene.shared_edges() if edge[0] != edge[1]
        }
        simple += sum(are_simple)
    assert 100 < simple < sum(len(document["regions"]) for document, _ in asked) - 50


@pytest.mark.long
def test_pixels_are_the_same_to_the_last(asked):
    for document, said in asked:
        rasters = rasterise(scene_of(document))
        assert np.array_equal(
            np.reshape(said["overlap_px"], (len(rasters.regions),) * 2), rasters.overlap_px()
        )
        assert said["visible_px"] == [region.visible_px for region in rasters.regions]
        assert said["occlusion"] == [region.occlusion for region in rasters.regions]
        for place, runs in enumerate(said["visible_runs"]):
            assert runs == run_lengths(rasters.visible(place)).tolist()


def test_outlines_of_masks_are_those_of_their_parts(asked):
    for document, said in asked[:40]:
        rasters = rasterise(scene_of(document))
        for place, outlines in enumerate(said["outlines"]):
            found = []
            for outline in outlines:
                # On a grid twice as fine, whose odd rows and columns are the centres of pixels.
                fine = cv2.fillPoly(
                    np.zeros((241, 321), np.uint8), [2 * np.array(outline, dtype=np.int32)], 1
                )
                found.append(fine[1::2, 1::2].astype(bool).tobytes())
            assert sorted(found) == sorted(
                part.tobytes() for part in filled_parts(rasters.visible(place))
            )


def test_the_same_is_wrong_with_them(asked):
    kinds = set()
    for document, said in asked:
        found = check_scene(scene_of(document))
        told = [
            (one.kind, list(one.regions), one.severity)
            for one in found
            if one.kind in FOUND_AT_ONCE
        ]
        assert sorted(map(tuple, said["faults"])) == sorted(told)
        kinds |= {kind for kind, _, _ in told}
    assert kinds == FOUND_AT_ONCE

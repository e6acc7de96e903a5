import assert from "node:assert/strict";
import test from "node:test";
import { Depth } from "../../src/segarena_studio/static/editor/occlusion.js";
import { contains } from "../../src/segarena_studio/static/common/geometry.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { Steps } from "../../src/segarena_studio/static/editor/scene-changes.js";
import { fill } from "../../src/segarena_studio/static/common/polygon-spans.js";
import { documentOf, generator, gridDocument, starPolygon } from "./random.js";

const SIZE = [80, 60];

function randomScene(random, count = 6) {
  const polygons = [...Array(count)].map(() => starPolygon(random, [80 * random(), 60 * random()], 35, 8));
  return Scene.read(documentOf(polygons));
}

/** Which region shows at each pixel, and each region's pixels, asked at every centre. */
function painted(scene) {
  const pixels = scene.regions.map(({ id }) => {
    const polygon = scene.polygon(id);
    return Array.from({ length: 80 * 60 }, (_, at) => contains(polygon, [(at % 80) + 0.5, Math.floor(at / 80) + 0.5]));
  });
  const owner = Array.from({ length: 80 * 60 }, (_, at) => pixels.findIndex((mask) => mask[at]));
  return { pixels, owner };
}

const countOf = (list) => list.filter(Boolean).length;

function pixelsOf(spans) {
  const found = new Set();
  for (let at = 0; at < spans.length; at += 3) {
    for (let column = spans[at + 1]; column < spans[at + 2]; column++) found.add(spans[at] * 80 + column);
  }
  return found;
}

test("areas, overlaps, visible and hidden parts are those of the pixels", () => {
  const random = generator(15);
  for (let turn = 0; turn < 8; turn++) {
    const scene = randomScene(random);
    const depth = new Depth(scene, SIZE);
    const { pixels, owner } = painted(scene);
    scene.regions.forEach(({ id }, place) => {
      const seen = owner.flatMap((one, at) => (one === place ? [at] : []));
      assert.equal(depth.areaPx(id), countOf(pixels[place]));
      assert.equal(depth.visiblePx(id), seen.length);
      assert.deepEqual([...pixelsOf(depth.visibleSpans(id))], seen);
      const hidden = pixels[place].flatMap((isIn, at) => (isIn && owner[at] !== place ? [at] : []));
      assert.deepEqual([...pixelsOf(depth.hiddenSpans(id))], hidden);
      scene.regions.forEach((other, index) => {
        const shared = countOf(pixels[place].map((isIn, at) => isIn && pixels[index][at]));
        assert.equal(depth.overlapPx(id, other.id), shared);
      });
    });
  }
});

test("after any changes it is as if it were asked for the first time", () => {
  const random = generator(16);
  const scene = randomScene(random);
  const depth = new Depth(scene, SIZE);
  for (let turn = 0; turn < 60; turn++) {
    const steps = new Steps(scene);
    const region = scene.regions[Math.floor(random() * scene.regions.length)];
    const choice = turn % 5;
    if (choice === 0) steps.movePoint(region.ring[0], [80 * random(), 60 * random()]);
    if (choice === 1) steps.moveRegion(region.id, Math.floor(random() * scene.regions.length));
    if (choice === 2) steps.addRegion(starPolygon(random, [40, 30], 25, 7).map((at) => steps.addPoint(at)), {}, 0);
    if (choice === 3) steps.removeRegion(region.id);
    if (choice === 4) steps.takeBack();
    const fresh = new Depth(scene, SIZE);
    assert.deepEqual(depth.pairs(), fresh.pairs());
    for (const { id } of scene.regions) {
      assert.equal(depth.visiblePx(id), fresh.visiblePx(id));
      assert.deepEqual(depth.overlapping(id), fresh.overlapping(id));
    }
  }
});

test("regions that share a border share no pixel and leave none out", () => {
  const document = gridDocument(4, 3, 20, 3);
  document.points = document.points.map(([x, y]) => [x + 0.37 * y, y - 0.21 * x]);
  const scene = Scene.read(document);
  const depth = new Depth(scene, [200, 200]);
  assert.deepEqual(depth.pairs(), []);
});

test("who hides whom follows the order", () => {
  const square = (x) => [[x, 0], [x + 30, 0], [x + 30, 30], [x, 30]];
  const scene = Scene.read(documentOf([square(0), square(20), square(40), square(71)]));
  const depth = new Depth(scene, [110, 30]);
  assert.deepEqual(depth.pairs(), [["r1", "r2"], ["r2", "r3"]]);
  assert.deepEqual(depth.inFrontOf("r2"), ["r1"]);
  assert.deepEqual(depth.overlapping("r2"), ["r1", "r3"]);
  assert.equal(depth.occlusion("r2"), 1 / 3);
  assert.equal(depth.occlusion("r1"), 0);
  new Steps(scene).moveRegion("r1", 3);
  assert.deepEqual(depth.inFrontOf("r1"), ["r2"]);
  assert.equal(depth.occlusion("r2"), 0);
});

test("regions drawn twice are told of, and only those", () => {
  const polygon = [[0, 0], [50, 0], [50, 50], [0, 50]];
  const almost = [[0, 0], [50, 0], [50, 46], [0, 46]];
  const scene = Scene.read(documentOf([polygon, almost, [[0, 0], [50, 0], [50, 45], [0, 45]]]));
  const depth = new Depth(scene, [60, 60]);
  assert.deepEqual(depth.duplicates().map(([a, b, iou]) => [a, b, iou.toFixed(2)]), [["r1", "r2", "0.92"], ["r2", "r3", "0.98"]]);
});

test("outlines outside the picture have no pixels, and huge ones those of the picture", () => {
  assert.equal(fill([[[100, 10], [200, 10], [150, 50]]], SIZE).area, 0);
  assert.equal(fill([[[-50, -10], [-5, -10], [-20, 500]]], SIZE).area, 0);
  assert.equal(fill([[[-1e9, -1e9], [1e9, -1e9], [1e9, 1e9], [-1e9, 1e9]]], SIZE).area, 80 * 60);
  assert.equal(fill([[[1, 1], [5, 5]]], SIZE).area, 0);
});

test("areas measured a few at a time are those measured at once", () => {
  const random = generator(19);
  const scene = randomScene(random);
  const [depth, whole] = [new Depth(scene, SIZE), new Depth(scene, SIZE)];
  for (let turn = 0; turn < 5; turn++) {
    const { ring } = scene.regions[turn];
    new Steps(scene).movePoint(ring[0], [80 * random(), 60 * random()]);
    assert.equal(depth.isCurrent, false);
    let calls = 1;
    while (!depth.updateSome(0)) calls += 1;
    assert.ok(depth.isCurrent);
    assert.ok(calls > 1, "a limit of 0 ms measures not everything in one call");
    for (const { id } of scene.regions) assert.equal(depth.visiblePx(id), whole.visiblePx(id));
  }
});

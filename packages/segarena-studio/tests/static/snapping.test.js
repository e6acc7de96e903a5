import assert from "node:assert/strict";
import test from "node:test";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { nearestLine, nearestVertex, snap } from "../../src/segarena_studio/static/editor/snapping.js";
import { documentOf, generator, starPolygon } from "./random.js";

const SIZE = [400, 300];

function randomScene(random) {
  const polygons = [...Array(6)].map(() => starPolygon(random, [400 * random(), 300 * random()], 60, 9));
  return Scene.read(documentOf(polygons));
}

/** Points on all lines, close together. */
function* sampled(scene) {
  const frame = [[0, 0], [400, 0], [400, 300], [0, 300]];
  for (const polygon of [frame, ...scene.regions.map(({ id }) => scene.polygon(id))]) {
    for (const [index, [x, y]] of polygon.entries()) {
      const [toX, toY] = polygon[(index + 1) % polygon.length];
      for (let share = 0; share <= 1; share += 0.005) yield [x + share * (toX - x), y + share * (toY - y)];
    }
  }
}

test("the nearest line is as near as any point of any line, and the place is on what it names", () => {
  const random = generator(12);
  const scene = randomScene(random);
  for (let turn = 0; turn < 60; turn++) {
    const at = [random() * 500 - 50, random() * 400 - 50];
    const found = nearestLine(scene, at, SIZE);
    const least = Math.min(...[...sampled(scene)].map(([x, y]) => Math.hypot(x - at[0], y - at[1])));
    assert.ok(found.distance <= least + 1e-9 && found.distance > least - 2, `${found.distance} ${least}`);
    assert.ok(Math.abs(Math.hypot(found.at[0] - at[0], found.at[1] - at[1]) - found.distance) < 1e-9);
    if (found.kind === "frame") assert.ok([0, 400].includes(found.at[0]) || [0, 300].includes(found.at[1]));
    else assert.equal(found.kind, "edge");
  }
});

test("the nearest vertex is the nearest of all vertices and corners", () => {
  const random = generator(13);
  const scene = randomScene(random);
  const all = [...scene.points, [0, 0], [400, 0], [400, 300], [0, 300]];
  for (let turn = 0; turn < 100; turn++) {
    const at = [random() * 400, random() * 300];
    const found = nearestVertex(scene, at, SIZE);
    assert.equal(found.distance, Math.min(...all.map(([x, y]) => Math.sqrt((x - at[0]) ** 2 + (y - at[1]) ** 2))));
    if (found.kind === "vertex") assert.deepEqual(scene.points[found.point], found.at);
  }
});

test("of equals the frame comes first, then the frontmost region", () => {
  const scene = Scene.read(documentOf([[[20, 0], [60, 0], [60, 40], [20, 40]], [[0, 20], [60, 40], [60, 80], [0, 80]]]));
  assert.equal(nearestLine(scene, [40, 3], SIZE).kind, "frame");
  assert.equal(nearestLine(scene, [61, 40], SIZE).region, "r1");
  assert.equal(nearestVertex(scene, [64, 40], SIZE).region, "r1");
  assert.equal(nearestVertex(Scene.read(documentOf([[[0, 0], [9, 0], [9, 9]]])), [1, 1], SIZE).kind, "corner");
});

test("in a radius vertices go before sides, and beyond it is nothing", () => {
  const scene = Scene.read(documentOf([[[100, 100], [200, 100], [200, 200], [100, 200]]]));
  assert.equal(snap(scene, [150, 103], SIZE, 5).kind, "edge");
  assert.deepEqual(snap(scene, [150, 103], SIZE, 5).at, [150, 100]);
  assert.equal(snap(scene, [104, 101], SIZE, 5).kind, "vertex");
  assert.equal(snap(scene, [150, 106], SIZE, 5), null);
  assert.deepEqual(snap(scene, [398, 150], SIZE, 5).at, [400, 150]);
  assert.deepEqual(snap(scene, [-2, 1], SIZE, 5).at, [0, 0]);
});

test("hidden regions, points left out and what is being drawn are no targets", () => {
  const document = { ...documentOf([[[100, 100], [200, 100], [200, 200], [100, 200]]]), open: [] };
  document.points.push([150, 150]);
  document.open = [4];
  const scene = Scene.read(document);
  assert.equal(snap(scene, [150, 150], SIZE, 5), null);
  assert.equal(snap(scene, [100, 100], SIZE, 5, { except: new Set([0]) }), null);
  assert.equal(snap(scene, [150, 100], SIZE, 5, { except: new Set([0]) }), null);
  document.regions[0].is_hidden = true;
  assert.equal(snap(Scene.read(document), [100, 100], SIZE, 5), null);
});

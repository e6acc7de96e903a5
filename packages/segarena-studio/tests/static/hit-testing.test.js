import assert from "node:assert/strict";
import test from "node:test";
import * as picking from "../../src/segarena_studio/static/editor/hit-testing.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { documentOf } from "./random.js";

const square = (x, y, length) => [[x, y], [x + length, y], [x + length, y + length], [x, y + length]];

function nested() {
  return documentOf([square(40, 40, 20), square(20, 20, 60), square(0, 0, 100)]);
}

test("the pointer goes through the regions under it, front first and around", () => {
  const scene = Scene.read(nested());
  const ids = picking.regionsAt(scene, [50, 50]);
  assert.deepEqual(ids, ["r1", "r2", "r3"]);
  assert.equal(picking.nextRegion(ids, null), "r1");
  assert.equal(picking.nextRegion(ids, "r1"), "r2");
  assert.equal(picking.nextRegion(ids, "r3"), "r1");
  assert.equal(picking.nextRegion(ids, "elsewhere"), "r1");
  assert.deepEqual(picking.regionsAt(scene, [30, 30]), ["r2", "r3"]);
  assert.equal(picking.nextRegion(picking.regionsAt(scene, [200, 200]), "r1"), null);
});

test("hidden regions are not under the pointer", () => {
  const document = nested();
  document.regions[0].is_hidden = true;
  assert.deepEqual(picking.regionsAt(Scene.read(document), [50, 50]), ["r2", "r3"]);
});

test("vertices and sides are picked of the regions asked for, the nearest within the radius", () => {
  const scene = Scene.read(nested());
  assert.equal(picking.vertexAt(scene, [41, 42], 5, ["r1"]), 0);
  assert.equal(picking.vertexAt(scene, [41, 42], 5, ["r2", "r3"]), null);
  assert.equal(picking.vertexAt(scene, [47, 42], 5, ["r1"]), null);
  assert.deepEqual(picking.edgeAt(scene, [50, 42], 5, ["r3", "r1"]), { region: "r1", edge: 0, at: [50, 40] });
  assert.deepEqual(picking.edgeAt(scene, [38, 50], 5, ["r1"]), { region: "r1", edge: 3, at: [40, 50] });
  assert.equal(picking.edgeAt(scene, [50, 46], 5, ["r1"]), null);
});

test("several vertices are picked by a box and a brush", () => {
  const scene = Scene.read(nested());
  assert.deepEqual(picking.pointsInBox(scene, [30, 30, 70, 50], ["r1", "r2"]), [0, 1]);
  assert.deepEqual(picking.pointsNear(scene, [20, 22], 3, ["r1", "r2"]), [4]);
});

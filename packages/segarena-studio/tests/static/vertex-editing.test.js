import assert from "node:assert/strict";
import test from "node:test";
import * as adjusting from "../../src/segarena_studio/static/editor/vertex-editing.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { snap } from "../../src/segarena_studio/static/editor/snapping.js";
import { documentOf, gridDocument } from "./random.js";

const SIZE = [400, 300];

/** Two squares side by side, with a vertex in the middle of each side; 4 is the middle of what they share. */
function begun(document = gridDocument(2, 1, 100, 2)) {
  const scene = Scene.read(document);
  const history = new History(scene);
  const run = (act) => history.run("adjust", null, act).refusal;
  const at = (x, y) => scene.points.findIndex((point) => point[0] === x && point[1] === y);
  return { scene, history, run, at };
}

const idsOf = (scene, point) => scene.owners(point).map(({ id }) => id).sort();

test("a shared vertex moves for all regions that have it", () => {
  const { scene, run, at } = begun();
  const shared = at(100, 50);
  assert.equal(run((steps) => adjusting.movePoints(steps, [shared], 10, 5)), null);
  assert.ok(scene.polygon("r1").some(([x, y]) => x === 110 && y === 55));
  assert.ok(scene.polygon("r2").some(([x, y]) => x === 110 && y === 55));
});

test("Alt gives one region a vertex of its own", () => {
  const { scene, run, at } = begun();
  const shared = at(100, 50);
  assert.equal(run((steps) => adjusting.movePoints(steps, [shared], 10, 5, { only: "r2" })), null);
  assert.deepEqual(scene.points[shared], [100, 50]);
  assert.deepEqual(idsOf(scene, shared), ["r1"]);
  assert.deepEqual(idsOf(scene, at(110, 55)), ["r2"]);
});

test("a move that makes an outline meet itself is refused, unless it did before", () => {
  const { scene, run, at } = begun();
  assert.equal(run((steps) => adjusting.movePoints(steps, [at(100, 50)], -150, 10)), "crosses");
  const bow = begun(documentOf([[[0, 0], [50, 50], [50, 0], [0, 50]]]));
  assert.equal(bow.run((steps) => adjusting.movePoints(steps, [0], 1, 5)), null, "it can be mended");
  assert.deepEqual(scene.points[at(100, 50)], [100, 50]);
});

test("several move together, and stay in the picture where asked to", () => {
  const { scene, run, at } = begun();
  const points = [at(0, 0), at(0, 50), at(0, 100)];
  assert.equal(run((steps) => adjusting.movePoints(steps, points, -30, 400, { size: SIZE })), null);
  assert.deepEqual(points.map((point) => scene.points[point]), [[0, 200], [0, 250], [0, 300]]);
  assert.equal(run((steps) => adjusting.movePoints(steps, points, -30, 0)), null);
  assert.deepEqual(scene.points[points[0]], [-30, 200]);
});

test("a vertex dragged onto another becomes one with it; dragged onto a side, the side's regions share it", () => {
  const document = documentOf([[[0, 0], [90, 0], [90, 90], [0, 90]], [[100, 0], [190, 0], [190, 90], [100, 90]]]);
  const { scene, run } = begun(document);
  const onto = (point, place) =>
    run((steps) => adjusting.movePointTo(steps, point, snap(scene, place, SIZE, 5, { except: new Set([point]) })));
  assert.equal(onto(1, [99, 1]), null);
  assert.deepEqual(idsOf(scene, 4), ["r1", "r2"]);
  assert.equal(onto(2, [101, 50]), null);
  assert.deepEqual(idsOf(scene, 2), ["r1", "r2"]);
  assert.deepEqual(scene.points[2], [100, 50]);
  assert.deepEqual(scene.sharedEdges().map((edge) => edge.sort()), [[2, 4]]);
});

test("a vertex is inserted for all regions of the side, or with Alt for one", () => {
  const { scene, run, at } = begun();
  const edge = scene.edgeOwners(at(100, 0), at(100, 50)).find(({ region }) => region.id === "r1").edge;
  assert.equal(run((steps) => adjusting.insertVertex(steps, "r1", edge, [104, 20])), null);
  assert.deepEqual(idsOf(scene, at(104, 20)), ["r1", "r2"]);
  const other = scene.edgeOwners(at(104, 20), at(100, 50)).find(({ region }) => region.id === "r1").edge;
  assert.equal(run((steps) => adjusting.insertVertex(steps, "r1", other, [103, 30], { only: "r1" })), null);
  assert.deepEqual(idsOf(scene, at(103, 30)), ["r1"]);
  assert.equal(run((steps) => adjusting.insertVertex(steps, "r1", 0, [0, 0])), "repeated");
  assert.equal(run((steps) => adjusting.insertVertex(steps, "r1", 0, [30, 300])), "crosses");
});

test("a shared vertex is deleted for all, and four are the least that is left", () => {
  const { scene, run, at } = begun();
  assert.equal(run((steps) => adjusting.deletePoints(steps, [at(100, 50)])), null);
  assert.deepEqual(scene.regions.map(({ ring }) => ring.length), [7, 7]);
  const square = begun(gridDocument(1, 1, 100));
  assert.equal(square.run((steps) => adjusting.deletePoints(steps, [0])), "few");
});

test("with Alt a vertex is deleted for one region", () => {
  const { scene, run, at } = begun();
  assert.equal(run((steps) => adjusting.deletePoints(steps, [at(100, 50)], { only: "r1" })), null);
  assert.deepEqual(idsOf(scene, at(100, 50)), ["r2"]);
});

test("of many vertices to delete those go that can", () => {
  const { scene, run } = begun();
  assert.equal(run((steps) => adjusting.deletePoints(steps, scene.points.keys())), null);
  assert.deepEqual(scene.regions.map(({ ring }) => ring.length), [4, 4]);
});

test("deleting may not make an outline cross", () => {
  const { run } = begun(documentOf([[[0, 0], [100, 0], [100, 50], [0, 50], [0, 40], [90, 40], [90, 30], [0, 30]]]));
  assert.equal(run((steps) => adjusting.deletePoints(steps, [2])), "crosses");
});

test("locked regions keep their vertices, those they share included", () => {
  const document = gridDocument(2, 1, 100, 2);
  document.regions[0].is_locked = true;
  const { scene, run, at } = begun(document);
  const shared = at(100, 50);
  assert.equal(run((steps) => adjusting.movePoints(steps, [shared], 5, 5)), "locked");
  assert.equal(run((steps) => adjusting.deletePoints(steps, [shared])), "locked");
  assert.equal(run((steps) => adjusting.movePoints(steps, [at(0, 0)], 5, 5, { only: "r1" })), "locked");
  assert.equal(run((steps) => adjusting.insertVertex(steps, "r1", 0, [20, 5])), "locked");
  assert.equal(run((steps) => adjusting.splitPoints(steps, "r1", [shared])), "locked");
  assert.equal(run((steps) => adjusting.movePoints(steps, [shared], 5, 5, { only: "r2" })), null);
  assert.deepEqual(scene.points[shared], [100, 50]);
});

test("regions can be taken apart", () => {
  const { scene, run } = begun();
  assert.equal(run((steps) => adjusting.splitPoints(steps, "r1", scene.region("r1").ring)), null);
  assert.equal(scene.sharedEdges().length, 0);
  assert.equal(run((steps) => adjusting.splitPoints(steps, "r1", scene.region("r1").ring)), "nothing");
});

test("two vertices of the same outline are not made one", () => {
  const { run, at } = begun();
  assert.equal(run((steps) => adjusting.weld(steps, at(0, 0), at(100, 100))), "repeated");
});

import assert from "node:assert/strict";
import test from "node:test";
import { check } from "../../src/segarena_studio/static/editor/scene-checks.js";
import { faultText, untilSaved } from "../../src/segarena_studio/static/editor/finish-panel.js";
import { Depth } from "../../src/segarena_studio/static/editor/occlusion.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { documentOf } from "./random.js";

const square = (x, y, length) => [[x, y], [x + length, y], [x + length, y + length], [x, y + length]];

function found(polygons, change = () => {}, size = [300, 300]) {
  const document = documentOf(polygons);
  change(document.regions);
  const scene = Scene.read(document);
  return check(scene, new Depth(scene, size)).map(({ kind, regions }) => `${kind} ${regions.join(" ")}`);
}

test("a sound scene has nothing wrong with it", () => {
  assert.deepEqual(found([square(0, 0, 40), square(20, 20, 40)]), []);
});

test("a region of a tiny picture may be as small as a sixteenth of it", () => {
  assert.deepEqual(found([square(2, 2, 2)], undefined, [8, 8]), []);
  assert.deepEqual(found([[[2, 2], [4, 2], [4, 3], [2, 3]]], undefined, [8, 8]), ["small r1"]);
});

test("what is wrong is found, with the regions that it is about", () => {
  assert.deepEqual(found([square(0, 0, 40)], ([region]) => (region.name = " ")), ["unnamed r1"]);
  assert.deepEqual(found([square(0, 0, 24)]), ["small r1"]);
  assert.deepEqual(found([square(0, 0, 25)]), []);
  assert.deepEqual(found([[[0, 0], [100, 100], [100, 0], [0, 100]]]), ["self-intersection r1"]);
  assert.deepEqual(found([[[0, 0], [100, 0], [100, 50], [10, 50], [100, 55], [100, 100], [0, 100]]]), ["spike r1"]);
  assert.deepEqual(found([[[0, 0], [100, 0], [0, 100]]]), ["few-vertices r1"]);
  assert.deepEqual(found([[[0, 0], [50, 50], [100, 100], [20, 20]]]), ["degenerate r1"]);
  assert.deepEqual(found([[[0, 0], [0, 0], [90, 0], [90, 90], [0, 90]]]), ["repeated-vertex r1"]);
  assert.deepEqual(found([square(0, 0, 100), square(20, 20, 40)]), ["contained r1 r2"]);
  assert.deepEqual(found([square(20, 20, 40), square(0, 0, 100)]), []);
  assert.deepEqual(found([square(0, 0, 100), square(0, 1, 100)]), ["hidden r2", "duplicate r1 r2"]);
  assert.deepEqual(found([square(-90, 0, 100)]), []);
});

test("what is wrong is told with the names of regions, or with their places", () => {
  const scene = Scene.read(documentOf([square(0, 0, 100), square(20, 20, 40)]));
  scene.region("r2").name = "wheel";
  const [fault] = check(scene, new Depth(scene, [300, 300])).filter(({ kind }) => kind === "contained");
  const text = faultText({ scene }, fault);
  const front = scene.region("r1").name || "region 1";
  assert.equal(text, `wheel: ${front} contains it and hides it. Put wheel in front, or delete it.`);
  assert.equal(faultText({ scene }, { kind: "unnamed", message: "", regions: ["r2"] }), "wheel: has no name yet");
});

test("Finish waits for a drawing that is being saved, and not for one that cannot be saved", async () => {
  const saving = { isSaved: false, state: { kind: "unsaved" }, retry: () => (saving.state = { kind: "saving" }) };
  let pauses = 0;
  const saved = await untilSaved(saving, () => true, async () => (saving.isSaved = ++pauses === 3));
  assert.deepEqual([saved, pauses], [true, 3]);
  const offline = { isSaved: false, state: { kind: "offline" }, retry: () => {} };
  assert.equal(await untilSaved(offline, () => true, () => assert.fail("waited")), false);
  const closed = { isSaved: false, state: { kind: "saving" }, retry: () => {} };
  assert.equal(await untilSaved(closed, () => false, () => assert.fail("waited")), false);
});

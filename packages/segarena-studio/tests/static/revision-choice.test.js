import assert from "node:assert/strict";
import { test } from "node:test";

import { replaceScene, wordsOf } from "../../src/segarena_studio/static/editor/revision-choice.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";

const region = (id, ring, name, more = {}) => ({ id, ring, name, is_stuff: false, is_hidden: false, is_locked: false, ...more });
const MINE = {
  version: 1, points: [[0, 0], [40, 0], [40, 40], [0, 40], [80, 0], [80, 40]],
  regions: [region("r1", [0, 1, 2, 3], "dog", { is_locked: true }), region("r2", [1, 4, 5, 2], "cat")], next_id: 3,
};
const THEIRS = { version: 1, points: [[5, 5], [45, 5], [45, 45], [5, 45], [9, 9], [60, 60]], regions: [region("r1", [0, 1, 2, 3], "猫", { is_stuff: true })], next_id: 9, open: [4, 5] };

const outlines = (scene) => scene.regions.map(({ id, name }) => [name, scene.polygon(id)]);

test("theirs takes the place of mine in one step, and undo brings mine back with its shared points", () => {
  const scene = Scene.read(MINE);
  const [before, history] = [scene.toDocument(), new History(scene)];
  history.run("theirs", null, (steps) => replaceScene(steps, THEIRS));
  assert.deepEqual(outlines(scene), [["猫", THEIRS.points.slice(0, 4)]]);
  assert.deepEqual(scene.openPolygon(), [[9, 9], [60, 60]]);
  assert.equal(scene.regions[0].is_stuff, true);
  history.undo();
  assert.deepEqual(outlines(scene), outlines(Scene.read(before)));
  assert.equal(scene.owners(scene.region("r1").ring[1]).length, 2);
  history.redo();
  assert.equal(scene.regions.length, 1);
});

test("an empty scene may be theirs", () => {
  const scene = Scene.read(MINE);
  new History(scene).run("theirs", null, (steps) => replaceScene(steps, null));
  assert.deepEqual(scene.regions, []);
});

test("what a scene has is said in words", () => {
  assert.equal(wordsOf(MINE), "2 regions: dog, cat");
  assert.equal(wordsOf(null), "0 regions");
  assert.equal(wordsOf({ ...MINE, regions: Array(7).fill(region("r1", [], "a")) }), "7 regions: a, a, a, a, a, …");
});

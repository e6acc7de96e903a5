import assert from "node:assert/strict";
import test from "node:test";
import { unpackScene } from "../../src/segarena_studio/static/editor/packed-scene.js";

// The example of tests/annotation/test_packed_scene.py.
const SCENE = {
  version: 1,
  points: [[0.1, 2], [0.3, -1.5], [1 / 3, 4], [1e6, 0.001]],
  regions: [{ id: "r1", ring: [0, 1, 2], name: "cat" }, { id: "r2", ring: [3, 0, 1], name: "" }],
  next_id: 3,
};
const PACKED = {
  version: 1,
  points: { scale: 1000, deltas: [100, 2000, 200, -3500, 33, 5500, 999999667, -3999], others: [[2, 1 / 3, 4]] },
  regions: [{ id: "r1", ring: { runs: [0, 3] }, name: "cat" }, { id: "r2", ring: { runs: [3, 1, 0, 2] }, name: "" }],
  next_id: 3,
};

test("a packed scene is unpacked exactly, with its keys in order", () => {
  assert.equal(JSON.stringify(unpackScene(PACKED)), JSON.stringify(SCENE));
});

test("a scene that is not packed stays as it is, and so does none", () => {
  for (const scene of [SCENE, null, { ...SCENE, points: [], regions: [] }]) assert.equal(unpackScene(scene), scene);
});

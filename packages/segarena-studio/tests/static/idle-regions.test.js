import assert from "node:assert/strict";
import test from "node:test";
import { changedBox } from "../../src/segarena_studio/static/editor/idle-regions.js";

const outline = (revision, box) => {
  const [x0, y0, x1, y1] = box;
  return { revision, box, polygon: [[x0, y0], [x1, y0], [x1, y1]], starts: "", propagation: "" };
};
const BEFORE = new Map([["a", outline(1, [0, 0, 9, 9])], ["b", outline(2, [20, 0, 29, 9])], ["c", outline(3, [40, 0, 49, 9])]]);
const changed = (entries) => changedBox(BEFORE, new Map(entries));
const [a, b, c] = [...BEFORE];

test("only the box around regions that changed, came or went is repainted", () => {
  assert.deepEqual(changed([a, b, c]), [0, 0, 0, 0]);
  assert.deepEqual(changed([a, c]), [20, 0, 29, 9]);
  assert.deepEqual(changed([["new", outline(4, [5, 50, 6, 60])], a, b, c]), [5, 50, 6, 60]);
  assert.deepEqual(changed([a, ["b", outline(5, [22, 3, 31, 12])], c]), [20, 0, 31, 12]);
  assert.deepEqual(changed([c]), [0, 0, 29, 9]);
});

test("a region that has its outline back is not repainted", () => {
  assert.deepEqual(changed([a, ["b", outline(7, [20, 0, 29, 9])], c]), [0, 0, 0, 0]);
});

test("another number of outlines, and a proposal that was accepted, are repainted", () => {
  for (const change of [{ starts: "3" }, { propagation: "accepted" }]) {
    assert.deepEqual(changed([a, ["b", { ...outline(7, [20, 0, 29, 9]), ...change }], c]), [20, 0, 29, 9]);
  }
});

test("another order of regions that stay needs a whole painting", () => {
  assert.equal(changed([b, a, c]), null);
  assert.deepEqual(changed([["b", outline(8, [20, 0, 29, 10])], c]), [0, 0, 29, 10]);
});

import assert from "node:assert/strict";
import test from "node:test";
import { contains, squaredFromOutline } from "../../src/segarena_studio/static/common/geometry.js";
import { centroid, labelPlace } from "../../src/segarena_studio/static/editor/region-labels.js";
import { generator, starPolygon } from "./random.js";

test("the number is written at the centroid where that is far enough from the outline", () => {
  assert.deepEqual(labelPlace([[[0, 0], [100, 0], [100, 200], [0, 200]]]), [50, 100]);
});

test("elsewhere it is written where there is nearly the most room", () => {
  const random = generator(17);
  const shapes = [[[0, 0], [90, 0], [90, 20], [20, 20], [20, 90], [0, 90]]];
  for (let turn = 0; turn < 10; turn++) shapes.push(starPolygon(random, [50, 50], 50, 9));
  for (const polygon of shapes) {
    const place = labelPlace([polygon], Infinity);
    assert.ok(contains(polygon, place));
    let most = 0;
    for (let x = 0.5; x < 100; x++) for (let y = 0.5; y < 100; y++) {
      if (contains(polygon, [x, y])) most = Math.max(most, squaredFromOutline(polygon, [x, y]));
    }
    assert.ok(Math.sqrt(squaredFromOutline(polygon, place)) >= Math.sqrt(most) - 1.1);
  }
});

test("the centroid of a triangle is the mean of its corners, and outlines without an area have one too", () => {
  const [x, y] = centroid([[10, 10], [40, 10], [10, 70]]);
  assert.ok(Math.abs(x - 20) < 1e-9 && Math.abs(y - 30) < 1e-9);
  assert.deepEqual(centroid([[1, 1], [3, 5]]), [2, 3]);
  assert.deepEqual(labelPlace([[[1, 1], [3, 1], [5, 1]]]), [3, 1]);
});

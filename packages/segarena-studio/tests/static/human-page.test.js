import assert from "node:assert/strict";
import { test } from "node:test";

import { Clock } from "../../src/segarena_studio/static/human/thinking-time.js";
import { Masks, cut, errors, middleOf, onPlane, planeSize, positionOf } from "../../src/segarena_studio/static/human/masks.js";
import { Round, shownOn } from "../../src/segarena_studio/static/human/round.js";

// Two objects in 2 x 3 x 4 voxels, written out: [plane][row][column].
const LABELS = [
  [[0, 1, 1, 0], [0, 1, 0, 0], [2, 0, 0, 2]],
  [[0, 0, 0, 0], [1, 0, 2, 2], [0, 0, 0, 1]],
];
const SHAPE = [2, 3, 4];

function countsOf(label) {
  const counts = [];
  let [value, run] = [0, 0];
  for (const voxel of LABELS.flat(2)) {
    const is = voxel === label ? 1 : 0;
    if (is !== value) [value, run] = [is, counts.push(run) && 0];
    run += 1;
  }
  return [...counts, run];
}

test("planes of a volume are cut across each axis", () => {
  const masks = new Masks([countsOf(1), countsOf(2)], SHAPE);
  assert.deepEqual([...masks.plane(0, 1).data], LABELS[1].flat());
  assert.deepEqual([...masks.plane(1, 2).data], [...LABELS[0][2], ...LABELS[1][2]]);
  assert.deepEqual([...masks.plane(2, 3).data], [0, 0, 2, 0, 2, 1]);
  assert.deepEqual([planeSize(SHAPE, 0), planeSize(SHAPE, 1), planeSize(SHAPE, 2)], [[4, 3], [4, 2], [3, 2]]);
  assert.deepEqual(masks.areas(0), [5, 4]);
});

test("voxels are cut as masks are", () => {
  const voxels = Uint16Array.from({ length: 24 }, (_, at) => 1000 * at);
  for (const [axis, index, expected] of [[0, 1, [12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]], [1, 2, [8, 9, 10, 11, 20, 21, 22, 23]], [2, 3, [3, 7, 11, 15, 19, 23]]]) {
    const found = cut(voxels, SHAPE, axis, index);
    assert.ok(found instanceof Uint16Array);
    assert.deepEqual([...found], expected.map((at) => 1000 * at));
  }
});

test("the middle of a target is on it, in the plane that has most of it", () => {
  const [first, second] = [new Masks([countsOf(1)], SHAPE), new Masks([countsOf(2)], SHAPE)];
  assert.deepEqual(middleOf(first), [0, 0, 1]);
  assert.ok(LABELS[middleOf(second)[0]][middleOf(second)[1]][middleOf(second)[2]] === 2);
  assert.deepEqual(middleOf(new Masks([[24]], SHAPE)), [0, 1, 2]);
});

test("a pixel of a plane and its position in the sample lead to each other", () => {
  for (const axis of [0, 1, 2]) {
    const position = positionOf(SHAPE, axis, 1, [1, 0]);
    assert.deepEqual(onPlane(position, axis), { index: 1, point: [1, 0] });
  }
  assert.deepEqual(positionOf(SHAPE, 2, 3, [1, 0]), [0, 1, 3]);
  assert.deepEqual(positionOf([5, 6], 0, 0, [4, 2]), [2, 4]);
});

test("errors are what is missing and what is too much, outside of what does not count", () => {
  const plane = (data) => ({ width: 4, height: 1, data: Uint8Array.from(data) });
  assert.deepEqual([...errors(plane([0, 1, 1, 1]), plane([1, 1, 0, 0]), plane([0, 0, 0, 1]))], [1, 0, 2, 0]);
});

test("prompts are in the order of the sample's axes and within it", () => {
  const round = new Round(SHAPE);
  const place = { axis: 1, index: 2 };
  assert.ok(round.click(place, [3.7, 1.2], false, 2));
  assert.ok(round.box(place, [3.4, 2.5], [1.2, -4], 1));
  assert.ok(round.line("scribble", place, [[0.2, 0.5], [9, 1.5]], true, 1));
  assert.deepEqual(round.prompts, [
    { kind: "click", position: [1, 2, 3], is_positive: false, object_id: 2 },
    { kind: "box", start: [0, 2, 1], stop: [2, 3, 4], object_id: 1 },
    { kind: "scribble", points: [[0, 2, 0], [1, 2, 3]], is_positive: true, object_id: 1 },
  ]);
  assert.ok(!round.click(place, [4.01, 0], true, 1));
  assert.ok(!round.line("lasso", place, [[1, 1], [2, 1]], true, 1));
  assert.equal(shownOn(round.prompts[0], { axis: 1, index: 1 }), null);
  assert.deepEqual(shownOn(round.prompts[0], { axis: 0, index: 1 })?.points, [[3.5, 2.5]]);
});

test("the first and the last slice are one prompt, in order", () => {
  const round = new Round(SHAPE);
  round.limit({ axis: 0, index: 1 }, "first", 1);
  round.limit({ axis: 0, index: 0 }, "last", 1);
  assert.deepEqual(round.prompts, [{ kind: "limits", first: 0, last: 0, axis: 0, object_id: 1 }]);
});

test("the clock stands while there is a reason, and goes on from what was kept", () => {
  let now = 0;
  const clock = new Clock(() => now, 500);
  now = 1000;
  clock.stop("paused");
  clock.stop("hidden");
  now = 5000;
  clock.go("paused");
  now = 6000;
  clock.go("hidden");
  now = 6250;
  assert.equal(clock.seconds, 1.75);
});

import assert from "node:assert/strict";
import test from "node:test";

import { History } from "../../src/segarena_studio/static/editor/history.js";
import { paintOn, paintRegion, TOLERANCE_PX } from "../../src/segarena_studio/static/editor/mask-painting.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { isSimple } from "../../src/segarena_studio/static/editor/self-intersections.js";
import { contains, squaredFromSegment } from "../../src/segarena_studio/static/common/geometry.js";
import { documentOf, generator, gridDocument } from "./random.js";

const SIDE = 180;

function begun(document = documentOf([])) {
  const scene = Scene.read(document);
  const history = new History(scene);
  const add = (stroke, id = scene.regions[0]?.id) => history.run("paint", id ?? null, (steps) => (id ? paintOn(steps, id, stroke) : paintRegion(steps, stroke))).refusal;
  return { scene, history, add };
}

const dab = (x, y, radius, isErasing = false) => ({ points: [[x, y]], radius, isErasing });

/** The pixels of a region by brute force. */
function pixels(isIn) {
  return [...Array(SIDE * SIDE).keys()].map((at) => isIn([(at % SIDE) + 0.5, Math.floor(at / SIDE) + 0.5]));
}

function iou(one, other) {
  let [both, either] = [0, 0];
  one.forEach((value, at) => {
    both += Number(value && other[at]);
    either += Number(value || other[at]);
  });
  return both / either;
}

const isPainted = ({ points, radius }) => (at) => points.some((to, index) => squaredFromSegment(at, points[Math.max(index - 1, 0)], to) <= radius ** 2);

test("the first stroke is a new region in front, and its outline has the painted pixels", () => {
  const { scene, history, add } = begun(documentOf([[[0, 0], [9, 0], [9, 9], [0, 9]]]));
  const stroke = { points: [[50, 50], [120, 60], [120, 140]], radius: 15, isErasing: false };
  assert.equal(history.run("paint", null, (steps) => paintRegion(steps, stroke)).refusal, null);
  const [made] = scene.regions;
  assert.equal(made.id, "r2");
  assert.ok(iou(pixels((at) => contains(scene.polygon("r2"), at)), pixels(isPainted(stroke))) > 0.97);
  assert.ok(made.ring.length < 60, `${made.ring.length} vertices`);
  history.undo();
  assert.deepEqual(scene.regions.map(({ id }) => id), ["r1"]);
});

test("random strokes keep the outline simple and within the tolerance of the painted mask", () => {
  const random = generator(5);
  let done = 0;
  for (let turn = 0; turn < 5; turn++) {
    const { scene, add } = begun();
    add(dab(100, 100, 25));
    for (let step = 0; step < 4; step++) {
      const before = pixels((at) => contains(scene.polygon("r1"), at));
      const point = () => [40 + 120 * random(), 40 + 120 * random()];
      const stroke = { points: [point(), point(), point()], radius: 4 + 12 * random(), isErasing: random() < 0.4 };
      if (add(stroke) !== null) continue;
      done += 1;
      const outline = scene.polygon("r1");
      assert.ok(isSimple(outline));
      const touched = pixels(isPainted(stroke));
      const after = pixels((at) => contains(outline, at));
      // Far from the stroke nothing changes; only pieces that an erasing stroke cuts off are dropped.
      const near = pixels((at) => isPainted({ ...stroke, radius: stroke.radius + 1.5 })(at));
      const wrong = after.filter((value, at) => !stroke.isErasing && !near[at] && before[at] && !value).length;
      const missing = touched.filter((value, at) => value && !stroke.isErasing && !after[at]).length;
      const left = touched.filter((value, at) => value && stroke.isErasing && after[at]).length;
      const painted = touched.filter(Boolean).length;
      assert.ok(wrong <= 60, `${wrong} pixels lost away from the stroke`);
      assert.ok(missing < 0.06 * painted && left < 0.06 * painted, `${missing} ${left} of ${painted}`);
    }
  }
  assert.ok(done > 8, String(done));
});

test("vertices away from a stroke stay, with the borders that neighbours share", () => {
  const { scene, history, add } = begun(gridDocument(2, 1, 80, 4));
  const before = [...scene.region("r1").ring];
  const shared = scene.sharedEdges().length;
  assert.equal(add(dab(0, 40, 8), "r1"), null);
  const after = scene.region("r1").ring;
  const kept = before.filter((point) => after.includes(point));
  assert.ok(kept.length >= before.length - 2, `${kept.length} of ${before.length}`);
  assert.equal(scene.sharedEdges().length, shared);
  assert.ok(contains(scene.polygon("r1"), [-6, 40]));
  assert.equal(add(dab(-3, 40, 9.5, true), "r1"), null);
  assert.ok(!contains(scene.polygon("r1"), [4, 40]));
  history.undo();
  history.undo();
  assert.deepEqual(scene.region("r1").ring, before);
});

test("a counterclockwise outline is painted like a clockwise one", () => {
  const square = [[20, 20], [120, 20], [120, 120], [20, 120]];
  for (const outline of [square, [...square].reverse()]) {
    const { scene, add } = begun(documentOf([outline]));
    assert.equal(add(dab(120, 70, 10)), null);
    assert.ok(contains(scene.polygon("r1"), [126, 70]));
    assert.ok(square.every((corner) => scene.polygon("r1").some(([x, y]) => x === corner[0] && y === corner[1])));
  }
});

test("what one outline cannot show is rejected, and pieces cut off are told", () => {
  const { scene, history, add } = begun(documentOf([[[20, 20], [120, 20], [120, 120], [20, 120]]]));
  assert.equal(add(dab(180, 180, 8)), "apart");
  assert.equal(add(dab(70, 70, 8, true)), "hole");
  assert.equal(add(dab(70, 70, 8)), "nothing");
  assert.equal(add(dab(70, 70, 100, true)), "empty");
  let cuts = 0;
  const wall = { points: [[50, 0], [50, 140]], radius: 5, isErasing: true };
  assert.equal(history.run("paint", "r1", (steps) => paintOn(steps, "r1", wall, () => (cuts += 1))).refusal, null);
  assert.equal(cuts, 1);
  assert.ok(contains(scene.polygon("r1"), [100, 70]) && !contains(scene.polygon("r1"), [30, 70]));
  history.run("is_locked", "r1", (steps) => (steps.set("r1", "is_locked", true), null));
  assert.equal(add(dab(120, 70, 10)), "locked");
  assert.equal(TOLERANCE_PX, 1);
});

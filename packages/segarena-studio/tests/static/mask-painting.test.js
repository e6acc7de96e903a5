import assert from "node:assert/strict";
import test from "node:test";

import { History } from "../../src/segarena_studio/static/editor/history.js";
import { paintOn, paintRegion, TOLERANCE_PX } from "../../src/segarena_studio/static/editor/mask-painting.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { countHoles } from "../../src/segarena_studio/static/editor/outline-rules.js";
import { areSimple } from "../../src/segarena_studio/static/editor/self-intersections.js";
import { contains, outlinesContain, squaredFromSegment } from "../../src/segarena_studio/static/common/geometry.js";
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

test("random strokes keep outlines simple and within the tolerance of the painted mask", () => {
  const random = generator(5);
  let [done, holes, parts] = [0, 0, 0];
  for (let turn = 0; turn < 8; turn++) {
    const { scene, add } = begun();
    add(dab(100, 100, 35));
    for (let step = 0; step < 6; step++) {
      const before = pixels((at) => outlinesContain(scene.outlines("r1"), at));
      const point = () => [40 + 120 * random(), 40 + 120 * random()];
      const stroke = { points: [point(), point(), point()].slice(0, 1 + Math.floor(3 * random())), radius: 4 + 12 * random(), isErasing: random() < 0.6 };
      if (add(stroke) !== null) continue;
      done += 1;
      const outlines = scene.outlines("r1");
      assert.ok(areSimple(outlines));
      const inside = countHoles(outlines);
      holes += inside;
      parts += outlines.length - inside - 1;
      const touched = pixels(isPainted(stroke));
      const after = pixels((at) => outlinesContain(outlines, at));
      // Far from the stroke nothing changes, except that slips are dropped and surrounded places are filled.
      const near = pixels((at) => isPainted({ ...stroke, radius: stroke.radius + 1.5 })(at));
      const lost = after.filter((value, at) => !near[at] && before[at] && !value).length;
      const gained = after.filter((value, at) => !near[at] && !before[at] && value).length;
      const missing = touched.filter((value, at) => value && !stroke.isErasing && !after[at]).length;
      const left = touched.filter((value, at) => value && stroke.isErasing && after[at]).length;
      const painted = touched.filter(Boolean).length;
      assert.ok(lost <= 60, `${lost} pixels lost away from the stroke`);
      assert.ok(!stroke.isErasing || gained <= 60, `${gained} pixels gained away from the stroke`);
      const most = Math.max(0.06 * painted, 12);
      assert.ok(missing < most && left < most, `${missing} ${left} of ${painted}`);
    }
  }
  assert.ok(done > 20 && holes > 5 && parts > 5, `${done} ${holes} ${parts}`);
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

test("erasing cuts holes and parts, painting fills holes and adds parts, and all of it is undone exactly", () => {
  const { scene, history, add } = begun(documentOf([[[20, 20], [120, 20], [120, 120], [20, 120]]]));
  const shape = () => [scene.outlines("r1").length, countHoles(scene.outlines("r1"))];
  const [start, outer] = [JSON.stringify(scene.toDocument()), [...scene.region("r1").ring]];
  assert.equal(add(dab(70, 70, 8, true)), null);
  assert.deepEqual(shape(), [2, 1]);
  assert.deepEqual(scene.region("r1").ring.slice(0, 4), outer, "the outline away from the stroke stays");
  assert.ok(!outlinesContain(scene.outlines("r1"), [70, 70]) && outlinesContain(scene.outlines("r1"), [90, 70]));
  assert.equal(add(dab(70, 70, 5, true)), "nothing");
  assert.equal(add(dab(66, 70, 6)), null);
  assert.deepEqual(shape(), [2, 1], "a hole that is painted over in part becomes smaller");
  assert.ok(outlinesContain(scene.outlines("r1"), [66, 70]) && !outlinesContain(scene.outlines("r1"), [76, 70]));
  assert.equal(add(dab(160, 160, 8)), null);
  assert.deepEqual(shape(), [3, 1], "paint apart from the region is a further part");
  assert.equal(add({ points: [[40, 0], [40, 140]], radius: 4, isErasing: true }), null);
  assert.deepEqual(shape(), [4, 1], "a wall cuts the region in two");
  assert.equal(add(dab(72, 70, 12)), null);
  assert.deepEqual(shape(), [3, 0], "a hole that is painted over is gone");
  assert.equal(add(dab(100, 100, 200, true)), "empty");
  for (let step = 0; step < 5; step++) history.undo();
  assert.equal(JSON.stringify({ ...scene.toDocument(), next_id: 2 }), start);
});

test("paint around a place fills it, as before there were holes", () => {
  const { scene, add } = begun();
  add(dab(60, 60, 12));
  const circle = [...Array(40).keys()].map((step) => [60 + 30 * Math.sin(step / 6), 90 - 30 * Math.cos(step / 6)]);
  assert.equal(add({ points: circle, radius: 5, isErasing: false }), null);
  assert.ok(outlinesContain(scene.outlines("r1"), [60, 90]));
  assert.equal(countHoles(scene.outlines("r1")), 0);
});

test("a hole is not cut where a region in front covers it, because the region continues behind that one", () => {
  const square = (from, to) => [[from, from], [to, from], [to, to], [from, to]];
  const { add } = begun(documentOf([square(50, 100), square(20, 120)]));
  assert.equal(add(dab(75, 75, 8, true), "r2"), "covered");
  assert.equal(add(dab(75, 75, 8, true), "r1"), null);
  assert.equal(add(dab(100, 75, 8, true), "r2"), null, "a hole that the region in front covers in part");
});

test("locked regions are not painted on", () => {
  const { history, add } = begun(documentOf([[[20, 20], [120, 20], [120, 120], [20, 120]]]));
  history.run("is_locked", "r1", (steps) => (steps.set("r1", "is_locked", true), null));
  assert.equal(add(dab(120, 70, 10)), "locked");
  assert.equal(TOLERANCE_PX, 1);
});

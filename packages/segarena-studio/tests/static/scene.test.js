import assert from "node:assert/strict";
import test from "node:test";
import { boxOf } from "../../src/segarena_studio/static/common/geometry.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { Steps, inverse } from "../../src/segarena_studio/static/editor/scene-changes.js";
import { documentOf, generator, gridDocument, starPolygon } from "./random.js";

/** Everything that a scene keeps for speed, asked again from the rings alone. */
function assertSound(scene) {
  const byPoint = scene.points.map(() => new Set());
  for (const region of scene.regions) {
    for (const point of region.ring) byPoint[point].add(region.id);
    const polygon = region.ring.map((point) => scene.points[point]);
    assert.deepEqual(scene.polygon(region.id), polygon);
    assert.deepEqual(scene.box(region.id), boxOf(polygon));
  }
  byPoint.forEach((ids, point) => assert.deepEqual(scene.owners(point).map(({ id }) => id).sort(), [...ids].sort()));
}

/** Some change that is possible now. */
function randomStep(random, steps) {
  const { scene } = steps;
  const pick = (list) => list[Math.floor(random() * list.length)];
  const place = () => [random() * 400, random() * 300];
  const region = pick(scene.regions);
  const choice = Math.floor(random() * 8);
  if (choice === 0 || !region) steps.addRegion([0, 1, 2, 3].map(() => steps.addPoint(place())), { name: "new" }, 0);
  else if (choice === 1) steps.removeRegion(region.id);
  else if (choice === 2) steps.moveRegion(region.id, Math.floor(random() * scene.regions.length));
  else if (choice === 3) steps.set(region.id, "name", `name ${random()}`);
  else if (choice === 4) steps.splice(region.id, 1, 1, [steps.addPoint(place())]);
  else if (choice === 5) steps.splice("", scene.open.length, 0, [steps.addPoint(place())]);
  else if (choice === 6) steps.splice("", 0, 1, []);
  else if (region.ring.length) steps.movePoint(pick(region.ring), place());
}

test("what a scene keeps for speed is right after any changes, and all of them can be taken back", () => {
  const random = generator(9);
  const scene = Scene.read(gridDocument(3, 2, 50, 2));
  const before = JSON.stringify({ ...scene.toDocument(), next_id: 0 });
  const steps = new Steps(scene);
  for (let turn = 0; turn < 300; turn++) {
    randomStep(random, steps);
    if (turn % 20 === 0) assertSound(scene);
  }
  const after = JSON.stringify(scene.toDocument());
  steps.takeBack();
  assertSound(scene);
  assert.equal(JSON.stringify({ ...scene.toDocument(), next_id: 0 }), before);
  steps.doAgain();
  assert.equal(JSON.stringify(scene.toDocument()), after);
  steps.changes.forEach((change) => assert.deepEqual(inverse(inverse(change)), change));
});

test("points that nobody has are used again, so that much editing does not fill the document", () => {
  const scene = Scene.read(documentOf([[[0, 0], [9, 0], [9, 9], [0, 9]]]));
  for (let turn = 0; turn < 50; turn++) {
    const steps = new Steps(scene);
    steps.splice("r1", 1, 1, [steps.addPoint([turn, 1])]);
  }
  assert.ok(scene.points.length <= 6, String(scene.points.length));
});

test("a document comes back as it was, what is being drawn included", () => {
  const document = { ...gridDocument(2, 2, 10), open: [0, 3] };
  assert.deepEqual(Scene.read(document).toDocument(), document);
  assert.deepEqual(Scene.empty().toDocument(), { version: 1, points: [], regions: [], next_id: 1 });
});

test("a region's number is never given twice", () => {
  const scene = Scene.empty();
  const steps = new Steps(scene);
  const first = steps.addRegion([], {}, 0);
  steps.takeBack();
  assert.notEqual(new Steps(scene).addRegion([], {}, 0), first);
});

test("an outline's revision rises with it alone", () => {
  const scene = Scene.read(documentOf([[[0, 0], [9, 0], [9, 9]], [[20, 20], [29, 20], [29, 29]]]));
  const [one, other] = [scene.revisionOf("r1"), scene.revisionOf("r2")];
  const steps = new Steps(scene);
  steps.movePoint(0, [1, 1]);
  steps.set("r2", "name", "cat");
  steps.moveRegion("r2", 0);
  assert.ok(scene.revisionOf("r1") > one);
  assert.equal(scene.revisionOf("r2"), other);
});

test("sides that regions share are known, each once", () => {
  const scene = Scene.read(gridDocument(3, 2, 10));
  assert.equal(scene.sharedEdges().length, 7);
  const [[a, b]] = scene.sharedEdges();
  assert.deepEqual(scene.edgeOwners(a, b).map(({ region }) => region.id), ["r1", "r2"]);
  for (const { region, edge } of scene.edgeOwners(b, a)) {
    const ends = [region.ring[edge], region.ring[(edge + 1) % region.ring.length]];
    assert.deepEqual(ends.sort(), [a, b].sort());
  }
});

test("documents that are no scenes are refused", () => {
  const good = documentOf([starPolygon(generator(1), [50, 50], 30, 8)]);
  const bad = [
    null,
    { ...good, version: 2 },
    { ...good, points: [[1]] },
    { ...good, points: good.points.map(() => [1, NaN]) },
    { ...good, points: good.points.map(() => [1, "2"]) },
    { ...good, regions: [{ ...good.regions[0], ring: [0, 1, 8] }] },
    { ...good, regions: [{ ...good.regions[0], ring: [0, 1, -1] }] },
    { ...good, regions: [good.regions[0], good.regions[0]] },
    { ...good, regions: [{ ...good.regions[0], id: "" }] },
    { ...good, regions: [null] },
    { ...good, open: ["0"] },
    { ...good, next_id: "8" },
  ];
  assert.ok(Scene.read(good));
  for (const document of bad) assert.throws(() => Scene.read(document), RangeError, JSON.stringify(document));
});

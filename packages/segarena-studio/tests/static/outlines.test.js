import assert from "node:assert/strict";
import test from "node:test";

import { isHole, outlinesContain } from "../../src/segarena_studio/static/common/geometry.js";
import { fill } from "../../src/segarena_studio/static/common/polygon-spans.js";
import { arcs, linesBetween } from "../../src/segarena_studio/static/editor/border-tracing.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { edgeAt, regionsAt } from "../../src/segarena_studio/static/editor/hit-testing.js";
import { Depth } from "../../src/segarena_studio/static/editor/occlusion.js";
import { copyRegions, duplicateRegions, joinRegions, moveOutlines } from "../../src/segarena_studio/static/editor/region-commands.js";
import { addVertex, closeInto } from "../../src/segarena_studio/static/editor/region-drawing.js";
import { labelPlace } from "../../src/segarena_studio/static/editor/region-labels.js";
import { replaceScene } from "../../src/segarena_studio/static/editor/revision-choice.js";
import { check } from "../../src/segarena_studio/static/editor/scene-checks.js";
import { mergeScene } from "../../src/segarena_studio/static/editor/scene-merge.js";
import { diffScenes, patchScene } from "../../src/segarena_studio/static/editor/scene-patch.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { areSimple } from "../../src/segarena_studio/static/editor/self-intersections.js";
import { snap } from "../../src/segarena_studio/static/editor/snapping.js";
import { deleteOutline, deletePoints, insertVertex, movePoints } from "../../src/segarena_studio/static/editor/vertex-editing.js";
import { documentOf, generator } from "./random.js";

const square = (x, y, side) => [[x, y], [x + side, y], [x + side, y + side], [x, y + side]];

/** A frame with a hole, an island in the hole and a part apart; and a plain region behind. */
function documentWithHole() {
  const document = documentOf([[...square(10, 10, 100), ...square(30, 30, 60), ...square(50, 50, 20), ...square(130, 10, 30)], square(0, 0, 170)]);
  document.regions[0].starts = [4, 8, 12];
  return document;
}

function opened(document = documentWithHole()) {
  const scene = Scene.read(structuredClone(document));
  const history = new History(scene);
  const run = (act) => history.run("edit", null, act).refusal;
  return { scene, history, run };
}

function drawn(run, points) {
  for (const at of points) assert.equal(run((steps) => addVertex(steps, at)), null);
}

test("a document with several outlines comes back as it was, and one without keeps its form and its history", () => {
  const { scene } = opened();
  assert.deepEqual(scene.toDocument(), documentWithHole());
  const plain = opened(documentOf([square(0, 0, 50)]));
  assert.ok(!("starts" in plain.scene.toDocument().regions[0]));
  for (const starts of [[0], [4, 4], [8, 4], [16], ["4"], 4]) {
    const document = documentWithHole();
    document.regions[0].starts = starts;
    assert.throws(() => Scene.read(document), RangeError, JSON.stringify(starts));
  }
});

test("inside is what an odd number of outlines contain", () => {
  const { scene } = opened();
  const outlines = scene.outlines("r1");
  assert.deepEqual([0, 1, 2, 3].map((index) => isHole(outlines, index)), [false, true, false, false]);
  for (const [at, isIn] of [[[20, 20], true], [[40, 40], false], [[60, 60], true], [[140, 20], true], [[120, 20], false], [[30, 50], true]]) {
    assert.equal(outlinesContain(outlines, at), isIn, String(at));
  }
  assert.equal(fill(outlines, [170, 170]).area, 100 ** 2 - 60 ** 2 + 20 ** 2 + 30 ** 2);
  assert.deepEqual(regionsAt(scene, [40, 40]), ["r2"]);
  assert.deepEqual(regionsAt(scene, [60, 60]), ["r1", "r2"]);
  assert.ok(outlinesContain(outlines, labelPlace(outlines)));
});

test("the region behind shows through a hole", () => {
  const { scene } = opened();
  const depth = new Depth(scene, [170, 170]);
  assert.equal(depth.visiblePx("r2"), 170 ** 2 - (100 ** 2 - 60 ** 2 + 20 ** 2 + 30 ** 2));
  assert.deepEqual(check(scene, depth), []);
});

test("sides end where their outline ends: snapping, hit tests, inserting, tracing", () => {
  const { scene, run } = opened();
  assert.equal(snap(scene, [31, 60], [170, 170], 3).edge, 7, "the last side of the hole");
  assert.deepEqual(edgeAt(scene, [29, 60], 3, ["r1"]), { region: "r1", edge: 7, at: [30, 60] });
  assert.equal(edgeAt(scene, [80, 20], 5, ["r1"]), null, "no side joins two outlines");
  assert.equal(run((steps) => insertVertex(steps, "r1", 7, [30, 60])), null);
  assert.deepEqual(scene.region("r1").starts, [4, 9, 13]);
  assert.deepEqual(scene.outlines("r1")[1].at(-1), [30, 60]);
  const [from, to] = [scene.region("r1").ring[4], scene.region("r1").ring[6]];
  assert.equal(arcs(scene, "r1", from, to).shorter.length, 3);
  assert.throws(() => arcs(scene, "r1", scene.region("r1").ring[0], to), RangeError);
  const line = linesBetween(scene, "r1", { edge: 0, at: [20, 10] }, { edge: 4, at: [40, 30] });
  assert.deepEqual(line.shorter, [[20, 10], [40, 30]]);
});

test("an outline may not meet another one of its region", () => {
  const { scene, run } = opened();
  const hole = scene.region("r1").ring.slice(4, 8);
  assert.equal(run((steps) => movePoints(steps, hole, -25, 0)), "crosses");
  assert.equal(run((steps) => movePoints(steps, hole, -5, 0)), null);
  assert.ok(areSimple(scene.outlines("r1")));
  const document = documentWithHole();
  document.points[4] = [5, 5];
  const bad = Scene.read(document);
  assert.deepEqual(check(bad, new Depth(bad, [170, 170])).map(({ kind }) => kind), ["self-intersection"]);
});

test("a hole or part is deleted with its last vertices, or as a whole, but not the only outline", () => {
  const { scene, history, run } = opened();
  const { ring } = scene.region("r1");
  assert.equal(run((steps) => deletePoints(steps, ring.slice(4, 5))), "few");
  assert.equal(run((steps) => deletePoints(steps, ring.slice(8, 12))), null);
  assert.deepEqual(scene.region("r1").starts, [4, 8]);
  assert.equal(run((steps) => deleteOutline(steps, "r1", ring[4])), null);
  assert.equal(run((steps) => deleteOutline(steps, "r1", ring[0])), null);
  assert.equal(scene.region("r1").starts, undefined);
  assert.equal(run((steps) => deleteOutline(steps, "r1", scene.region("r1").ring[0])), "nothing");
  while (history.undo());
  assert.deepEqual(scene.toDocument(), documentWithHole());
});

test("an outline drawn inside a region is a hole, one outside is a part, and undo opens it again", () => {
  const { scene, history, run } = opened(documentOf([square(60, 60, 20), square(10, 10, 100)]));
  drawn(run, square(20, 20, 15));
  assert.equal(run((steps) => closeInto(steps, "r2")), null);
  drawn(run, square(130, 20, 10));
  assert.equal(run((steps) => closeInto(steps, "r2")), null, "no least size");
  const outlines = scene.outlines("r2");
  assert.deepEqual(outlines.map((_, index) => isHole(outlines, index)), [false, true, false]);
  history.undo();
  assert.equal(scene.open.length, 4);
  history.redo();
  assert.deepEqual(scene.region("r2").starts, [4, 8]);
  assert.equal(scene.regions.length, 2);
  for (const [outline, refusal] of [
    [square(62, 62, 10), "covered"],
    [square(100, 100, 30), "across"],
    [square(110, 30, 20), "across"],
    [square(130, 60, 10).slice(1), "few"],
  ]) {
    drawn(run, outline);
    assert.equal(run((steps) => closeInto(steps, "r2")), refusal);
    while (scene.open.length) history.undo();
  }
  assert.equal(run((steps) => (steps.set("r2", "is_locked", true), closeInto(steps, "r2"))), "locked");
});

test("moving, duplicating, copying and replacing keep all outlines", () => {
  const { scene, run } = opened();
  const extent = () => scene.outlines("r1").map((outline) => outline.map(([x, y]) => [x - 7, y + 3]));
  const before = scene.outlines("r1");
  assert.equal(run((steps) => moveOutlines(steps, ["r1"], 7, -3)), null);
  assert.deepEqual(extent(), before);
  run((steps) => (duplicateRegions(steps, ["r1"], 0), null));
  assert.deepEqual(scene.region(scene.regions[0].id).starts, [4, 8, 12]);
  const other = opened(documentOf([]));
  other.run((steps) => (copyRegions(steps, documentWithHole(), [2, 2]), null));
  assert.equal(fill(other.scene.outlines("r1"), [340, 340]).area, 4 * (100 ** 2 - 60 ** 2 + 20 ** 2 + 30 ** 2));
  other.run((steps) => replaceScene(steps, documentWithHole()));
  assert.deepEqual(other.scene.regions[0].starts, [4, 8, 12]);
});

test("regions are joined to one with all their outlines, unless these meet", () => {
  const document = documentOf([square(30, 30, 20), square(10, 10, 100), square(130, 10, 20), square(140, 10, 5)]);
  const { scene, history, run } = opened(document);
  assert.equal(run((steps) => joinRegions(steps, ["r3", "r4"])), "joined");
  assert.equal(run((steps) => joinRegions(steps, ["r1", "r2", "r3"])), null);
  assert.deepEqual(scene.regions.map(({ id, name }) => [id, name]), [["r1", "region 1"], ["r4", "region 4"]]);
  assert.deepEqual(scene.outlines("r1").map((_, index) => isHole(scene.outlines("r1"), index)), [true, false, false]);
  assert.equal(fill(scene.outlines("r1"), [170, 170]).area, 100 ** 2 - 20 ** 2 + 20 ** 2);
  history.undo();
  assert.deepEqual(scene.toDocument(), document);
});

test("saves of several outlines are patched and merged by region", () => {
  const base = documentWithHole();
  const mine = opened(base);
  mine.run((steps) => (steps.set("r2", "name", "wall"), null));
  const theirs = opened(base);
  theirs.run((steps) => deleteOutline(steps, "r1", theirs.scene.region("r1").ring[4]));
  const saved = theirs.scene.toDocument();
  assert.deepEqual(patchScene(base, diffScenes(base, saved)), saved);
  mine.run((steps) => mergeScene(steps, base, saved, "none"));
  assert.deepEqual(mine.scene.outlines("r1"), theirs.scene.outlines("r1"));
  assert.equal(mine.scene.region("r2").name, "wall");
});

test("random edits of regions with holes are undone and redone exactly, also after a reload", () => {
  const random = generator(29);
  const { scene, history, run } = opened();
  const states = [JSON.stringify(scene.toDocument())];
  for (let step = 0; step < 200; step++) {
    const { ring } = scene.region("r1");
    const place = Math.floor(random() * ring.length);
    const by = () => 8 * random() - 4;
    const acts = [
      (steps) => movePoints(steps, [ring[place]], by(), by()),
      (steps) => insertVertex(steps, "r1", place, [170 * random(), 170 * random()]),
      (steps) => deletePoints(steps, [ring[place]]),
    ];
    if (run(acts[Math.floor(random() * acts.length)]) === null) states.push(JSON.stringify(scene.toDocument()));
    assert.ok(areSimple(scene.outlines("r1")));
  }
  assert.ok(states.length > 60, String(states.length));
  const again = Scene.read(scene.toDocument());
  const restored = History.read(again, JSON.parse(JSON.stringify(history.toJSON())));
  for (const state of states.slice(0, -1).reverse()) {
    restored.undo();
    assert.deepEqual(again.toDocument(), JSON.parse(state));
  }
  for (const state of states.slice(1)) {
    restored.redo();
    assert.deepEqual(again.toDocument(), JSON.parse(state));
  }
});

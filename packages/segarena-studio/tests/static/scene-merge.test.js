import assert from "node:assert/strict";
import { test } from "node:test";

import { conflictsOf, mergeRevision } from "../../src/segarena_studio/static/editor/scene-merge.js";
import { movePoints } from "../../src/segarena_studio/static/editor/vertex-editing.js";
import { addRegion, deleteRegion, moveRegion, setField } from "../../src/segarena_studio/static/editor/region-commands.js";
import { addVertex } from "../../src/segarena_studio/static/editor/region-drawing.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { documentOf, generator, gridDocument, starPolygon } from "./random.js";

const square = (x, y) => [[x, y], [x + 20, y], [x + 20, y + 20], [x, y + 20]];
const BASE = documentOf([square(0, 0), square(50, 0), square(100, 0), square(150, 0)]);

/** The part of the editor that a merge uses. */
function editorOf(document) {
  const scene = Scene.read(document);
  const editor = { scene, history: new History(scene), selected: null, chosen: new Set(), isHolding: false, tool: { name: "adjust" }, changed: () => {} };
  return { ...editor, useTool: (name) => (editor.tool.name = name) };
}

/** The drawing after edits. */
function after(document, ...acts) {
  const editor = editorOf(document);
  edit(editor, ...acts);
  return editor.scene.toDocument();
}

function edit({ history }, ...acts) {
  for (const act of acts) assert.equal(history.run("edit", null, act).refusal, null);
}

/** Regions in order, each with its name and coordinates. */
function shown(scene) {
  return scene.regions.map(({ id, name }) => [id, name, scene.polygon(id)]);
}

/** Merge drawings without a preference. */
function merge(mine, theirs, base = BASE, preference = "none") {
  const editor = editorOf(base);
  edit(editor, ...mine);
  const other = after(base, ...theirs);
  const renamed = [];
  const outcome = mergeRevision(editor, base, other, preference, (...ids) => renamed.push(ids));
  return { ...editor, other, outcome, renamed };
}

const renames = (id, name) => (steps) => setField(steps, id, "name", name);
const moves = (id, corner, dx, dy) => (steps) => movePoints(steps, [steps.scene.region(id).ring[corner]], dx, dy);
const deletes = (id) => (steps) => deleteRegion(steps, id);
const brings = (id, place) => (steps) => moveRegion(steps, id, place);
const draws = (x, y) => (steps) => addRegion(steps, square(x, y));

test("edits of different regions are merged in one step, and undo takes theirs out", () => {
  const { scene, history, outcome } = merge([renames("r1", "mine"), moves("r2", 0, 3, 3)], [moves("r3", 1, 5, 5), renames("r4", "theirs")]);
  assert.equal(outcome, "merged");
  assert.deepEqual(shown(scene), [
    ["r1", "mine", square(0, 0)],
    ["r2", "region 2", [[53, 3], ...square(50, 0).slice(1)]],
    ["r3", "region 3", [[100, 0], [125, 5], [120, 20], [100, 20]]],
    ["r4", "theirs", square(150, 0)],
  ]);
  assert.equal(history.undo().kind, "merge");
  assert.deepEqual(scene.polygon("r3"), square(100, 0));
  assert.equal(scene.region("r1").name, "mine");
  history.redo();
  history.undo();
  history.undo();
  assert.deepEqual(scene.polygon("r2"), square(50, 0));
});

test("regions that both added stay both, and mine gets another id with its steps and log", () => {
  const { scene, history, renamed } = merge([draws(0, 100), renames("r5", "mine")], [draws(50, 100), renames("r5", "theirs")]);
  assert.deepEqual(renamed, [["r5", "r6"]]);
  const names = Object.fromEntries(scene.regions.map(({ id, name }) => [id, name]));
  assert.deepEqual([names.r5, names.r6, scene.regions.length], ["theirs", "mine", 6]);
  assert.deepEqual(scene.polygon("r6"), square(0, 100));
  for (const kind of ["merge", "edit", "edit"]) assert.equal(history.undo().kind, kind);
  assert.deepEqual(shown(scene), shown(Scene.read(BASE)));
  history.redo();
  assert.equal(scene.regions.find(({ id }) => id === "r6").name, "");
  assert.equal(scene.nextId, 7);
});

test("only what both changed differently is a conflict, and then nothing changes", () => {
  const cases = [
    [[renames("r1", "a")], [renames("r1", "b")], ["r1"]],
    [[renames("r1", "a")], [moves("r1", 0, 1, 1)], ["r1"]],
    [[deletes("r2")], [renames("r2", "b")], ["r2"]],
    [[renames("r2", "b")], [deletes("r2")], ["r2"]],
    [[brings("r4", 0)], [brings("r4", 1)], ["r4"]],
    [[renames("r1", "a")], [renames("r1", "a"), renames("r2", "b")], []],
    [[deletes("r2")], [deletes("r2")], []],
    [[brings("r4", 0)], [brings("r4", 0)], []],
    [[brings("r4", 0)], [brings("r1", 3)], []],
    [[(steps) => addVertex(steps, [5, 5])], [(steps) => addVertex(steps, [9, 9])], [""]],
    [[(steps) => addVertex(steps, [5, 5])], [renames("r1", "a")], []],
  ];
  for (const [mine, theirs, expected] of cases) {
    assert.deepEqual(conflictsOf(BASE, after(BASE, ...mine), after(BASE, ...theirs)), expected);
    const { scene, outcome } = merge(mine, theirs);
    assert.equal(outcome, expected.length ? "conflict" : "merged");
    if (expected.length) assert.deepEqual(shown(scene), shown(Scene.read(after(BASE, ...mine))));
  }
});

test("with a preference the conflicts alone are decided by it", () => {
  const mine = [renames("r1", "mine"), renames("r2", "mine")];
  const theirs = [renames("r1", "theirs"), renames("r3", "theirs"), deletes("r4")];
  const namesIn = ({ scene }) => scene.regions.map(({ name }) => name);
  assert.deepEqual(namesIn(merge(mine, theirs, BASE, "mine")), ["mine", "mine", "theirs"]);
  assert.deepEqual(namesIn(merge(mine, theirs, BASE, "theirs")), ["theirs", "mine", "theirs"]);
  assert.deepEqual(namesIn(merge([deletes("r1")], [renames("r1", "theirs")], BASE, "theirs")).at(0), "theirs");
  assert.equal(namesIn(merge([renames("r1", "mine")], [deletes("r1")], BASE, "theirs")).includes("mine"), false);
});

test("vertices that regions share stay shared", () => {
  const base = gridDocument(3, 1, 50);
  // Theirs: the left border of r3 moves, which it shares with r2.
  const { scene } = merge([renames("r1", "mine")], [moves("r2", 1, 4, 0)], base);
  assert.deepEqual(scene.polygon("r2"), [[50, 0], [104, 0], [100, 50], [50, 50]]);
  const corner = scene.region("r2").ring[1];
  assert.deepEqual(scene.owners(corner).map(({ id }) => id), ["r2", "r3"]);
  assert.deepEqual(scene.owners(scene.region("r1").ring[1]).map(({ id }) => id), ["r1", "r2"]);
  assert.equal(scene.sharedEdges().length, 2);
});

test("while something is dragged nothing is merged", () => {
  const editor = editorOf(BASE);
  editor.isHolding = true;
  assert.equal(mergeRevision(editor, BASE, after(BASE, renames("r1", "theirs")), "none"), "busy");
  editor.isHolding = false;
  editor.history.start("move", "r1");
  assert.equal(mergeRevision(editor, BASE, after(BASE, renames("r1", "theirs")), "none"), "busy");
});

test("both sides of a merge come to the same drawing, whatever they changed", () => {
  const random = generator(11);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const editOf = (ids) => {
    const id = pick(ids);
    return pick([
      renames(id, `name ${random()}`),
      moves(id, 0, Math.ceil(random() * 9), Math.ceil(random() * 9)),
      (steps) => setField(steps, id, "is_stuff", !steps.scene.region(id).is_stuff),
      (steps) => addRegion(steps, starPolygon(random, [300 * random(), 200 * random()], 30, 9)),
    ]);
  };
  for (let number = 0; number < 200; number += 1) {
    const base = gridDocument(4, 2, 40);
    // r1 and r2 have no vertex in common with the neighbours of r8, so nobody changes a region of the other.
    const mine = Array.from({ length: 3 }, () => editOf(["r1", "r2"]));
    const theirs = Array.from({ length: 3 }, () => editOf(["r8"]));
    const [one, other] = [after(base, ...mine), after(base, ...theirs)];
    if (conflictsOf(base, one, other).length) continue;
    const sides = [[one, other], [other, one]].map(([own, their]) => {
      const editor = editorOf(own);
      assert.equal(mergeRevision(editor, base, their, "none"), "merged");
      return editor.scene;
    });
    const [first, second] = sides.map((scene) => scene.regions.map(({ name, id, is_stuff }) => JSON.stringify([name, is_stuff, scene.polygon(id)])).sort());
    assert.deepEqual(first, second);
    assert.equal(new Set(sides[0].regions.map(({ id }) => id)).size, sides[0].regions.length);
    assert.equal(sides[0].sharedEdges().length, sides[1].sharedEdges().length);
    Scene.read(sides[0].toDocument());
  }
});

import assert from "node:assert/strict";
import test from "node:test";
import { deletePoints, insertVertex, movePoints } from "../../src/segarena_studio/static/editor/vertex-editing.js";
import { addRegion, deleteRegion, moveRegion, setField } from "../../src/segarena_studio/static/editor/region-commands.js";
import { addSnapped, addVertex, closeOpen, removeLastVertex } from "../../src/segarena_studio/static/editor/region-drawing.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { nearestLine } from "../../src/segarena_studio/static/editor/snapping.js";
import { generator, gridDocument, starPolygon } from "./random.js";

const SIZE = [400, 300];

/** One of everything that people do, as chance has it. */
function randomEdit(random, history) {
  const { scene } = history;
  const pick = (list) => list[Math.floor(random() * list.length)];
  const at = [Math.round(random() * 400), Math.round(random() * 300)];
  const id = pick(scene.regions)?.id ?? null;
  const ring = id === null ? [] : scene.region(id).ring;
  const acts = [
    (steps) => addVertex(steps, at),
    (steps) => addVertex(steps, at),
    (steps) => addSnapped(steps, nearestLine(scene, at, SIZE)),
    (steps) => addSnapped(steps, nearestLine(scene, at, SIZE)),
    (steps) => closeOpen(steps, { size: SIZE }),
    (steps) => removeLastVertex(steps),
    (steps) => addRegion(steps, starPolygon(random, at, 40, 9)),
    (steps) => movePoints(steps, [pick(ring)], random() * 9, random() * 9, { only: random() < 0.3 ? id : null }),
    (steps) => insertVertex(steps, id, 0, at),
    (steps) => deletePoints(steps, [pick(ring)]),
    (steps) => deleteRegion(steps, id),
    (steps) => moveRegion(steps, id, 0),
    (steps) => setField(steps, id, "name", `name ${at}`),
    (steps) => setField(steps, id, "is_locked", random() < 0.2),
  ];
  const needsRegion = id === null ? 7 : acts.length;
  return history.run("something", id, acts[Math.floor(random() * needsRegion)]);
}

const textOf = (scene) => JSON.stringify({ ...scene.toDocument(), next_id: 0 });

test("everything can be taken back to the beginning and done again, also after a reload half way", () => {
  const random = generator(10);
  let scene = Scene.read(gridDocument(3, 2, 60, 2));
  let history = new History(scene);
  const states = [textOf(scene)];
  for (let turn = 0; turn < 400; turn++) if (randomEdit(random, history).done) states.push(textOf(scene));
  assert.ok(states.length > 150, String(states.length));
  for (let place = states.length - 1; place >= 0; place--) {
    assert.equal(textOf(scene), states[place]);
    if (place === 90) {
      const saved = JSON.parse(JSON.stringify({ scene: scene.toDocument(), history: history.toJSON() }));
      scene = Scene.read(saved.scene);
      history = History.read(scene, saved.history);
    }
    assert.equal(history.undo() !== null, place > 0);
  }
  for (const state of states.slice(1)) {
    assert.deepEqual(history.redo()?.kind, "something");
    assert.equal(textOf(scene), state);
  }
  assert.equal(history.redo(), null);
});

test("what is refused leaves nothing behind", () => {
  const random = generator(11);
  const scene = Scene.read(gridDocument(3, 2, 60, 2));
  const history = new History(scene);
  let refused = 0;
  for (let turn = 0; turn < 400; turn++) {
    const before = textOf(scene);
    const { done, refusal } = randomEdit(random, history);
    assert.equal(done, refusal === null);
    if (done) continue;
    refused += 1;
    assert.equal(textOf(scene), before);
  }
  assert.ok(refused > 30, String(refused));
});

test("something new forgets what was taken back", () => {
  const scene = Scene.empty();
  const history = new History(scene);
  const add = (at) => history.run("add vertex", null, (steps) => addVertex(steps, at));
  add([1, 1]);
  add([2, 2]);
  assert.deepEqual(history.undo(), { kind: "add vertex", region: null });
  assert.ok(history.canRedo);
  add([3, 3]);
  assert.ok(!history.canRedo);
  assert.deepEqual(scene.openPolygon(), [[1, 1], [3, 3]]);
});

test("a drag is one edit, shows what is refused, and ends at the last that was not", () => {
  const scene = Scene.read(gridDocument(1, 1, 100));
  const told = [];
  const history = new History(scene);
  history.onEdit = (edit) => told.push(edit);
  const live = history.start("move", "r1");
  const [corner] = scene.region("r1").ring;
  assert.equal(live.set((steps) => movePoints(steps, [corner], 10, 10)), null);
  assert.equal(live.set((steps) => movePoints(steps, [corner], 20, 30)), null);
  assert.equal(live.set((steps) => movePoints(steps, [corner], 500, 20)), "crosses");
  assert.deepEqual(scene.polygon("r1")[0], [500, 20]);
  live.commit();
  assert.deepEqual(scene.polygon("r1")[0], [20, 30]);
  assert.deepEqual(told, [{ kind: "move", region: "r1", way: "do" }]);
  history.undo();
  assert.deepEqual(scene.polygon("r1")[0], [0, 0]);
  assert.ok(!history.canUndo);
});

test("a drag that is left, or interrupted by something else, changes nothing", () => {
  const scene = Scene.read(gridDocument(1, 1, 100));
  const history = new History(scene);
  const before = textOf(scene);
  for (const end of [(live) => live.cancel(), () => history.undo(), () => history.start("other", null).cancel()]) {
    const live = history.start("move", "r1");
    live.set((steps) => movePoints(steps, [0], 10, 10));
    end(live);
    live.commit();
    assert.equal(textOf(scene), before);
    assert.ok(!history.canUndo);
  }
});

test("what is kept has a limit, and the oldest goes first", () => {
  const scene = Scene.empty();
  const history = new History(scene);
  for (let x = 0; x < 500; x++) history.run("add vertex", null, (steps) => addVertex(steps, [x, x * x]));
  const kept = JSON.parse(JSON.stringify(history.toJSON(10_000)));
  const length = JSON.stringify(kept).length;
  assert.ok(length <= 10_000 && length > 9_000, String(length));
  const read = History.read(Scene.read(scene.toDocument()), kept);
  assert.ok(read.canUndo);
  while (read.undo()) assert.ok(read.scene.open.length < 500);
  assert.equal(read.scene.open.length, 500 - kept.done.length);
});

test("a history of another scene is not taken", () => {
  const scene = Scene.empty();
  const history = new History(scene);
  history.run("add vertex", null, (steps) => addVertex(steps, [1, 1]));
  const json = history.toJSON();
  assert.ok(History.read(scene, json).canUndo);
  assert.ok(!History.read(Scene.empty(), json).canUndo);
  for (const wrong of [null, undefined, {}, { version: 1 }, "text"]) assert.ok(!History.read(scene, wrong).canUndo);
});

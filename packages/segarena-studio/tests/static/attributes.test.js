import assert from "node:assert/strict";
import test from "node:test";

import { describeValues } from "../../src/segarena_studio/static/editor/attribute-fields.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { duplicateRegions, setAttribute } from "../../src/segarena_studio/static/editor/region-commands.js";
import { conflictsOf, mergeScene } from "../../src/segarena_studio/static/editor/scene-merge.js";
import { diffScenes, patchScene } from "../../src/segarena_studio/static/editor/scene-patch.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { gridDocument } from "./random.js";

const OLD = gridDocument(2, 1, 100);
/** Computed before there were attributes. */
const STAMP = 572771923;

function begun(document = OLD) {
  const scene = Scene.read(structuredClone(document));
  const history = new History(scene);
  const set = (id, name, value) => history.run("attribute", id, (steps) => setAttribute(steps, id, name, value)).refusal;
  return { scene, history, set };
}

test("drawings without attributes are read, written and recognised as before", () => {
  const { scene, history, set } = begun();
  assert.deepEqual(JSON.parse(JSON.stringify(scene.toDocument())), OLD);
  const stamp = history.toJSON().stamp;
  set("r1", "view", "side");
  assert.notEqual(history.toJSON().stamp, stamp);
  history.undo();
  assert.deepEqual(JSON.parse(JSON.stringify(scene.toDocument())), OLD);
  assert.equal(history.toJSON().stamp, stamp);
});

test("the fingerprint of a drawing without attributes stays that of earlier versions", () => {
  assert.equal(begun().history.toJSON().stamp, STAMP);
});

test("attributes are set, removed, undone and stored", () => {
  const { scene, history, set } = begun();
  assert.equal(set("r1", "view", "side"), null);
  assert.equal(set("r1", "occluded", true), null);
  assert.equal(set("r1", "occluded", true), "nothing");
  assert.equal(set("r2", "occluded", false), "nothing");
  assert.equal(set("r1", "view", ""), null);
  assert.deepEqual(scene.toDocument().regions[0].attributes, { occluded: true });
  history.undo();
  assert.deepEqual(scene.toDocument().regions[0].attributes, { occluded: true, view: "side" });
  const read = Scene.read(JSON.parse(JSON.stringify(scene.toDocument())));
  const again = History.read(read, JSON.parse(JSON.stringify(history.toJSON())));
  again.undo();
  again.undo();
  assert.deepEqual(JSON.parse(JSON.stringify(read.toDocument())), OLD);
  again.redo();
  assert.deepEqual(read.region("r1").attributes, { view: "side" });
  history.run("lock", "r2", (steps) => (steps.set("r2", "is_locked", true), null));
  assert.equal(set("r2", "view", "rear"), "locked");
});

test("a patch carries attributes", () => {
  const { scene, set } = begun();
  set("r2", "view", "rear");
  const patch = JSON.parse(JSON.stringify(diffScenes(OLD, scene.toDocument())));
  assert.deepEqual(patch.regions.map(({ id }) => id), ["r2"]);
  assert.deepEqual(patchScene(OLD, patch), JSON.parse(JSON.stringify(scene.toDocument())));
});

test("attributes of different regions are merged, and different ones of the same region conflict", () => {
  const [mine, theirs, same] = [begun(), begun(), begun()];
  mine.set("r1", "view", "side");
  theirs.set("r2", "occluded", true);
  const other = JSON.parse(JSON.stringify(theirs.scene.toDocument()));
  assert.deepEqual(conflictsOf(OLD, mine.scene.toDocument(), other), []);
  mine.history.run("merge", null, (steps) => mergeScene(steps, OLD, other, "none"));
  assert.deepEqual(mine.scene.toDocument().regions.map(({ attributes }) => attributes), [{ view: "side" }, { occluded: true }]);
  mine.history.undo();
  assert.deepEqual(mine.scene.toDocument().regions.map(({ attributes }) => attributes), [{ view: "side" }, undefined]);
  same.set("r1", "view", "rear");
  assert.deepEqual(conflictsOf(OLD, mine.scene.toDocument(), same.scene.toDocument()), ["r1"]);
  assert.deepEqual(conflictsOf(OLD, mine.scene.toDocument(), mine.scene.toDocument()), []);
});

test("a duplicate has the attributes of its original, as its own", () => {
  const { scene, history, set } = begun();
  set("r1", "view", "side");
  history.run("duplicate", null, (steps) => (duplicateRegions(steps, ["r1"], 5), null));
  set("r3", "view", "rear");
  assert.deepEqual(scene.region("r1").attributes, { view: "side" });
  assert.deepEqual(scene.region("r3").attributes, { view: "rear" });
});

test("values are described for people", () => {
  assert.equal(describeValues({ occluded: true, view: "side" }), "occluded, view: side");
  assert.equal(describeValues(undefined), "");
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { diffDrafts, diffScenes, patchScene } from "../../src/segarena_studio/static/editor/scene-patch.js";
import { deletePoints, insertVertex, movePoints } from "../../src/segarena_studio/static/editor/vertex-editing.js";
import { addRegion, deleteRegion, moveRegion, setField } from "../../src/segarena_studio/static/editor/region-commands.js";
import { addVertex } from "../../src/segarena_studio/static/editor/region-drawing.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { documentOf, generator, gridDocument, starPolygon } from "./random.js";

/** One of everything that changes a scene, as chance has it. */
function randomEdit(random, history) {
  const { scene } = history;
  const pick = (list) => list[Math.floor(random() * list.length)];
  const at = [Math.round(random() * 400), Math.round(random() * 300)];
  const id = pick(scene.regions)?.id ?? null;
  const acts = [
    (steps) => addVertex(steps, at),
    (steps) => addRegion(steps, starPolygon(random, at, 40, 9)),
    (steps) => movePoints(steps, [pick(scene.region(id).ring)], random() * 9, random() * 9, { only: random() < 0.3 ? id : null }),
    (steps) => insertVertex(steps, id, 0, at),
    (steps) => deletePoints(steps, [pick(scene.region(id).ring)]),
    (steps) => deleteRegion(steps, id),
    (steps) => moveRegion(steps, id, 0),
    (steps) => setField(steps, id, "name", `name ${at}`),
  ];
  if (random() < 0.15) return history.undo();
  if (random() < 0.1) return history.redo();
  return history.run("something", id, acts[Math.floor(random() * (id === null ? 2 : acts.length))]);
}

/** What the server makes of a patch of a list. */
const patched = (list, { first, count, added }) => [...list.slice(first, first + count), ...added];

test("the difference of two drafts leads from one to the other, for drawing and undo history", () => {
  const random = generator(5);
  for (let number = 0; number < 40; number += 1) {
    const scene = Scene.read(gridDocument(3, 2, 60, 2));
    const history = new History(scene);
    const content = () => structuredClone({ scene: scene.toDocument(), history: history.toJSON(number % 3 ? 2e6 : 3000) });
    let before = content();
    for (let save = 0; save < 12; save += 1) {
      for (let edits = Math.floor(random() * 5); edits > 0; edits -= 1) randomEdit(random, history);
      const after = content();
      const patch = structuredClone(diffDrafts(before, after));
      assert.deepEqual(patchScene(before.scene, patch.scene), after.scene);
      for (const list of ["done", "undone"]) assert.deepEqual(patched(before.history[list], patch.history[list]), after.history[list]);
      assert.equal(patch.history.stamp, after.history.stamp);
      before = after;
    }
  }
});

test("one edit of a large scene takes a kilobyte or two instead of the whole drawing", () => {
  const random = generator(7);
  const scene = Scene.read(documentOf(Array.from({ length: 300 }, () => starPolygon(random, [2000 * random(), 1500 * random()], 90, 100))));
  const history = new History(scene);
  const content = () => ({ scene: scene.toDocument(), history: history.toJSON() });
  const edits = [
    (steps) => movePoints(steps, [scene.region("r150").ring[7]], 3, 4),
    (steps) => setField(steps, "r9", "name", "tree"),
    (steps) => moveRegion(steps, "r200", 3),
  ];
  for (const act of edits) {
    const before = content();
    assert.ok(history.run("edit", "r150", act).done);
    const sent = JSON.stringify(diffDrafts(before, content()));
    assert.ok(sent.length < 3000 && 100 * sent.length < JSON.stringify(content()).length, `${sent.length} bytes`);
  }
});

test("what is no document of this editor is not patched", () => {
  const document = documentOf([[[0, 0], [9, 0], [9, 9]]]);
  for (const other of [null, { n: 1 }, { ...document, version: 2 }, { ...document, more: 1 }]) {
    assert.equal(diffScenes(document, other), null);
    assert.equal(diffScenes(other, document), null);
  }
});

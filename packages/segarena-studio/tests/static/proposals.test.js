import assert from "node:assert/strict";
import test from "node:test";
import { addVertex, closeOpen, addSnapped } from "../../src/segarena_studio/static/editor/region-drawing.js";
import { acceptProposals, proposalsIn } from "../../src/segarena_studio/static/editor/proposals.js";
import { check } from "../../src/segarena_studio/static/editor/scene-checks.js";
import { copyRegions, setField } from "../../src/segarena_studio/static/editor/region-commands.js";
import { Depth } from "../../src/segarena_studio/static/editor/occlusion.js";
import { diffScenes, patchScene } from "../../src/segarena_studio/static/editor/scene-patch.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { conflictsOf, mergeRevision, mergeScene } from "../../src/segarena_studio/static/editor/scene-merge.js";
import { openPicture } from "../../src/segarena_studio/static/editor/open-picture.js";
import { deletePoints, insertVertex, movePoints } from "../../src/segarena_studio/static/editor/vertex-editing.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";

const FIELDS = { name: "disc", is_stuff: false, is_hidden: false, is_locked: false };

/** Two boxes: r4-1 is a proposal, r4-2 was drawn. */
function frame() {
  const points = [[10, 10], [60, 10], [60, 60], [35, 70], [10, 60], [100, 10], [150, 10], [150, 60], [100, 60], [0, 0]]; // prettier-ignore
  return {
    version: 1,
    points,
    regions: [
      { id: "r4-1", ring: [0, 1, 2, 3, 4], ...FIELDS, propagation: "proposed" },
      { id: "r4-2", ring: [5, 6, 7, 8], ...FIELDS, name: "box" },
    ],
    next_id: 3,
  };
}

function opened(document = frame()) {
  const scene = Scene.read(document);
  return { scene, history: new History(scene) };
}

const stateOf = (scene, id = "r4-1") => scene.region(id).propagation || "drawn";

test("whether a region is proposed is stored, and a region that a person drew is stored as before", () => {
  const { scene } = opened();
  const [proposal, drawn] = scene.toDocument().regions;
  assert.equal(proposal.propagation, "proposed");
  assert.deepEqual(Object.keys(drawn), ["id", "ring", "name", "is_stuff", "is_hidden", "is_locked"]);
  assert.deepEqual(proposalsIn(scene), ["r4-1"]);
  assert.deepEqual(proposalsIn(scene, ["r4-2"]), []);
});

test("fingerprints tell proposals from accepted and drawn regions, and survive a reload", () => {
  const stamps = ["proposed", "accepted", ""].map((propagation) => {
    const document = frame();
    document.regions[0].propagation = propagation;
    return opened(document).history.toJSON().stamp;
  });
  assert.equal(new Set(stamps).size, 3);
  const without = frame();
  delete without.regions[0].propagation;
  assert.equal(opened(without).history.toJSON().stamp, stamps[2]);
});

test("proposals are accepted as one step, which can be undone", () => {
  const { scene, history } = opened();
  assert.equal(history.run("accept", null, (steps) => acceptProposals(steps, ["r4-1", "r4-2"])).refusal, null);
  assert.deepEqual([stateOf(scene), stateOf(scene, "r4-2")], ["accepted", "drawn"]);
  assert.equal(history.run("accept", null, (steps) => acceptProposals(steps, ["r4-1"])).refusal, "nothing");
  const saved = JSON.parse(JSON.stringify({ scene: scene.toDocument(), history: history.toJSON() }));
  const again = Scene.read(saved.scene);
  const reread = History.read(again, saved.history);
  reread.undo();
  assert.equal(stateOf(again), "proposed");
  reread.redo();
  assert.equal(stateOf(again), "accepted");
});

test("every change of an outline makes a proposal a key frame in the same step", () => {
  const edits = {
    move: (steps) => movePoints(steps, [2], 5, 5),
    insert: (steps) => insertVertex(steps, "r4-1", 0, [35, 5]),
    delete: (steps) => deletePoints(steps, [2]),
    hole: (steps) => steps.setOutlines("r4-1", [[0, 1, 2, 3, 4], [5, 6, 7, 8]]) ?? null,
  };
  for (const [name, edit] of Object.entries(edits)) {
    for (const propagation of ["proposed", "accepted"]) {
      const document = frame();
      document.regions[0].propagation = propagation;
      const { scene, history } = opened(document);
      assert.equal(history.run(name, "r4-1", edit).refusal, null, name);
      assert.equal(stateOf(scene), "drawn", name);
      history.undo();
      assert.equal(stateOf(scene), propagation, name);
      history.redo();
      assert.equal(stateOf(scene), "drawn", name);
    }
  }
});

test("names, other regions and a neighbour drawn along its side leave a proposal as it is", () => {
  const { scene, history } = opened();
  history.run("name", "r4-1", (steps) => setField(steps, "r4-1", "name", "ball"));
  history.run("move", "r4-2", (steps) => movePoints(steps, [5], 3, 3));
  assert.equal(stateOf(scene), "proposed");
  // Point 9 is free, so the new vertex on the side gets its number.
  const target = { kind: "edge", at: [60, 30], point: null, region: "r4-1", edge: 1 };
  assert.equal(history.run("vertex", null, (steps) => addSnapped(steps, target)).refusal, null);
  assert.equal(scene.region("r4-1").ring.length, 6);
  assert.equal(stateOf(scene), "proposed");
  for (const at of [[90, 30], [90, 80], [60, 80]]) history.run("vertex", null, (steps) => addVertex(steps, at)); // prettier-ignore
  assert.equal(history.run("close", null, (steps) => closeOpen(steps, { size: [200, 100] })).refusal, null);
  assert.equal(stateOf(scene), "proposed");
});

test("a rejected edit leaves a proposal", () => {
  const { scene, history } = opened();
  history.run("move", "r4-1", (steps) => movePoints(steps, [0], 5, 5) ?? "crosses");
  assert.equal(stateOf(scene), "proposed");
  assert.equal(history.canUndo, false);
});

test("revisions from elsewhere are merged with their proposals", () => {
  const ancestor = frame();
  const theirs = frame();
  theirs.regions[0].propagation = "accepted";
  const { scene, history } = opened();
  history.run("move", "r4-2", (steps) => movePoints(steps, [5], 3, 3));
  assert.deepEqual(conflictsOf(ancestor, scene.toDocument(), theirs), []);
  history.run("merge", null, (steps) => mergeScene(steps, ancestor, theirs, "none"));
  assert.deepEqual([stateOf(scene), stateOf(scene, "r4-2")], ["accepted", "drawn"]);
  // New outlines of a proposal stay a proposal.
  const moved = frame();
  moved.points[2] = [70, 70];
  const other = opened();
  other.history.run("merge", null, (steps) => mergeScene(steps, ancestor, moved, "none"));
  assert.deepEqual([stateOf(other.scene), other.scene.polygon("r4-1")[2]], ["proposed", [70, 70]]);
  // Both have changed it.
  other.history.run("move", "r4-1", (steps) => movePoints(steps, [0], 3, 3));
  assert.deepEqual(conflictsOf(ancestor, other.scene.toDocument(), theirs), ["r4-1"]);
});

test("patches contain whether a region was accepted", () => {
  const { scene, history } = opened();
  const before = scene.toDocument();
  history.run("accept", null, (steps) => acceptProposals(steps, ["r4-1"]));
  const patch = diffScenes(before, scene.toDocument());
  assert.deepEqual(patch.regions.map(({ id, propagation }) => [id, propagation]), [["r4-1", "accepted"]]);
  assert.deepEqual(patchScene(before, patch), scene.toDocument());
}); // prettier-ignore

test("new regions of a frame have ids that no other frame uses", () => {
  const { scene, history } = opened();
  scene.idPrefix = "r12-";
  for (const at of [[10, 80], [60, 80], [60, 95], [10, 95]]) history.run("vertex", null, (steps) => addVertex(steps, at)); // prettier-ignore
  history.run("close", null, (steps) => closeOpen(steps, { size: [200, 100] }));
  assert.deepEqual(scene.regions.map(({ id }) => id), ["r12-3", "r4-1", "r4-2"]); // prettier-ignore
});

test("regions copied from another frame keep their ids, and those that are here already stay", () => {
  const { scene, history } = opened({ version: 1, points: [[0, 0], [50, 0], [50, 50], [0, 50]], regions: [{ id: "r4-2", ring: [0, 1, 2, 3], ...FIELDS }], next_id: 1 }); // prettier-ignore
  let copies = [];
  history.run("copy", null, (steps) => {
    copies = copyRegions(steps, frame(), [1, 1], { isTrack: true });
    return null;
  });
  assert.deepEqual(copies, ["r4-1"]);
  assert.deepEqual(scene.regions.map(({ id, name }) => [id, name]), [["r4-1", "disc"], ["r4-2", "disc"]]); // prettier-ignore
  assert.equal(stateOf(scene), "drawn", "a person has put it here");
  assert.deepEqual(scene.polygon("r4-2")[1], [50, 0]);
});

test("a proposal is a problem until somebody accepts it", () => {
  const { scene, history } = opened();
  const problems = () => check(scene, new Depth(scene, [200, 100])).filter(({ kind }) => kind === "proposed");
  assert.deepEqual(problems().map(({ regions, severity }) => [regions, severity]), [[["r4-1"], "error"]]); // prettier-ignore
  history.run("accept", null, (steps) => acceptProposals(steps, ["r4-1"]));
  assert.deepEqual(problems(), []);
});

test("proposals that have arrived since the last edit are a step of the undo history", async () => {
  const drawn = frame();
  drawn.regions.shift();
  const { scene, history } = opened(drawn);
  history.run("move", "r4-2", (steps) => movePoints(steps, [5], 3, 3));
  const edited = scene.toDocument();
  const proposed = { ...edited, regions: [frame().regions[0], ...edited.regions] };
  const told = { revision: 7, id: "track-7", scene: proposed, history: history.toJSON(), edited: diffScenes(proposed, edited), is_open: true };
  const talk = { ask: async () => ({ outcome: "done", body: JSON.parse(JSON.stringify(told)) }) };
  const { content, start } = await openPicture({ talk, drafts: { of: async () => [] }, tabs: {}, person: 1, task: "4" });
  const now = Scene.read(content.scene);
  const again = History.read(now, content.history);
  const editor = { scene: now, history: again, isHolding: false, chosen: new Set(), tool: { name: "adjust" }, changed: () => {} };
  assert.equal(mergeRevision(editor, start.ancestor, start.theirs.scene, "none"), "merged");
  assert.deepEqual([start.base, stateOf(now), now.regions.map(({ id }) => id)], [7, "proposed", ["r4-1", "r4-2"]]); // prettier-ignore
  assert.equal(again.undo().kind, "merge");
  assert.deepEqual(now.regions.map(({ id }) => id), ["r4-2"]); // prettier-ignore
  assert.equal(again.undo().kind, "move");
  assert.deepEqual(now.polygon("r4-2")[0], [100, 10]);
});

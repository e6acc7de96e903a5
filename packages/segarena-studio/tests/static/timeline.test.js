import assert from "node:assert/strict";
import test from "node:test";
import { finishedText, markOf, neighbour, resultOf, tracksOf, videoActions } from "../../src/segarena_studio/static/editor/timeline.js";
import { videoOf } from "../../src/segarena_studio/static/editor/picture-picker.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";

const FIELDS = { name: "disc", is_stuff: false, is_hidden: false, is_locked: false };

function scene(...propagations) {
  const points = propagations.flatMap((_, at) => [[50 * at, 0], [50 * at + 40, 0], [50 * at + 40, 40], [50 * at, 40]]); // prettier-ignore
  const regions = propagations.map((propagation, at) => ({ id: `r1-${at}`, ring: [0, 1, 2, 3].map((place) => 4 * at + place), ...FIELDS, propagation }));
  return Scene.read({ version: 1, points, regions, next_id: regions.length });
}

test("a frame is marked by the selected region, or by the one that matters most", () => {
  const tracks = tracksOf(scene("proposed", "accepted", ""));
  assert.deepEqual(tracks, { "r1-0": "proposed", "r1-1": "accepted", "r1-2": "drawn" });
  assert.deepEqual(["r1-0", "r1-1", "r1-2", "r1-9"].map((id) => markOf(tracks, id)), ["proposed", "accepted", "drawn", "absent"]); // prettier-ignore
  assert.equal(markOf(tracks, null), "proposed");
  assert.equal(markOf({ a: "accepted", b: "drawn" }, null), "drawn");
  assert.equal(markOf({}, null), "absent");
});

test("steps end at the first and the last frame", () => {
  const frames = [{ task: 7 }, { task: 3 }, { task: 9 }];
  assert.equal(neighbour(frames, 3, 1).task, 9);
  assert.equal(neighbour(frames, 3, -1).task, 7);
  assert.equal(neighbour(frames, 7, -1), undefined);
  assert.equal(neighbour(frames, 9, 1), undefined);
  assert.equal(neighbour(frames, 1, 1), undefined);
});

test("a video is the folder of a picture", () => {
  assert.deepEqual(["clip/01.png", "day/clip/01.png", "01.png"].map(videoOf), ["clip", "day/clip", ""]); // prettier-ignore
});

test("the end of a propagation is said in one sentence", () => {
  const base = { progress: "", failure: "", frames: 0, finished: 0 };
  assert.equal(resultOf({ ...base, state: "done", frames: 1 }), "Proposals changed in 1 frame.");
  assert.equal(resultOf({ ...base, state: "done", frames: 3, finished: 2 }), "Proposals changed in 3 frames. 2 finished frames were left as they are.");
  assert.equal(resultOf({ ...base, state: "failed", failure: "expected frames of one size" }), "Not propagated: expected frames of one size.");
  assert.equal(resultOf({ ...base, state: "none" }), "Cancelled; nothing was proposed.");
});

test("how many frames were finished is said in one or two sentences", () => {
  assert.equal(finishedText(1, 0), "1 other frame was finished.");
  assert.equal(finishedText(4, 2), "4 other frames were finished. 2 frames have something to correct first.");
});

test("accepting concerns the selected proposal, or all of the frame", () => {
  const drawn = scene("proposed", "proposed", "");
  const said = [];
  const history = new History(drawn);
  const editor = {
    scene: drawn,
    history,
    selected: "r1-1",
    selection: ["r1-1"],
    isReadOnly: false,
    edit: (kind, region, change) => history.run(kind, region, change).refusal === null,
    say: (text) => said.push(text),
  };
  const action = videoActions(() => null).find(({ name }) => name === "accept");
  assert.equal(action.when(editor), true);
  action.run(editor);
  assert.deepEqual(tracksOf(drawn), { "r1-0": "proposed", "r1-1": "accepted", "r1-2": "drawn" });
  assert.equal(action.when(editor), false, "the selected region is accepted");
  Object.assign(editor, { selected: null, selection: [] });
  action.run(editor);
  assert.deepEqual(tracksOf(drawn), { "r1-0": "accepted", "r1-1": "accepted", "r1-2": "drawn" });
  history.undo();
  assert.equal(action.when({ ...editor, isReadOnly: true }), false);
  assert.equal(said.length, 2);
});

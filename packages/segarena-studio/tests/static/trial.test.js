import assert from "node:assert/strict";
import { test } from "node:test";

import { endsOf, phaseAt, placed, taskOf, Trial } from "../../src/segarena_studio/static/study/trial.js";

const SECONDS = { free: 1.5, shown: 2, blocked: 1.5 };
const sample = (x, y, time) => ({ x, y, time, pressure: 0.5, kind: "mouse" });

function trialOf(kind) {
  const seen = { done: 0 };
  const trial = new Trial({
    kind, toImage: (point) => point, corner: () => [0, 0], onChange: () => {}, onDone: () => (seen.done += 1),
  });
  return [trial, seen];
}

test("a point is where it is in the dataset's picture, also where its pixels are not squares", () => {
  assert.deepEqual(placed([150, 20], [300, 40], [100, 40], false), [50, 20]); // wide pixels were sent as several
  assert.deepEqual(placed([30, 10], [300, 40], [100, 40], true), [90, 30]); // and from the other corner
  assert.deepEqual(placed(placed([7, 3], [10, 20], [40, 20], true), [40, 20], [10, 20], true), [7, 3]);
});

test("phases follow the clock, whenever one comes back to it", () => {
  const at = [0, 1499, 1500, 3499, 3500, 4999, 5000, 1e9].map((elapsed) => phaseAt(SECONDS, elapsed));
  assert.deepEqual(at, ["free", "free", "shown", "shown", "blocked", "blocked", "answer", "answer"]);
  assert.deepEqual(endsOf(SECONDS).map(([, end]) => end), [1500, 3500, 5000]);
  assert.equal(phaseAt({ free: 0, shown: 0, blocked: 0 }, 0), "answer");
});

test("presses before one is allowed are counted and kept from counting", () => {
  const [trial, seen] = trialOf("click");
  trial.press(sample(1, 1, 10));
  trial.release(sample(1, 1, 20));
  assert.deepEqual([trial.early, seen.done, trial.strokes.strokes.length], [1, 0, 0]);
  trial.allow(100);
  trial.press(sample(2, 3, 150));
  trial.release(sample(2, 3, 180));
  assert.equal(seen.done, 1);
  assert.deepEqual(trial.strokes.strokes[0].points.map((point) => point[4]), [50, 80]);
});

test("a press that began too early and ends in time is none", () => {
  const [trial, seen] = trialOf("click");
  trial.press(sample(1, 1, 10));
  trial.allow(15);
  trial.drag([sample(1, 1, 17)]);
  trial.release(sample(1, 1, 20));
  assert.deepEqual([trial.early, seen.done], [1, 0]);
});

test("what is no prompt of its kind yet is drawn once more, and kept", () => {
  for (const kind of ["box", "scribble", "lasso"]) {
    const [trial, seen] = trialOf(kind);
    trial.allow(0);
    trial.press(sample(5, 5, 1));
    trial.release(sample(5, 5, 2));
    assert.equal(seen.done, 0, kind);
    trial.press(sample(5, 5, 3));
    trial.drag([sample(9, 5, 4), sample(9, 9, 5)]);
    trial.release(sample(9, 9, 6));
    assert.equal(seen.done, 1, kind);
    assert.equal(trial.strokes.strokes.length, 2, kind);
  }
});

test("a second tap after the first one changes nothing, and is counted", () => {
  const [trial, seen] = trialOf("click");
  trial.allow(0);
  for (const time of [1, 9]) {
    trial.press(sample(5, 5, time));
    trial.release(sample(5, 5, time + 1));
  }
  assert.deepEqual([seen.done, trial.strokes.strokes.length, trial.late], [1, 1, 1]);
});

test("people are told what to do, of objects and of parts", () => {
  assert.equal(taskOf("answer", "lasso", "object"), "Draw around it.");
  assert.match(taskOf("answer", "click", "missing"), /the part that you saw/);
  assert.match(taskOf("shown", "click", "surplus"), /the part/);
});

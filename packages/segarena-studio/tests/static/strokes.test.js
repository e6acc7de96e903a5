import assert from "node:assert/strict";
import { test } from "node:test";

import { promptOf, Strokes } from "../../src/segarena_studio/static/common/strokes.js";

const sample = (x, y, time, kind = "touch") => ({ x, y, time, pressure: 0.5, kind });
const half = ([x, y]) => [x / 2, y / 2];

test("a stroke has every sample, on the picture, on the screen and since the beginning", () => {
  const drawn = new Strokes(half, { corner: () => [100, 7], since: 1000 });
  drawn.press(sample(10, 20, 1000.04));
  drawn.drag([sample(11, 21, 1004), sample(12, 22, 1008)]);
  drawn.release(sample(12, 22, 1020));
  assert.deepEqual(drawn.strokes, [
    {
      pointer: "touch",
      clicks: 1,
      points: [
        [5, 10, 110, 27, 0, 0.5],
        [5.5, 10.5, 111, 28, 4, 0.5],
        [6, 11, 112, 29, 8, 0.5],
        [6, 11, 112, 29, 20, 0.5],
      ],
    },
  ]);
});

test("a press that was cancelled leaves nothing, one that ended stays", () => {
  const drawn = new Strokes(half);
  drawn.press(sample(0, 0, 1));
  drawn.release(sample(0, 0, 2));
  drawn.press(sample(1, 1, 3));
  drawn.cancel();
  drawn.cancel();
  assert.equal(drawn.strokes.length, 1);
  drawn.drag([sample(5, 5, 6)]);
  assert.equal(drawn.points, 2);
});

test("what comes after the most is dropped, and taking back makes room", () => {
  const drawn = new Strokes(half, { most: 3 });
  drawn.press(sample(0, 0, 1));
  drawn.drag([sample(1, 1, 2), sample(2, 2, 3), sample(3, 3, 4)]);
  assert.equal(drawn.strokes[0].points.length, 3);
  drawn.undo();
  drawn.press(sample(9, 9, 9));
  assert.equal(drawn.strokes[0].points.length, 1);
});

test("strokes are prompts of their kind", () => {
  const drawn = new Strokes(([x, y]) => [x, y]);
  assert.equal(promptOf("click", drawn.strokes), null);
  drawn.press(sample(8, 1, 0));
  assert.deepEqual(promptOf("click", drawn.strokes, false), { kind: "click", at: [8, 1], is_positive: false });
  assert.equal(promptOf("box", drawn.strokes), null);
  drawn.drag([sample(2, 5, 1)]);
  assert.deepEqual(promptOf("box", drawn.strokes), { kind: "box", from: [2, 1], to: [8, 5] });
  assert.equal(promptOf("lasso", drawn.strokes), null);
  assert.deepEqual(promptOf("scribble", drawn.strokes).points, [[8, 1], [2, 5]]);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { Assist, ringsOf } from "../../src/segarena_studio/static/editor/assistant.js";
import { area } from "../../src/segarena_studio/static/common/geometry.js";
import { decode, encode, maskToRings } from "../../src/segarena_studio/static/common/run-lengths.js";

const SIZE = [40, 60];

/** Run lengths of boxes [left, top, right, bottom]. */
function boxes(...all) {
  const mask = new Uint8Array(SIZE[0] * SIZE[1]);
  for (const [x0, y0, x1, y1] of all) for (let y = y0; y < y1; y++) mask.fill(1, y * SIZE[1] + x0, y * SIZE[1] + x1);
  return encode(mask);
}

/** A talk whose answers are given by hand, in any order. */
class Slow {
  constructor() {
    this.asked = [];
  }

  ask(method, address, body, options) {
    return new Promise((resolve) => this.asked.push({ method, address, body, options, answer: (counts) => resolve(done(counts)), fail: (message) => resolve({ outcome: "busy", body: {}, message }) }));
  }
}

const done = (counts) => ({ outcome: "done", body: { counts, size: SIZE, model_ms: 5, encode_ms: 0 }, message: "" });
const assistOf = (talk) => new Assist({ talk, task: "3", segmenters: ["graph", "grabcut"], clock: () => 0 });
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("a click is asked with all that is needed, and its mask becomes a polygon", async () => {
  const [talk, changes] = [new Slow(), []];
  const assist = assistOf(talk);
  assist.onChange = () => changes.push(assist.isAsking);
  assist.click([10.5, 10.5]);
  assert.deepEqual(talk.asked[0].body, { segmenter: "graph", prompts: [{ kind: "click", at: [10.5, 10.5], is_positive: true }] });
  assert.equal(talk.asked[0].address, "/studio/tasks/3/ask");
  talk.asked[0].answer(boxes([5, 5, 30, 30], [40, 2, 44, 6]));
  await settle();
  assert.deepEqual(changes, [true, false]);
  const polygons = assist.polygons();
  assert.equal(polygons.length, 1);
  assert.equal(area(polygons[0]), 625);
});

test("only the newest question is waited for, whatever comes when", async () => {
  const talk = new Slow();
  const assist = assistOf(talk);
  assist.click([10.5, 10.5]);
  assist.click([50.5, 10.5], false);
  assert.ok(talk.asked[0].options.signal.aborted);
  talk.asked[1].answer(boxes([5, 5, 20, 20]));
  await settle();
  talk.asked[0].answer(boxes([0, 0, 60, 40]));
  await settle();
  assert.equal(area(assist.polygons()[0]), 225);
  assert.equal(talk.asked[1].body.prompts.length, 2);
});

test("taking a prompt back shows what was answered before it, without asking; dropping begins anew", async () => {
  const talk = new Slow();
  const assist = assistOf(talk);
  assist.box([2, 2], [30, 30]);
  talk.asked[0].answer(boxes([5, 5, 20, 20]));
  await settle();
  assist.scribble([[8, 8], [9, 9]], false);
  talk.asked[1].answer(boxes([5, 5, 10, 10]));
  await settle();
  assert.equal(area(assist.polygons()[0]), 25);
  assert.ok(assist.back());
  assert.equal(area(assist.polygons()[0]), 225);
  assert.equal(talk.asked.length, 2);
  assert.ok(assist.drop());
  assert.deepEqual([assist.answered, assist.polygons(), assist.back(), assist.drop()], [null, [], false, false]);
});

test("trouble is told, what was answered stays, and the next prompt says all of it again", async () => {
  const talk = new Slow();
  const assist = assistOf(talk);
  assist.click([10.5, 10.5]);
  talk.asked[0].answer(boxes([5, 5, 20, 20]));
  await settle();
  assist.click([11.5, 10.5]);
  talk.asked[1].fail("graph: no answer in time");
  await settle();
  assert.equal(assist.trouble, "No answer: graph: no answer in time.");
  assert.equal(area(assist.polygons()[0]), 225);
  assist.click([12.5, 10.5]);
  assert.equal(assist.trouble, "");
  assert.equal(talk.asked[2].body.prompts.length, 3);
});

test("parts that were clicked are meant; without any, the largest one", async () => {
  const talk = new Slow();
  const assist = assistOf(talk);
  assist.click([42.5, 4.5]);
  talk.asked[0].answer(boxes([5, 5, 30, 30], [40, 2, 45, 7], [50, 20, 52, 22]));
  await settle();
  assert.deepEqual(assist.polygons().map(area), [25]);
  assist.click([10.5, 10.5]);
  talk.asked[1].answer(boxes([5, 5, 30, 30], [40, 2, 45, 7], [50, 20, 52, 22]));
  await settle();
  assert.deepEqual(assist.polygons().map(area), [625, 25]);
});

test("another segmenter is told everything that was said to the one before", async () => {
  const talk = new Slow();
  const assist = assistOf(talk);
  assist.click([10.5, 10.5]);
  talk.asked[0].answer(boxes([5, 5, 20, 20]));
  await settle();
  assist.choose("grabcut");
  assert.equal(talk.asked[1].body.segmenter, "grabcut");
  assert.equal(assist.answered, null);
});

test("pictures of later are made ready after the one that is looked at", async () => {
  const asked = [];
  const talk = { ask: async (method, address, body) => (asked.push([address, body?.is_ahead]), { outcome: "done", body: { next: [{ task: 4 }, { task: 5 }, { task: 6 }] } }) };
  await assistOf(talk).prepare();
  assert.deepEqual(asked, [["/studio/tasks/3/encode", false], ["/studio/tasks/3/neighbours", undefined], ["/studio/tasks/4/encode", true], ["/studio/tasks/5/encode", true]]);
});

test("rings of run lengths are those of the whole mask", () => {
  let seed = 7;
  const draw = (below) => ((seed = (seed * 1103515245 + 12345) % 2147483648), seed % below);
  for (let time = 0; time < 40; time++) {
    const counts = boxes(...Array.from({ length: 1 + draw(4) }, () => {
      const [x, y] = [draw(55), draw(35)];
      return [x, y, x + 1 + draw(60 - x - 1), y + 1 + draw(40 - y - 1)];
    }));
    assert.deepEqual(ringsOf(counts, SIZE), maskToRings(decode(counts, SIZE), SIZE));
  }
  assert.deepEqual(ringsOf([2400], SIZE), []);
  assert.equal(area(ringsOf([0, 2400], SIZE)[0]), 2400);
});

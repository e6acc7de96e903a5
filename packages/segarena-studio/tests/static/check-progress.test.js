import assert from "node:assert/strict";
import { test } from "node:test";

import { askUntilChecked, progressText } from "../../src/segarena_studio/static/editor/check-progress.js";

const borders = { step: "borders", done: 1204, total: 7495, unit: "pairs" };
const checking = (progress) => ({ outcome: "done", status: 202, body: { progress }, wait_ms: 0 });
const finished = { outcome: "done", status: 200, body: { state: "finished" }, wait_ms: 0 };
const away = { outcome: "away", status: 0, body: {}, wait_ms: 0 };

async function asked(answers, isWaiting = () => true) {
  const seen = [];
  const left = [...answers];
  const answer = await askUntilChecked(async () => left.shift(), (progress) => seen.push(progress), isWaiting, 0);
  return { answer, seen, left: left.length };
}

test("a request is repeated with its progress until the checks are finished", async () => {
  const { answer, seen, left } = await asked([checking(null), checking(borders), finished]);
  assert.equal(answer, finished);
  assert.deepEqual([seen, left], [[null, borders], 0]);
});

test("a lost connection is bridged once the checks have begun, but not before", async () => {
  assert.equal((await asked([checking(borders), away, away, finished])).answer, finished);
  assert.deepEqual(await asked([away, finished]), { answer: away, seen: [], left: 1 });
  assert.equal((await asked([checking(borders), ...Array(20).fill(away)])).left, 11);
});

test("nothing is asked again once nobody waits", async () => {
  assert.equal((await asked([checking(borders), finished], () => false)).left, 1);
});

test("progress counts regions or pairs", () => {
  assert.equal(progressText(borders), "Comparing borders: 1,204 of 7,495 pairs");
  assert.equal(progressText({ step: "areas", done: 3, total: 2000, unit: "regions" }), "Filling regions: 3 of 2,000 regions");
  assert.match(progressText(null), /^Waiting/);
});

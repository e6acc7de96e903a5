import assert from "node:assert/strict";
import { test } from "node:test";

import { Timing } from "../../src/segarena_studio/static/editor/region-timing.js";

function worked() {
  /** @type {[string, number, number][]} */
  const spent = [];
  const clock = { now: 0 };
  const timing = new Timing((...told) => spent.push(told), () => clock.now);
  return { spent, clock, timing };
}

test("time between two deeds belongs to the region of the second", () => {
  const { spent, clock, timing } = worked();
  timing.did("r1");
  clock.now = 1200;
  timing.did("r2");
  assert.deepEqual(spent, [["r2", 1200, 1200]]);
});

test("a pause of five seconds does not count, one that is shorter does", () => {
  const { spent, clock, timing } = worked();
  timing.did("r1");
  clock.now = 5000;
  timing.did("r1");
  clock.now = 9999;
  timing.did("r1");
  assert.deepEqual(spent, [["r1", 4999, 4999]]);
});

test("in a window that has not the focus no time is active", () => {
  const { spent, clock, timing } = worked();
  timing.isActive = false;
  timing.did("r1");
  clock.now = 300;
  timing.did("r1");
  assert.deepEqual(spent, [["r1", 300, 0]]);
});

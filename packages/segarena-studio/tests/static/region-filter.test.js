import assert from "node:assert/strict";
import test from "node:test";

import { RegionFilter } from "../../src/segarena_studio/static/editor/region-filter.js";

const REGIONS = [
  { name: "Red car", is_stuff: false, is_hidden: false, is_locked: true },
  { name: "", is_stuff: false, is_hidden: true, is_locked: false },
  { name: "car park", is_stuff: true, is_hidden: false, is_locked: false },
  { name: "Cafe\u0301", is_stuff: false, is_hidden: false, is_locked: false },
];

function found(text, choice = "") {
  const filter = Object.assign(new RegionFilter(), { text, choice });
  return REGIONS.flatMap((region, place) => (filter.shows(region, place) ? [place] : []));
}

test("regions are found by words of their name in any case and order, or by their number", () => {
  assert.deepEqual(found(""), [0, 1, 2, 3]);
  assert.deepEqual(found("CAR"), [0, 2]);
  assert.deepEqual(found(" car  red "), [0]);
  assert.deepEqual(found("caf\u00e9"), [3]);
  assert.deepEqual(found("2"), [1]);
  assert.deepEqual(found("bus"), []);
});

test("regions are filtered by state, and by both", () => {
  assert.deepEqual(found("", "unnamed"), [1]);
  assert.deepEqual(found("", "hidden"), [1]);
  assert.deepEqual(found("", "locked"), [0]);
  assert.deepEqual(found("car", "stuff"), [2]);
  assert.deepEqual(found("car", "thing"), [0]);
  assert.ok(Object.assign(new RegionFilter(), { text: "a" }).isActive);
  assert.ok(!Object.assign(new RegionFilter(), { text: "  " }).isActive);
});

import assert from "node:assert/strict";
import test from "node:test";

import { nameFrom, placeBeside } from "../../src/segarena_studio/static/editor/name-prompt.js";

const STAGE = [400, 300];
const PANEL = [200, 50];

test("the field for a name is below the region, above it if there is no room, and always in the stage", () => {
  assert.deepEqual(placeBeside([100, 50, 300, 150], PANEL, STAGE), [100, 160]);
  assert.deepEqual(placeBeside([100, 100, 300, 290], PANEL, STAGE), [100, 40]);
  assert.deepEqual(placeBeside([0, 0, 400, 300], PANEL, STAGE), [100, 240]);
  assert.deepEqual(placeBeside([-500, -500, -400, -400], PANEL, STAGE), [10, 10]);
  assert.deepEqual(placeBeside([380, 10, 399, 20], PANEL, STAGE), [190, 30]);
});

test("a typed name is stored without surrounding spaces, in one spelling", () => {
  assert.equal(nameFrom("  red car "), "red car");
  assert.equal(nameFrom("cafe\u0301"), "caf\u00e9");
});

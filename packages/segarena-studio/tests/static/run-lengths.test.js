import assert from "node:assert/strict";
import test from "node:test";
import { isSimple } from "../../src/segarena_studio/static/editor/self-intersections.js";
import { area, contains, squaredFromOutline } from "../../src/segarena_studio/static/common/geometry.js";
import * as runs from "../../src/segarena_studio/static/common/run-lengths.js";
import { generator } from "./random.js";

const SIZE = [30, 40];

function randomMask(random, [height, width], share) {
  const mask = new Uint8Array(height * width);
  for (let disk = 0; disk < 6; disk++) {
    const [x, y, radius] = [random() * width, random() * height, 2 + random() * 8];
    mask.forEach((_, at) => {
      if (Math.hypot((at % width) - x, Math.floor(at / width) - y) < radius) mask[at] = disk % 3 === 2 ? 0 : 1;
    });
  }
  mask.forEach((_, at) => random() < share && (mask[at] = 1 - mask[at]));
  return mask;
}

/** The parts of a value's pixels, joined over sides: a list of arrays of pixels. */
function parts(mask, [height, width], value) {
  const seen = new Uint8Array(mask.length);
  const found = [];
  mask.forEach((one, start) => {
    if (one !== value || seen[start]) return;
    const part = [];
    const waiting = [start];
    seen[start] = 1;
    while (waiting.length) {
      const at = waiting.pop();
      part.push(at);
      const [x, y] = [at % width, Math.floor(at / width)];
      const beside = [x > 0 && at - 1, x < width - 1 && at + 1, y > 0 && at - width, y < height - 1 && at + width];
      for (const next of beside) {
        if (next !== false && mask[next] === value && !seen[next]) (seen[next] = 1), waiting.push(next);
      }
    }
    found.push(part);
  });
  return found;
}

/** Each part of a mask as a mask of its own with its holes filled. */
function filledParts(mask, [height, width]) {
  return parts(mask, [height, width], 1).map((part) => {
    const padded = new Uint8Array((height + 2) * (width + 2));
    for (const at of part) padded[(Math.floor(at / width) + 1) * (width + 2) + (at % width) + 1] = 1;
    const outside = new Set(parts(padded, [height + 2, width + 2], 0).find((gap) => gap.includes(0)));
    return Uint8Array.from(mask, (_, at) => {
      return outside.has((Math.floor(at / width) + 1) * (width + 2) + (at % width) + 1) ? 0 : 1;
    });
  });
}

function filled(polygon, [height, width]) {
  return Uint8Array.from({ length: height * width }, (_, at) => {
    return contains(polygon, [(at % width) + 0.5, Math.floor(at / width) + 0.5]) ? 1 : 0;
  });
}

test("run lengths give back the mask, and begin with the zeros", () => {
  const random = generator(6);
  for (const share of [0, 0.2, 0.5]) {
    const mask = randomMask(random, SIZE, share);
    assert.deepEqual(runs.decode(runs.encode(mask), SIZE), mask);
  }
  assert.deepEqual(runs.encode(Uint8Array.from([1, 1, 0, 1])), [0, 2, 1, 1]);
  assert.deepEqual(runs.encode(Uint8Array.from([0, 0])), [2]);
  assert.throws(() => runs.decode([3], [2, 2]), RangeError);
  assert.throws(() => runs.decode([1, 5], [2, 2]), RangeError);
  assert.throws(() => runs.decode([5, -1], [2, 2]), RangeError);
});

test("outlines hold exactly the parts of a mask with their holes filled, and never meet themselves", () => {
  const random = generator(7);
  for (const share of [0, 0, 0.02, 0.1, 0.4]) {
    const mask = randomMask(random, SIZE, share);
    const rings = runs.maskToRings(mask, SIZE);
    const expected = filledParts(mask, SIZE).map(String).sort();
    assert.deepEqual(rings.map((ring) => String(filled(ring, SIZE))).sort(), expected);
    rings.forEach((ring) => assert.ok(isSimple(ring)));
    rings.slice(1).forEach((ring, index) => assert.ok(area(ring) <= area(rings[index])));
  }
});

test("no pixel that falls on the other side is farther from the outline than the tolerance", () => {
  const random = generator(8);
  for (const [share, tolerance] of [[0, 0.5], [0, 1], [0.02, 1], [0, 2.5], [0.1, 4]]) {
    for (const ring of runs.maskToRings(randomMask(random, SIZE, share), SIZE)) {
      const kept = runs.simplify(ring, tolerance);
      assert.ok(isSimple(kept) && kept.length >= 4 && kept.length <= ring.length);
      const [before, after] = [filled(ring, SIZE), filled(kept, SIZE)];
      before.forEach((one, at) => {
        const centre = [(at % SIZE[1]) + 0.5, Math.floor(at / SIZE[1]) + 0.5];
        if (one !== after[at]) assert.ok(Math.sqrt(squaredFromOutline(kept, centre)) <= tolerance + 1e-9);
      });
    }
  }
});

test("every part has an outline, and an empty mask has none", () => {
  const mask = Uint8Array.from([1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1]);
  assert.equal(runs.maskToRings(mask, [3, 4]).length, 2);
  assert.deepEqual(runs.maskToRings(new Uint8Array(12), [3, 4]), []);
});

test("a large disk becomes a polygon of few vertices", () => {
  const size = [300, 300];
  const mask = Uint8Array.from({ length: 90000 }, (_, at) => (Math.hypot((at % 300) - 150, at / 300 - 150) < 120 ? 1 : 0));
  const [polygon, ...others] = runs.maskToRings(mask, size).map((ring) => runs.simplify(ring, 1));
  assert.equal(others.length, 0);
  assert.ok(polygon.length < 80, String(polygon.length));
});

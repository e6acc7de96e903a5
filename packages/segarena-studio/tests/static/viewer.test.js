import assert from "node:assert/strict";
import test from "node:test";
import { edges } from "../../src/segarena_studio/static/human/mask-outline.js";
import { PlaneStore } from "../../src/segarena_studio/static/viewer/plane-store.js";
import { generator } from "./random.js";

function randomMask(random, height, width) {
  return Uint8Array.from({ length: height * width }, () => (random() < 0.4 ? 1 : 0));
}

test("edges are exactly those between pixels in and out of the mask", () => {
  const random = generator(7);
  for (let turn = 0; turn < 60; turn++) {
    const [height, width] = [1 + Math.floor(random() * 9), 1 + Math.floor(random() * 9)];
    const mask = randomMask(random, height, width);
    const at = (row, column) => (row >= 0 && row < height && column >= 0 && column < width ? mask[row * width + column] : 0);
    const expected = new Set();
    for (let row = 0; row <= height; row++) {
      for (let column = 0; column <= width; column++) {
        if (at(row, column) !== at(row - 1, column)) expected.add(`h ${row} ${column}`);
        if (at(row, column) !== at(row, column - 1)) expected.add(`v ${row} ${column}`);
      }
    }
    const found = new Set();
    const lines = edges(mask, [height, width]);
    for (let place = 0; place < lines.length; place += 4) {
      const [x0, y0, x1, y1] = lines.slice(place, place + 4);
      if (y0 === y1) for (let column = x0; column < x1; column++) found.add(`h ${y0} ${column}`);
      else for (let row = y0; row < y1; row++) found.add(`v ${row} ${x0}`);
    }
    assert.deepEqual([...found].sort(), [...expected].sort());
  }
});

test("what is kept stays within its limit, the newest last", async () => {
  const store = new PlaneStore("");
  for (const name of ["a", "b", "c"]) await store.once(name, async () => ({ value: name, bytes: 140e6 }));
  assert.deepEqual([...store.kept.keys()], ["b", "c"]);
  await store.once("b", () => assert.fail("it is here"));
  await store.once("d", async () => ({ value: "d", bytes: 140e6 }));
  assert.deepEqual([...store.kept.keys()], ["b", "d"]);
  await assert.rejects(store.once("e", async () => Promise.reject(new Error("no"))), /no/);
  assert.equal(await store.once("e", async () => ({ value: 5, bytes: 1 })), 5);
});

test("masks that find no room beside each other are there all the same", async () => {
  const store = new PlaneStore("");
  const long = "M0 0".padEnd(120e6, "L1 1");
  store.request = async () => ({ json: async () => ({ a: { 1: long }, b: { 1: long }, c: { 1: "M5 5Z" } }) });
  const layers = await store.layers({ key: ["x", "", "", 0] }, 0, 0, ["a", "b", "c"]);
  assert.deepEqual([...layers].map(([name, objects]) => [name, objects.get(1)?.length]), [["a", 120e6], ["b", 120e6], ["c", 5]]);
});

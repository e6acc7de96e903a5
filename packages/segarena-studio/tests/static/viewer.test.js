import assert from "node:assert/strict";
import test from "node:test";
import { noteOf } from "../../../segarena/src/segarena/reports/rounds.js";
import { isOn, pointOf, positionOf, shownSize } from "../../src/segarena_studio/static/viewer/plane-geometry.js";
import { areas, boxOf, edges, errors } from "../../src/segarena_studio/static/viewer/mask-painting.js";
import { layersAt, momentIn, roundsOf, valueText } from "../../src/segarena_studio/static/viewer/dialogue.js";
import { Store } from "../../src/segarena_studio/static/viewer/plane-store.js";
import { bitsIn, dragged, firstWindow, greys, tableOf } from "../../src/segarena_studio/static/viewer/window-level.js";
import { generator } from "./random.js";

const dialogue = { prompts: [[], [], [], [], []], kept: [1, 3, 5], held_again: [], values: [{ IoU: 0.5 }, { IoU: null }], label: "a" };
const coronal = { name: "coronal", axis: 1, count: 9, size: [4, 6], edges: [2.5, 1], letters: "SLIR", is_turned: true, first: 4 };
const photograph = { name: "", axis: null, count: 1, size: [4, 6], edges: [1, 1], letters: "", is_turned: false, first: 0 };

function randomMask(random, height, width) {
  return Uint8Array.from({ length: height * width }, () => (random() < 0.4 ? 1 : 0));
}

test("the answer that is drawn is the last one kept until the round", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 9].map((round) => momentIn(dialogue, round).last), [1, 1, 3, 3, 5, 5]);
  assert.deepEqual(momentIn(dialogue, 9), { at: 5, last: 5, isEnded: true });
  assert.equal(momentIn({ ...dialogue, held_again: [2, 4] }, 4).last, 4);
  assert.equal(momentIn({ ...dialogue, kept: [] }, 2).last, 0);
  assert.equal(roundsOf([dialogue, { ...dialogue, prompts: [] }]), 5);
});

test("what is not as it was after the round is said", () => {
  assert.equal(noteOf(momentIn(dialogue, 3), "round"), "");
  assert.match(noteOf(momentIn(dialogue, 4), "round"), /after round 3; 4 was not kept/);
  assert.match(noteOf(momentIn(dialogue, 9), "round"), /ended after round 5/);
  assert.match(noteOf({ at: 2, last: 0, isEnded: false }, "round"), /no answer was kept/);
  assert.deepEqual([1, 2, 3].map((at) => valueText(dialogue, at)), ["IoU 0.500", "–", "–"]);
});

test("a position is found again where it is drawn, also on a slice that is turned round", () => {
  assert.deepEqual(shownSize(coronal), [6, 10]);
  assert.deepEqual(pointOf(coronal, [0, 5, 0]), [5.5, 8.75]); // the inferior end lies below, the left one at the right
  for (const plane of [coronal, photograph]) {
    for (let row = 0; row < 4; row++) {
      for (let column = 0; column < 6; column++) {
        const position = plane.axis === null ? [row, column] : [row, 5, column];
        assert.deepEqual(positionOf(plane, 5, pointOf(plane, position)), position);
      }
    }
  }
  assert.deepEqual(positionOf(photograph, 0, [-3, 99]), [3, 0]);
});

test("a prompt is drawn on the planes that it meets", () => {
  const click = { kind: "click", position: [1, 5, 2], is_positive: true };
  assert.deepEqual([4, 5, 6].map((index) => isOn(coronal, index, click)), [false, true, false]);
  const box = { kind: "box", start: [0, 2, 0], stop: [2, 5, 2] };
  assert.deepEqual([1, 2, 4, 5].map((index) => isOn(coronal, index, box)), [false, true, true, false]);
  const limits = { kind: "limits", first: 1, last: 2, axis: 0 };
  assert.ok(isOn(coronal, 0, limits) && !isOn(coronal, 0, { ...limits, axis: 1 }));
  assert.ok(!isOn(photograph, 0, { kind: "mask", area_px: 9 }));
});

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
    const on = [...mask.keys()].filter((place) => mask[place]);
    const [xs, ys] = [on.map((place) => place % width), on.map((place) => Math.floor(place / width))];
    const box = on.length ? [Math.min(...xs), Math.min(...ys), Math.max(...xs) + 1, Math.max(...ys) + 1] : null;
    assert.deepEqual(boxOf([mask], [height, width]), box);
  }
});

test("errors are what is missing and what is too much, and nothing where it is not scored", () => {
  const one = (...pixels) => new Map([[1, Uint8Array.from(pixels)]]);
  const colours = { missing: [1, 2, 3], surplus: [4, 5, 6] };
  const painted = errors(one(1, 1, 0, 0, 1), one(1, 0, 1, 0, 0), one(0, 0, 0, 0, 1), colours, 5);
  assert.deepEqual([...painted], [0, 0, 0, 0, 4, 5, 6, 255, 1, 2, 3, 255, 0, 0, 0, 0, 0, 0, 0, 0]);
  const objects = areas(new Map([[2, Uint8Array.from([0, 1])]]), (number) => [number, 0, 0], 2);
  assert.deepEqual([...objects], [0, 0, 0, 0, 2, 0, 0, 255]);
});

test("greys follow the window on the values themselves", () => {
  const levels = { offset: -1024, step: 1, low: -160, high: 240, modality: "CT" };
  const bits = bitsIn(Uint8ClampedArray.from([...[3, 184, 0, 255], ...[4, 41, 0, 255], ...[5, 0, 0, 255]]));
  assert.deepEqual([...bits].map((bit) => bit - 1024), [-72, 41, 256]);
  const shown = greys(bits, tableOf(levels, { level: 40, width: 400 }));
  assert.deepEqual([...shown], [56, 56, 56, 255, 128, 128, 128, 255, 255, 255, 255, 255]);
  assert.deepEqual(firstWindow(levels), { level: 40, width: 400 });
  assert.ok(dragged(firstWindow(levels), -9999, 0, levels).width > 0);
});

test("what is kept stays within its limit, the newest last", async () => {
  const store = new Store("");
  for (const name of ["a", "b", "c"]) await store.once(name, async () => ({ value: name, bytes: 140e6 }));
  assert.deepEqual([...store.kept.keys()], ["b", "c"]);
  await store.once("b", () => assert.fail("it is here"));
  await store.once("d", async () => ({ value: "d", bytes: 140e6 }));
  assert.deepEqual([...store.kept.keys()], ["b", "d"]);
  await assert.rejects(store.once("e", async () => Promise.reject(new Error("no"))), /no/);
  assert.equal(await store.once("e", async () => ({ value: 5, bytes: 1 })), 5);
});

test("masks that are drawn are those of the rounds that were kept", () => {
  const place = { has_ignored: true, dialogues: [{ ...dialogue, number: 2 }, { ...dialogue, number: 3, kept: [4] }] };
  assert.deepEqual(layersAt(place, 3), ["target", "ignored", "2.3"]);
  assert.deepEqual(layersAt({ ...place, has_ignored: false }, 4), ["target", "2.3", "3.4"]);
});

test("masks that find no room beside each other are there all the same", async () => {
  const store = new Store("");
  const size = [10_000, 14_000];
  store.ask = async () => ({ json: async () => ({ a: { 1: [0, 1, 139_999_999] }, b: { 1: [1, 1, 139_999_998] }, c: { 1: [2, 1, 139_999_997] } }) });
  const layers = await store.layers("sample=x", 0, 0, ["a", "b", "c"], size);
  assert.deepEqual([...layers].map(([name, objects]) => [name, objects.get(1)?.indexOf(1)]), [["a", 0], ["b", 1], ["c", 2]]);
});

// Run by test_viewer_script.py: `node packages/segarena/tests/reports/viewer/viewer.test.js`.

import assert from "node:assert/strict";
import test from "node:test";

const VIEWER = new URL("../../../src/segarena/reports/viewer/", import.meta.url);
globalThis.matchMedia = () => ({ addEventListener: () => {} });
globalThis.document = { querySelectorAll: () => [] };
const { layersAt, momentIn, noteOf, roundsOf } = await import(new URL("content.js", VIEWER).href);
const { boundsOf } = await import(new URL("mask-drawing.js", VIEWER).href);
const { indexAt, isOn, placesIn, planeLabel, pointOf, positionOf, shownSize } = await import(new URL("plane-geometry.js", VIEWER).href);
const { freePlace } = await import(new URL("prompt-marks.js", VIEWER).href);
const { bitsIn, dragged, firstWindow, greys, tableOf } = await import(new URL("window-level.js", VIEWER).href);

const dialogue = { prompts: [[], [], [], [], []], captions: [], stored: [1, 3, 5], replayed: [], label: "a" };
const coronal = { name: "coronal", axis: 1, count: 9, size: [4, 6], edges: [2.5, 1], is_turned: true, origin: [0, 0], indices: [] };
const photograph = { name: "", axis: null, count: 1, size: [4, 6], edges: [1, 1], is_turned: false, origin: [0, 0], indices: [] };

test("the drawn answer is the last one stored up to the round", () => {
  assert.deepEqual([1, 2, 3, 4, 5, 9].map((round) => momentIn(dialogue, round).last), [1, 1, 3, 3, 5, 5]);
  assert.deepEqual(momentIn(dialogue, 9), { at: 5, last: 5, isEnded: true });
  assert.equal(momentIn({ ...dialogue, replayed: [2, 4] }, 4).last, 4);
  assert.equal(momentIn({ ...dialogue, stored: [] }, 2).last, 0);
  assert.equal(roundsOf([dialogue, { ...dialogue, prompts: [] }]), 5);
});

test("a note says when the drawn answer is from another round", () => {
  assert.equal(noteOf(momentIn(dialogue, 3), "round"), "");
  assert.match(noteOf(momentIn(dialogue, 4), "round"), /after round 3; 4 was not stored/);
  assert.match(noteOf(momentIn(dialogue, 9), "round"), /ended after round 5/);
  assert.match(noteOf({ at: 2, last: 0, isEnded: false }, "round"), /no answer was stored/);
});

test("positions and points convert both ways, also on turned slices", () => {
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

test("a prompt is visible on the planes that it meets", () => {
  const click = { kind: "click", position: [1, 5, 2], is_positive: true };
  assert.deepEqual([4, 5, 6].map((index) => isOn(coronal, index, click)), [false, true, false]);
  const box = { kind: "box", start: [0, 2, 0], stop: [2, 5, 2] };
  assert.deepEqual([1, 2, 4, 5].map((index) => isOn(coronal, index, box)), [false, true, true, false]);
  const limits = { kind: "limits", first: 1, last: 2, axis: 0 };
  assert.ok(isOn(coronal, 0, limits) && !isOn(coronal, 0, { ...limits, axis: 1 }));
  assert.ok(!isOn(photograph, 0, { kind: "mask", area_px: 9 }));
});

test("the drawn layers are those of stored rounds", () => {
  const place = { has_ignored: true, dialogues: [{ ...dialogue, number: 2 }, { ...dialogue, number: 3, stored: [4] }] };
  assert.deepEqual(layersAt(place, 3), ["target", "ignored", "2.3"]);
  assert.deepEqual(layersAt({ ...place, has_ignored: false }, 4), ["target", "2.3", "3.4"]);
});

test("greys follow the window of the values", () => {
  const levels = { offset: -1024, step: 1, low: -160, high: 240, modality: "CT" };
  const bits = bitsIn(Uint8ClampedArray.from([...[3, 184, 0, 255], ...[4, 41, 0, 255], ...[5, 0, 0, 255]]), 2);
  assert.deepEqual([...bitsIn(Uint8ClampedArray.from([3, 3, 3, 255, 200, 200, 200, 255]), 1)], [3, 200]);
  assert.deepEqual([...bits].map((bit) => bit - 1024), [-72, 41, 256]);
  const shown = greys(bits, tableOf(levels, { level: 40, width: 400 }));
  assert.deepEqual([...shown], [56, 56, 56, 255, 128, 128, 128, 255, 255, 255, 255, 255]);
  assert.deepEqual(firstWindow(levels), { level: 40, width: 400 });
  assert.ok(dragged(firstWindow(levels), -9999, 0, levels).width > 0);
});


test("a cropped plane with some of its slices keeps the positions of the sample", () => {
  const cropped = { ...coronal, origin: [10, 20], indices: [2, 5, 8] };
  assert.deepEqual([placesIn(cropped), placesIn(coronal)], [3, 9]);
  assert.deepEqual([indexAt(cropped, 1), indexAt(coronal, 1)], [5, 1]);
  assert.equal(planeLabel(cropped, 1), "coronal 6 of 9");
  assert.equal(planeLabel(photograph, 0), "");
  assert.deepEqual(pointOf(cropped, [10, 5, 20]), pointOf(coronal, [0, 5, 0]));
  assert.deepEqual(positionOf(cropped, 5, pointOf(cropped, [12, 5, 23])), [12, 5, 23]);
});

test("the bounds of outlines hold all of their points", () => {
  assert.deepEqual(boundsOf(new Map([[1, "M3 4L9 4L9 8.5L3 8Z"], [2, "M-1 5L2 5L2 6Z"]])), [-1, 4, 9, 8.5]);
  assert.equal(boundsOf(new Map([[1, ""]])), null);
});

test("numbers of clicks keep apart and inside the picture", () => {
  const taken = [];
  for (let count = 0; count < 20; count++) {
    const place = freePlace([240 + (count % 5), 200], [480, 400], taken);
    assert.ok(place.every((value, axis) => value >= 10 && value <= [470, 390][axis]));
    for (const other of taken) assert.ok(Math.hypot(place[0] - other[0], place[1] - other[1]) >= 19.9);
    taken.push(place);
  }
  assert.deepEqual(freePlace([3, 3], [480, 400], []), [3, 3]);
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { alignDocument, listDisagreements, summaryOf } from "../../src/segarena_studio/static/projects/disagreements.js";

const comparison = {
  matches: [
    { one: "r1", other: "r7", iou: 0.95, has_same_name: true },
    { one: "r2", other: "r1", iou: 0.62, has_same_name: false },
    { one: "r3", other: "r2", iou: 0.7, has_same_name: null },
  ],
  only_one: [{ id: "r4", nearest: "r7", iou: 0.41 }],
  only_other: [{ id: "r4", nearest: "", iou: 0 }],
  orders: [{ front: "r1", behind: "r2" }],
  order_pairs: 3,
};
const side = (annotator) => ({ annotator, nameOf: (id) => `${annotator[0]}:${id}` });
const listed = (threshold) => listDisagreements(comparison, threshold, side("Anna"), side("Bert"), "9");

test("regions of one annotator come first, then inaccurate ones, order and names", () => {
  const found = listed(0.8);
  assert.deepEqual(found.map(({ kind, regions }) => [kind, ...regions]), [
    ["alone", "r4"], ["alone", "t9-r4"], ["iou", "r2"], ["iou", "r3"], ["order", "r1", "r2"], ["name", "r2"],
  ]);
  assert.equal(found[0].text, "Only Anna: A:r4");
  assert.equal(found[0].detail, "nearest: B:r7, IoU 0.41");
  assert.deepEqual([found[1].text, found[1].detail], ["Only Bert: B:r4", "nothing overlaps it"]);
  assert.deepEqual([found[2].text, found[2].detail], ["IoU 0.62: A:r2", "Bert: B:r1"]);
});

test("the threshold decides which matched regions are listed", () => {
  assert.deepEqual(listed(0.65).filter(({ kind }) => kind === "iou").map(({ regions }) => regions[0]), ["r2"]);
  assert.equal(listed(1).filter(({ kind }) => kind === "iou").length, 3);
});

test("matched regions get the ids of the first drawing, and others ids that it cannot have", () => {
  const document = { points: [], regions: ["r7", "r1", "r2", "r4"].map((id) => ({ id, ring: [], name: "", is_hidden: true })) };
  const aligned = alignDocument(document, comparison, "9");
  assert.deepEqual(aligned.regions.map(({ id }) => id), ["r1", "r2", "r3", "t9-r4"]);
  assert.ok(aligned.regions.every(({ is_hidden }) => !is_hidden));
  assert.equal(document.regions[0].id, "r7");
});

test("the summary has F and the order", () => {
  assert.equal(summaryOf(comparison), "3 matched regions, F 0.75; order agrees in 2 of 3 overlapping pairs.");
  const empty = { matches: [], only_one: [], only_other: [], orders: [], order_pairs: 0 };
  assert.equal(summaryOf(empty), "Both drawings are empty.");
});

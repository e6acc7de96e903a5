import assert from "node:assert/strict";
import { test } from "node:test";

import { actionOf, hintsFor } from "../../src/segarena_studio/static/editor/actions.js";
import { deleteRegion } from "../../src/segarena_studio/static/editor/region-commands.js";
import { Adjusting } from "../../src/segarena_studio/static/editor/adjust-tool.js";
import { Drawing } from "../../src/segarena_studio/static/editor/draw-tool.js";
import { Moving } from "../../src/segarena_studio/static/editor/move-tool.js";
import { Sweeping } from "../../src/segarena_studio/static/editor/delete-tool.js";
import { Tracing } from "../../src/segarena_studio/static/editor/trace-tool.js";
import { Editor } from "../../src/segarena_studio/static/editor/editor.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { View } from "../../../segarena/src/segarena/reports/viewer/viewport.js";
import { documentOf, gridDocument } from "./random.js";

const SIZE = [400, 300];
const TEETH = [[50, 50], [150, 50], [160, 70], [150, 90], [160, 110], [150, 130], [150, 250], [50, 250]];

/** The editor without a page: its picture is seen one to one, and paints nothing. */
function begun(document = documentOf([TEETH])) {
  const view = new View();
  view.fit(SIZE, SIZE, 0);
  const overlay = { style: {}, addEventListener: () => {}, removeEventListener: () => {}, getBoundingClientRect: () => ({ left: 0, top: 0 }) };
  const picture = { size: SIZE, screen: SIZE, view, overlay, redraw: () => {}, panBy: () => {}, fit: () => {} };
  const scene = Scene.read(document);
  const editor = new Editor(/** @type {any} */ (picture), scene, new History(scene));
  for (const Tool of [Drawing, Tracing, Adjusting, Moving, Sweeping]) editor.addTool(new Tool(editor));
  const said = [];
  editor.say = (text) => said.push(text);
  const key = (...names) => {
    for (const name of names) {
      if (editor.tool.keys?.[name]?.()) continue;
      const action = actionOf(editor, name);
      assert.ok(action, `${name} does nothing with ${editor.tool.name}`);
      action.run(editor);
    }
  };
  const go = (...at) => editor.byKeys.goTo(at);
  return { editor, scene, key, go, said };
}

test("a border is traced by keys alone: where it begins, where it ends, which way round", () => {
  const { editor, scene, key, go } = begun();
  key("Shift+T");
  go(152, 51);
  key("Enter");
  assert.deepEqual(scene.open, [], "nothing is drawn before it ends");
  go(149, 129);
  key("T", "T", "Enter");
  assert.deepEqual(scene.openPolygon(), TEETH.slice(1, 6));
  assert.equal(editor.tool.name, "draw", "and drawing goes on from there");
  key("T");
  assert.deepEqual(scene.open, [1, 0, 7, 6, 5], "the copied border the other way round");
  key("Z", "Z");
  assert.deepEqual(scene.open, []);
});

test("Enter adds a vertex at the keyboard cursor, and closes what the pointer draws", () => {
  const { editor, scene, key, go } = begun();
  key("D");
  for (const at of [[200, 50], [300, 50], [300, 150], [200, 150]]) {
    go(...at);
    key("Enter");
  }
  assert.equal(scene.open.length, 4);
  editor.byKeys.show(false);
  key("Enter");
  assert.deepEqual(scene.open, []);
  assert.equal(scene.regions.length, 2);
});

test("the hint shows Enter for closing what the pointer draws, and Shift+Enter with the keyboard cursor", () => {
  const { editor, key, go } = begun();
  const closing = () => hintsFor(editor).filter(({ text }) => text === "close the region").map(({ action }) => action.keys[0]);
  key("D");
  for (const at of [[200, 50], [300, 50], [300, 150]]) {
    assert.deepEqual(closing(), []);
    go(...at);
    key("Enter");
  }
  assert.deepEqual(closing(), ["Shift+Enter"]);
  editor.byKeys.show(false);
  assert.deepEqual(closing(), ["Enter"]);
});

test("a trace goes on from what is drawn when that ends on a border, and Escape begins somewhere else", () => {
  const { editor, scene, key, go } = begun();
  key("D");
  go(250, 50);
  key("Enter");
  go(150, 50);
  key("Enter", "Shift+T");
  go(150, 200);
  key("Enter");
  assert.deepEqual(scene.openPolygon(), [[250, 50], ...TEETH.slice(1, 6), [150, 200]]);
  assert.equal(scene.region("r1").ring.length, 9, "the end became a vertex of the neighbour");
  key("Shift+T", "Escape");
  assert.equal(editor.tool.name, "trace");
  assert.equal(/** @type {Tracing} */ (editor.tool).start, null);
});

test("a border that is gone is traced no more", () => {
  const { editor, scene, key, go } = begun(gridDocument(2, 1, 100, 2));
  const [gone] = scene.regions.map((region) => region.id);
  editor.edit("delete", null, (steps) => deleteRegion(steps, gone));
  key("Z", "Shift+T");
  const tracing = /** @type {Tracing} */ (editor.tool);
  for (const at of [[2, 50], [198, 50]]) {
    tracing.start = null;
    go(...at);
    key("Enter");
    if (tracing.start.region === gone) break;
  }
  assert.equal(tracing.start.region, gone);
  editor.redo();
  go(100, 50);
  assert.equal(tracing.start, null);
});

test("a traced border of two neighbours is that on which the pointer ends", () => {
  const { scene, key, go } = begun(gridDocument(2, 1, 100, 2));
  key("Shift+T");
  go(100, 0);
  key("Enter");
  go(2, 50);
  key("Enter");
  assert.deepEqual(scene.openPolygon(), [[100, 0], [50, 0], [0, 0], [0, 50]]);
  assert.ok(scene.open.every((point) => scene.region("r1").ring.includes(point)));
});

test("nothing can be traced where nothing is drawn", () => {
  const { key, go, said } = begun(documentOf([]));
  key("Shift+T");
  go(10, 10);
  key("Enter");
  assert.deepEqual(said, ["There is no border to trace yet."]);
});

test("vertices are chosen by keys and moved together", () => {
  const { editor, scene, key, go } = begun();
  editor.select("r1");
  key("A");
  editor.select("r1");
  go(150, 50);
  key(">", ">", ">");
  assert.deepEqual([...editor.chosen], [1, 2, 3, 4]);
  key("Shift+Enter");
  assert.deepEqual([...editor.chosen], [1, 2, 3]);
  key(",", "Enter", "ArrowRight", "Enter");
  assert.deepEqual(scene.polygon("r1"), [[50, 50], [160, 50], [170, 70], [160, 90], [160, 110], [150, 130], [150, 250], [50, 250]]);
  key("Z");
  assert.deepEqual(scene.polygon("r1"), TEETH);
  key("Ctrl+A");
  assert.equal(editor.chosen.size, TEETH.length);
  key("Escape");
  assert.equal(editor.chosen.size, 0);
});

test("a click with Shift chooses a vertex, again leaves it", () => {
  const { editor } = begun();
  editor.useTool("adjust");
  editor.select("r1");
  const touch = { at: [150, 51], kind: "mouse", reach: 9, snap: 9, isSplit: false, isBox: true };
  for (const expected of [[1], []]) {
    editor.tool.press?.(touch, 1);
    editor.tool.release?.(touch);
    assert.deepEqual([...editor.chosen], expected);
  }
});

test("the last vertex is taken away, and a region goes to the front and to the back", () => {
  const { editor, scene, key, go } = begun(documentOf([TEETH, TEETH, TEETH]));
  key("D");
  for (const at of [[250, 50], [300, 50]]) {
    go(...at);
    key("Enter");
  }
  key("Shift+Backspace");
  assert.deepEqual(scene.openPolygon(), [[250, 50]]);
  key("Backspace", "A");
  editor.select("r2");
  const order = () => scene.regions.map(({ id }) => id).join(" ");
  for (const [name, expected] of [["]", "r2 r1 r3"], ["{", "r1 r3 r2"], ["[", "r1 r3 r2"], ["}", "r2 r1 r3"], ["Alt+ArrowDown", "r1 r2 r3"], ["Alt+End", "r1 r3 r2"], ["Alt+Home", "r2 r1 r3"]]) {
    key(name);
    assert.equal(order(), expected, name);
  }
});

const touchAt = (at, more = {}) => ({ at, kind: "mouse", reach: 9, snap: 9, isSplit: false, isBox: false, ...more });

function dragged(editor, from, to) {
  editor.isHolding = true;
  editor.tool.press?.(touchAt(from), 1);
  editor.tool.drag?.(touchAt([from[0] + 5, from[1] + 5]));
  editor.tool.drag?.(touchAt(to));
  editor.isHolding = false;
  editor.tool.release?.(touchAt(to));
}

test("a region is moved in one drag, which is one step, and leaves its neighbours where they are", () => {
  const { editor, scene, key } = begun(gridDocument(2, 1, 100, 2));
  const [left, right] = scene.regions.map((region) => region.id);
  const before = [left, right].map((id) => [...scene.polygon(id)]);
  key("Shift+M");
  dragged(editor, [50, 50], [80, 60]);
  const [first, other] = editor.selected === left ? [0, right] : [1, left];
  assert.deepEqual(scene.polygon(editor.selected), before[first].map(([x, y]) => [x + 30, y + 10]));
  assert.deepEqual(scene.polygon(other), before[1 - first]);
  key("Z");
  assert.deepEqual([left, right].map((id) => scene.polygon(id)), before);
  assert.ok(scene.sharedEdges().length > 0, "undo joins the border again");
});

test("regions that are moved together keep their common border", () => {
  const { editor, scene, key } = begun(gridDocument(2, 1, 100, 2));
  const ids = scene.regions.map((region) => region.id);
  const shared = scene.sharedEdges().length;
  const before = ids.map((id) => [...scene.polygon(id)]);
  key("Shift+M", "Alt+A");
  assert.deepEqual(editor.selection, ids);
  key("ArrowRight", "Shift+ArrowDown");
  assert.deepEqual(ids.map((id) => scene.polygon(id)), before.map((polygon) => polygon.map(([x, y]) => [x + 1, y + 10])));
  assert.equal(scene.sharedEdges().length, shared);
  key("Z", "Z");
  assert.deepEqual(ids.map((id) => scene.polygon(id)), before);
});

test("clicks with Shift or the secondary button select several regions, which are changed as one step", () => {
  const { editor, scene, key, said } = begun(gridDocument(3, 1, 100, 1));
  const ids = scene.regions.map((region) => region.id);
  key("Shift+M");
  editor.tool.press?.(touchAt([50, 50]), 1);
  editor.tool.release?.(touchAt([50, 50]));
  editor.tool.press?.(touchAt([150, 50], { isBox: true }), 1);
  editor.tool.release?.(touchAt([150, 50], { isBox: true }));
  editor.tool.second?.(touchAt([250, 50]));
  editor.tool.second?.(touchAt([150, 50]));
  assert.equal(editor.selection.length, 2);
  const [one, other] = editor.selection;
  key("V");
  assert.deepEqual(scene.regions.map((region) => region.is_hidden), ids.map((id) => id === one || id === other));
  key("Z", "U");
  assert.equal(scene.regions.filter((region) => region.is_stuff).length, 2);
  key("Z", "Delete");
  assert.equal(scene.regions.length, 1);
  key("Z");
  assert.deepEqual(scene.regions.map((region) => region.id), ids);
  editor.selectAll([one, other]);
  editor.edit("is_locked", other, (steps) => (steps.set(other, "is_locked", true), null));
  key("Delete", "ArrowRight");
  assert.deepEqual(scene.regions.map((region) => region.id), ids, "nothing is deleted if one of them is locked");
  assert.equal(said.length, 2);
});

test("a duplicate is in front of its original, with its name and its own vertices", () => {
  const { editor, scene, key } = begun(gridDocument(2, 1, 100, 1));
  const [first, second] = scene.regions.map((region) => region.id);
  editor.edit("name", first, (steps) => (steps.set(first, "name", "brick"), null));
  editor.selectAll([second, first]);
  const shared = scene.sharedEdges().length;
  key("A", "Shift+D");
  assert.equal(scene.regions.length, 4);
  const [copy] = scene.regions;
  assert.equal(copy.name, "brick");
  assert.deepEqual(scene.regions.map((region) => region.id).filter((id) => id === first || id === second), [first, second]);
  assert.deepEqual(scene.polygon(copy.id), scene.polygon(first).map(([x, y]) => [x + 14, y + 14]));
  assert.equal(scene.sharedEdges().length, 2 * shared, "the copies share a border too");
  assert.equal(editor.tool.name, "move");
  assert.equal(editor.selection.length, 2);
  key("Z");
  assert.deepEqual(scene.regions.map((region) => region.id), [first, second]);
});

/** Draw an open outline with the keyboard cursor. */
function drawAt({ key, go }, ...places) {
  for (const place of places) {
    go(...place);
    key("Enter");
  }
}

const HOLE = [[70, 100], [90, 100], [90, 140], [70, 140]];

test("a hole is drawn by keys in the selected region, and the next outline is a region again", () => {
  const page = begun();
  const { editor, scene, key, said } = page;
  key("A", "Shift+H");
  assert.equal(editor.selected, "r1");
  drawAt(page, ...HOLE);
  key("G");
  assert.deepEqual(scene.region("r1").starts, [8]);
  assert.equal(editor.selected, "r1");
  assert.match(said.at(-1), /A hole was cut/);
  drawAt(page, [250, 50], [300, 50], [300, 100], [250, 100]);
  key("G");
  assert.deepEqual(scene.regions.map(({ id }) => id), ["r2", "r1"]);
  key("Z", "Z", "Z", "Z", "Z", "Z");
  assert.equal(scene.open.length, 4, "the hole is open again");
  key("G");
  assert.deepEqual(scene.region("r1").starts, [8], "and still a hole");
  assert.equal(scene.regions.length, 1);
  key("Z", "X");
  drawAt(page, [250, 50], [300, 50], [300, 100], [250, 100]);
  key("G");
  assert.equal(scene.regions.length, 2, "redone, it does not make the next outline a part");
});

test("Escape goes back to new regions, and an open outline can become a hole later", () => {
  const page = begun();
  const { editor, scene, key } = page;
  key("A", "Shift+H", "Escape");
  assert.equal(editor.selected, null);
  drawAt(page, ...HOLE);
  editor.select("r1");
  key("Shift+H", "Escape");
  assert.equal(scene.open.length, 4);
  key("G");
  assert.deepEqual(scene.region("r1").starts, [8]);
});

test("a hole snaps to neighbours but not to its own region, and a locked region gets none", () => {
  const page = begun();
  const { editor, scene, key, go, said } = page;
  key("A", "Shift+H");
  go(55, 60);
  key("Enter");
  assert.deepEqual(scene.openPolygon(), [[55, 60]], "not on the side at x = 50");
  key("Z", "A", "L", "Shift+H");
  assert.equal(editor.tool.name, "adjust");
  assert.match(said.at(-1), /locked/);
});

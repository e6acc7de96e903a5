// The table of all user actions: keys, title, when an action is available and when its hint is
// shown. The key bindings, help dialog, hint line and tool bar are all built from it.

import { splitPoints } from "./vertex-editing.js";
import { deleteRegions, duplicateRegions, joinRegions, moveRegion, putBefore, setField, setFields } from "./region-commands.js";
import { ruleAbout } from "./outline-rules.js";
import { removeLastVertex } from "./region-drawing.js";

/** @typedef {import("./editor.js").Editor} Editor */

/**
 * @typedef {object} Action
 * @property {string} name
 * @property {string} title
 * @property {string[]} keys  in the notation of key-names.js
 * @property {string} group  heading in the help dialog; "" if the help describes it separately
 * @property {(editor: Editor) => void} run
 * @property {(editor: Editor) => boolean} [when]  whether the action is available; if not, its keys are unbound
 * @property {(editor: Editor) => string | null} [hint]  short hint while the action is likely to be useful
 * @property {(editor: Editor) => boolean} [isOn]  current state of a toggle
 */

/** Distance of a duplicate from its original, on the screen, in px. */
const DUPLICATE_PX = 14;
/** Actions whose hints are shown in a read-only picture. */
const LOOKING = ["adjust", "show"];

const isDrawing = (/** @type {Editor} */ editor) => ["draw", "trace"].includes(editor.tool.name);
const isAdjusting = (/** @type {Editor} */ editor) => editor.tool.name === "adjust";
const isOpen = (/** @type {Editor} */ editor) => isDrawing(editor) && editor.scene.open.length > 0;
const isTracing = (/** @type {Editor} */ editor) => editor.tool.name === "trace" && tracing(editor).start !== null;
const hasCopied = (/** @type {Editor} */ editor) => isOpen(editor) && editor.scene.open.some((point) => editor.scene.owners(point).length > 0);
const hasRegion = (/** @type {Editor} */ editor) => editor.selected !== null;
const drawing = (/** @type {Editor} */ editor) => /** @type {import("./draw-tool.js").Drawing} */ (editor.tools.get("draw"));
const adjusting = (/** @type {Editor} */ editor) => /** @type {import("./adjust-tool.js").Adjusting} */ (editor.tools.get("adjust"));
const isMasking = (/** @type {Editor} */ editor) => editor.tool.name === "mask";
const masking = (/** @type {Editor} */ editor) => /** @type {import("./mask-tool.js").Masking} */ (editor.tools.get("mask"));
const tracing = (/** @type {Editor} */ editor) => /** @type {import("./trace-tool.js").Tracing} */ (editor.tools.get("trace"));
const sweeping = (/** @type {Editor} */ editor) => /** @type {import("./delete-tool.js").Sweeping} */ (editor.tools.get("sweep"));

/** @type {Action[]} */
export const ACTIONS = [
  { name: "draw", title: "Draw a region", keys: ["D"], group: "Tools", run: (editor) => (isOpen(editor) ? editor.useTool("draw") : drawing(editor).begin(null)),
    isOn: (editor) => editor.tool.name === "draw", hint: (editor) => (editor.scene.regions.length || isDrawing(editor) ? null : "draw") },
  { name: "trace", title: "Trace a neighbour's border between two points", keys: ["Shift+T"], group: "Tools", run: (editor) => editor.useTool("trace"),
    isOn: (editor) => editor.tool.name === "trace", hint: (editor) => (editor.tool.name === "draw" && editor.scene.regions.length ? "trace a border" : null) },
  { name: "adjust", title: "Adjust; press again for the next region", keys: ["A"], group: "Tools", isOn: isAdjusting,
    when: (editor) => !isOpen(editor), run: adjustNext, hint: (editor) => (isAdjusting(editor) && !hasRegion(editor) && editor.scene.regions.length ? "select a region" : null) },
  { name: "previous", title: "Previous region", keys: ["Shift+A"], group: "Tools", when: isAdjusting, run: (editor) => editor.selectNext(-1) },
  { name: "move", title: "Move whole regions", keys: ["Shift+M"], group: "Tools", run: (editor) => editor.useTool("move"), isOn: (editor) => editor.tool.name === "move",
    when: (editor) => !isOpen(editor) },
  { name: "brush", title: "Delete vertices with a brush", keys: ["B"], group: "Tools", run: (editor) => sweeping(editor).take("brush"),
    isOn: (editor) => editor.tool.name === "sweep" && sweeping(editor).form === "brush" },
  { name: "box", title: "Delete the vertices in a box", keys: ["M"], group: "Tools", run: (editor) => sweeping(editor).take("box"),
    isOn: (editor) => editor.tool.name === "sweep" && sweeping(editor).form === "box" },
  { name: "mask", title: "Paint a region with a brush", keys: ["Shift+B"], group: "Tools", run: (editor) => editor.useTool("mask"), isOn: isMasking,
    when: (editor) => !isOpen(editor) },
  { name: "hand", title: "Move the picture", keys: ["H"], group: "Tools", run: (editor) => editor.useTool("hand"), isOn: (editor) => editor.tool.name === "hand" },

  { name: "larger", title: "Larger brush (or the wheel with Alt)", keys: ["]", "PageUp"], group: "Painting", when: isMasking, run: (editor) => masking(editor).resize(1),
    hint: (editor) => (isMasking(editor) ? "larger brush" : null) },
  { name: "smaller", title: "Smaller brush", keys: ["[", "PageDown"], group: "Painting", when: isMasking, run: (editor) => masking(editor).resize(-1),
    hint: (editor) => (isMasking(editor) ? "smaller brush" : null) },
  { name: "erase", title: "Erase, or paint again (hold Alt for one stroke)", keys: ["T"], group: "Painting", when: isMasking, run: (editor) => masking(editor).turn(),
    isOn: (editor) => masking(editor).erases, hint: (editor) => (isMasking(editor) ? (masking(editor).erases ? "paint" : "erase") : null) },
  { name: "paint-new", title: "Paint another region", keys: ["C"], group: "Painting", when: (editor) => isMasking(editor) && hasRegion(editor), run: (editor) => editor.select(null),
    hint: (editor) => (isMasking(editor) && hasRegion(editor) ? "another region" : null) },

  { name: "vertex", title: "Add a vertex at the cursor", keys: ["C"], group: "Drawing", when: isDrawing, run: pressAtCursor,
    hint: (editor) => (isDrawing(editor) && editor.hasCursor ? "add a vertex" : null) },
  { name: "line", title: "Add a vertex on the nearest line", keys: ["Q"], group: "Drawing", when: isDrawing, run: (editor) => drawing(editor).addOnLine(),
    hint: (editor) => (editor.tool.name === "draw" && editor.scene.regions.length ? "on the nearest line" : null) },
  { name: "corner", title: "Add a vertex at the nearest vertex", keys: ["W"], group: "Drawing", when: isDrawing, run: (editor) => drawing(editor).addOnVertex(),
    hint: (editor) => (editor.tool.name === "draw" && editor.scene.regions.length ? "on the nearest vertex" : null) },
  { name: "turn", title: "Copy the border in the other direction", keys: ["T"], group: "Drawing", when: (editor) => isOpen(editor) || isTracing(editor),
    run: (editor) => (isTracing(editor) ? tracing(editor) : drawing(editor)).turn(), hint: (editor) => (isTracing(editor) || hasCopied(editor) ? "other way round" : null) },
  { name: "press", title: "Press at the cursor: add, grab and drop, select; close what the pointer draws", keys: ["Enter"], group: "Cursor", run: press,
    when: (editor) => editor.hasCursor || isDrawing(editor), hint: hintOfPressing },
  { name: "close", title: "Close the region", keys: ["Shift+Enter", "G"], group: "Drawing", when: isOpen, run: (editor) => drawing(editor).close(),
    hint: (editor) => (editor.scene.open.length > 2 && !isClosable(editor) ? hintOfClosing(editor) : null) },
  { name: "shorten", title: "Remove the last vertex", keys: ["Shift+Backspace", "Shift+Delete"], group: "Drawing", when: isOpen,
    run: (editor) => editor.edit("vertex", null, removeLastVertex) },
  { name: "discard", title: "Discard the open outline", keys: ["Delete", "Backspace"], group: "Drawing", when: isDrawing, run: (editor) => drawing(editor).discard(),
    hint: (editor) => (isOpen(editor) ? "discard" : null) },

  { name: "cursor", title: "Show or hide the keyboard cursor", keys: ["K"], group: "Cursor", run: (editor) => editor.byKeys.show(!editor.hasCursor),
    isOn: (editor) => editor.hasCursor },
  ...arrows(),
  { name: "next-vertex", title: "Move to the next vertex", keys: ["."], group: "Cursor", when: hasRegion, run: (editor) => stepVertex(editor, 1) },
  { name: "last-vertex", title: "Move to the previous vertex", keys: [","], group: "Cursor", when: hasRegion, run: (editor) => stepVertex(editor, -1) },

  { name: "insert", title: "Insert a vertex at the cursor", keys: ["I"], group: "Adjusting", when: (editor) => isAdjusting(editor) && hasRegion(editor),
    run: (editor) => adjusting(editor).second(editor.cursor), hint: (editor) => (isAdjusting(editor) && hasRegion(editor) ? "insert a vertex" : null) },
  { name: "delete", title: "Delete the vertex at the cursor, or else the region", keys: ["Delete", "Backspace"], group: "Adjusting",
    when: (editor) => !isDrawing(editor), run: (editor) => adjusting(editor).delete(),
    hint: hintOfDeleting },
  { name: "split", title: "Separate a shared vertex", keys: ["J"], group: "Adjusting", when: (editor) => hasRegion(editor) && atVertex(editor), run: split,
    hint: (editor) => (isAdjusting(editor) && isAtShared(editor) ? "separate it" : null) },
  { name: "choose", title: "Select or deselect the vertex at the cursor", keys: ["Shift+Enter"], group: "Adjusting",
    when: (editor) => isAdjusting(editor) && atVertex(editor), run: (editor) => adjusting(editor).choose(editor.cursor),
    hint: hintOfChoosing },
  { name: "choose-next", title: "Extend the selection to the next vertex", keys: [">", "Alt+ArrowRight"], group: "Adjusting", when: hasRegion, run: (editor) => chooseOn(editor, 1) },
  { name: "choose-last", title: "Extend the selection to the previous vertex", keys: ["<", "Alt+ArrowLeft"], group: "Adjusting", when: hasRegion, run: (editor) => chooseOn(editor, -1) },
  { name: "choose-all", title: "Select all vertices of the region", keys: ["Ctrl+A"], group: "Adjusting", when: hasRegion, run: chooseAll },
  { name: "splits", title: "Move only this region's copy of shared vertices (Alt)", keys: ["Shift+J"], group: "Adjusting", run: (editor) => flip(editor, "splits"),
    isOn: (editor) => editor.settings.splits },
  { name: "show", title: "Zoom to the region", keys: ["S"], group: "Adjusting", when: hasRegion, run: showSelected,
    hint: (editor) => (isAdjusting(editor) && hasRegion(editor) ? "zoom to it" : null) },

  { name: "name", title: "Name the region", keys: ["N"], group: "Region", when: hasRegion, run: (editor) => editor.onName(),
    hint: (editor) => (editor.region?.name === "" ? "name it" : null) },
  { name: "duplicate", title: "Duplicate the region", keys: ["Shift+D", "Ctrl+D"], group: "Region", when: (editor) => hasRegion(editor) && !isOpen(editor), run: duplicate },
  { name: "extend", title: "Draw a hole in the region, or a further part of it", keys: ["Shift+H"], group: "Region",
    when: (editor) => hasRegion(editor) && !editor.alsoSelected.size && !editor.isReadOnly,
    run: (editor) => drawing(editor).begin(editor.selected), isOn: (editor) => editor.tool.name === "draw" && drawing(editor).owner !== null },
  { name: "join", title: "Join the selected regions into one with several parts or holes", keys: ["Shift+U"], group: "Region",
    when: (editor) => editor.alsoSelected.size > 0 && !editor.isReadOnly, run: join },
  { name: "select-all", title: "Select all regions that the list shows", keys: ["Alt+A"], group: "Region", when: (editor) => !isDrawing(editor),
    run: (editor) => editor.selectAll(editor.listed()) },
  { name: "copy", title: "Copy your regions from another picture", keys: ["Shift+C"], group: "Region", when: (editor) => !isOpen(editor) && !editor.isReadOnly,
    run: (editor) => editor.onPictures("copy") },
  { name: "search", title: "Search the list of regions", keys: ["/"], group: "Region", when: (editor) => editor.scene.regions.length > 1, run: (editor) => editor.onSearch() },
  { name: "stuff", title: "Thing or stuff", keys: ["U"], group: "Region", when: hasRegion, run: (editor) => flipField(editor, "is_stuff") },
  { name: "hide", title: "Hide the region", keys: ["V"], group: "Region", when: hasRegion, run: hideSelected },
  { name: "show-all", title: "Show all regions", keys: ["Shift+V"], group: "Region", run: showAll,
    hint: (editor) => (editor.scene.regions.some((region) => region.is_hidden) ? "show all regions" : null) },
  { name: "lock", title: "Lock or unlock", keys: ["L"], group: "Region", when: hasRegion, run: (editor) => flipField(editor, "is_locked"),
    hint: (editor) => (editor.region?.is_locked ? "unlock" : null) },

  { name: "forward", title: "Move one step forward", keys: ["]", "Alt+ArrowUp"], group: "Depth", when: hasRegion, run: (editor) => reorder(editor, -1) },
  { name: "back", title: "Move one step back", keys: ["[", "Alt+ArrowDown"], group: "Depth", when: hasRegion, run: (editor) => reorder(editor, 1) },
  { name: "front", title: "Move to the front", keys: ["}", "Alt+Home"], group: "Depth", when: hasRegion, run: (editor) => reorder(editor, -Infinity) },
  { name: "rear", title: "Move to the back", keys: ["{", "Alt+End"], group: "Depth", when: hasRegion, run: (editor) => reorder(editor, Infinity) },
  { name: "swap", title: "Swap the two regions that overlap at the cursor", keys: ["O"], group: "Depth", when: (editor) => pairAtCursor(editor) !== null, run: swapAtCursor,
    hint: (editor) => (isDrawing(editor) ? null : hintOfSwap(editor)) },

  { name: "undo", title: "Undo", keys: ["Z", "Ctrl+Z"], group: "Steps", run: (editor) => editor.undo() },
  { name: "redo", title: "Redo", keys: ["X", "Ctrl+Shift+Z", "Ctrl+Y"], group: "Steps", run: (editor) => editor.redo() },
  { name: "escape", title: "Cancel; deselect; show the whole picture", keys: ["Escape"], group: "Steps", run: escape },

  { name: "fills", title: "Fill regions in depth order", keys: ["F"], group: "View", run: (editor) => flip(editor, "fills"), isOn: (editor) => editor.settings.fills },
  { name: "hatches", title: "Hatch hidden parts", keys: ["P"], group: "View", run: (editor) => flip(editor, "hatches"), isOn: (editor) => editor.settings.hatches },
  { name: "numbers", title: "Show depth order numbers", keys: ["Shift+N"], group: "View", run: (editor) => flip(editor, "numbers"), isOn: (editor) => editor.settings.numbers },
  { name: "magnet", title: "Snap to nearby vertices and edges (hold Alt to suspend)", keys: ["Y"], group: "View", run: (editor) => flip(editor, "magnet"), isOn: (editor) => editor.settings.magnet },
  { name: "pictures", title: "Choose another picture", keys: ["Shift+P"], group: "View", run: (editor) => editor.onPictures("go") },
  { name: "nearer", title: "Zoom in", keys: ["+", "="], group: "View", run: (editor) => zoom(editor, 1.5) },
  { name: "farther", title: "Zoom out", keys: ["-"], group: "View", run: (editor) => zoom(editor, 1 / 1.5) },
  { name: "whole", title: "Show the whole picture", keys: ["0"], group: "View", run: (editor) => editor.picture.fit() },
]; // prettier-ignore

/**
 * Return the action that a key triggers now.
 * @param {Editor} editor
 * @param {string} key
 * @returns {Action | undefined}
 */
export function actionOf(editor, key) {
  return ACTIONS.find((action) => action.keys.includes(key) && (action.when?.(editor) ?? true));
}

/**
 * @param {Editor} editor
 * @param {string} name
 */
export function run(editor, name) {
  const action = ACTIONS.find((each) => each.name === name);
  if (action && (action.when?.(editor) ?? true)) action.run(editor);
}

/**
 * Return the first key of an action, to show on a button; "" if it has none.
 * @param {string} name
 */
export function keyFor(name) {
  return ACTIONS.find((each) => each.name === name)?.keys[0] ?? "";
}

/**
 * Whether a toggle is on.
 * @param {Editor} editor
 * @param {string} name
 */
export function isOn(editor, name) {
  return ACTIONS.find((each) => each.name === name)?.isOn?.(editor) ?? false;
}

/**
 * Return the hints to show now.
 * @param {Editor} editor
 * @returns {{action: Action, text: string}[]}
 */
export function hintsFor(editor) {
  const possible = editor.isReadOnly ? ACTIONS.filter((action) => LOOKING.includes(action.name)) : ACTIONS;
  return possible.flatMap((action) => {
    const text = (action.when?.(editor) ?? true) ? action.hint?.(editor) : null;
    return text ? [{ action, text }] : [];
  });
}

/**
 * Arrow keys pan the picture, or move the keyboard cursor if it is on. With Shift or Ctrl they always move
 * the cursor: in large steps with Shift, by 1 screen px with Ctrl.
 * @returns {Action[]}
 */
function arrows() {
  const ways = /** @type {[string, string, number, number][]} */ ([
    ["Left", "left", -1, 0],
    ["Right", "right", 1, 0],
    ["Up", "up", 0, -1],
    ["Down", "down", 0, 1],
  ]);
  return ways.flatMap(([key, word, dx, dy]) => [
    { name: `pan-${word}`, title: `Pan, or move the cursor, ${word}`, keys: [`Arrow${key}`], group: "",
      run: (/** @type {Editor} */ editor) => (editor.hasCursor ? editor.byKeys.move(dx, dy, "plain") : editor.picture.panBy(-20 * dx, -20 * dy)) },
    { name: `far-${word}`, title: `Move the cursor far ${word}`, keys: [`Shift+Arrow${key}`], group: "", run: (/** @type {Editor} */ editor) => editor.byKeys.move(dx, dy, "far") },
    { name: `fine-${word}`, title: `Move the cursor one px ${word}`, keys: [`Ctrl+Arrow${key}`], group: "", run: (/** @type {Editor} */ editor) => editor.byKeys.move(dx, dy, "fine") },
  ]); // prettier-ignore
}

/** @param {Editor} editor */
function adjustNext(editor) {
  const isNew = !isAdjusting(editor);
  editor.useTool("adjust");
  if (!isNew || !editor.selected) editor.selectNext(1);
}

/**
 * Whether the selected region has just been drawn with a pointer: Enter then asks for its name instead of
 * beginning the next outline.
 * @param {Editor} editor
 */
function isJustClosed(editor) {
  const isExtending = drawing(editor).owner !== null;
  return editor.tool.name === "draw" && !editor.hasCursor && hasRegion(editor) && !editor.scene.open.length && !isExtending;
}

/** @param {Editor} editor */
function press(editor) {
  if (isJustClosed(editor)) editor.onClosed(/** @type {string} */ (editor.selected));
  else if (isClosable(editor)) drawing(editor).close();
  else pressAtCursor(editor);
}

/**
 * Whether the pointer has drawn an outline that Enter closes, instead of adding a vertex at the cursor.
 * @param {Editor} editor
 */
function isClosable(editor) {
  return editor.tool.name === "draw" && !editor.hasCursor && editor.scene.open.length > 2;
}

/** @param {Editor} editor */
function hintOfPressing(editor) {
  if (isClosable(editor)) return hintOfClosing(editor);
  return editor.isHolding && editor.hasCursor ? "drop" : null;
}

/** @param {Editor} editor */
function hintOfClosing(editor) {
  return drawing(editor).owner === null ? "close the region" : "close the hole or part";
}

/** @param {Editor} editor */
function pressAtCursor(editor) {
  if (!editor.hasCursor && !editor.isPointing) return editor.byKeys.show(true);
  editor.byKeys.press();
}

/** @param {Editor} editor */
function escape(editor) {
  if (editor.let()) return;
  if (editor.chosen.size) editor.chosen.clear();
  else if (editor.alsoSelected.size) editor.select(editor.selected);
  else {
    if (!isDrawing(editor)) editor.select(null);
    editor.picture.fit();
  }
  editor.changed();
}

/**
 * Move the cursor to the nearest vertex of the selected region; if it is there already, to a neighbouring vertex.
 * @param {Editor} editor
 * @param {number} by
 */
function stepVertex(editor, by) {
  const ring = editor.region?.ring;
  if (!ring) return;
  const [x, y] = editor.cursor.at;
  const far = ring.map((point) => Math.hypot(editor.scene.points[point][0] - x, editor.scene.points[point][1] - y));
  const nearest = far.indexOf(Math.min(...far));
  const isOnIt = far[nearest] <= editor.inImage(1);
  const next = isOnIt ? (nearest + by + ring.length) % ring.length : nearest;
  editor.useTool("adjust");
  editor.byKeys.goTo([...editor.scene.points[ring[next]]]);
}

/**
 * Like `stepVertex`, but also select both vertices, so that the next drag moves them together.
 * @param {Editor} editor
 * @param {number} by
 */
function chooseOn(editor, by) {
  const from = vertexAtCursor(editor);
  stepVertex(editor, by);
  adjusting(editor).add([from, vertexAtCursor(editor)]);
}

/** @param {Editor} editor */
function chooseAll(editor) {
  editor.useTool("adjust");
  adjusting(editor).add(editor.region?.ring ?? []);
}

/** @param {Editor} editor */
function hintOfChoosing(editor) {
  const vertex = editor.hasCursor ? vertexAtCursor(editor) : null;
  if (!isAdjusting(editor) || vertex === null) return null;
  return editor.chosen.has(vertex) ? "deselect it" : "select it";
}

/** @param {Editor} editor */
function hintOfDeleting(editor) {
  if (isDrawing(editor) || !hasRegion(editor)) return null;
  if (editor.alsoSelected.size) return `delete ${editor.alsoSelected.size + 1} regions`;
  if (editor.chosen.size) return editor.chosen.size === 1 ? "delete the selected vertex" : `delete ${editor.chosen.size} vertices`;
  return atVertex(editor) ? "delete the vertex" : "delete the region";
}

/** @param {Editor} editor */
function vertexAtCursor(editor) {
  return editor.isPointing || editor.hasCursor ? adjusting(editor).vertexAt(editor.cursor) : null;
}

/** @param {Editor} editor */
function atVertex(editor) {
  return vertexAtCursor(editor) !== null;
}

/** @param {Editor} editor */
function isAtShared(editor) {
  const vertex = vertexAtCursor(editor);
  return vertex !== null && editor.scene.owners(vertex).length > 1;
}

/** @param {Editor} editor */
function split(editor) {
  const vertex = adjusting(editor).vertexAt(editor.cursor);
  const id = editor.selected;
  if (vertex !== null && id) editor.edit("split", id, (steps) => splitPoints(steps, id, [vertex]));
}

/** @param {Editor} editor */
function showSelected(editor) {
  if (editor.selected) editor.showBox(editor.scene.box(editor.selected), 50);
}

/**
 * @param {Editor} editor
 * @param {"is_stuff" | "is_hidden" | "is_locked"} field
 * @param {string | null} [id]
 */
export function flipField(editor, field, id = editor.selected) {
  if (id === null) return;
  const value = !editor.scene.region(id)[field];
  const ids = editor.isSelected(id) ? editor.selection : [id];
  editor.edit(field, id, (steps) => setFields(steps, ids, field, value));
}

/** @param {Editor} editor */
function hideSelected(editor) {
  flipField(editor, "is_hidden");
}

/** @param {Editor} editor */
function showAll(editor) {
  const hidden = editor.scene.regions.filter((region) => region.is_hidden).map((region) => region.id);
  editor.edit("is_hidden", null, (steps) => {
    for (const id of hidden) setField(steps, id, "is_hidden", false);
    return null;
  });
}

/**
 * @param {Editor} editor
 * @param {number} by
 */
function reorder(editor, by) {
  const id = editor.selected;
  if (!id) return;
  const last = editor.scene.regions.length - 1;
  const place = Math.min(Math.max(editor.scene.place(id) + by, 0), last);
  if (place === editor.scene.place(id)) return editor.say(by < 0 ? "It is already in front." : "It is already at the back.");
  editor.edit("reorder", id, (steps) => moveRegion(steps, id, place));
}

/**
 * Return the two regions whose order at the cursor is to be swapped: [the one behind, the one in front].
 * They are the selected region and the next one in front of it at the cursor; if there is no such pair,
 * the two frontmost regions there. Return null if the cursor is on fewer than two regions.
 * @param {Editor} editor
 * @returns {[string, string] | null}
 */
function pairAtCursor(editor) {
  if (!editor.isPointing && !editor.hasCursor && editor.cursor.kind !== "touch") return null;
  const ids = editor.regionsAt(editor.cursor.at);
  if (ids.length < 2) return null;
  const at = editor.selected ? ids.indexOf(editor.selected) : -1;
  return at > 0 ? [ids[at], ids[at - 1]] : [ids[1], ids[0]];
}

/** @param {Editor} editor */
function swapAtCursor(editor) {
  const pair = pairAtCursor(editor);
  if (pair) putInFront(editor, ...pair);
}

/**
 * @param {Editor} editor
 * @param {string} front
 * @param {string} behind
 */
export function putInFront(editor, front, behind) {
  editor.depth.update();
  editor.edit("reorder", front, (steps) => putBefore(steps, front, behind, (a, b) => editor.depth.overlapPx(a, b) > 0));
}

/** @param {Editor} editor */
function hintOfSwap(editor) {
  const pair = pairAtCursor(editor);
  if (!pair) return null;
  const [front, behind] = pair.map((id) => nameOf(editor, id));
  return `${front} in front of ${behind}`;
}

/**
 * Return the name of a region, or its number if it has none.
 * @param {Editor} editor
 * @param {string} id
 */
export function nameOf(editor, id) {
  return editor.scene.region(id).name || `region ${editor.scene.place(id) + 1}`;
}

/**
 * @param {Editor} editor
 * @param {string} id
 */
export function remove(editor, id) {
  const ids = editor.isSelected(id) ? editor.selection : [id];
  editor.edit("delete", id, (steps) => deleteRegions(steps, ids));
}

/**
 * Copy the selected regions a few pixels away and select the copies, ready to be moved.
 * @param {Editor} editor
 */
function duplicate(editor) {
  /** @type {string[]} */
  let copies = [];
  const isDone = editor.edit("duplicate", editor.selected, (steps) => {
    copies = duplicateRegions(steps, editor.selection, editor.inImage(DUPLICATE_PX));
    return null;
  });
  if (!isDone) return;
  editor.useTool("move");
  editor.selectAll(copies);
}

/** @param {Editor} editor */
function join(editor) {
  const ids = editor.selection;
  const before = editor.scene.outlines(ids[0]);
  if (!editor.edit("join", ids[0], (steps) => joinRegions(steps, ids))) return;
  editor.select(ids[0]);
  editor.say(ruleAbout(before, editor.scene.outlines(ids[0])));
}

/**
 * @param {Editor} editor
 * @param {keyof Editor["settings"]} setting
 */
function flip(editor, setting) {
  editor.settings[setting] = !editor.settings[setting];
  editor.changed();
}

/**
 * @param {Editor} editor
 * @param {number} factor
 */
function zoom(editor, factor) {
  const { picture, hasCursor, cursor } = editor;
  const middle = /** @type {[number, number]} */ ([picture.screen[0] / 2, picture.screen[1] / 2]);
  picture.zoomAbout(hasCursor ? picture.view.toScreen(cursor.at) : middle, factor);
}

import assert from "node:assert/strict";
import test from "node:test";
import { Moving } from "../../src/segarena_studio/static/editor/move-tool.js";

/** An editor with two regions, "a" under the touch. */
function editorWith(selected) {
  const editor = {
    selection: selected,
    scene: { region: () => ({ is_locked: false }) },
    regionsAt: () => ["a"],
    isSelected: (id) => editor.selection.includes(id),
    select: (id) => (editor.selection = [id]),
    selectAll: (ids) => (editor.selection = ids),
    toggleSelected: (id) => (editor.selection = editor.isSelected(id) ? editor.selection.filter((other) => other !== id) : [...editor.selection, id]),
  };
  return editor;
}

function pressLong(selected, kind) {
  const editor = editorWith(selected);
  const tool = new Moving(editor);
  const touch = { at: [5, 5], kind, isBox: false };
  tool.press(touch);
  tool.second(touch);
  return editor.selection;
}

test("a long press of a finger or pen adds a region to the selection, or removes it", () => {
  assert.deepEqual(pressLong(["b"], "touch"), ["b", "a"]);
  assert.deepEqual(pressLong(["b"], "pen"), ["b", "a"]);
  assert.deepEqual(pressLong([], "touch"), ["a"]);
  assert.deepEqual(pressLong(["b", "a"], "touch"), ["b"]);
});

test("the second button of a mouse adds a region without a press before it", () => {
  const editor = editorWith(["b"]);
  new Moving(editor).second({ at: [5, 5], kind: "mouse", isBox: false });
  assert.deepEqual(editor.selection, ["b", "a"]);
});

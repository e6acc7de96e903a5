// Keyboard shortcuts of the annotation page: their descriptions and their actions.

/** @typedef {import("./prompt-input.js").Hand} Hand */

/** Step of the cursor with Shift, in pixels. */
export const FAR = 10;

export const KEYS = [
  ["Arrows", "move the cursor; with Shift in steps of ten"],
  ["Space", "click; begin and end a box or a line"],
  ["X", "switch between marking the object and marking what is not part of it"],
  ["T", "next tool"],
  ["O", "next object"],
  ["PgUp, PgDn", "previous and next slice or frame; or turn the wheel"],
  ["1 2 3", "enlarge the axial, coronal or sagittal slices"],
  ["[ and ]", "mark this slice as the first or the last one"],
  ["Backspace", "undo"],
  ["Enter", "send"],
  ["G", "good enough: nothing is left to correct"],
  ["P", "pause"],
  ["+ − 0", "zoom, whole picture; or pinch"],
];

/**
 * Return the action of each key in the current state.
 * @param {Hand} hand
 * @param {number} step  step of the cursor, in pixels
 * @returns {Record<string, () => void>}
 */
export function actsOf(hand, step) {
  return {
    ArrowLeft: () => hand.moveCursor(-step, 0),
    ArrowRight: () => hand.moveCursor(step, 0),
    ArrowUp: () => hand.moveCursor(0, -step),
    ArrowDown: () => hand.moveCursor(0, step),
    " ": () => hand.pressKey(),
    x: () => hand.next("sign"),
    t: () => hand.next("tool"),
    o: () => hand.next("object"),
    PageUp: () => hand.goTo(hand.sight.main.index - 1),
    PageDown: () => hand.goTo(hand.sight.main.index + 1),
    1: () => hand.lookBy("0"),
    2: () => hand.lookBy("1"),
    3: () => hand.lookBy("2"),
    "[": () => hand.limit("first", "keyboard"),
    "]": () => hand.limit("last", "keyboard"),
    Backspace: () => hand.undo(),
    Enter: () => hand.does.send(false),
    g: () => hand.does.send(true),
    p: () => hand.does.pause(),
    "+": () => hand.sight.main.picture.zoomAbout(hand.middle, 1.3),
    "=": () => hand.sight.main.picture.zoomAbout(hand.middle, 1.3),
    "-": () => hand.sight.main.picture.zoomAbout(hand.middle, 1 / 1.3),
    0: () => hand.sight.fit(),
  };
}

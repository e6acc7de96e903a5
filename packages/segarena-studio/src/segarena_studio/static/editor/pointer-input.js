// Pointer input of an editor: mouse, touch and pen events are passed to the active tool as touches,
// in image px.

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("../../../reports/viewer/pointer.js").Sample} Sample */

/**
 * Return the pointer handlers of an editor.
 * @param {Editor} editor
 * @returns {import("../../../reports/viewer/pointer.js").Handlers}
 */
export function handlersOf(editor) {
  return {
    pans: () => editor.isSpaceHeld || editor.tool.name === "hand",
    pan: (dx, dy) => editor.picture.panBy(dx, dy),
    zoom: (point, factor) => editor.picture.zoomAbout(point, factor),
    press: (sample, clicks) => {
      editor.isHolding = true;
      editor.hasCursor = false;
      const answer = editor.tool.press?.(touch(editor, sample), clicks);
      editor.picture.redraw();
      return answer;
    },
    drag: (samples) => {
      editor.tool.drag?.(touch(editor, samples[samples.length - 1]));
      editor.picture.redraw();
    },
    release: (sample) => {
      editor.isHolding = false;
      editor.tool.release?.(touch(editor, sample));
      editor.isPointing = sample.kind !== "touch";
      editor.changed();
    },
    cancel: () => editor.let(),
    second: (sample) => {
      editor.tool.second?.(touch(editor, sample));
      editor.changed();
    },
    hover: (sample) => {
      editor.hasCursor = false;
      editor.tool.hover?.(touch(editor, sample));
      editor.picture.redraw();
    },
    wheel: (_, dy, event) => {
      if (!event.altKey || !editor.tool.resize || !dy) return false;
      editor.tool.resize(-Math.sign(dy));
      return true;
    },
    leave: () => {
      if (!editor.isHolding) editor.isPointing = false;
      editor.picture.redraw();
    },
  };
}

/**
 * Convert a pointer sample to a touch and make it the editor's cursor.
 * @param {Editor} editor
 * @param {Sample} sample
 */
function touch(editor, sample) {
  const at = editor.picture.view.toImage([sample.x, sample.y]);
  editor.isPointing = true;
  const { altKey, shiftKey } = sample.event;
  editor.isSuspended = altKey && editor.tool.name === "draw";
  editor.point({ at, kind: sample.kind, reach: 0, snap: 0, isAlt: altKey, isSplit: altKey, isBox: shiftKey });
  return editor.cursor;
}

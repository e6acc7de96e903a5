// Keyboard shortcuts of the viewer. Keep the key list in viewer.html in step with them.

import { find } from "../common/dom.js";

/** @typedef {import("./look-viewer.js").LookViewer} LookViewer */

const PAN_PX = 60;
/** @type {Record<string, [number, number]>} */
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * Listen to key events of the page.
 * @param {LookViewer} viewer
 */
export function listenToKeys(viewer) {
  const setSpace = (/** @type {boolean} */ isDown) => (viewer.isSpaceDown = isDown);
  document.addEventListener("keydown", (event) => {
    if (event.key === " ") setSpace(true);
    if (pressed(viewer, event)) event.preventDefault();
  });
  document.addEventListener("keyup", (event) => {
    if (event.key === " ") setSpace(false);
  });
  window.addEventListener("blur", () => setSpace(false));
}

/**
 * Handle a key press; return whether it is one of the viewer's shortcuts.
 * @param {LookViewer} viewer
 * @param {KeyboardEvent} event
 */
function pressed(viewer, event) {
  const at = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || document.querySelector("dialog[open]")) return false;
  const isText = at.matches("input:not([type=checkbox], [type=range]), textarea");
  const isOwn = at.matches("select, input[type=range]") && /^(Arrow|Home|End|Page)/.test(event.key);
  if (isText || isOwn || (event.key === " " && at.matches("button, a, input, summary, select"))) return false;
  const way = event.shiftKey ? WAYS[event.key] : undefined;
  if (way) viewer.panes.pan(-PAN_PX * way[0], -PAN_PX * way[1]);
  if (way) return true;
  const acts = actsOf(viewer);
  const act = acts[event.key] ?? acts[event.key.toLowerCase()];
  act?.();
  return Boolean(act);
}

/**
 * @param {LookViewer} viewer
 * @returns {Record<string, () => void>}
 */
function actsOf(viewer) {
  const { controls, root } = viewer;
  const first = viewer.shownDirections[0] ?? 0;
  return {
    ArrowLeft: () => viewer.setRound(viewer.round - 1),
    ArrowRight: () => viewer.setRound(viewer.round + 1),
    Home: () => viewer.setRound(1),
    End: () => viewer.setRound(Infinity),
    ArrowUp: () => viewer.setPlace(first, viewer.places[first] + 1),
    ArrowDown: () => viewer.setPlace(first, viewer.places[first] - 1),
    ",": () => viewer.go("previous"),
    PageUp: () => viewer.go("previous"),
    ".": () => viewer.go("next"),
    PageDown: () => viewer.go("next"),
    " ": () => viewer.player.toggle(),
    "+": () => viewer.panes.zoom(1.25),
    "=": () => viewer.panes.zoom(1.25),
    "-": () => viewer.panes.zoom(0.8),
    0: () => viewer.panes.fit(),
    z: () => viewer.panes.showTarget(),
    "[": () => controls.slide("opacity", -0.1),
    "]": () => controls.slide("opacity", 0.1),
    1: () => controls.choose("mode", "fill"),
    2: () => controls.choose("mode", "lines"),
    3: () => controls.choose("mode", "errors"),
    4: () => controls.choose("mode", "plain"),
    m: () => controls.toggle("marks"),
    t: () => controls.toggle("target"),
    p: () => controls.next("directions"),
    d: () => controls.next("drag"),
    w: () => controls.next("preset"),
    l: () => find("a.list", HTMLAnchorElement, root).click(),
    "?": () => find("dialog.help", HTMLDialogElement, root).showModal(),
  };
}

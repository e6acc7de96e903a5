// The help dialog: all keys, and the mouse, touch and pen gestures.

import { ACTIONS } from "./actions.js";
import { keyCap } from "../common/dom.js";

const GROUPS = ["Tools", "Drawing", "Painting", "Asking", "Cursor", "Adjusting", "Region", "Video", "Depth", "Steps", "View"];

/**
 * Further keys that do not belong to an action.
 * @type {Record<string, [string[], string][]>}
 */
const BESIDE = {
  Cursor: [
    [["ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"], "Move the keyboard cursor, or the picture if the cursor is off"],
    [["Shift+ArrowRight"], "Move it far"],
    [["Ctrl+ArrowRight"], "Move it by one screen pixel"],
  ],
  View: [[["Space"], "Hold it and drag to move the picture"]],
  Steps: [[["?"], "This help"]],
};

/** @param {HTMLElement} place */
export function fillHelp(place) {
  place.replaceChildren(...GROUPS.filter((group) => ACTIONS.some((action) => action.group === group)).map(groupOf));
}

/** @param {string} group */
function groupOf(group) {
  const made = document.createElement("section");
  const list = document.createElement("dl");
  const own = /** @type {[string[], string][]} */ (ACTIONS.filter((action) => action.group === group).map((action) => [action.keys, action.title]));
  for (const [keys, title] of [...own, ...(BESIDE[group] ?? [])]) {
    const line = document.createElement("div");
    const caps = document.createElement("dt");
    caps.append(...keys.map(keyCap));
    line.append(caps, Object.assign(document.createElement("dd"), { textContent: title }));
    list.append(line);
  }
  made.append(Object.assign(document.createElement("h3"), { textContent: group }), list);
  return made;
}

// Controls of the annotation page: tools, objects, directions, and the colour legend.

import { cssOf } from "../../../reports/viewer/palette.js";
import { make, the } from "./page-elements.js";
import { colourOf } from "./painting.js";
import { PRESETS, firstWindow, presetsOf, short } from "../../../reports/viewer/window-level.js";

/** @typedef {import("./sample-view.js").Sight} Sight */

const TOOL_NAMES = { click: "Click", box: "Box", scribble: "Scribble", lasso: "Lasso" };
/** Tool for volumes: a press moves all planes to a position instead of giving a prompt. */
const LOOK = ["look", "Look"];

/**
 * Build the controls of a seat; return its first tool.
 * @param {any} about  constant data of the seat
 * @param {Sight} sight
 * @returns {string}
 */
export function showControls(about, sight) {
  the("what").textContent = about.label || document.title.split(" · ")[0];
  const tools = about.kinds.filter((/** @type {string} */ kind) => kind in TOOL_NAMES);
  const named = tools.map((/** @type {keyof typeof TOOL_NAMES} */ kind) => [kind, TOOL_NAMES[kind]]);
  const isVolume = about.kind === "volume";
  choices(the("tools"), "tool", isVolume ? [...named, LOOK] : named, tools[0]);
  the("tools").hidden = !isVolume && tools.length < 2;
  const several = about.target.length > 1;
  const objects = about.target.map((/** @type {unknown} */ _, /** @type {number} */ place) => [String(place + 1), String(place + 1)]);
  choices(the("objects"), "object", [...objects, ["0", "background"]], "1");
  for (const span of the("objects").querySelectorAll("span")) {
    const swatch = make("i", { class: "swatch full", "aria-hidden": "true" });
    swatch.style.setProperty("--swatch", colourOf(Number(span.textContent === "background" ? 0 : span.textContent)));
    span.prepend(swatch);
  }
  the("objects").hidden = !several;
  the("signs").hidden = several || !tools.some((/** @type {string} */ kind) => kind !== "box");
  the("planes").hidden = the("window").hidden = !isVolume;
  const names = about.planes.map((/** @type {{name: string}} */ { name }, /** @type {number} */ direction) => [String(direction), name]);
  choices(the("planes"), "direction", isVolume ? names : [], "0");
  if (about.levels) showWindow(about.levels, sight);
  the("limits").hidden = !about.kinds.includes("limits");
  the("slider").hidden = about.kind === "image";
  the("play").hidden = about.kind !== "video";
  showLegend(about);
  return tools[0];
}

/**
 * Set up the window controls: which values of a volume are black and white.
 * @param {import("../../../reports/viewer/window-level.js").Levels} levels
 * @param {Sight} sight
 */
function showWindow(levels, sight) {
  const [level, width, preset] = /** @type {HTMLInputElement[]} */ (["level", "width", "preset"].map(the));
  const wide = levels.high - levels.low;
  Object.assign(level, { min: levels.low - wide, max: levels.high + wide, step: "any" });
  Object.assign(width, { min: Math.min(levels.step, wide / 200), max: 2 * wide, step: "any" });
  preset.replaceChildren(...["automatic", ...presetsOf(levels)].map((name) => new Option(name)));
  const show = (/** @type {import("../../../reports/viewer/window-level.js").Window} */ window) => {
    [level.value, width.value] = [String(window.level), String(window.width)];
    the("told-window").textContent = `level ${short(window.level)}, width ${short(window.width)}`;
  };
  preset.onchange = () => {
    const chosen = PRESETS[preset.value] ?? firstWindow(levels);
    show(chosen);
    sight.setWindow(chosen);
  };
  level.oninput = width.oninput = () => {
    const chosen = { level: Number(level.value), width: Math.max(1e-6, Number(width.value)) };
    show(chosen);
    sight.setWindow(chosen);
  };
  show(firstWindow(levels));
}

/**
 * @param {HTMLElement} group
 * @param {string} name
 * @param {string[][]} values
 * @param {string} chosen
 */
function choices(group, name, values, chosen) {
  for (const label of group.querySelectorAll("label")) label.remove();
  for (const [value, text] of values) {
    const input = /** @type {HTMLInputElement} */ (make("input", { type: "radio", name, value }));
    input.checked = value === chosen;
    group.append(make("label", {}, input, make("span", {}, text)));
  }
}

/**
 * Build the colour legend.
 * @param {any} about
 */
function showLegend({ shows, target }) {
  const several = target.length > 1;
  const rows = [
    [shows.target === "outline" ? "swatch dashed" : "swatch full", cssOf("--truth"), "the target"],
    ["swatch", cssOf("--guess"), "the model's answer"],
    ...(shows.errors ? [["swatch full", cssOf("--missing"), "missing"], ["swatch full", cssOf("--surplus"), "too much"]] : []),
  ];
  the("legend").replaceChildren(
    ...rows.map(([kind, hue, text]) => {
      const swatch = make("i", { class: kind, "aria-hidden": "true" });
      if (!several || kind === "swatch full") swatch.style.setProperty("--swatch", hue);
      return make("li", {}, swatch, text);
    }),
  );
}

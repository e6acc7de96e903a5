// What can be chosen at a seat: tools, objects, planes; and what the colours mean.

import { cssOf } from "./palette.js";
import { make, the } from "./seat-page.js";
import { colourOf } from "./seat-painting.js";

const TOOL_NAMES = { click: "Click", box: "Box", scribble: "Scribble", lasso: "Lasso" };

/**
 * Show what can be chosen at a seat, and return the first of its tools.
 * @param {any} about  what does not change at this seat
 * @returns {string}
 */
export function showControls(about) {
  the("what").textContent = about.label || document.title.split(" · ")[0];
  const tools = about.kinds.filter((/** @type {string} */ kind) => kind in TOOL_NAMES);
  choices(the("tools"), "tool", tools.map((/** @type {keyof typeof TOOL_NAMES} */ kind) => [kind, TOOL_NAMES[kind]]), tools[0]);
  the("tools").hidden = tools.length < 2;
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
  the("planes").hidden = the("window").hidden = about.kind !== "volume";
  the("limits").hidden = !about.kinds.includes("limits");
  the("slider").hidden = about.kind === "image";
  the("play").hidden = about.kind !== "video";
  /** @type {HTMLInputElement} */ (document.querySelector("[name=axis][value='0']")).checked = true;
  showLegend(about);
  return tools[0];
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
 * What the colours mean.
 * @param {any} about
 */
function showLegend({ shows, target }) {
  const several = target.length > 1;
  const rows = [
    [shows.target === "outline" ? "swatch dashed" : "swatch full", cssOf("--truth"), "what is to be segmented"],
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

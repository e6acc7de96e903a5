// Metric value after each round, for all runs: a small chart that also works as a slider.

/** @typedef {import("./content.js").Dialogue} Dialogue */

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [560, 130, 34, 10, 10, 22];
const SVG_NAMESPACE = "http://www.w3.org/2000/svg";

/**
 * @param {string} kind
 * @param {Record<string, string | number>} attributes
 */
function svgElement(kind, attributes) {
  const made = document.createElementNS(SVG_NAMESPACE, kind);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/**
 * Return the name of the metric to draw: the first one in any dialogue.
 * @param {Dialogue[]} dialogues
 */
function metricOf(dialogues) {
  return dialogues.flatMap((dialogue) => dialogue.values).flatMap((values) => Object.keys(values))[0] ?? "";
}

/**
 * Draw the curves; return a function that moves the cursor. If there is nothing to draw, leave the
 * host empty.
 * @param {HTMLElement} host
 * @param {Dialogue[]} dialogues
 * @param {number} rounds
 * @param {number[]} thresholds  marked levels
 * @param {(round: number) => void} choose
 * @returns {(round: number) => void}
 */
export function drawCurve(host, dialogues, rounds, thresholds, choose) {
  host.replaceChildren();
  const metric = metricOf(dialogues);
  if (!metric || rounds < 2) return () => {};
  const across = (/** @type {number} */ round) => LEFT + ((WIDTH - LEFT - RIGHT) * (round - 1)) / (rounds - 1);
  const every = dialogues.flatMap((dialogue) => dialogue.values.map((values) => values[metric])).filter((value) => value !== undefined && value !== null);
  const [low, high] = [Math.min(0, ...every.map(Number)), Math.max(1, ...every.map(Number))];
  const down = (/** @type {number} */ value) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / (high - low);
  const svg = svgElement("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "chart curve-of-rounds", role: "img", "aria-label": `${metric} after each round` });
  for (const level of [low, (low + high) / 2, high]) {
    svg.append(svgElement("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: down(level), y2: down(level), class: "grid" }));
    const text = svgElement("text", { x: LEFT - 6, y: down(level) + 4, class: "tick", "text-anchor": "end" });
    text.textContent = String(Number(level.toPrecision(3)));
    svg.append(text);
  }
  for (const level of thresholds) svg.append(svgElement("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: down(level), y2: down(level), class: "mark" }));
  for (const dialogue of dialogues) {
    const points = dialogue.values.map((values, at) => [across(at + 1), values[metric]]).filter(([, value]) => typeof value === "number");
    const line = points.map(([x, value]) => `${Number(x).toFixed(1)},${down(Number(value)).toFixed(1)}`).join(" ");
    svg.append(svgElement("polyline", { points: line, class: `curve ${dialogue.css}` }));
    for (const round of dialogue.stored) {
      const value = dialogue.values[round - 1]?.[metric];
      if (typeof value === "number") svg.append(svgElement("circle", { cx: across(round), cy: down(value), r: 2.6, class: `dot ${dialogue.css}` }));
    }
  }
  const cursor = svgElement("line", { y1: TOP - 4, y2: HEIGHT - BOTTOM, class: "cursor" });
  const label = svgElement("text", { y: HEIGHT - 6, class: "tick", "text-anchor": "middle" });
  svg.append(cursor, label);
  const roundAt = (/** @type {PointerEvent} */ event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    return Math.min(rounds, Math.max(1, Math.round(1 + ((x - LEFT) / (WIDTH - LEFT - RIGHT)) * (rounds - 1))));
  };
  svg.addEventListener("pointerdown", (event) => {
    const pointer = /** @type {PointerEvent} */ (event);
    svg.setPointerCapture(pointer.pointerId);
    choose(roundAt(pointer));
  });
  svg.addEventListener("pointermove", (event) => {
    const pointer = /** @type {PointerEvent} */ (event);
    if (pointer.buttons) choose(roundAt(pointer));
  });
  host.append(svg);
  return (round) => {
    for (const end of ["x1", "x2"]) cursor.setAttribute(end, String(across(Math.max(1, round))));
    label.setAttribute("x", String(across(Math.max(1, round))));
    label.textContent = String(round);
  };
}

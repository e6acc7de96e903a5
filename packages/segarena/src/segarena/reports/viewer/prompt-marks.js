// Draw prompts over a picture: positive clicks as disks and negative ones as squares, so that they
// differ even without colour.

import { isOn, pointOf, positionsOf } from "./plane-geometry.js";

/** @typedef {import("./plane-geometry.js").Plane} Plane */
/** @typedef {import("./viewport.js").View} View */
/** @typedef {[number, number]} Point */
/** @typedef {{newest: string, of: (prompt: any) => string}} Colours  of a newest prompt's border, and of a prompt */

/**
 * @typedef {object} Shown  the prompts to draw
 * @property {any[][]} rounds  prompts of each round
 * @property {number} now  the current round
 * @property {number} numbered  number of latest rounds whose clicks are numbered
 * @property {boolean} isLatestOnly  whether earlier rounds are left out
 */

const NUMBER_PX = 10;
const DOT_PX = 7;
const CROSS_PX = 11;
/** Numbers of rings around a click, and of positions on each ring, that are tried for its label. */
const [RINGS, DIRECTIONS] = [5, 8];

/**
 * Draw the prompts of all rounds up to the current one, the newest on top, or only the newest.
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {Plane} plane
 * @param {number} index
 * @param {Shown} shown
 * @param {Colours} colours
 */
export function drawMarks(context, view, plane, index, { rounds, now, numbered, isLatestOnly }, colours) {
  const last = Math.min(now, rounds.length);
  for (let round = isLatestOnly ? Math.max(1, now) : 1; round <= last; round++) {
    for (const prompt of rounds[round - 1]) {
      if (!isOn(plane, index, prompt)) continue;
      if (prompt.kind === "limits") drawLimits(context, view, plane, prompt, colours);
      else drawPrompt(context, view, plane, prompt, round === now, colours);
    }
  }
  /** @type {{point: Point, place: Point, round: number, prompt: any}[]} */
  const numbers = [];
  // Place the numbers of the newest clicks first.
  for (let round = last; round > Math.max(0, now - numbered); round--) {
    for (const prompt of rounds[round - 1]) {
      if (prompt.kind !== "click" || !isOn(plane, index, prompt)) continue;
      const point = view.toScreen(pointOf(plane, prompt.position));
      const taken = numbers.map((number) => number.place);
      numbers.push({ point, place: freePlace(point, view.screenSize, taken), round, prompt });
    }
  }
  numbers.reverse();
  for (const { point, place, prompt } of numbers) {
    if (place === point) continue;
    context.beginPath();
    context.moveTo(...point);
    context.lineTo(...place);
    strokeTwice(context, colours.of(prompt), 2);
  }
  for (const { place, round, prompt } of numbers) drawNumber(context, place, round, prompt, round === now, colours);
}

/**
 * Return the position of a click's number: that of the click, or a nearby one if the number would
 * cover another number.
 * @param {Point} point
 * @param {[number, number]} screen
 * @param {Point[]} taken
 * @returns {Point}
 */
export function freePlace(point, [width, height], taken) {
  const clearance = (/** @type {Point} */ [x, y]) => {
    // All distances above the size of a number's label count as equal; of equal candidates, the first is used.
    const distances = taken.map((other) => Math.hypot(other[0] - x, other[1] - y));
    return Math.min(2 * NUMBER_PX, ...distances);
  };
  let best = point;
  let most = clearance(point);
  for (let ring = 1; ring <= RINGS; ring++) {
    for (let step = 0; step < DIRECTIONS; step++) {
      // Every other ring is turned by half a step.
      const angle = ((step + ring / 2) * 2 * Math.PI) / DIRECTIONS;
      const radius = 2.1 * NUMBER_PX * ring;
      const [x, y] = [point[0] + radius * Math.cos(angle), point[1] + radius * Math.sin(angle)];
      const isInside = x >= NUMBER_PX && x <= width - NUMBER_PX && y >= NUMBER_PX && y <= height - NUMBER_PX;
      if (isInside && clearance([x, y]) > most) {
        best = [x, y];
        most = clearance(best);
      }
    }
  }
  return best;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {Plane} plane
 * @param {any} prompt
 * @param {boolean} isNewest
 * @param {Colours} colours
 */
function drawPrompt(context, view, plane, prompt, isNewest, colours) {
  const colour = colours.of(prompt);
  const places = positionsOf(prompt).map((position) => view.toScreen(pointOf(plane, position)));
  if (!places.length) return;
  if (prompt.kind === "cross") return drawPlus(context, places[0]);
  context.beginPath();
  if (prompt.kind === "dot") {
    context.arc(...places[0], DOT_PX, 0, 2 * Math.PI);
    return fillMark(context, colour, false, colours);
  }
  if (prompt.kind === "click") {
    const [[x, y]] = places;
    if (prompt.is_positive) context.arc(x, y, 5, 0, 2 * Math.PI);
    else context.rect(x - 4.5, y - 4.5, 9, 9);
    return fillMark(context, colour, isNewest, colours);
  }
  if (prompt.kind === "box") {
    const half = [(view.scale * plane.edges[1]) / 2, (view.scale * plane.edges[0]) / 2];
    const xs = places.map(([x]) => x);
    const ys = places.map(([, y]) => y);
    const [left, top] = [Math.min(...xs) - half[0], Math.min(...ys) - half[1]];
    context.rect(left, top, Math.max(...xs) + half[0] - left, Math.max(...ys) + half[1] - top);
  } else {
    for (const place of places) context.lineTo(...place);
    if (places.length === 1) context.lineTo(places[0][0] + 0.5, places[0][1]);
    if (prompt.kind === "lasso") context.closePath();
  }
  strokeTwice(context, colour, isNewest ? 3 : 2);
}

/**
 * Draw the first and last plane of an object, as given by a slice-range prompt.
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {Plane} plane
 * @param {any} prompt
 * @param {Colours} colours
 */
function drawLimits(context, view, plane, prompt, colours) {
  const corners = [view.toScreen([0, 0]), view.toScreen([plane.size[1] * plane.edges[1], plane.size[0] * plane.edges[0]])];
  const isDown = [0, 1, 2].filter((axis) => axis !== plane.axis)[0] === prompt.axis;
  context.setLineDash([10, 6]);
  for (const end of [prompt.first - 0.5, prompt.last + 0.5]) {
    const position = [0, 0, 0];
    position[prompt.axis] = end;
    const [x, y] = view.toScreen(pointOf(plane, position));
    context.beginPath();
    context.moveTo(isDown ? corners[0][0] : x, isDown ? y : corners[0][1]);
    context.lineTo(isDown ? corners[1][0] : x, isDown ? y : corners[1][1]);
    strokeTwice(context, colours.of(prompt), 2);
  }
  context.setLineDash([]);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point} place
 * @param {number} round
 * @param {any} prompt
 * @param {boolean} isNewest
 * @param {Colours} colours
 */
function drawNumber(context, [x, y], round, prompt, isNewest, colours) {
  context.beginPath();
  if (prompt.is_positive) context.arc(x, y, NUMBER_PX, 0, 2 * Math.PI);
  else context.rect(x - NUMBER_PX, y - NUMBER_PX, 2 * NUMBER_PX, 2 * NUMBER_PX);
  fillMark(context, colours.of(prompt), isNewest, colours);
  context.fillStyle = "#fff";
  context.font = "700 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(String(round), x, y + 0.5);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point} point
 */
function drawPlus(context, [x, y]) {
  context.beginPath();
  context.moveTo(x - CROSS_PX, y);
  context.lineTo(x + CROSS_PX, y);
  context.moveTo(x, y - CROSS_PX);
  context.lineTo(x, y + CROSS_PX);
  for (const [colour, width] of /** @type {[string, number][]} */ ([["#000", 7], ["#fff", 3.5]])) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke();
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {boolean} isNewest
 * @param {Colours} colours
 */
function fillMark(context, colour, isNewest, colours) {
  context.fillStyle = colour;
  context.fill();
  context.lineWidth = isNewest ? 2.5 : 1.5;
  context.strokeStyle = isNewest ? colours.newest : "#fff";
  context.stroke();
}

/**
 * Draw a line over a wider light one, so that it stays visible on any background.
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {number} width
 */
function strokeTwice(context, colour, width) {
  context.lineCap = context.lineJoin = "round";
  context.strokeStyle = "#ffffffa0";
  context.lineWidth = width + 2.5;
  context.stroke();
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke();
}

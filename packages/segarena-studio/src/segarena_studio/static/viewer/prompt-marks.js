// Draw prompts over a picture, as in reports: positive ones as disks and negative ones as squares,
// so that colour is not needed.

import { isOn, pointOf, positionsOf } from "./plane-geometry.js";

/** @typedef {import("./plane-geometry.js").Plane} Plane */
/** @typedef {import("../common/viewport.js").View} View */
/** @typedef {{pos: string, neg: string, newest: string}} Colours */

const NUMBER_PX = 10;
/** Number of latest rounds whose prompts are numbered; earlier ones are dots. */
const NUMBERED = 4;

/**
 * Draw the prompts of all rounds up to the current one, the newest on top.
 * @param {CanvasRenderingContext2D} context @param {View} view @param {Plane} plane @param {number} index
 * @param {any[][]} rounds  prompts of each round @param {number} now @param {Colours} colours
 */
export function drawMarks(context, view, plane, index, rounds, now, colours) {
  /** @type {[number, number][]} */
  const taken = [];
  for (let round = 1; round <= Math.min(now, rounds.length); round++) {
    for (const prompt of rounds[round - 1]) {
      if (!isOn(plane, index, prompt)) continue;
      if (prompt.kind === "limits") drawLimits(context, view, plane, prompt, colours);
      else drawPrompt(context, view, plane, prompt, round === now, colours);
    }
  }
  for (let round = Math.min(now, rounds.length); round > Math.max(0, now - NUMBERED); round--) {
    for (const prompt of rounds[round - 1]) {
      if (prompt.kind !== "click" || !isOn(plane, index, prompt)) continue;
      const place = view.toScreen(pointOf(plane, prompt.position));
      if (taken.some((other) => Math.hypot(other[0] - place[0], other[1] - place[1]) < 2 * NUMBER_PX)) continue;
      taken.push(place);
      drawNumber(context, place, round, prompt.is_positive, round === now, colours);
    }
  }
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
  const colour = prompt.is_positive === false ? colours.neg : colours.pos;
  const places = positionsOf(prompt).map((position) => view.toScreen(pointOf(plane, position)));
  if (!places.length) return;
  context.beginPath();
  if (prompt.kind === "click") {
    const [[x, y]] = places;
    if (prompt.is_positive) context.arc(x, y, 5, 0, 2 * Math.PI);
    else context.rect(x - 4.5, y - 4.5, 9, 9);
    context.fillStyle = colour;
    context.fill();
    context.lineWidth = isNewest ? 2.5 : 1.5;
    context.strokeStyle = isNewest ? colours.newest : "#fff";
    context.stroke();
    return;
  }
  if (prompt.kind === "box") {
    const half = [(view.scale * plane.edges[1]) / 2, (view.scale * plane.edges[0]) / 2];
    const [xs, ys] = [places.map(([x]) => x), places.map(([, y]) => y)];
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
  context.setLineDash([10, 6]);
  for (const end of [prompt.first - 0.5, prompt.last + 0.5]) {
    const position = [0, 0, 0];
    position[prompt.axis] = end;
    const [x, y] = view.toScreen(pointOf(plane, position));
    const isDown = [0, 1, 2].filter((axis) => axis !== plane.axis)[0] === prompt.axis;
    context.beginPath();
    context.moveTo(isDown ? corners[0][0] : x, isDown ? y : corners[0][1]);
    context.lineTo(isDown ? corners[1][0] : x, isDown ? y : corners[1][1]);
    strokeTwice(context, colours.pos, 2);
  }
  context.setLineDash([]);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number]} place
 * @param {number} round
 * @param {boolean} isPositive
 * @param {boolean} isNewest
 * @param {Colours} colours
 */
function drawNumber(context, [x, y], round, isPositive, isNewest, colours) {
  context.beginPath();
  if (isPositive) context.arc(x, y, NUMBER_PX, 0, 2 * Math.PI);
  else context.rect(x - NUMBER_PX, y - NUMBER_PX, 2 * NUMBER_PX, 2 * NUMBER_PX);
  context.fillStyle = isPositive ? colours.pos : colours.neg;
  context.fill();
  context.lineWidth = isNewest ? 2.5 : 1.5;
  context.strokeStyle = isNewest ? colours.newest : "#fff";
  context.stroke();
  context.fillStyle = "#fff";
  context.font = "700 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(String(round), x, y + 0.5);
}

/**
 * Draw a line over a wider light one, to stay visible on any background.
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

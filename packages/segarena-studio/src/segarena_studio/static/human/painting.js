// Overlays on the picture of the annotation page: target, prediction, errors and prompts.

import { errors } from "./masks.js";
import { shownOn } from "./round.js";
import { outlineOf } from "./mask-outline.js";
import { cssOf, objectColour } from "../../../reports/viewer/palette.js";

/** @typedef {import("../../../reports/viewer/viewport.js").View} View */
/** @typedef {import("./masks.js").Plane} Plane */
/** @typedef {import("./round.js").Prompt} Prompt */
/** @typedef {[number, number]} Point */

/**
 * Return the colour of one of several objects; white for the background.
 * @param {number} object  number of the object, 0 for the background
 */
export function colourOf(object) {
  return object === 0 ? "#ffffff" : cssOf(objectColour(object));
}

/**
 * Paint errors and the highlighted target into a picture with the resolution of the plane.
 * @param {Plane} target
 * @param {Plane} prediction
 * @param {Plane | null} ignore
 * @param {{isHighlighted: boolean, showsErrors: boolean, colours: {truth: number[], missing: number[], surplus: number[]}}} how
 */
export async function fillOf(target, prediction, ignore, { isHighlighted, showsErrors, colours }) {
  const image = new ImageData(target.width, target.height);
  const wrong = showsErrors ? errors(prediction, target, ignore) : null;
  for (let at = 0; at < target.data.length; at++) {
    const kind = wrong ? wrong[at] : 0;
    if (kind) image.data.set([...(kind === 1 ? colours.missing : colours.surplus), 110], 4 * at);
    else if (isHighlighted && target.data[at]) image.data.set([...colours.truth, 90], 4 * at);
  }
  return createImageBitmap(image);
}

/**
 * Trace the borders of each label of a plane as paths, in the plane's pixels.
 * @param {Plane} plane
 * @param {number} objects
 */
export function outlinesOf({ width, height, data }, objects) {
  return Array.from({ length: objects }, (_, place) => outlineOf(data.map((label) => (label === place + 1 ? 1 : 0)), [height, width]));
}

/**
 * Draw paths of a plane with lines of constant screen width, a light one on a dark one, to be
 * visible on any background.
 * @param {CanvasRenderingContext2D} context
 * @param {View} view
 * @param {[number, number]} scale screen px per pixel of the plane
 * @param {Path2D[]} paths
 * @param {(place: number) => string} colour
 * @param {number[]} dashes
 */
export function drawOutlines(context, view, scale, paths, colour, dashes) {
  context.save();
  context.translate(view.offset[0], view.offset[1]);
  paths.forEach((path, place) => {
    const scaled = new Path2D();
    scaled.addPath(path, new DOMMatrix([scale[0], 0, 0, scale[1], 0, 0]));
    context.setLineDash([]);
    context.lineWidth = 3.5;
    context.strokeStyle = "rgb(0 0 0 / 0.55)";
    context.stroke(scaled);
    context.setLineDash(dashes);
    context.lineWidth = 2;
    context.strokeStyle = colour(place);
    context.stroke(scaled);
  });
  context.restore();
}

/**
 * Draw a prompt: a click as a disk with its sign, a box, or a line.
 * @param {CanvasRenderingContext2D} context
 * @param {(point: Point) => Point} toScreen
 * @param {Prompt} prompt
 * @param {{axis: number, index: number}} place
 * @param {{isNew: boolean, several: boolean, colours: {positive: string, negative: string}}} how
 */
export function drawPrompt(context, toScreen, prompt, place, { isNew, several, colours }) {
  const shown = shownOn(prompt, place);
  if (!shown) return;
  const points = shown.points.map(toScreen);
  const colour = several ? colourOf(shown.object) : shown.isPositive ? colours.positive : colours.negative;
  context.save();
  context.globalAlpha = isNew ? 1 : 0.65;
  if (shown.kind === "click") drawClick(context, points[0], shown.isPositive, colour);
  else if (shown.kind === "box") drawBox(context, points, colour);
  else drawLine(context, points, colour, shown.kind === "lasso");
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point} at
 * @param {boolean} isPositive
 * @param {string} colour
 */
function drawClick(context, [x, y], isPositive, colour) {
  context.beginPath();
  context.arc(x, y, 8, 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.strokeStyle = "#fff";
  context.lineWidth = 2;
  context.fill();
  context.stroke();
  context.beginPath();
  context.moveTo(x - 4, y);
  context.lineTo(x + 4, y);
  if (isPositive) {
    context.moveTo(x, y - 4);
    context.lineTo(x, y + 4);
  }
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point[]} corners
 * @param {string} colour
 */
function drawBox(context, [[x0, y0], [x1, y1]], colour) {
  twice(context, colour, () => {
    context.beginPath();
    context.rect(x0, y0, x1 - x0, y1 - y0);
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point[]} points
 * @param {string} colour
 * @param {boolean} isClosed
 */
export function drawLine(context, points, colour, isClosed) {
  twice(context, colour, () => {
    context.beginPath();
    points.forEach(([x, y], at) => (at ? context.lineTo(x, y) : context.moveTo(x, y)));
    if (isClosed) context.closePath();
  });
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} colour
 * @param {() => void} trace
 */
function twice(context, colour, trace) {
  context.lineJoin = context.lineCap = "round";
  trace();
  context.strokeStyle = "rgb(255 255 255 / 0.8)";
  context.lineWidth = 6;
  context.stroke();
  context.strokeStyle = colour;
  context.lineWidth = 3.5;
  context.stroke();
}

/**
 * Draw the keyboard cursor.
 * @param {CanvasRenderingContext2D} context
 * @param {Point} at
 */
export function drawCursor(context, [x, y]) {
  for (const [width, colour] of /** @type {[number, string][]} */ ([[4, "rgb(0 0 0 / 0.7)"], [1.5, "#fff"]])) {
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 5 * dx, y + 5 * dy);
      context.lineTo(x + 16 * dx, y + 16 * dy);
    }
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke();
  }
}

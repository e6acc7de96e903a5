// Lines and marks, in screen px, that are visible on light and dark pictures.

import { HALO } from "./canvas-paths.js";

/** @typedef {[number, number]} Point */
/** @typedef {CanvasRenderingContext2D} Context */

export const BAD = "#ff4d2e";
export const AIM = "#ffe14d";

/**
 * Draw a line, optionally dashed.
 * @param {Context} context
 * @param {Point[]} points
 * @param {string} colour
 * @param {number} width
 * @param {number[]} [dash]
 */
export function line(context, points, colour, width, dash = []) {
  const path = new Path2D();
  for (const [x, y] of points) path.lineTo(x, y);
  context.lineJoin = context.lineCap = "round";
  context.strokeStyle = HALO;
  context.lineWidth = width + 2;
  context.stroke(path);
  context.setLineDash(dash);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.stroke(path);
  context.setLineDash([]);
  context.lineCap = "butt";
}

/**
 * @param {Context} context
 * @param {Point} at
 * @param {number} radius
 * @param {string} fill
 * @param {string} stroke
 */
export function disc(context, [x, y], radius, fill, stroke) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  paint(context, fill, stroke);
}

/**
 * @param {Context} context
 * @param {Point} at
 * @param {number} half
 * @param {string} fill
 * @param {string} stroke
 */
export function square(context, [x, y], half, fill, stroke) {
  context.beginPath();
  context.rect(x - half, y - half, 2 * half, 2 * half);
  paint(context, fill, stroke);
}

/**
 * @param {Context} context
 * @param {string} fill
 * @param {string} stroke
 */
function paint(context, fill, stroke) {
  context.fillStyle = fill;
  context.strokeStyle = stroke;
  context.fill();
  context.stroke();
}

/**
 * @param {Context} context
 * @param {Point} at
 * @param {number} radius
 * @param {string} colour
 */
export function ring(context, [x, y], radius, colour) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  for (const [ink, width] of /** @type {[string, number][]} */ ([[HALO, 4], [colour, 2]])) {
    context.strokeStyle = ink;
    context.lineWidth = width;
    context.stroke();
  }
  context.lineWidth = 1.5;
} // prettier-ignore

// The rules for valid outlines: when a vertex is rejected, when closing is rejected, and what the
// checks before finishing report.

import { firstCrossing, lineMeets } from "./self-intersections.js";
import { isSame } from "../common/geometry.js";
import { fill } from "../common/polygon-spans.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Size} Size */
/** @typedef {import("./scene.js").Scene} Scene */

export const LEAST_VERTICES = 4;
/** In pixels of the picture, regardless of the zoom. */
export const LEAST_AREA_PX = 600;

/**
 * Return why no vertex may be added here: "repeated", "crosses", or null.
 * @param {Scene} scene
 * @param {Point} at
 */
export function refusalOfVertex(scene, at) {
  const line = scene.openPolygon();
  if (line.some((before) => isSame(before, at))) return "repeated";
  return line.length && lineMeets(line, at) ? "crosses" : null;
}

/**
 * Return why the open outline cannot be closed: "few", "crosses", "small", or null.
 * @param {Scene} scene
 * @param {Size} size of the picture
 */
export function refusalOfClosing(scene, size) {
  const polygon = scene.openPolygon();
  if (polygon.length < LEAST_VERTICES) return "few";
  if (firstCrossing(polygon)) return "crosses";
  return fill(polygon, size).area < LEAST_AREA_PX ? "small" : null;
}

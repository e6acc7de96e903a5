// The rules for valid outlines: when a vertex is rejected, when closing is rejected, and which faults
// the checks before finishing report.

import { firstCrossing, lineMeets, meetingOf } from "./self-intersections.js";
import { area, boxesMeet, boxOf, isHole, isSame, outlinesContain } from "../common/geometry.js";
import { fill, uncoveredPixels } from "../common/polygon-spans.js";

/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Size} Size */
/** @typedef {import("./scene.js").Scene} Scene */

export const LEAST_VERTICES = 4;
/** Largest number of outlines of one region; the server accepts no more. */
export const MOST_OUTLINES = 500;
/** Least area of a region, in pixels of the picture, regardless of the zoom. */
const LEAST_AREA_PX = 600;
/** In pictures with fewer pixels the least area shrinks in proportion, so that they can be annotated at all. */
const SMALL_PICTURE_PX = 9600;

/**
 * Return the least area of a region, in px.
 * @param {Size} size of the picture
 */
export function leastArea([width, height]) {
  return LEAST_AREA_PX * Math.min(1, (width * height) / SMALL_PICTURE_PX);
}

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
  return fill([polygon], size).area < leastArea(size) ? "small" : null;
}

/**
 * Return why the open outline cannot become a hole or a further part of a region: "few", "crosses",
 * "across" (it meets an outline of the region), "covered", "many" (outlines), or null.
 * @param {Scene} scene
 * @param {string} id
 */
export function refusalOfOutline(scene, id) {
  const polygon = scene.openPolygon();
  if (polygon.length < LEAST_VERTICES) return "few";
  if (firstCrossing(polygon) || area(polygon) === 0) return "crosses";
  const outlines = scene.outlines(id);
  if (outlines.length >= MOST_OUTLINES) return "many";
  if (outlines.some((outline) => meetingOf(outline, polygon) !== null)) return "across";
  const isHoleInRegion = outlinesContain(outlines, polygon[0]);
  return isHoleInRegion && isCovered(scene, id, polygon) ? "covered" : null;
}

/**
 * Whether regions in front of a region cover all pixels of a polygon. A hole may not be cut there: the
 * full extent of the region continues behind the regions that cover it.
 * @param {Scene} scene
 * @param {string} id
 * @param {Polygon} polygon
 */
export function isCovered(scene, id, polygon) {
  const box = boxOf(polygon);
  const front = scene.regions.slice(0, scene.place(id)).filter((region) => boxesMeet(scene.box(region.id), box));
  /** @type {Size} */
  const size = [Math.ceil(box[2] - box[0]) + 1, Math.ceil(box[3] - box[1]) + 1];
  const [left, top] = [Math.floor(box[0]), Math.floor(box[1])];
  const spansOf = (/** @type {Polygon[]} */ outlines) => fill(outlines.map((outline) => outline.map(([x, y]) => [x - left, y - top])), size);
  const spans = spansOf([polygon]);
  return spans.area > 0 && uncoveredPixels(spans, front.map((region) => spansOf(scene.outlines(region.id)))) === 0;
}

/**
 * Return the rule for amodal scenes that an annotator should know after holes or parts were added; ""
 * if none were.
 * @param {Polygon[]} before outlines of the region
 * @param {Polygon[]} after
 */
export function ruleAbout(before, after) {
  const [holes, holesBefore] = [after, before].map(countHoles);
  const [parts, partsBefore] = [after.length - holes, before.length - holesBefore];
  if (holes > holesBefore) return "A hole was cut. What you see through it is a region of its own, behind this one.";
  if (parts > partsBefore) return "The region has a further part. If something in front separates the parts, draw one outline that continues behind it instead.";
  return "";
}

/** @param {Polygon[]} outlines */
export function countHoles(outlines) {
  return outlines.filter((_, index) => isHole(outlines, index)).length;
}

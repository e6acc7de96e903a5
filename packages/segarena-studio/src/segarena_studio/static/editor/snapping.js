// Snap targets of a point: vertices and sides of regions, corners and sides of the picture's frame.
// Hidden regions and the open outline are not targets.
//
// `nearestLine` and `nearestVertex` implement the published rule: take the nearest target at any
// distance; on ties the frame comes first, then regions front to back. `snap` uses a radius and
// prefers vertices to sides.

import { boxHolds, project, squaredFromSegment } from "../common/geometry.js";
import { nextPlace } from "./scene.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Size} Size */
/** @typedef {import("./scene.js").Scene} Scene */
/** Radii within which points snap, for each kind of pointer, in screen px. */
export const SNAP_RADIUS_PX = { mouse: 9, pen: 10, touch: 13, keys: 9 };

/**
 * A snap target: its position, its distance (in image pixels), and what it is. A side of a region has the
 * region and its index in the ring, a side of the frame its index, and a vertex its region and its point.
 * @typedef {{at: Point, distance: number, kind: "vertex" | "edge" | "corner" | "frame", region: string | null,
 *   edge: number | null, point: number | null}} Target
 */
/** @typedef {{except?: Set<number>}} Options except: points to ignore, together with the sides that end at them */

/**
 * Return the corners of the picture, clockwise from the upper left.
 * @param {Size} size
 * @returns {Point[]}
 */
export function corners([width, height]) {
  return [[0, 0], [width, 0], [width, height], [0, height]];
}

/**
 * Return the nearest point on a side of the frame or of any region.
 * @param {Scene} scene
 * @param {Point} at
 * @param {Size} size
 * @param {Options} options
 * @returns {Target}
 */
export function nearestLine(scene, at, size, options = {}) {
  return /** @type {Target} */ (lineWithin(scene, at, size, { ...options, radius: Infinity }));
}

/**
 * Return the nearest vertex of any region, or corner of the frame.
 * @param {Scene} scene
 * @param {Point} at
 * @param {Size} size
 * @param {Options} options
 * @returns {Target}
 */
export function nearestVertex(scene, at, size, options = {}) {
  return /** @type {Target} */ (vertexWithin(scene, at, size, { ...options, radius: Infinity }));
}

/**
 * Return the nearest vertex or corner within a radius, failing that the nearest point on a side;
 * null if nothing is near.
 * @param {Scene} scene
 * @param {Point} at
 * @param {Size} size
 * @param {number} radius in image pixels: the screen radius divided by the view scale
 * @param {Options} options
 */
export function snap(scene, at, size, radius, options = {}) {
  const within = { ...options, radius };
  return vertexWithin(scene, at, size, within) ?? lineWithin(scene, at, size, within);
}

/**
 * @param {Scene} scene
 * @param {Point} at
 * @param {Size} size
 * @param {Options & {radius: number}} options
 * @returns {Target | null}
 */
function vertexWithin(scene, at, size, { radius, except }) {
  let nearest = radius * radius;
  /** @type {Target | null} */
  let found = null;
  for (const corner of corners(size)) {
    const squared = (corner[0] - at[0]) ** 2 + (corner[1] - at[1]) ** 2;
    if (squared < nearest) [nearest, found] = [squared, { ...nothing(corner), kind: "corner" }];
  }
  for (const { id, ring, is_hidden } of scene.regions) {
    if (is_hidden || !boxHolds(scene.box(id), at, Math.sqrt(nearest))) continue;
    for (const point of ring) {
      const [x, y] = scene.points[point];
      const squared = (x - at[0]) ** 2 + (y - at[1]) ** 2;
      if (squared < nearest && !except?.has(point)) {
        [nearest, found] = [squared, { ...nothing([x, y]), kind: "vertex", region: id, point }];
      }
    }
  }
  return found && { ...found, distance: Math.sqrt(nearest) };
}

/**
 * @param {Scene} scene
 * @param {Point} at
 * @param {Size} size
 * @param {Options & {radius: number}} options
 * @returns {Target | null}
 */
function lineWithin(scene, at, size, { radius, except }) {
  let nearest = radius * radius;
  /** @type {Target | null} */
  let found = null;
  const frame = corners(size);
  frame.forEach((corner, edge) => {
    const { at: place, squared } = project(at, corner, frame[(edge + 1) % 4]);
    if (squared < nearest) [nearest, found] = [squared, { ...nothing(place), kind: "frame", edge }];
  });
  for (const region of scene.regions) {
    const { id, ring } = region;
    if (region.is_hidden || !boxHolds(scene.box(id), at, Math.sqrt(nearest))) continue;
    for (let edge = 0; edge < ring.length; edge++) {
      const [start, end] = [ring[edge], ring[nextPlace(region, edge)]];
      const squared = squaredFromSegment(at, scene.points[start], scene.points[end]);
      if (squared >= nearest || except?.has(start) || except?.has(end)) continue;
      const place = project(at, scene.points[start], scene.points[end]).at;
      [nearest, found] = [squared, { ...nothing(place), kind: "edge", region: id, edge }];
    }
  }
  return found && { ...found, distance: Math.sqrt(nearest) };
}

/**
 * @param {Point} at
 * @returns {Target}
 */
function nothing(at) {
  return { at, distance: 0, kind: "frame", region: null, edge: null, point: null };
}

// Hit testing: the regions, vertices and sides under the pointer; vertices in a box or under a
// brush.

import { boxHolds, outlinesContain, project } from "../common/geometry.js";
import { nextPlace } from "./scene.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Box} Box */
/** @typedef {import("./scene.js").Scene} Scene */

/**
 * Return the regions that contain a point, front first; hidden ones are skipped.
 * @param {Scene} scene
 * @param {Point} at
 */
export function regionsAt(scene, at) {
  const isAt = (/** @type {string} */ id) => boxHolds(scene.box(id), at) && outlinesContain(scene.outlines(id), at);
  return scene.regions.filter((region) => !region.is_hidden && isAt(region.id)).map((region) => region.id);
}

/**
 * Return the id after the current one, wrapping around at the end; null for an empty list.
 * @param {string[]} ids
 * @param {string | null} current
 */
export function nextRegion(ids, current) {
  return ids.length ? ids[(current === null ? 0 : ids.indexOf(current) + 1) % ids.length] : null;
}

/**
 * Return the nearest vertex of the given regions within a radius, or null; on ties, the first.
 * @param {Scene} scene
 * @param {Point} at
 * @param {number} radius in image pixels
 * @param {Iterable<string>} ids
 */
export function vertexAt(scene, at, radius, ids) {
  let nearest = radius * radius;
  /** @type {number | null} */
  let found = null;
  for (const id of ids) {
    if (!boxHolds(scene.box(id), at, radius)) continue;
    for (const point of scene.region(id).ring) {
      const [x, y] = scene.points[point];
      const squared = (x - at[0]) ** 2 + (y - at[1]) ** 2;
      if (squared < nearest) [nearest, found] = [squared, point];
    }
  }
  return found;
}

/**
 * Return the nearest side of the given regions within a radius: its region, the index of its first
 * point in the ring, and the nearest position on it; or null.
 * @param {Scene} scene
 * @param {Point} at
 * @param {number} radius in image pixels
 * @param {Iterable<string>} ids
 * @returns {{region: string, edge: number, at: Point} | null}
 */
export function edgeAt(scene, at, radius, ids) {
  let nearest = radius * radius;
  /** @type {{region: string, edge: number, at: Point} | null} */
  let found = null;
  for (const id of ids) {
    if (!boxHolds(scene.box(id), at, radius)) continue;
    const region = scene.region(id);
    const polygon = scene.polygon(id);
    polygon.forEach((start, edge) => {
      const { at: place, squared } = project(at, start, polygon[nextPlace(region, edge)]);
      if (squared < nearest) [nearest, found] = [squared, { region: id, edge, at: place }];
    });
  }
  return found;
}

/**
 * Return the vertices of the given regions in a box, each once.
 * @param {Scene} scene
 * @param {Box} box
 * @param {Iterable<string>} ids
 */
export function pointsInBox(scene, box, ids) {
  return pointsWhere(scene, ids, (at) => boxHolds(box, at));
}

/**
 * Return the vertices within a radius, for a brush.
 * @param {Scene} scene
 * @param {Point} at
 * @param {number} radius
 * @param {Iterable<string>} ids
 */
export function pointsNear(scene, at, radius, ids) {
  return pointsWhere(scene, ids, ([x, y]) => (x - at[0]) ** 2 + (y - at[1]) ** 2 <= radius * radius);
}

/**
 * @param {Scene} scene
 * @param {Iterable<string>} ids
 * @param {(at: Point) => boolean} isMeant
 */
function pointsWhere(scene, ids, isMeant) {
  const points = new Set([...ids].flatMap((id) => scene.region(id).ring));
  return [...points].filter((point) => isMeant(scene.points[point]));
}

// What the pointer is on: regions, vertices, sides; and vertices in boxes, under a brush.

import { boxHolds, contains, project } from "../common/geometry.js";

/** @typedef {import("../common/viewport.js").Point} Point */
/** @typedef {import("../common/viewport.js").Box} Box */
/** @typedef {import("./scene.js").Scene} Scene */

/**
 * The regions that hold a point, front first; hidden ones are not there.
 * @param {Scene} scene
 * @param {Point} at
 */
export function regionsAt(scene, at) {
  const isAt = (/** @type {string} */ id) => boxHolds(scene.box(id), at) && contains(scene.polygon(id), at);
  return scene.regions.filter((region) => !region.is_hidden && isAt(region.id)).map((region) => region.id);
}

/**
 * The one after another, and after the last the first; null of none.
 * @param {string[]} ids
 * @param {string | null} current
 */
export function nextRegion(ids, current) {
  return ids.length ? ids[(current === null ? 0 : ids.indexOf(current) + 1) % ids.length] : null;
}

/**
 * The nearest vertex of some regions within a radius, or null; of equal ones the first.
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
 * The nearest side of some regions within a radius: its region, the place of its first point in the ring, the place on it; or null.
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
    const polygon = scene.polygon(id);
    polygon.forEach((start, edge) => {
      const { at: place, squared } = project(at, start, polygon[(edge + 1) % polygon.length]);
      if (squared < nearest) [nearest, found] = [squared, { region: id, edge, at: place }];
    });
  }
  return found;
}

/**
 * The vertices of some regions in a box, each once.
 * @param {Scene} scene
 * @param {Box} box
 * @param {Iterable<string>} ids
 */
export function pointsInBox(scene, box, ids) {
  return pointsWhere(scene, ids, (at) => boxHolds(box, at));
}

/**
 * Those within a radius, for a brush.
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

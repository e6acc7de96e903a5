// Tracing the border of a neighbouring region: the two arcs of a ring between two of its points.

import { distance, lengthOf } from "../common/geometry.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Ring} Ring */
/** @typedef {{edge: number, at: Point}} Place on an outline; edge is the index of the side's first point in the ring */

/**
 * Return the two arcs of a region's ring between two points, shorter first, both with their end
 * points. If both are equally long, the arc in ring order comes first.
 * @param {Scene} scene
 * @param {string} id
 * @param {number} from a point of the ring
 * @param {number} to another one
 */
export function arcs(scene, id, from, to) {
  const { ring } = scene.region(id);
  const forward = along(ring, from, to);
  const backward = along(ring, to, from).reverse();
  const isForward = lengthAlong(scene, forward) <= lengthAlong(scene, backward);
  return isForward ? { shorter: forward, longer: backward } : { shorter: backward, longer: forward };
}

/**
 * Return the candidate lines between two points of the same region, best first, each without its
 * start point: the shorter arc, the longer arc, the straight line. Arcs that contain points already
 * drawn are omitted.
 * @param {Scene} scene
 * @param {string} id
 * @param {number} from
 * @param {number} to
 * @returns {Ring[]}
 */
export function ways(scene, id, from, to) {
  const { shorter, longer } = arcs(scene, id, from, to);
  const taken = new Set(scene.open);
  const free = [shorter, longer].filter((arc) => !arc.slice(1, -1).some((point) => taken.has(point)));
  const found = free.map((arc) => arc.slice(1));
  return found.some((way) => way.length === 1) ? found : [...found, [to]];
}

/**
 * Return the two arcs between two positions on a region's outline, which need not be vertices, both
 * with their end points.
 * @param {Scene} scene
 * @param {string} id
 * @param {Place} from
 * @param {Place} to
 */
export function linesBetween(scene, id, from, to) {
  const polygon = scene.polygon(id);
  const [forward, backward] = [lineAlong(polygon, from, to), lineAlong(polygon, to, from).reverse()];
  return lengthOf(forward) <= lengthOf(backward) ? { shorter: forward, longer: backward } : { shorter: backward, longer: forward };
}

/**
 * Return the region along whose border two points can be joined: the preferred one if it has both
 * points, otherwise the frontmost that does.
 * @param {Scene} scene
 * @param {number} from
 * @param {number} to
 * @param {string | null} [preferred]
 */
export function sharedRegion(scene, from, to, preferred = null) {
  const owners = scene.owners(from).filter((region) => region.ring.includes(to));
  const found = owners.find((region) => region.id === preferred);
  return (found ?? scene.regions.find((region) => owners.includes(region)))?.id ?? null;
}

/**
 * @param {Ring} ring
 * @param {number} from
 * @param {number} to
 * @returns {Ring}
 */
function along(ring, from, to) {
  const [start, end] = [ring.indexOf(from), ring.indexOf(to)];
  if (start < 0 || end < 0) throw new RangeError("expected two points of the ring, got other points");
  return start <= end ? ring.slice(start, end + 1) : [...ring.slice(start), ...ring.slice(0, end + 1)];
}

/**
 * @param {Point[]} polygon
 * @param {Place} from
 * @param {Place} to
 */
function lineAlong(polygon, from, to) {
  const { length } = polygon;
  const start = polygon[from.edge];
  const isAllRound = from.edge === to.edge && distance(start, to.at) < distance(start, from.at);
  const count = isAllRound ? length : (to.edge - from.edge + length) % length;
  const passed = Array.from({ length: count }, (_, index) => polygon[(from.edge + 1 + index) % length]);
  return [from.at, ...passed, to.at];
}

/**
 * @param {Scene} scene
 * @param {Ring} arc
 */
function lengthAlong(scene, arc) {
  return lengthOf(arc.map((point) => scene.points[point]));
}

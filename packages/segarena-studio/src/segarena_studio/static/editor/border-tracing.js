// Following the border of a neighbour: the two ways along a ring from one point to another.

import { distance, lengthOf } from "../common/geometry.js";

/** @typedef {import("../common/viewport.js").Point} Point */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Ring} Ring */
/** @typedef {{edge: number, at: Point}} Place on an outline: on which side, by the place of its first point in the ring */

/**
 * The two ways along a region's ring, both with their ends. Of equal lengths the one in the ring's own direction is the shorter.
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
 * What may be drawn from one point to another of the same region, best first, each without its beginning: the shorter arc, the
 * longer one, the straight line. Arcs with points that are drawn already are left out.
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
 * What would be traced between two places of a region's outline, vertices or not: the two lines, both with their ends.
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
 * The region along which two points may be joined: of those that have both the given one, or else the frontmost.
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
  if (start < 0 || end < 0) throw new RangeError("expected two points of the ring, got others");
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

// Following the border of a neighbour: the two ways along a ring from one point to another.

import { lengthOf } from "./geometry.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Ring} Ring */

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
 * @param {Scene} scene
 * @param {Ring} arc
 */
function lengthAlong(scene, arc) {
  return lengthOf(arc.map((point) => scene.points[point]));
}

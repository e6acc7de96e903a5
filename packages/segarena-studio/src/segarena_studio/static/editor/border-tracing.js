// Tracing the border of a neighbouring region: the two arcs of a ring between two of its points.

import { distance, lengthOf } from "../common/geometry.js";
import { ringsOf } from "./scene.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./scene.js").Ring} Ring */
/** @typedef {{edge: number, at: Point}} Place on an outline; edge is the index of the side's first point in the ring */

/**
 * Return the shorter and the longer arc of a region's outline between two points, both with their end
 * points. If both are equally long, the arc in ring order counts as the shorter. Throw RangeError if no
 * outline of the region has both points.
 * @param {Scene} scene
 * @param {string} id
 * @param {number} from
 * @param {number} to
 */
export function arcs(scene, id, from, to) {
  const ring = ringsOf(scene.region(id)).find((each) => each.includes(from) && each.includes(to));
  if (!ring) throw new RangeError("expected two points of one outline, got other points");
  const forward = along(ring, from, to);
  const backward = along(ring, to, from).reverse();
  const isForward = lengthAlong(scene, forward) <= lengthAlong(scene, backward);
  return isForward ? { shorter: forward, longer: backward } : { shorter: backward, longer: forward };
}

/**
 * Return the candidate lines between two points of the same region, best first, each without its
 * start point: the shorter arc, the longer arc, the straight line. An arc is omitted if it
 * has a point of the open outline between its ends; the straight line is omitted if it is one of the arcs.
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
 * with their end points. Between positions on two different outlines, both are straight lines.
 * @param {Scene} scene
 * @param {string} id
 * @param {Place} from
 * @param {Place} to
 */
export function linesBetween(scene, id, from, to) {
  let first = 0;
  let index = 0;
  const outlines = scene.outlines(id);
  while (index + 1 < outlines.length && from.edge >= first + outlines[index].length) first += outlines[index++].length;
  const polygon = outlines[index];
  const isApart = to.edge < first || to.edge >= first + polygon.length;
  if (isApart) return { shorter: [from.at, to.at], longer: [from.at, to.at] };
  const [start, end] = [from, to].map(({ edge, at }) => ({ edge: edge - first, at }));
  const [forward, backward] = [lineAlong(polygon, start, end), lineAlong(polygon, end, start).reverse()];
  return lengthOf(forward) <= lengthOf(backward) ? { shorter: forward, longer: backward } : { shorter: backward, longer: forward };
}

/**
 * Return the id of the region along whose border two points can be joined: the preferred one if it has
 * both points on one outline, otherwise the frontmost region that has; null if there is none.
 * @param {Scene} scene
 * @param {number} from
 * @param {number} to
 * @param {string | null} [preferred]
 */
export function sharedRegion(scene, from, to, preferred = null) {
  const hasBoth = (/** @type {Ring} */ ring) => ring.includes(from) && ring.includes(to);
  const owners = scene.owners(from).filter((region) => ringsOf(region).some(hasBoth));
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

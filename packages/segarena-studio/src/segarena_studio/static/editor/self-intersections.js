// Self-intersections of outlines: sides that cross, touch or overlap, spikes, repeated vertices.

import { boxesMeet, boxOf, runsBack, segmentsMeet } from "../common/geometry.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../common/geometry.js").Polygon} Polygon */

/** @type {WeakMap<Polygon, boolean>} a cache; valid because outlines are never changed in place */
const known = new WeakMap();
/** @type {WeakMap<Polygon[], boolean>} the same for several outlines */
const knownTogether = new WeakMap();

/**
 * Whether all outlines of a region are simple and none meets another.
 * @param {Polygon[]} outlines
 */
export function areSimple(outlines) {
  let simple = knownTogether.get(outlines);
  if (simple === undefined) {
    simple = outlines.every(isSimple) && firstMeeting(outlines) === null;
    knownTogether.set(outlines, simple);
  }
  return simple;
}

/**
 * Return the start of a side of one outline that meets another outline; null if no outlines meet.
 * @param {Polygon[]} outlines
 * @returns {Point | null}
 */
export function firstMeeting(outlines) {
  if (outlines.length < 2) return null;
  const boxes = outlines.map(boxOf);
  for (let later = 1; later < outlines.length; later++) {
    for (let earlier = 0; earlier < later; earlier++) {
      if (!boxesMeet(boxes[earlier], boxes[later])) continue;
      const at = meetingOf(outlines[earlier], outlines[later]);
      if (at) return at;
    }
  }
  return null;
}

/**
 * Return the start of a side of the second outline that meets the first outline; null if none does.
 * @param {Polygon} one
 * @param {Polygon} other
 * @returns {Point | null}
 */
export function meetingOf(one, other) {
  const box = boxOf(one);
  for (let place = 0; place < other.length; place++) {
    const [from, to] = [other[place], other[(place + 1) % other.length]];
    if (!boxesMeet(box, boxOf([from, to]))) continue;
    for (let side = 0; side < one.length; side++) {
      if (segmentsMeet(one[side], one[(side + 1) % one.length], from, to)) return from;
    }
  }
  return null;
}

/**
 * Whether a polygon is simple.
 * @param {Polygon} polygon
 */
export function isSimple(polygon) {
  let simple = known.get(polygon);
  if (simple === undefined) {
    simple = polygon.length > 2 && firstCrossing(polygon) === null;
    known.set(polygon, simple);
  }
  return simple;
}

/**
 * Return two sides that intersect where they should not, by the indices of their first vertices, and the
 * point at which they intersect (for parallel sides, the start of the second); null for a simple polygon.
 * @param {Polygon} polygon
 * @returns {{first: number, second: number, at: Point} | null}
 */
export function firstCrossing(polygon) {
  const count = polygon.length;
  const order = sidesFromTheLeft(polygon);
  for (let place = 0; place < count; place++) {
    const one = order[place];
    const right = Math.max(polygon[one][0], polygon[(one + 1) % count][0]);
    for (let next = place + 1; next < count; next++) {
      const other = order[next];
      if (Math.min(polygon[other][0], polygon[(other + 1) % count][0]) > right) break;
      const [first, second] = one < other ? [one, other] : [other, one];
      if (sidesMeet(polygon, first, second)) return { first, second, at: meetingPlace(polygon, first, second) };
    }
  }
  return null;
}

/**
 * Whether a segment that starts at the end of an open line meets the line anywhere else.
 * @param {Point[]} line
 * @param {Point} to
 */
export function lineMeets(line, to) {
  const from = line[line.length - 1];
  for (let index = 0; index + 2 < line.length; index++) {
    if (segmentsMeet(line[index], line[index + 1], from, to)) return true;
  }
  return line.length > 1 && runsBack(line[line.length - 2], from, to);
}

/**
 * @param {Polygon} polygon
 * @returns {number[]}
 */
function sidesFromTheLeft(polygon) {
  const lefts = polygon.map((point, index) => Math.min(point[0], polygon[(index + 1) % polygon.length][0]));
  return [...lefts.keys()].sort((a, b) => lefts[a] - lefts[b]);
}

/**
 * @param {Polygon} polygon
 * @param {number} first
 * @param {number} second
 */
function sidesMeet(polygon, first, second) {
  const count = polygon.length;
  const [a, b] = [polygon[first], polygon[(first + 1) % count]];
  const [c, d] = [polygon[second], polygon[(second + 1) % count]];
  // Adjacent sides always share a vertex; they are invalid only if one runs back over the other.
  if (second === first + 1) return runsBack(a, b, d);
  if (first === 0 && second === count - 1) return runsBack(c, d, b);
  return segmentsMeet(a, b, c, d);
}

/**
 * @param {Polygon} polygon
 * @param {number} first
 * @param {number} second
 * @returns {Point}
 */
function meetingPlace(polygon, first, second) {
  const count = polygon.length;
  const [a, b] = [polygon[first], polygon[(first + 1) % count]];
  const [c, d] = [polygon[second], polygon[(second + 1) % count]];
  const [across, down] = [b[0] - a[0], b[1] - a[1]];
  const bottom = across * (d[1] - c[1]) - down * (d[0] - c[0]);
  if (bottom === 0) return c;
  const share = ((c[0] - a[0]) * (d[1] - c[1]) - (c[1] - a[1]) * (d[0] - c[0])) / bottom;
  const kept = Math.min(Math.max(share, 0), 1);
  return [a[0] + kept * across, a[1] + kept * down];
}

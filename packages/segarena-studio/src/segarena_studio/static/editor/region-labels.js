// Where the number of a region is written: at its centroid, or, where that is near the outline or not inside, at the place that is
// farthest from the outline.

import { boxOf, contains, signedArea, squaredFromOutline } from "../common/geometry.js";

/** @typedef {import("../common/viewport.js").Point} Point */
/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {{at: Point, half: number, room: number, most: number}} Cell */

const LEAST_PX = 45;

/**
 * @param {Polygon} polygon
 * @param {number} [least] how far the centroid must be from the outline to be taken
 * @returns {Point}
 */
export function labelPlace(polygon, least = LEAST_PX) {
  const middle = centroid(polygon);
  return roomAt(polygon, middle) >= least ? middle : farthestInside(polygon, middle);
}

/**
 * The centroid of the area; of the corners where there is none.
 * @param {Polygon} polygon
 * @returns {Point}
 */
export function centroid(polygon) {
  const twice = 2 * signedArea(polygon);
  const [left, top] = polygon[0] ?? [0, 0];
  let [across, down] = [0, 0];
  polygon.forEach(([x, y], index) => {
    const [nextX, nextY] = polygon[(index + 1) % polygon.length];
    const weight = twice ? (x - left) * (nextY - top) - (nextX - left) * (y - top) : 1;
    across += weight * (twice ? x + nextX - 2 * left : 3 * (x - left));
    down += weight * (twice ? y + nextY - 2 * top : 3 * (y - top));
  });
  const sum = 3 * (twice || Math.max(1, polygon.length));
  return [left + across / sum, top + down / sum];
}

/**
 * How far a place is from the outline; negative outside.
 * @param {Polygon} polygon
 * @param {Point} at
 */
function roomAt(polygon, at) {
  const room = Math.sqrt(squaredFromOutline(polygon, at));
  return contains(polygon, at) ? room : -room;
}

/**
 * The place with the most room, found by halving cells that could still hold a better one.
 * @param {Polygon} polygon
 * @param {Point} middle a place to begin with
 */
function farthestInside(polygon, middle) {
  const [left, top, right, bottom] = boxOf(polygon);
  const half = Math.max(right - left, bottom - top) / 2;
  const enough = Math.max(half / 50, 1e-6);
  let best = cellAt(polygon, middle, 0);
  const cells = [cellAt(polygon, [(left + right) / 2, (top + bottom) / 2], half)];
  for (let cell = cells.pop(); cell; cell = cells.pop()) {
    if (cell.room > best.room) best = cell;
    if (cell.most - best.room <= enough) continue;
    const [[x, y], quarter] = [cell.at, cell.half / 2];
    for (const [right, down] of [[-1, -1], [1, -1], [-1, 1], [1, 1]]) {
      cells.push(cellAt(polygon, [x + right * quarter, y + down * quarter], quarter));
    }
    cells.sort((one, other) => one.most - other.most);
  }
  return best.at;
}

/**
 * @param {Polygon} polygon
 * @param {Point} at
 * @param {number} half
 * @returns {Cell}
 */
function cellAt(polygon, at, half) {
  const room = roomAt(polygon, at);
  return { at, half, room, most: room + half * Math.SQRT2 };
}

// Where to write the number of a region: at its centroid, or, if that is outside or close to the
// outline, at the interior point farthest from the outline.

import { boxOf, contains, signedArea, squaredFromOutline } from "../common/geometry.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {{at: Point, half: number, room: number, most: number}} Cell */

const LEAST_PX = 45;

/**
 * @param {Polygon} polygon
 * @param {number} [least] minimum distance of the centroid from the outline
 * @returns {Point}
 */
export function labelPlace(polygon, least = LEAST_PX) {
  const middle = centroid(polygon);
  return roomAt(polygon, middle) >= least ? middle : farthestInside(polygon, middle);
}

/**
 * Return the centroid of the area, or of the vertices if the area is zero.
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
 * Return the signed distance to the outline; negative outside.
 * @param {Polygon} polygon
 * @param {Point} at
 */
function roomAt(polygon, at) {
  const room = Math.sqrt(squaredFromOutline(polygon, at));
  return contains(polygon, at) ? room : -room;
}

/**
 * Return the interior point farthest from the outline, by subdividing the cells that could contain
 * a better one.
 * @param {Polygon} polygon
 * @param {Point} middle the initial candidate
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

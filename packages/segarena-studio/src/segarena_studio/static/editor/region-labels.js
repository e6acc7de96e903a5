// Where to write the number of a region: at its centroid, or, if that is outside or close to the
// outline, at the interior point farthest from the outline.

import { area, boxOf, outlinesContain, signedArea, squaredFromOutline } from "../common/geometry.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {{at: Point, half: number, room: number, most: number}} Cell */

const LEAST_PX = 45;

/**
 * Return the place for the number of a region; the centroid is that of its largest outline.
 * @param {Polygon[]} outlines
 * @param {number} [least] minimum distance of the centroid from the outlines
 * @returns {Point}
 */
export function labelPlace(outlines, least = LEAST_PX) {
  const largest = outlines.reduce((best, outline) => (area(outline) > area(best) ? outline : best), outlines[0] ?? []);
  const middle = centroid(largest);
  return roomAt(outlines, middle) >= least ? middle : farthestInside(outlines, middle);
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
 * Return the signed distance to the nearest outline; negative outside.
 * @param {Polygon[]} outlines
 * @param {Point} at
 */
function roomAt(outlines, at) {
  const room = Math.sqrt(Math.min(...outlines.map((outline) => squaredFromOutline(outline, at))));
  return outlinesContain(outlines, at) ? room : -room;
}

/**
 * Return the interior point farthest from the outlines, by subdividing the cells that could contain
 * a better one.
 * @param {Polygon[]} outlines
 * @param {Point} middle the initial candidate
 */
function farthestInside(outlines, middle) {
  const [left, top, right, bottom] = boxOf(outlines.flat());
  const half = Math.max(right - left, bottom - top) / 2;
  const enough = Math.max(half / 50, 1e-6);
  let best = cellAt(outlines, middle, 0);
  const cells = [cellAt(outlines, [(left + right) / 2, (top + bottom) / 2], half)];
  for (let cell = cells.pop(); cell; cell = cells.pop()) {
    if (cell.room > best.room) best = cell;
    if (cell.most - best.room <= enough) continue;
    const [[x, y], quarter] = [cell.at, cell.half / 2];
    for (const [right, down] of [[-1, -1], [1, -1], [-1, 1], [1, 1]]) {
      cells.push(cellAt(outlines, [x + right * quarter, y + down * quarter], quarter));
    }
    cells.sort((one, other) => one.most - other.most);
  }
  return best.at;
}

/**
 * @param {Polygon[]} outlines
 * @param {Point} at
 * @param {number} half
 * @returns {Cell}
 */
function cellAt(outlines, at, half) {
  const room = roomAt(outlines, at);
  return { at, half, room, most: room + half * Math.SQRT2 };
}

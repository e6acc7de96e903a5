// Points, segments and polygons in the plane, with exact predicates where necessary. A polygon is
// an array of points [x, y] that does not repeat the first. Pixel (column, row) is the square from
// (column, row) to (column + 1, row + 1).

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Box} Box */
/** @typedef {Point[]} Polygon */
/** @typedef {{at: Point, share: number, squared: number}} Projection share: 0 at the start of the segment, 1 at its end */

const SPLITTER = 2 ** 27 + 1;
// Shewchuk's error bound for a 2 x 2 determinant of differences, with a safety margin.
const ROUNDING = 4 * Number.EPSILON;

/**
 * @param {Point} a
 * @param {Point} b
 */
export function distance(a, b) {
  return Math.hypot(b[0] - a[0], b[1] - a[1]);
}

/**
 * Round a length to a thousandth of a pixel: precise enough at any zoom, and short in files.
 * @param {number} length
 */
export function rounded(length) {
  return Math.round(length * 1000) / 1000 + 0; // + 0 turns minus zero into zero
}

/**
 * Return the side of the line from `a` to `b` on which `c` lies: 1, -1, or 0 on the line. Exact
 * despite rounding.
 * @param {Point} a
 * @param {Point} b
 * @param {Point} c
 */
export function turn(a, b, c) {
  const left = (b[0] - a[0]) * (c[1] - a[1]);
  const right = (b[1] - a[1]) * (c[0] - a[0]);
  if (Math.abs(left - right) > ROUNDING * (Math.abs(left) + Math.abs(right))) return left > right ? 1 : -1;
  // A factor of zero is exact, so axis-parallel segments need no further test.
  if ((b[0] === a[0] || c[1] === a[1]) && (b[1] === a[1] || c[0] === a[0])) return Math.sign(left - right) + 0;
  return exactTurn(a, b, c);
}

/**
 * Return the sign of the determinant from the exact sum of its six products.
 * @param {Point} a
 * @param {Point} b
 * @param {Point} c
 */
function exactTurn([ax, ay], [bx, by], [cx, cy]) {
  /** @type {number[]} non-overlapping parts, in increasing magnitude */
  let sum = [];
  const products = [[bx, cy], [-bx, ay], [-ax, cy], [-by, cx], [by, ax], [ay, cx]];
  for (const [one, other] of products) {
    for (const part of exactProduct(one, other)) sum = grown(sum, part);
  }
  return Math.sign(sum.at(-1) ?? 0) + 0;
}

/**
 * Return a product exactly, as the sum of two numbers.
 * @param {number} a
 * @param {number} b
 */
function exactProduct(a, b) {
  const product = a * b;
  const [aHigh, bHigh] = [high(a), high(b)];
  const [aLow, bLow] = [a - aHigh, b - bHigh];
  const error = aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
  return [error, product];
}

/**
 * Return the upper half of a number's digits.
 * @param {number} a
 */
function high(a) {
  const large = SPLITTER * a;
  return large - (large - a);
}

/**
 * Add a number to an exact sum.
 * @param {number[]} parts
 * @param {number} number
 */
function grown(parts, number) {
  const result = [];
  let carried = number;
  for (const part of parts) {
    const total = carried + part;
    const virtual = total - carried;
    const error = carried - (total - virtual) + (part - virtual);
    if (error !== 0) result.push(error);
    carried = total;
  }
  if (carried !== 0) result.push(carried);
  return result;
}

/**
 * Test whether two closed segments intersect.
 * @param {Point} a
 * @param {Point} b
 * @param {Point} c
 * @param {Point} d
 */
export function segmentsMeet(a, b, c, d) {
  if (!rangesMeet(a[0], b[0], c[0], d[0]) || !rangesMeet(a[1], b[1], c[1], d[1])) return false;
  return turn(a, b, c) * turn(a, b, d) <= 0 && turn(c, d, a) * turn(c, d, b) <= 0;
}

/**
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 */
function rangesMeet(a, b, c, d) {
  return Math.min(a, b) <= Math.max(c, d) && Math.min(c, d) <= Math.max(a, b);
}

/**
 * Test whether the path from `a` via `b` to `c` doubles back or has zero length.
 * @param {Point} a
 * @param {Point} b
 * @param {Point} c
 */
export function runsBack(a, b, c) {
  if (isSame(a, b) || isSame(b, c)) return true;
  const along = (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]);
  return along < 0 && turn(a, b, c) === 0;
}

/**
 * @param {Point} a
 * @param {Point} b
 */
export function isSame(a, b) {
  return a[0] === b[0] && a[1] === b[1];
}

/**
 * Return the point of a segment nearest to `at`.
 * @param {Point} at
 * @param {Point} a
 * @param {Point} b
 * @returns {Projection}
 */
export function project(at, a, b) {
  const [across, down] = [b[0] - a[0], b[1] - a[1]];
  const squaredLength = across * across + down * down;
  const along = (at[0] - a[0]) * across + (at[1] - a[1]) * down;
  const share = squaredLength > 0 ? Math.min(Math.max(along / squaredLength, 0), 1) : 0;
  /** @type {Point} */
  const point = share === 1 ? b : [a[0] + share * across, a[1] + share * down];
  return { at: point, share, squared: (at[0] - point[0]) ** 2 + (at[1] - point[1]) ** 2 };
}

/**
 * Return the squared distance from a point to a segment. Allocates nothing, as it runs for every
 * side at every pointer move.
 * @param {Point} at
 * @param {Point} a
 * @param {Point} b
 */
export function squaredFromSegment(at, a, b) {
  const across = b[0] - a[0];
  const down = b[1] - a[1];
  const squared = across * across + down * down;
  const along = (at[0] - a[0]) * across + (at[1] - a[1]) * down;
  const share = squared > 0 ? Math.min(Math.max(along / squared, 0), 1) : 0;
  return (at[0] - a[0] - share * across) ** 2 + (at[1] - a[1] - share * down) ** 2;
}

/**
 * Return the squared distance from a point to the outline of a polygon.
 * @param {Polygon} polygon
 * @param {Point} at
 */
export function squaredFromOutline(polygon, at) {
  let nearest = Infinity;
  for (let index = 0, before = polygon.length - 1; index < polygon.length; before = index++) {
    nearest = Math.min(nearest, squaredFromSegment(at, polygon[before], polygon[index]));
  }
  return nearest;
}

/**
 * Return the signed area: positive if the outline runs clockwise on the screen.
 * @param {Polygon} polygon
 */
export function signedArea(polygon) {
  if (polygon.length < 3) return 0;
  const [left, top] = polygon[0]; // relative to the first vertex, to keep precision far from the origin
  let twice = 0;
  let [beforeX, beforeY] = polygon[polygon.length - 1];
  for (const [x, y] of polygon) {
    twice += (beforeX - left) * (y - top) - (x - left) * (beforeY - top);
    [beforeX, beforeY] = [x, y];
  }
  return twice / 2;
}

/**
 * Return the area in square pixels; 0 below three vertices.
 * @param {Polygon} polygon
 */
export function area(polygon) {
  return Math.abs(signedArea(polygon));
}

/**
 * Return the perimeter.
 * @param {Polygon} polygon
 */
export function perimeter(polygon) {
  return polygon.reduce((sum, point, index) => sum + distance(point, polygon[(index + 1) % polygon.length]), 0);
}

/**
 * Return the length of an open polyline.
 * @param {Point[]} line
 */
export function lengthOf(line) {
  return line.slice(1).reduce((sum, point, index) => sum + distance(line[index], point), 0);
}

/**
 * Return the bounding box of points; inverted if there are none.
 * @param {Iterable<Point>} points
 * @returns {Box}
 */
export function boxOf(points) {
  /** @type {Box} */
  const box = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [x, y] of points) {
    if (x < box[0]) box[0] = x;
    if (y < box[1]) box[1] = y;
    if (x > box[2]) box[2] = x;
    if (y > box[3]) box[3] = y;
  }
  return box;
}

/**
 * Test whether two boxes intersect, after one has grown by a margin.
 * @param {Box} one
 * @param {Box} other
 */
export function boxesMeet(one, other, margin = 0) {
  return (
    one[0] - margin <= other[2] && other[0] <= one[2] + margin && one[1] - margin <= other[3] && other[1] <= one[3] + margin
  );
}

/**
 * @param {Box} box
 * @param {Point} at
 */
export function boxHolds(box, at, margin = 0) {
  return at[0] >= box[0] - margin && at[0] <= box[2] + margin && at[1] >= box[1] - margin && at[1] <= box[3] + margin;
}

/**
 * Test whether a point lies in a polygon or on its outline, by the even-odd rule.
 * @param {Polygon} polygon
 * @param {Point} at
 */
export function contains(polygon, at) {
  return positionIn(polygon, at) !== "outside";
}

/**
 * Test whether a point lies inside an odd number of outlines, or on one of them.
 * @param {Polygon[]} outlines
 * @param {Point} at
 */
export function outlinesContain(outlines, at) {
  let isInside = false;
  for (const outline of outlines) {
    const position = positionIn(outline, at);
    if (position === "on") return true;
    if (position === "inside") isInside = !isInside;
  }
  return isInside;
}

/**
 * Test whether one of several outlines that do not cross is a hole: it lies in an odd number of the
 * others.
 * @param {Polygon[]} outlines
 * @param {number} index
 */
export function isHole(outlines, index) {
  const [at] = outlines[index];
  const around = outlines.filter((outline, other) => other !== index && at !== undefined && contains(outline, at));
  return around.length % 2 === 1;
}

/**
 * @param {Polygon} polygon
 * @param {Point} at
 * @returns {"inside" | "on" | "outside"}
 */
function positionIn(polygon, at) {
  let isInside = false;
  for (let index = 0, before = polygon.length - 1; index < polygon.length; before = index++) {
    const [start, end] = [polygon[before], polygon[index]];
    const [upper, lower] = start[1] <= end[1] ? [start, end] : [end, start];
    if (at[1] < upper[1] || at[1] > lower[1]) continue;
    const side = turn(upper, lower, at);
    if (side === 0 && at[0] >= Math.min(start[0], end[0]) && at[0] <= Math.max(start[0], end[0])) return "on";
    if (at[1] < lower[1] && side > 0) isInside = !isInside;
  }
  return isInside ? "inside" : "outside";
}

/**
 * Return the vertices of the convex hull, without collinear ones.
 * @param {Point[]} points
 * @returns {Polygon}
 */
export function convexHull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const corners = sorted.filter((point, index) => !index || !isSame(point, sorted[index - 1]));
  if (corners.length < 3) return corners;
  return [...halfHull(corners), ...halfHull(corners.reverse())];
}

/**
 * @param {Point[]} ordered
 * @returns {Polygon}
 */
function halfHull(ordered) {
  /** @type {Polygon} */
  const chain = [];
  for (const point of ordered) {
    while (chain.length > 1 && turn(chain[chain.length - 2], chain[chain.length - 1], point) <= 0) chain.pop();
    chain.push(point);
  }
  return chain.slice(0, -1);
}

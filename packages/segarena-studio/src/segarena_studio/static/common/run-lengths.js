// Convert masks to and from run lengths, and trace their outlines as polygons. A mask is a
// Uint8Array in row-major order; its size is [height, width], as on the server. Runs begin with
// zeros.

import { area, isSame, project, signedArea } from "./geometry.js";
import { isSimple } from "../editor/self-intersections.js";

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("./geometry.js").Polygon} Polygon */
/** @typedef {[number, number]} MaskSize height, width */

const STEPS = [[1, 0], [0, 1], [-1, 0], [0, -1]]; // east, south, west, north
const LEAST_VERTICES = 4;

/**
 * Decode run lengths to a mask; throw RangeError if they do not add up to the size.
 * @param {ArrayLike<number>} counts zeros first
 * @param {MaskSize} size
 */
export function decode(counts, [height, width]) {
  const mask = new Uint8Array(height * width);
  let at = 0;
  for (let index = 0; index < counts.length; index++) {
    const end = at + counts[index];
    if (!(counts[index] >= 0) || end > mask.length) throw new RangeError("expected runs within the mask, got longer ones");
    if (index % 2) mask.fill(1, at, end);
    at = end;
  }
  if (at !== mask.length) throw new RangeError(`expected runs of ${mask.length} pixels, got ${at}`);
  return mask;
}

/**
 * Encode a mask as run lengths, zeros first.
 * @param {Uint8Array} mask
 */
export function encode(mask) {
  const counts = [];
  let [value, start] = [0, 0];
  for (let at = 0; at < mask.length; at++) {
    if ((mask[at] ? 1 : 0) === value) continue;
    counts.push(at - start);
    [value, start] = [1 - value, at];
  }
  counts.push(mask.length - start);
  return counts;
}

/**
 * Return the outer borders of a mask along pixel edges, largest first, clockwise on the screen.
 * @param {Uint8Array} mask
 * @param {MaskSize} size
 * @returns {Polygon[]}
 */
export function maskToRings(mask, size) {
  return maskToBorders(mask, size).filter((ring) => signedArea(ring) > 0);
}

/**
 * Return all borders of a mask along pixel edges, largest first: outer ones clockwise on the screen,
 * those of holes counterclockwise.
 * @param {Uint8Array} mask
 * @param {MaskSize} size
 * @returns {Polygon[]}
 */
export function maskToBorders(mask, [height, width]) {
  const isSet = (/** @type {number} */ x, /** @type {number} */ y) =>
    x >= 0 && y >= 0 && x < width && y < height && mask[y * width + x] !== 0;
  const isTraced = new Uint8Array(mask.length); // pixels whose upper edge has been traced
  const rings = [];
  for (let at = 0; at < mask.length; at++) {
    if (!mask[at] || isTraced[at] || (at >= width && mask[at - width])) continue;
    const loop = trace(isSet, [at % width, Math.floor(at / width)], (x, y) => (isTraced[y * width + x] = 1));
    rings.push(...simpleLoops(loop));
  }
  return rings.sort((one, other) => area(other) - area(one));
}

/**
 * Follow the border from the upper left corner of a pixel to the east, with the mask on the right.
 * @param {(x: number, y: number) => boolean} isSet
 * @param {Point} start
 * @param {(x: number, y: number) => void} note called for each pixel whose upper edge was traced
 */
function trace(isSet, start, note) {
  /** @type {Polygon} */
  const corners = [];
  let [x, y] = start;
  let heading = 0;
  do {
    if (heading === 0) note(x, y);
    x += STEPS[heading][0];
    y += STEPS[heading][1];
    const turned = turnAt(isSet, x, y, heading);
    if (turned !== heading) corners.push([x, y]);
    heading = turned;
  } while (x !== start[0] || y !== start[1] || heading !== 0);
  return corners;
}

/**
 * Return the next heading at a corner; pixels that touch only at the corner are not connected.
 * @param {(x: number, y: number) => boolean} isSet
 * @param {number} x
 * @param {number} y
 * @param {number} heading
 */
function turnAt(isSet, x, y, heading) {
  const ahead = [[x, y], [x - 1, y], [x - 1, y - 1], [x, y - 1]]; // the pixel ahead on the right when coming from west, north, east, south
  const [right, left] = [ahead[heading], ahead[(heading + 3) % 4]];
  if (!isSet(right[0], right[1])) return (heading + 1) % 4;
  return isSet(left[0], left[1]) ? (heading + 3) % 4 : heading;
}

/**
 * Split a loop at corners that it visits twice.
 * @param {Polygon} loop
 */
function simpleLoops(loop) {
  /** @type {Polygon[]} */
  const loops = [];
  /** @type {Polygon} */
  const path = [];
  /** @type {Map<string, number>} */
  const places = new Map();
  for (const corner of loop) {
    const key = `${corner[0]} ${corner[1]}`;
    const place = places.get(key);
    if (place !== undefined) {
      const cut = path.splice(place);
      for (const point of cut) places.delete(`${point[0]} ${point[1]}`);
      loops.push(cut);
    }
    places.set(key, path.length);
    path.push(corner);
  }
  return [...loops, path].map(withoutStraightCorners);
}

/** @param {Polygon} ring */
function withoutStraightCorners(ring) {
  const count = ring.length;
  return ring.filter(([x, y], index) => {
    const [before, after] = [ring[(index + count - 1) % count], ring[(index + 1) % count]];
    return !(before[0] === x && x === after[0]) && !(before[1] === y && y === after[1]);
  });
}

/**
 * Simplify a polygon (Douglas and Peucker): each removed vertex lies within `tolerance` of the side
 * that replaces it. A simple polygon stays simple and keeps at least four vertices; the tolerance
 * is halved until this is so.
 * @param {Polygon} ring
 * @param {number} tolerance
 */
export function simplify(ring, tolerance) {
  if (ring.length <= LEAST_VERTICES) return ring;
  const mustBeSimple = isSimple(ring);
  for (let allowed = tolerance; allowed > 1e-3; allowed /= 2) {
    const kept = thinned(ring, allowed);
    if (kept.length >= LEAST_VERTICES && (!mustBeSimple || isSimple(kept))) return kept;
  }
  return ring;
}

/**
 * Simplify an open line in the same way; its ends stay.
 * @param {Polygon} line at least one point
 * @param {number} tolerance
 */
export function simplifyLine(line, tolerance) {
  const isKept = new Uint8Array(line.length);
  isKept[0] = isKept[line.length - 1] = 1;
  keepFar(line, [[0, line.length - 1]], tolerance, isKept);
  return line.filter((point, index) => isKept[index] && !(index && isSame(point, line[index - 1])));
}

/**
 * @param {Polygon} ring
 * @param {number} tolerance
 */
function thinned(ring, tolerance) {
  const far = farthest(ring, 0, ring.length, ring[0], ring[0]).index;
  const isKept = new Uint8Array(ring.length);
  isKept[0] = isKept[far] = 1;
  keepFar(ring, [[0, far], [far, ring.length]], tolerance, isKept);
  return ring.filter((point, index) => isKept[index] && !(index && isSame(point, ring[index - 1])));
}

/**
 * Mark the vertices that are farther than the tolerance from the line that would replace them.
 * @param {Polygon} ring
 * @param {[number, number][]} open spans of indices whose ends are kept
 * @param {number} tolerance
 * @param {Uint8Array} isKept
 */
function keepFar(ring, open, tolerance, isKept) {
  for (let span = open.pop(); span; span = open.pop()) {
    const [from, to] = span;
    const { index, squared } = farthest(ring, from, to, ring[from], ring[to % ring.length]);
    if (squared <= tolerance * tolerance) continue;
    isKept[index] = 1;
    open.push([from, index], [index, to]);
  }
}

/**
 * Return the vertex strictly between two indices that is farthest from a segment.
 * @param {Polygon} ring
 * @param {number} from
 * @param {number} to
 * @param {Point} start
 * @param {Point} end
 */
function farthest(ring, from, to, start, end) {
  let [found, most] = [from, 0];
  for (let index = from + 1; index < to; index++) {
    const { squared } = project(ring[index], start, end);
    if (squared > most) [found, most] = [index, squared];
  }
  return { index: found, squared: most };
}

// Masks of images, volumes and videos as run lengths, and their planes for display.
//
// Shapes are as on the server: [height, width] or [planes, height, width]. A plane is the
// cross-section at an index along an axis: 0 for planes, 1 for rows, 2 for columns; its x and y run
// along the two other axes.

/** @typedef {{width: number, height: number, data: Uint8Array}} Plane  labels in row-major order; 0 is background */

/**
 * The axes that run down and across a plane, by the axis perpendicular to it.
 * @type {[number, number][]}
 */
export const DOWN_AND_ACROSS = [
  [1, 2],
  [0, 2],
  [0, 1],
];

/**
 * Extend a shape to three axes; an image becomes a volume of one plane.
 * @param {number[]} shape
 */
export function inSpace(shape) {
  return shape.length === 3 ? shape : [1, ...shape];
}

/**
 * Return the width and height of the planes perpendicular to an axis.
 * @param {number[]} shape
 * @param {number} axis
 * @returns {[number, number]}
 */
export function planeSize(shape, axis) {
  const [down, across] = DOWN_AND_ACROSS[axis];
  const space = inSpace(shape);
  return [space[across], space[down]];
}

/**
 * Return the position of a plane's pixel in the sample.
 * @param {number[]} shape
 * @param {number} axis
 * @param {number} index
 * @param {[number, number]} point x, y
 */
export function positionOf(shape, axis, index, [x, y]) {
  if (shape.length === 2) return [y, x];
  const position = [0, 0, 0];
  const [down, across] = DOWN_AND_ACROSS[axis];
  [position[axis], position[down], position[across]] = [index, y, x];
  return position;
}

/**
 * Return the plane through a position, perpendicular to an axis, and the position as a point on the plane.
 * @param {number[]} position
 * @param {number} axis
 * @returns {{index: number, point: [number, number]}}
 */
export function onPlane(position, axis) {
  if (position.length === 2) return { index: 0, point: [position[1], position[0]] };
  const [down, across] = DOWN_AND_ACROSS[axis];
  return { index: position[axis], point: [position[across], position[down]] };
}

/**
 * Copy one plane of an array of the sample's shape, in row-major order.
 * @template {Uint8Array | Uint16Array} T
 * @param {T} array
 * @param {number[]} shape
 * @param {number} axis
 * @param {number} index
 * @returns {T}
 */
export function cut(array, shape, axis, index) {
  const [, rows, columns] = inSpace(shape);
  const [width, height] = planeSize(shape, axis);
  const strides = [rows * columns, columns, 1];
  const start = index * strides[axis];
  if (axis === 0) return /** @type {T} */ (array.slice(start, start + width * height));
  const [down, across] = DOWN_AND_ACROSS[axis].map((other) => strides[other]);
  const found = new /** @type {any} */ (array.constructor)(width * height);
  for (let y = 0, at = 0; y < height; y++) for (let x = 0; x < width; x++, at++) found[at] = array[start + y * down + x * across];
  return found;
}

/** The masks of all objects of a prediction or a target. */
export class Masks {
  /**
   * @param {number[][]} counts  run lengths of each object, zeros first
   * @param {number[]} shape
   */
  constructor(counts, shape) {
    this.shape = inSpace(shape);
    this.ends = counts.map(endsOf);
    /** @type {Uint8Array | null} */
    this.whole = null;
  }

  /**
   * Return the labels of the objects on a plane.
   * @param {number} axis
   * @param {number} index
   * @returns {Plane}
   */
  plane(axis, index) {
    const [width, height] = planeSize(this.shape, axis);
    if (axis !== 0) return { width, height, data: cut(this.all(), this.shape, axis, index) };
    const data = new Uint8Array(width * height);
    this.ends.forEach((ends, place) => fill(data, ends, index * data.length, place + 1));
    return { width, height, data };
  }

  /**
   * Labels of the whole sample; decoded when a plane perpendicular to axis 1 or 2 is first needed.
   */
  all() {
    if (!this.whole) {
      const made = new Uint8Array(this.shape.reduce((product, length) => product * length, 1));
      this.ends.forEach((ends, place) => fill(made, ends, 0, place + 1));
      this.whole = made;
    }
    return this.whole;
  }

  /**
   * Count the foreground pixels on each plane along an axis.
   * @param {number} axis
   */
  areas(axis) {
    const areas = new Array(this.shape[axis]).fill(0);
    for (let index = 0; index < areas.length; index++) for (const label of this.plane(axis, index).data) if (label) areas[index]++;
    return areas;
  }
}

/**
 * Return the foreground position nearest to the centroid of the foreground on the plane that has the most of
 * it; the middle of the first plane if there is no foreground.
 * @param {Masks} masks
 * @returns {[number, number, number]}
 */
export function middleOf(masks) {
  const areas = masks.areas(0);
  const index = areas.indexOf(Math.max(...areas));
  const { width, height, data } = masks.plane(0, index);
  if (!areas[index]) return [index, height >> 1, width >> 1];
  let [row, column] = [0, 0];
  for (let at = 0; at < data.length; at++) {
    if (!data[at]) continue;
    row += Math.floor(at / width) / areas[index];
    column += (at % width) / areas[index];
  }
  let [nearest, least] = [0, Infinity];
  for (let at = 0; at < data.length; at++) {
    const away = data[at] ? (Math.floor(at / width) - row) ** 2 + ((at % width) - column) ** 2 : Infinity;
    if (away < least) [nearest, least] = [at, away];
  }
  return [index, Math.floor(nearest / width), nearest % width];
}

/**
 * Mark missing (1) and surplus (2) pixels of a prediction on a plane; correct and ignored ones are 0. A pixel
 * with the wrong object is both missing and surplus, and counts as missing.
 * @param {Plane} prediction
 * @param {Plane} target
 * @param {Plane | null} [ignore] ignored pixels
 */
export function errors(prediction, target, ignore = null) {
  return target.data.map((wanted, at) => {
    if (wanted === prediction.data[at] || ignore?.data[at]) return 0;
    return wanted ? 1 : 2;
  });
}

/**
 * Return the end of each run.
 * @param {number[]} counts
 */
function endsOf(counts) {
  let sum = 0;
  return Float64Array.from(counts, (count) => (sum += count));
}

/**
 * Write a label wherever a section of a mask, from `start` on, is set.
 * @param {Uint8Array} data
 * @param {Float64Array} ends
 * @param {number} start
 * @param {number} label
 */
function fill(data, ends, start, label) {
  let run = firstAfter(ends, start);
  let from = start;
  while (from < start + data.length && run < ends.length) {
    const to = Math.min(ends[run], start + data.length);
    if (run % 2) data.fill(label, from - start, to - start);
    from = to;
    run += 1;
  }
}

/**
 * Return the index of the first run that ends after a position.
 * @param {Float64Array} ends
 * @param {number} place
 */
function firstAfter(ends, place) {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle] > place) high = middle;
    else low = middle + 1;
  }
  return low;
}

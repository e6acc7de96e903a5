// Paint masks: filled areas, errors, and pixel edges, which stay sharp at every zoom.

/** @typedef {Map<number, Uint8Array>} Objects  the mask of each object, row by row */
/** @typedef {[number, number, number]} Colour */

/**
 * Paint areas in the colours of their objects, as RGBA.
 * @param {Objects} objects @param {(number: number) => Colour} colourOf @param {number} pixels
 */
export function areas(objects, colourOf, pixels) {
  const painted = new Uint32Array(pixels);
  for (const [number, mask] of objects) fill(painted, word(colourOf(number)), (place) => mask[place] === 1);
  return new Uint8ClampedArray(painted.buffer);
}

/**
 * Paint missing and surplus pixels of an answer, as RGBA; ignored pixels stay transparent.
 * @param {Objects} answer @param {Objects} target @param {Objects} ignored
 * @param {{missing: Colour, surplus: Colour}} colours @param {number} pixels
 */
export function errors(answer, target, ignored, colours, pixels) {
  const painted = new Uint32Array(pixels);
  const none = new Uint8Array(pixels);
  for (const number of new Set([...answer.keys(), ...target.keys()])) {
    const [said, right] = [answer.get(number) ?? none, target.get(number) ?? none];
    fill(painted, word(colours.surplus), (place) => said[place] > right[place]);
    fill(painted, word(colours.missing), (place) => said[place] < right[place]);
  }
  for (const mask of ignored.values()) fill(painted, 0, (place) => mask[place] === 1);
  return new Uint8ClampedArray(painted.buffer);
}

/**
 * Find the edges between a mask and its surroundings, merged into long segments: x0, y0, x1, y1 of
 * each, in pixels.
 * @param {Uint8Array} mask @param {[number, number]} size  rows and columns
 * @returns {number[]}
 */
export function edges(mask, [height, width]) {
  /** @type {number[]} */
  const found = [];
  const [top, bottom, left, right] = bounds(mask, [height, width]);
  const at = (/** @type {number} */ row, /** @type {number} */ column) =>
    row >= 0 && row < height && column >= 0 && column < width ? mask[row * width + column] : 0;
  for (let row = top; row <= bottom; row++) {
    let start = -1;
    for (let column = left; column <= right; column++) {
      const isEdge = at(row, column) !== at(row - 1, column);
      if (isEdge && start < 0) start = column;
      if (!isEdge && start >= 0) {
        found.push(start, row, column, row);
        start = -1;
      }
    }
  }
  for (let column = left; column <= right; column++) {
    let start = -1;
    for (let row = top; row <= bottom; row++) {
      const isEdge = at(row, column) !== at(row, column - 1);
      if (isEdge && start < 0) start = row;
      if (!isEdge && start >= 0) {
        found.push(column, start, column, row);
        start = -1;
      }
    }
  }
  return found;
}

/**
 * Return the edges of a mask as a path, in pixels.
 * @param {Uint8Array} mask
 * @param {[number, number]} size  rows and columns
 */
export function outlineOf(mask, size) {
  const path = new Path2D();
  const lines = edges(mask, size);
  for (let place = 0; place < lines.length; place += 4) {
    path.moveTo(lines[place], lines[place + 1]);
    path.lineTo(lines[place + 2], lines[place + 3]);
  }
  return path;
}

/**
 * Return the bounding box of some masks: left, top, right, bottom in pixels; null if they are
 * empty.
 * @param {Uint8Array[]} masks
 * @param {[number, number]} size
 * @returns {[number, number, number, number] | null}
 */
export function boxOf(masks, size) {
  const found = masks.map((mask) => bounds(mask, size)).filter(([top, bottom]) => bottom >= top);
  if (!found.length) return null;
  const side = (/** @type {number} */ at) => found.map((box) => box[at]);
  return [Math.min(...side(2)), Math.min(...side(0)), Math.max(...side(3)), Math.max(...side(1))];
}

/**
 * Return the first and last row and column where an edge can lie; the last ones are one past the
 * mask.
 * @param {Uint8Array} mask
 * @param {[number, number]} size
 */
function bounds(mask, [, width]) {
  const first = mask.indexOf(1);
  if (first < 0) return [0, -1, 0, -1];
  let [left, right] = [width, -1];
  const last = mask.lastIndexOf(1);
  const [top, bottom] = [Math.floor(first / width), Math.floor(last / width)];
  for (let row = top; row <= bottom; row++) {
    const line = mask.subarray(row * width, (row + 1) * width);
    const start = line.indexOf(1);
    if (start < 0) continue;
    left = Math.min(left, start);
    right = Math.max(right, line.lastIndexOf(1));
  }
  return [top, bottom + 1, left, right + 1];
}

/**
 * @param {Uint32Array} painted
 * @param {number} colour
 * @param {(place: number) => boolean} isThere
 */
function fill(painted, colour, isThere) {
  for (let place = 0; place < painted.length; place++) if (isThere(place)) painted[place] = colour;
}

/**
 * Pack a colour into 32 bits, with red in the lowest byte.
 * @param {Colour} colour
 */
function word([red, green, blue]) {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

// Pixel edges of a mask, which stay sharp at every zoom.

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

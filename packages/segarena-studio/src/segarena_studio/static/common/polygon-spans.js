// Rasterize regions into horizontal spans, row by row: pixels whose centre lies inside an odd number of
// outlines (the even-odd rule). Regions with common sides neither share pixels nor leave gaps. The cost depends on the
// length of the outlines, not on the size of the picture.

/** @typedef {import("../../../reports/viewer/viewport.js").Point} Point */
/** @typedef {import("../../../reports/viewer/viewport.js").Size} Size */
/** @typedef {import("./geometry.js").Polygon} Polygon */
/**
 * `ends` lists the start and end columns of spans alternately; row `top + k` uses `starts[k]` to
 * `starts[k + 1]`.
 * @typedef {{top: number, starts: Int32Array, ends: Int32Array, area: number}} Spans
 * @typedef {{first: number, last: number, from: Point, to: Point}} Side
 */

// Coordinates beyond this lie outside every picture.
const FARTHEST = 2 ** 18;

/**
 * Return the pixels inside outlines in a picture; outlines with fewer than three vertices have none.
 * @param {Polygon[]} outlines
 * @param {Size} size
 * @returns {Spans}
 */
export function fill(outlines, [width, height]) {
  /** @type {Side[]} */
  const sides = [];
  for (const outline of outlines) if (outline.length > 2) addSides(sides, outline, height);
  if (!sides.length) return { top: 0, starts: new Int32Array(1), ends: new Int32Array(0), area: 0 };
  let [top, bottom] = [height, 0];
  for (const side of sides) {
    top = Math.min(top, side.first);
    bottom = Math.max(bottom, side.last);
  }
  const rows = Math.max(0, bottom - top);
  const starts = new Int32Array(rows + 1);
  for (const side of sides) for (let row = side.first; row < side.last; row++) starts[row - top + 1] += 1;
  for (let row = 0; row < rows; row++) starts[row + 1] += starts[row];
  const ends = new Int32Array(starts[rows]);
  const next = starts.slice(0, rows);
  for (const { first, last, from, to } of sides) {
    const slope = (to[0] - from[0]) / (to[1] - from[1]);
    for (let row = first; row < last; row++) {
      const column = Math.ceil(from[0] + (row + 0.5 - from[1]) * slope - 0.5);
      ends[next[row - top]++] = Math.min(Math.max(column, 0), width);
    }
  }
  return { top, starts, ends, area: sortRows(starts, ends) };
}

/**
 * Add the sides that cross the centre of at least one row, each directed downwards, so that two
 * polygons with a common side compute the same pixels along it.
 * @param {Side[]} sides
 * @param {Polygon} polygon
 * @param {number} height
 */
function addSides(sides, polygon, height) {
  let before = within(polygon[polygon.length - 1]);
  for (const vertex of polygon) {
    const here = within(vertex);
    const [from, to] = before[1] < here[1] ? [before, here] : [here, before];
    const first = Math.min(Math.max(Math.ceil(from[1] - 0.5), 0), height);
    const last = Math.min(Math.max(Math.ceil(to[1] - 0.5), 0), height);
    if (first < last) sides.push({ first, last, from, to });
    before = here;
  }
}

/**
 * @param {Point} point
 * @returns {Point}
 */
function within([x, y]) {
  return [Math.min(Math.max(x, -FARTHEST), FARTHEST), Math.min(Math.max(y, -FARTHEST), FARTHEST)];
}

/**
 * Sort the columns of each row; return the number of pixels in the spans.
 * @param {Int32Array} starts
 * @param {Int32Array} ends
 */
function sortRows(starts, ends) {
  let area = 0;
  for (let row = 0; row + 1 < starts.length; row++) {
    const [from, to] = [starts[row], starts[row + 1]];
    if (to - from > 16) ends.subarray(from, to).sort();
    else sortFew(ends, from, to);
    for (let at = from; at < to; at += 2) area += ends[at + 1] - ends[at];
  }
  return area;
}

/**
 * @param {Int32Array} numbers
 * @param {number} from
 * @param {number} to
 */
function sortFew(numbers, from, to) {
  for (let at = from + 1; at < to; at++) {
    const number = numbers[at];
    let place = at;
    for (; place > from && numbers[place - 1] > number; place--) numbers[place] = numbers[place - 1];
    numbers[place] = number;
  }
}

/**
 * Count the pixels in the intersection.
 * @param {Spans} one
 * @param {Spans} other
 */
export function sharedPixels(one, other) {
  let shared = 0;
  const [first, last] = [Math.max(one.top, other.top), Math.min(bottomOf(one), bottomOf(other))];
  for (let row = first; row < last; row++) {
    let [a, aEnd] = [one.starts[row - one.top], one.starts[row - one.top + 1]];
    let [b, bEnd] = [other.starts[row - other.top], other.starts[row - other.top + 1]];
    while (a < aEnd && b < bEnd) {
      shared += Math.max(0, Math.min(one.ends[a + 1], other.ends[b + 1]) - Math.max(one.ends[a], other.ends[b]));
      if (one.ends[a + 1] < other.ends[b + 1]) a += 2;
      else b += 2;
    }
  }
  return shared;
}

/**
 * Return the row below the last one.
 * @param {Spans} spans
 */
function bottomOf(spans) {
  return spans.top + spans.starts.length - 1;
}

/**
 * Return the pixels not covered by any other spans, as a flat list: row, first column, end, row, ...
 * @param {Spans} spans
 * @param {Spans[]} covers
 */
export function uncovered(spans, covers) {
  /** @type {number[]} */
  const found = [];
  eachUncovered(spans, covers, (row, start, end) => found.push(row, start, end));
  return Int32Array.from(found);
}

/**
 * Count the pixels not covered by any other spans.
 * @param {Spans} spans
 * @param {Spans[]} covers
 */
export function uncoveredPixels(spans, covers) {
  let count = 0;
  eachUncovered(spans, covers, (_, start, end) => (count += end - start));
  return count;
}

/**
 * @param {Spans} spans
 * @param {Spans[]} covers
 * @param {(row: number, start: number, end: number) => void} tell
 */
function eachUncovered(spans, covers, tell) {
  const { starts, begins, ends } = coversByRow(spans, covers);
  for (let row = 0; row + 1 < spans.starts.length; row++) {
    for (let at = spans.starts[row]; at < spans.starts[row + 1]; at += 2) {
      const end = spans.ends[at + 1];
      let start = spans.ends[at];
      for (let cover = starts[row]; cover < starts[row + 1] && begins[cover] < end; cover++) {
        if (ends[cover] <= start) continue;
        if (begins[cover] > start) tell(spans.top + row, start, begins[cover]);
        start = ends[cover];
      }
      if (start < end) tell(spans.top + row, start, end);
    }
  }
}

/**
 * Collect the covering spans of each row, sorted by start: row k uses `starts[k]` to `starts[k +
 * 1]`.
 * @param {Spans} spans
 * @param {Spans[]} covers
 */
function coversByRow(spans, covers) {
  const rows = spans.starts.length - 1;
  const starts = new Int32Array(rows + 1);
  eachCover(spans, covers, (row) => (starts[row + 1] += 1));
  for (let row = 0; row < rows; row++) starts[row + 1] += starts[row];
  const filled = starts.slice(0, rows);
  const [begins, ends] = [new Int32Array(starts[rows]), new Int32Array(starts[rows])];
  eachCover(spans, covers, (row, begin, end) => {
    let place = filled[row]++;
    for (; place > starts[row] && begins[place - 1] > begin; place--) {
      begins[place] = begins[place - 1];
      ends[place] = ends[place - 1];
    }
    begins[place] = begin;
    ends[place] = end;
  });
  return { starts, begins, ends };
}

/**
 * @param {Spans} spans
 * @param {Spans[]} covers
 * @param {(row: number, begin: number, end: number) => void} tell rows relative to the first row of `spans`
 */
function eachCover(spans, covers, tell) {
  for (const cover of covers) {
    const [first, last] = [Math.max(cover.top, spans.top), Math.min(bottomOf(cover), bottomOf(spans))];
    for (let row = first; row < last; row++) {
      for (let at = cover.starts[row - cover.top]; at < cover.starts[row - cover.top + 1]; at += 2) {
        if (cover.ends[at] < cover.ends[at + 1]) tell(row - spans.top, cover.ends[at], cover.ends[at + 1]);
      }
    }
  }
}

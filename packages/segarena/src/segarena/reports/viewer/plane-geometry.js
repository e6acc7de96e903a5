// Convert positions in the sample's array to points on a displayed plane, and back. Integer
// positions are pixel centres.

/**
 * @typedef {object} Plane  a direction for stepping through a sample
 * @property {string} name
 * @property {number | null} axis  array axis perpendicular to the planes
 * @property {number} count  number of planes
 * @property {[number, number]} size  rows and columns
 * @property {[number, number]} edges  height and width of a pixel; the shorter one is 1
 * @property {string} letters  orientation letters at the top, right, bottom and left
 * @property {boolean} is_turned
 * @property {number} first  index of the initial plane among the available ones
 * @property {[number, number]} origin  position of the first row and column in the sample
 * @property {number[]} indices  positions of the available planes along the axis; empty if all are
 * @property {[number, number]} outline_scale  displayed height and width of a unit of the outlines
 * @property {string} note  which planes are left out
 * @property {string[]} [pictures]  address of each available plane, if the page embeds them
 * @property {Record<string, Record<string, string>[]>} [layers]  outlines by layer, plane and object
 */

/** @typedef {[number, number]} Point */

/**
 * Return the displayed width and height, in units of the shorter pixel edge.
 * @param {Plane} plane
 * @returns {Point}
 */
export function shownSize(plane) {
  return [plane.size[1] * plane.edges[1], plane.size[0] * plane.edges[0]];
}

/**
 * Return the number of available planes.
 * @param {Plane} plane
 */
export function placesIn(plane) {
  return plane.indices.length || plane.count;
}

/**
 * Return the position of an available plane along the axis.
 * @param {Plane} plane
 * @param {number} place
 */
export function indexAt(plane, place) {
  return plane.indices.length ? plane.indices[place] : place;
}

/**
 * Return name and number of a plane; empty for a single picture.
 * @param {Plane} plane
 * @param {number} place
 */
export function planeLabel(plane, place) {
  return plane.count > 1 ? `${plane.name} ${indexAt(plane, place) + 1} of ${plane.count}` : "";
}

/**
 * Return the array axes that are the rows and the columns of a plane.
 * @param {Plane} plane
 * @param {number} axes
 * @returns {Point}
 */
function axesOf(plane, axes) {
  const own = [...Array(axes).keys()].filter((axis) => axis !== plane.axis).slice(-2);
  return [own[0], own[1]];
}

/**
 * @param {Plane} plane
 * @param {number[]} position
 * @returns {Point}
 */
export function pointOf(plane, position) {
  const [down, across] = axesOf(plane, position.length);
  const row = turned(plane, position[down] - plane.origin[0], 0);
  const column = turned(plane, position[across] - plane.origin[1], 1);
  return [(column + 0.5) * plane.edges[1], (row + 0.5) * plane.edges[0]];
}

/**
 * Return the position under a point of a plane, clamped to the sample.
 * @param {Plane} plane
 * @param {number} index
 * @param {Point} point
 * @returns {number[]}
 */
export function positionOf(plane, index, [x, y]) {
  const inside = (/** @type {number} */ value, /** @type {number} */ most) => Math.min(Math.max(Math.floor(value), 0), most - 1);
  const row = plane.origin[0] + turned(plane, inside(y / plane.edges[0], plane.size[0]), 0);
  const column = plane.origin[1] + turned(plane, inside(x / plane.edges[1], plane.size[1]), 1);
  if (plane.axis === null) return [row, column];
  const position = [row, column];
  position.splice(plane.axis, 0, index);
  return position;
}

/**
 * @param {Plane} plane
 * @param {Point} point
 */
export function isInside(plane, [x, y]) {
  const [width, height] = shownSize(plane);
  return x >= 0 && y >= 0 && x < width && y < height;
}

/**
 * Return all positions in a recorded prompt.
 * @param {any} prompt
 * @returns {number[][]}
 */
export function positionsOf(prompt) {
  if (prompt.position) return [prompt.position];
  if (prompt.kind === "box") return [prompt.start, prompt.stop.map((/** @type {number} */ end) => end - 1)];
  return prompt.points ?? [];
}

/**
 * Test whether a prompt is visible on a plane.
 * @param {Plane} plane
 * @param {number} index
 * @param {any} prompt
 */
export function isOn(plane, index, prompt) {
  if (prompt.kind === "limits") return plane.axis !== null && prompt.axis !== plane.axis;
  const positions = positionsOf(prompt);
  if (plane.axis === null) return positions.length > 0;
  const along = positions.filter((position) => position.length === 3).map((position) => position[/** @type {number} */ (plane.axis)]);
  return along.length > 0 && Math.min(...along) - 0.5 <= index && index <= Math.max(...along) + 0.5;
}

/**
 * @param {Plane} plane
 * @param {number} place
 * @param {0 | 1} side
 */
function turned(plane, place, side) {
  return plane.is_turned ? plane.size[side] - 1 - place : place;
}

// Unsent prompts of the current round, in order, with undo.
//
// Prompts are in the server's format: positions in the order of the sample's axes. A click is a
// pixel; lines run through pixel centres, which have integer coordinates.

import { onPlane, positionOf } from "./masks.js";

/** @typedef {[number, number]} Point  x, y on a plane, in pixels from its upper left corner */
/** @typedef {{axis: number, index: number}} Place  the displayed plane */
/** @typedef {{kind: string, [name: string]: any}} Prompt */

export class Round {
  /**
   * @param {number[]} shape
   * @param {Prompt[]} [prompts]
   */
  constructor(shape, prompts = []) {
    this.shape = shape;
    /** @type {Prompt[]} */
    this.prompts = prompts;
  }

  get isEmpty() {
    return this.prompts.length === 0;
  }

  undo() {
    return this.prompts.pop();
  }

  /**
   * @param {Place} place
   * @param {Point} point
   * @param {boolean} isPositive
   * @param {number} object
   */
  click({ axis, index }, [x, y], isPositive, object) {
    const position = positionOf(this.shape, axis, index, [Math.floor(x), Math.floor(y)]);
    if (!this.isInside(position)) return false;
    this.prompts.push({ kind: "click", position, is_positive: isPositive, object_id: object });
    return true;
  }

  /**
   * @param {Place} place
   * @param {Point} from
   * @param {Point} to
   * @param {number} object
   */
  box({ axis, index }, from, to, object) {
    const low = positionOf(this.shape, axis, index, [Math.floor(Math.min(from[0], to[0])), Math.floor(Math.min(from[1], to[1]))]);
    const high = positionOf(this.shape, axis, index + 1, [Math.ceil(Math.max(from[0], to[0])), Math.ceil(Math.max(from[1], to[1]))]);
    const start = low.map((value) => Math.max(0, value));
    const stop = high.map((value, place) => Math.min(this.shape[place], value));
    if (start.some((value, place) => value >= stop[place])) return false;
    this.prompts.push({ kind: "box", start, stop, object_id: object });
    return true;
  }

  /**
   * A scribble or a lasso.
   * @param {string} kind
   * @param {Place} place
   * @param {Point[]} points
   * @param {boolean} isPositive
   * @param {number} object
   */
  line(kind, { axis, index }, points, isPositive, object) {
    const places = points.map(([x, y]) => this.clamped(positionOf(this.shape, axis, index, [x - 0.5, y - 0.5])));
    const kept = places.filter((place, at) => at === 0 || place.join() !== places[at - 1].join());
    if (kept.length < (kind === "lasso" ? 3 : 2)) return false;
    this.prompts.push({ kind, points: kept, is_positive: isPositive, object_id: object });
    return true;
  }

  /**
   * Mark the first or the last slice of an object; both together form one prompt.
   * @param {Place} place
   * @param {"first" | "last"} which
   * @param {number} object
   */
  limit({ axis, index }, which, object) {
    const there = this.prompts.find((prompt) => prompt.kind === "limits" && prompt.axis === axis && prompt.object_id === object);
    const limits = there ?? { kind: "limits", first: 0, last: this.shape[axis] - 1, axis, object_id: object };
    limits[which] = index;
    if (limits.first > limits.last) limits[which === "first" ? "last" : "first"] = index;
    if (!there) this.prompts.push(limits);
    return true;
  }

  /** @param {number[]} position */
  isInside(position) {
    return position.every((value, place) => value >= 0 && value < this.shape[place]);
  }

  /** @param {number[]} position */
  clamped(position) {
    return position.map((value, place) => Math.round(100 * Math.min(this.shape[place] - 1, Math.max(0, value))) / 100);
  }
}

/**
 * Return the shape of a prompt on a plane: a click, the corners of a box, or a line; null if there
 * is none.
 * @param {Prompt} prompt
 * @param {Place} place
 * @returns {{kind: string, points: Point[], isPositive: boolean, object: number} | null}
 */
export function shownOn(prompt, { axis, index }) {
  const told = { kind: prompt.kind, isPositive: prompt.is_positive ?? true, object: prompt.object_id ?? 1 };
  if (prompt.kind === "click") {
    const at = onPlane(prompt.position, axis);
    return at.index === index ? { ...told, points: [[at.point[0] + 0.5, at.point[1] + 0.5]] } : null;
  }
  if (prompt.kind === "box") {
    const [start, stop] = [onPlane(prompt.start, axis), onPlane(prompt.stop, axis)];
    const isHere = prompt.start.length === 2 || (start.index <= index && index < stop.index);
    return isHere ? { ...told, points: [start.point, stop.point] } : null;
  }
  if (prompt.kind === "scribble" || prompt.kind === "lasso") {
    const all = prompt.points.map((/** @type {number[]} */ position) => onPlane(position, axis));
    if (!all.every((/** @type {{index: number}} */ each) => Math.round(each.index) === index)) return null;
    return { ...told, points: all.map((/** @type {{point: Point}} */ { point: [x, y] }) => [x + 0.5, y + 0.5]) };
  }
  return null;
}

/**
 * Return the display name of a prompt.
 * @param {Prompt} prompt
 */
export function nameOf(prompt) {
  if (prompt.kind === "limits") return `slices ${prompt.first + 1} to ${prompt.last + 1}`;
  const sign = prompt.is_positive === false ? ", not part of it" : "";
  return `${prompt.kind}${sign}`;
}

// A dialogue with a segmenter about one object: the page sends prompts, and the segmenter returns a
// mask, which becomes editable polygons.
//
// Every request contains all prompts so far, so nothing is lost when the server or the segmenter
// restarts. Only the newest request is awaited.

import { maskToRings, simplify } from "../common/run-lengths.js";
import { area, contains } from "../common/geometry.js";

/** @typedef {import("../common/api.js").Talk} Talk */
/** @typedef {import("../common/geometry.js").Polygon} Polygon */
/** @typedef {[number, number]} Point */

/**
 * @typedef {{kind: "click", at: Point, is_positive: boolean} | {kind: "box", from: Point, to: Point}
 *   | {kind: "scribble", points: Point[], is_positive: boolean}} Prompt
 *
 * @typedef {object} Answered
 * @property {Polygon[]} rings  the outer borders of the mask, in image px, largest first
 * @property {number} ms  latency from the prompt to the answer, measured by the page
 * @property {number} model_ms  the part of it spent in the segmenter
 */

/** Tolerance of the simplified outline: pixels farther than this from the outline stay on the same side. */
const TOLERANCE_PX = 1;
const MOST_PROMPTS = 100;
const MOST_POINTS = 5000;
const ANSWER_LIMIT_MS = 60_000;
const AHEAD = 2;

export class Assist {
  /**
   * @param {object} given
   * @param {Talk} given.talk
   * @param {string} given.task
   * @param {string[]} given.segmenters  names of the available segmenters
   * @param {() => void} [given.onChange]
   * @param {() => number} [given.clock]  milliseconds
   */
  constructor({ talk, task, segmenters, onChange = () => {}, clock = () => performance.now() }) {
    this.talk = talk;
    this.task = task;
    this.segmenters = segmenters;
    this.segmenter = segmenters[0] ?? "";
    this.onChange = onChange;
    this.clock = clock;
    /** @type {Prompt[]} */
    this.prompts = [];
    /**
     * The answer after each prompt; [0] is the answer after the first one.
     * @type {(Answered | null)[]}
     */
    this.answers = [];
    /** Why there is no answer; "" if there is one, or if one is pending. */
    this.trouble = "";
    /** @type {AbortController | null} */
    this.asking = null;
  }

  /** The answer to the current prompts, or to the longest answered prefix of them. */
  get answered() {
    for (let at = this.prompts.length - 1; at >= 0; at--) if (this.answers[at]) return this.answers[at];
    return null;
  }

  get isAsking() {
    return this.asking !== null;
  }

  /**
   * Ask the server to prepare this picture now and the following ones afterwards, while the user
   * looks at this one.
   */
  async prepare() {
    if (!this.segmenter) return;
    await this.makeReady(this.task, false);
    const told = await this.talk.ask("GET", `/studio/tasks/${this.task}/neighbours`);
    if (told.outcome !== "done") return;
    for (const { task } of (told.body.next ?? []).slice(0, AHEAD)) await this.makeReady(task, true);
  }

  /**
   * @param {string | number} task
   * @param {boolean} isAhead
   */
  makeReady(task, isAhead) {
    return this.talk.ask("POST", `/studio/tasks/${task}/encode`, { segmenter: this.segmenter, is_ahead: isAhead });
  }

  /**
   * Switch to another segmenter and send it all prompts so far.
   * @param {string} name
   */
  choose(name) {
    if (name === this.segmenter || !this.segmenters.includes(name)) return;
    this.segmenter = name;
    this.answers = [];
    if (this.prompts.length) void this.ask();
    else void this.prepare();
  }

  /**
   * @param {Point} at
   * @param {boolean} isPositive
   */
  click(at, isPositive = true) {
    return this.add({ kind: "click", at, is_positive: isPositive });
  }

  /**
   * @param {Point} from
   * @param {Point} to
   */
  box(from, to) {
    return this.add({ kind: "box", from, to });
  }

  /**
   * @param {Point[]} points
   * @param {boolean} isPositive
   */
  scribble(points, isPositive = true) {
    return this.add({ kind: "scribble", points: thinned(points), is_positive: isPositive });
  }

  /** @param {Prompt} prompt */
  async add(prompt) {
    if (this.prompts.length >= MOST_PROMPTS) return;
    this.prompts.push(prompt);
    await this.ask();
  }

  /** Remove the last prompt; return whether there was one. */
  back() {
    if (!this.prompts.length) return false;
    this.stop();
    this.prompts.pop();
    this.answers.length = Math.min(this.answers.length, this.prompts.length);
    this.trouble = "";
    if (this.prompts.length && !this.answers[this.prompts.length - 1]) void this.ask();
    this.onChange();
    return true;
  }

  /** Start over; return whether there was anything to discard. */
  drop() {
    if (!this.prompts.length) return false;
    this.stop();
    this.prompts = [];
    this.answers = [];
    this.trouble = "";
    this.onChange();
    return true;
  }

  stop() {
    this.asking?.abort();
    this.asking = null;
  }

  /** Request a mask for all prompts so far. */
  async ask() {
    this.stop();
    const mine = new AbortController();
    const [count, started] = [this.prompts.length, this.clock()];
    this.asking = mine;
    this.trouble = "";
    this.onChange();
    const answer = await this.talk.ask("POST", `/studio/tasks/${this.task}/ask`, { segmenter: this.segmenter, prompts: this.prompts }, {
      signal: mine.signal, limit_ms: ANSWER_LIMIT_MS,
    }); // prettier-ignore
    if (this.asking !== mine) return; // a newer request was sent, or this one was cancelled
    this.asking = null;
    if (answer.outcome === "done") {
      const { counts, size, model_ms, encode_ms } = answer.body;
      this.answers[count - 1] = { rings: ringsOf(counts, size), ms: this.clock() - started, model_ms: model_ms + encode_ms };
    } else {
      this.trouble = answer.outcome === "signed-out" ? "You are signed out. Sign in again in another tab." : `No answer: ${answer.message}.`;
    }
    this.onChange();
  }

  /**
   * Return the mask as editable outlines, largest first: the parts that contain a point of a positive click
   * or scribble, or only the largest part if none contains one.
   * @param {number} [tolerance]  in image px
   * @returns {Polygon[]}
   */
  polygons(tolerance = TOLERANCE_PX) {
    const rings = this.answered?.rings ?? [];
    const said = this.prompts.flatMap(placesIn);
    const meant = rings.filter((ring) => said.some((at) => contains(ring, at)));
    return (meant.length ? meant : rings.slice(0, 1)).map((ring) => simplify(ring, tolerance)).sort((one, other) => area(other) - area(one));
  }
}

/**
 * Return the points that a prompt marks as the object.
 * @param {Prompt} prompt
 * @returns {Point[]}
 */
function placesIn(prompt) {
  if (prompt.kind === "box" || !prompt.is_positive) return [];
  return prompt.kind === "click" ? [prompt.at] : prompt.points;
}

/**
 * Thin a stroke to at most MOST_POINTS points, keeping the last one.
 * @param {Point[]} points
 * @returns {Point[]}
 */
function thinned(points) {
  const step = Math.ceil(points.length / MOST_POINTS);
  return step <= 1 ? points : points.filter((_, at) => (points.length - 1 - at) % step === 0);
}

/**
 * Return the outer borders of a run-length encoded mask, largest first. Only the bounding box of
 * the mask is scanned.
 * @param {number[]} counts  run lengths in row-major order, starting with zeros
 * @param {[number, number]} size  height, width
 * @returns {Polygon[]}
 */
export function ringsOf(counts, [height, width]) {
  const [x0, y0, x1, y1] = boxOf(counts, width);
  const size = /** @type {[number, number]} */ ([y1 - y0, x1 - x0]);
  if (!(size[0] > 0 && y1 <= height)) return [];
  const mask = new Uint8Array(size[0] * size[1]);
  for (const [start, end] of onesOf(counts)) {
    for (let at = start; at < end; ) {
      const row = Math.floor(at / width);
      const stop = Math.min(end, (row + 1) * width);
      const place = (row - y0) * size[1] - row * width - x0;
      mask.fill(1, place + at, place + stop);
      at = stop;
    }
  }
  return maskToRings(mask, size).map((ring) => ring.map(([x, y]) => /** @type {Point} */ ([x + x0, y + y0])));
}

/**
 * Return the bounding box of a mask: left, top, right, bottom.
 * @param {number[]} counts
 * @param {number} width
 * @returns {[number, number, number, number]}
 */
function boxOf(counts, width) {
  let [x0, y0, x1, y1] = [Infinity, Infinity, 0, 0];
  for (const [start, end] of onesOf(counts)) {
    const [first, last] = [Math.floor(start / width), Math.floor((end - 1) / width)];
    x0 = first === last ? Math.min(x0, start - first * width) : 0;
    x1 = first === last ? Math.max(x1, end - first * width) : width;
    y0 = Math.min(y0, first);
    y1 = Math.max(y1, last + 1);
  }
  return [x0, y0, x1, y1];
}

/**
 * @param {number[]} counts
 * @returns {Generator<[number, number]>}
 */
function* onesOf(counts) {
  let at = 0;
  for (let index = 0; index < counts.length; index++) {
    if (index % 2 && counts[index]) yield [at, at + counts[index]];
    at += counts[index];
  }
}

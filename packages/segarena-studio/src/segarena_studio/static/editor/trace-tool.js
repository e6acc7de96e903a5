// Tracing a neighbour's border: the first press sets the start, the second the end. A preview is
// shown meanwhile, and T switches to the other direction.

import { addTrace } from "./region-drawing.js";
import { AIM, disc, line, ring } from "./marks.js";
import { HALO } from "./canvas-paths.js";
import { edgeAt, vertexAt } from "./hit-testing.js";
import { linesBetween } from "./border-tracing.js";
import { nextPlace } from "./scene.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Touch} Touch */
/** @typedef {{edge: number, at: [number, number], region: string}} End  an end of the traced border, on the outline of a region */

export class Tracing {
  name = "trace";
  title = "Trace a neighbour's border";
  hasLoupe = true;
  /** @type {Record<string, () => boolean>} */
  keys = { Escape: () => this.back() };

  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    /** @type {End | null} */
    this.start = null;
    /** @type {End | null} */
    this.end = null;
    this.isLonger = false;
  }

  /** Start tracing at the last drawn vertex if it lies on a border. */
  enter() {
    const { editor } = this;
    const { scene } = editor;
    editor.selected = null;
    const last = scene.open[scene.open.length - 1];
    const owner = last === undefined ? undefined : scene.owners(last)[0];
    if (owner) this.start = { region: owner.id, edge: owner.ring.indexOf(last), at: scene.points[last] };
  }

  exit() {
    this.start = this.end = null;
    this.isLonger = false;
  }

  /** Return a hint about the next possible actions. */
  advice() {
    return this.start ? "Click where the border ends." : "Click where the border of a neighbour begins.";
  }

  /** @param {Touch} touch */
  hover(touch) {
    this.forgetGone();
    this.end = this.endAt(touch);
  }

  /** @param {Touch} touch */
  drag(touch) {
    this.hover(touch);
  }

  /** @param {Touch} touch */
  press(touch) {
    this.hover(touch);
  }

  /** @param {Touch} touch */
  release(touch) {
    this.hover(touch);
    if (!this.end) return this.editor.say("There is no border to trace yet.");
    if (!this.start) this.start = this.end;
    else this.trace(this.start, this.end);
  }

  /** Drop ends that undo or redo has made invalid. */
  forgetGone() {
    const { regions } = this.editor.scene;
    const isThere = (/** @type {End | null} */ end) => end && regions.some(({ id, ring }) => id === end.region && end.edge < ring.length);
    if (!isThere(this.start)) this.start = null;
    if (!isThere(this.end)) this.end = null;
  }

  /** Discard the start. Return whether there was one. */
  back() {
    const had = this.start !== null;
    this.start = null;
    this.isLonger = false;
    this.editor.changed();
    return had;
  }

  /** Switch to the other direction. */
  turn() {
    this.isLonger = !this.isLonger;
    this.editor.changed();
  }

  /**
   * @param {End} start
   * @param {End} end
   */
  trace(start, end) {
    const { isLonger, editor } = this;
    if (editor.edit("trace", null, (steps) => addTrace(steps, end.region, start.at, end.at, { isLonger }))) editor.useTool("draw");
  }

  /**
   * Return the nearest vertex of a border within reach, or else the nearest position on one; after
   * the start is set, only on borders that contain the start.
   * @param {Touch} touch
   * @returns {End | null}
   */
  endAt(touch) {
    const { scene } = this.editor;
    const ids = this.borders();
    const vertex = vertexAt(scene, touch.at, touch.reach, ids);
    if (vertex === null) return edgeAt(scene, touch.at, Infinity, ids);
    const region = ids.find((id) => scene.region(id).ring.includes(vertex)) ?? "";
    return { region, edge: scene.region(region).ring.indexOf(vertex), at: scene.points[vertex] };
  }

  /** Return the regions that can be traced. */
  borders() {
    const { start, editor } = this;
    const ids = editor.shown().map((region) => region.id);
    return start ? ids.filter((id) => this.isOn(id, start)) : ids;
  }

  /**
   * Whether a position on one region's outline is also on another's: at a shared vertex or on a
   * shared side.
   * @param {string} id
   * @param {End} place
   */
  isOn(id, { region, edge, at }) {
    const { scene } = this.editor;
    const owner = scene.region(region);
    const [from, to] = [owner.ring[edge], owner.ring[nextPlace(owner, edge)]];
    const isVertex = at[0] === scene.points[from][0] && at[1] === scene.points[from][1];
    const { ring: other } = scene.region(id);
    return other.includes(from) && (isVertex || other.includes(to));
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("../../../reports/viewer/viewport.js").View} view
   */
  draw(context, view) {
    this.forgetGone();
    const { start, end, editor } = this;
    const { isPointing, hasCursor, isHolding, scene } = editor;
    const here = isPointing || hasCursor || isHolding ? end : null;
    const [next, open] = [start ?? here, scene.openPolygon()];
    if (next && open.length) line(context, [open[open.length - 1], next.at].map((at) => view.toScreen(at)), "#fff", 1.75, [6, 4]);
    if (start && here) {
      const from = this.placeOn(here.region, start);
      const { shorter, longer } = linesBetween(scene, here.region, from, here);
      const drawn = (this.isLonger ? longer : shorter).map((at) => view.toScreen(at));
      line(context, drawn, AIM, 3);
    }
    for (const place of [start, here]) if (place) mark(context, view.toScreen(place.at));
  }

  /**
   * Return the position on a region's outline nearest to a place; the place itself if the region has no outline.
   * @param {string} region
   * @param {End} place
   * @returns {End}
   */
  placeOn(region, place) {
    if (region === place.region) return place;
    const { scene } = this.editor;
    const found = edgeAt(scene, place.at, Infinity, [region]);
    return found ?? place;
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number]} at
 */
function mark(context, at) {
  ring(context, at, 9, AIM);
  disc(context, at, 2.5, AIM, HALO);
}

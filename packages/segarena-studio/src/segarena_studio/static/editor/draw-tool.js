// Drawing a region, or a hole or further part of one, vertex by vertex, with snapping to neighbours; a
// shared border is copied along the shorter arc.

import { addSnapped, addVertex, closeInto, closeOpen, discardOpen, turnArc } from "./region-drawing.js";
import { refusalOfVertex, ruleAbout } from "./outline-rules.js";
import { nearestLine, nearestVertex } from "./snapping.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Touch} Touch */

export class Drawing {
  name = "draw";
  title = "Draw a region";
  hasLoupe = true;

  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    /**
     * The position that a press would snap to.
     * @type {import("./snapping.js").Target | null}
     */
    this.target = null;
    this.closes = false;
    this.isBad = false;
    this.isDouble = false;
    /**
     * The region that the outline becomes a hole or a part of; null for an outline of a new region.
     * @type {string | null}
     */
    this.extended = null;
    /** @type {Record<string, () => boolean>} */
    this.keys = { Escape: () => this.stopExtending() };
  }

  enter() {
    this.editor.select(this.owner);
  }

  /**
   * Draw an outline of a new region, or a hole or part of an existing one. An open outline stays.
   * @param {string | null} id
   */
  begin(id) {
    const { editor } = this;
    if (id !== null && editor.scene.region(id).is_locked) return void editor.refuse("locked");
    this.extended = id;
    editor.useTool("draw");
    // In a read-only picture, the editor has refused the tool.
    if (editor.tool !== this) return;
    editor.select(id);
    editor.changed();
  }

  /** The region that the outline becomes a hole or a part of, if it still exists. */
  get owner() {
    return this.extended !== null && this.editor.scene.has(this.extended) ? this.extended : null;
  }

  /** Options for snapping: a hole or part may not meet the outlines of its region. */
  snapping() {
    const { owner } = this;
    return owner === null ? {} : { except: new Set(this.editor.scene.region(owner).ring) };
  }

  /** Return a hint about the next possible actions. */
  advice() {
    const { open } = this.editor.scene;
    if (!open.length && this.owner !== null) return "Click along a hole inside the region, or along a further part outside.";
    if (!open.length) return "Click along the outline of a region, even where it is hidden.";
    return open.length < 3 ? "Continue along the outline." : "";
  }

  exit() {
    this.target = null;
    this.closes = false;
  }

  /** @param {Touch} touch */
  hover(touch) {
    const { scene } = this.editor;
    this.closes = this.isOnFirst(touch);
    this.target = this.closes ? null : this.editor.snapAt(touch, this.snapping());
    this.isBad = !this.closes && scene.open.length > 0 && refusalOfVertex(scene, this.target?.at ?? touch.at) !== null;
  }

  /** @param {Touch} touch */
  drag(touch) {
    this.hover(touch);
  }

  /**
   * @param {Touch} touch
   * @param {number} clicks
   */
  press(touch, clicks) {
    this.isDouble = clicks > 1 && this.editor.scene.open.length > 2;
    this.hover(touch);
  }

  /** @param {Touch} touch */
  release(touch) {
    this.hover(touch);
    if (this.closes || this.isDouble) this.close();
    else this.add(touch);
    this.hover(touch);
  }

  cancel() {
    this.target = null;
  }

  second() {
    this.close();
  }

  /**
   * Add a vertex at the cursor, snapped if a target is near.
   * @param {Touch} touch
   */
  add(touch) {
    const { target } = this;
    this.editor.select(this.owner);
    this.editor.edit("vertex", null, (steps) => (target ? addSnapped(steps, target) : addVertex(steps, touch.at)));
  }

  /** Add a vertex on the nearest line, however far away. */
  addOnLine() {
    this.addNearest(nearestLine);
  }

  /** Add a vertex on the nearest vertex, however far away. */
  addOnVertex() {
    this.addNearest(nearestVertex);
  }

  /** @param {typeof nearestLine} nearest */
  addNearest(nearest) {
    const { scene, cursor, size } = this.editor;
    const target = nearest(scene, cursor.at, size, this.snapping());
    if (target) this.editor.edit("vertex", null, (steps) => addSnapped(steps, target));
  }

  /** Replace the last copied border with the next alternative, of which the first is the other arc. */
  turn() {
    this.editor.edit("arc", null, (steps) => turnArc(steps));
  }

  close() {
    const { editor } = this;
    if (!editor.scene.open.length) return;
    const extended = this.owner;
    if (extended !== null) return this.closeInto(extended);
    const known = new Set(editor.scene.regions.map((region) => region.id));
    const isClosed = editor.edit("close", null, (steps) => closeOpen(steps, { size: editor.size }));
    if (!isClosed) return;
    const made = editor.scene.regions.find((region) => !known.has(region.id));
    this.isBad = this.closes = false;
    if (!made) return;
    editor.select(made.id);
    editor.onClosed(made.id);
  }

  /**
   * Make the outline a hole or a further part of a region.
   * @param {string} id
   */
  closeInto(id) {
    const { editor } = this;
    const before = editor.scene.outlines(id);
    if (!editor.edit("extend", id, (steps) => closeInto(steps, id))) return;
    this.extended = null;
    this.isBad = this.closes = false;
    editor.select(id);
    editor.say(ruleAbout(before, editor.scene.outlines(id)));
  }

  /**
   * Draw new regions again if the next outline was to become a hole or part. While an outline is open, nothing changes.
   * Return whether it changed.
   */
  stopExtending() {
    if (this.owner === null || this.editor.scene.open.length) return false;
    this.begin(null);
    return true;
  }

  /**
   * Continue a hole or part whose closing was undone: its outline is open again.
   * @param {{kind: string, region: string | null}} step
   */
  afterStep({ kind, region }) {
    const isOpen = this.editor.scene.open.length > 0;
    if (kind === "extend") this.extended = isOpen ? region : null;
    if (kind === "close") this.extended = null;
  }

  discard() {
    this.editor.edit("discard", null, (steps) => discardOpen(steps));
  }

  /** @param {Touch} touch */
  isOnFirst(touch) {
    const { scene } = this.editor;
    if (scene.open.length < 3) return false;
    const [x, y] = scene.openPolygon()[0];
    return Math.hypot(x - touch.at[0], y - touch.at[1]) < touch.snap;
  }
}

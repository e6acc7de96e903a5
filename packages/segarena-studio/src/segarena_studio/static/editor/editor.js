// The editor of a scene: what is drawn, the selection and the active tool. It does not depend on
// any buttons or key bindings.

import { Depth } from "./occlusion.js";
import { Cursor } from "./keyboard-cursor.js";
import { handlersOf } from "./pointer-input.js";
import { listen } from "../../../reports/viewer/pointer.js";
import { nextRegion, regionsAt } from "./hit-testing.js";
import { REFUSALS } from "./edit-errors.js";
import { SNAP_RADIUS_PX, snap } from "./snapping.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./history.js").History} History */
/** @typedef {import("../../../reports/viewer/zoomable-picture.js").Picture} Picture */
/** @typedef {import("./snapping.js").Target} Target */
/** @typedef {import("../../../reports/viewer/viewport.js").View} View */
/** @typedef {[number, number]} Point */

/**
 * @typedef {object} Touch  a pointer position
 * @property {Point} at  in image px
 * @property {"mouse" | "touch" | "pen" | "keys"} kind
 * @property {number} reach  hit radius of handles, in image px
 * @property {number} snap  snapping radius for new vertices, in image px
 * @property {boolean} isAlt  Alt is held
 * @property {boolean} isSplit  shared vertices are split: Alt is held, or the option of the tool bar is on
 * @property {boolean} isBox  Shift is held
 */

/**
 * @typedef {object} Tool  pointer behaviour; everything but the names is optional
 * @property {string} name
 * @property {string} title
 * @property {(touch: Touch, clicks: number) => void | boolean} [press]
 * @property {(touch: Touch) => void} [drag]
 * @property {(touch: Touch) => void} [release]
 * @property {() => void} [cancel]
 * @property {(touch: Touch) => void} [second]
 * @property {(touch: Touch) => void} [hover]
 * @property {(context: CanvasRenderingContext2D, view: View) => void} [draw]  in screen px
 * @property {(steps: number) => void} [resize]  changes the size of a brush; larger for positive steps
 * @property {() => void} [enter]  called when the tool becomes active
 * @property {() => void} [exit]
 * @property {(step: {kind: string, region: string | null}) => void} [afterStep]  called after undo and redo
 * @property {() => string} [advice]  one sentence of instruction; "" if the hints suffice
 * @property {Record<string, () => boolean>} [keys]  handles keys before the action table does; returns true if it handled one
 * @property {boolean} [hasLoupe]  whether to show the loupe for touch input
 */

/** Hit radii for each kind of pointer, in screen px. */
const REACH = { mouse: 9, pen: 12, touch: 22, keys: 12 };
/** Tools that change nothing. */
const LOOKING = ["adjust", "hand", "comment"];
/** Pans the picture with a pen or a single finger. */
const HAND = { name: "hand", title: "Move the picture" };
const DEPTH_AFTER_MS = 120;
/** How long areas are measured before the page may react to the user. */
const DEPTH_AT_ONCE_MS = 8;

export class Editor {
  /**
   * @param {Picture} picture with its image loaded
   * @param {Scene} scene
   * @param {History} history of that scene
   */
  constructor(picture, scene, history) {
    this.picture = picture;
    this.scene = scene;
    this.history = history;
    this.size = picture.size;
    this.depth = new Depth(scene, picture.size);
    /** @type {string | null} */
    this.selected = null;
    /**
     * Further regions that are selected together with `selected`.
     * @type {Set<string>}
     */
    this.alsoSelected = new Set();
    /**
     * Vertices selected for the next move or deletion.
     * @type {Set<number>}
     */
    this.chosen = new Set();
    /** @type {Map<string, Tool>} */
    this.tools = new Map();
    /** @type {Tool} */
    this.tool = { name: "none", title: "" };
    /** @type {Touch} */
    this.cursor = { at: [this.size[0] / 2, this.size[1] / 2], kind: "mouse", reach: 0, snap: 0, isAlt: false, isSplit: false, isBox: false };
    this.isPointing = false;
    this.hasCursor = false;
    this.isHolding = false;
    this.isReadOnly = false;
    this.settings = { fills: false, hatches: true, magnet: true, splits: false, numbers: true };
    this.isSuspended = false;
    this.isSpaceHeld = false;
    /**
     * Called when anything but the picture changes: selection, tool, scene.
     * @type {Set<() => void>}
     */
    this.listeners = new Set();
    /**
     * Shows a sentence to the user.
     * @type {(text: string) => void}
     */
    this.say = () => {};
    /**
     * Called when a region has been closed.
     * @type {(id: string) => void}
     */
    this.onClosed = () => {};
    /**
     * Returns the ids of the regions that the list shows, front first.
     * @type {() => string[]}
     */
    this.listed = () => this.scene.regions.map((region) => region.id);
    /**
     * Called to show the other pictures of the project.
     * @type {(purpose: "go" | "copy") => void}
     */
    this.onPictures = () => {};
    /** Called to let the user search the list of regions. */
    this.onSearch = () => {};
    /** Called before a part of the picture is shown, because a panel may cover it. */
    this.onShowBox = () => {};
    /** Called to let the user type the name of the selected region. */
    this.onName = () => {};
    this.depthTimer = 0;
    this.byKeys = new Cursor(this);
    this.addTool(HAND);
    this.stop = listen(picture.overlay, handlersOf(this));
  }

  /** @param {Tool} tool */
  addTool(tool) {
    this.tools.set(tool.name, tool);
  }

  /** @param {string} name */
  useTool(name) {
    const tool = this.tools.get(name);
    if (!tool || tool === this.tool) return;
    if (this.isReadOnly && !LOOKING.includes(name)) return void this.refuse("closed");
    this.let();
    this.tool.exit?.();
    this.tool = tool;
    this.chosen.clear();
    tool.enter?.();
    this.changed();
  }

  /** The selected region. */
  get region() {
    return this.selected === null ? null : this.scene.region(this.selected);
  }

  /** @param {string | null} id */
  select(id) {
    if (id === this.selected && !this.alsoSelected.size) return;
    this.selected = id;
    this.alsoSelected.clear();
    this.chosen.clear();
    this.changed();
  }

  /** Ids of all selected regions, front first. */
  get selection() {
    return this.scene.regions.map((region) => region.id).filter((id) => this.isSelected(id));
  }

  /** @param {string} id */
  isSelected(id) {
    return id === this.selected || this.alsoSelected.has(id);
  }

  /**
   * Select several regions; the last of them shows its details.
   * @param {string[]} ids
   */
  selectAll(ids) {
    this.selected = ids.at(-1) ?? null;
    this.alsoSelected = new Set(ids.slice(0, -1));
    this.chosen.clear();
    this.changed();
  }

  /**
   * Add a region to the selection, or remove it.
   * @param {string} id
   */
  toggleSelected(id) {
    const others = [...this.alsoSelected, ...(this.selected === null ? [] : [this.selected])].filter((other) => other !== id);
    this.selectAll(this.isSelected(id) ? others : [...others, id]);
  }

  /**
   * Select the next visible region in depth order, or the previous one for `by` = -1.
   * @param {number} by
   */
  selectNext(by) {
    const ids = this.shown().map((region) => region.id);
    if (!ids.length) return;
    const at = this.selected ? ids.indexOf(this.selected) : by > 0 ? -1 : ids.length;
    this.select(ids[(at + by + ids.length) % ids.length]);
  }

  /**
   * Select the frontmost region at a position; on repetition, the one behind it.
   * @param {Point} at
   */
  selectAt(at) {
    this.select(nextRegion(this.regionsAt(at), this.selected));
  }

  /**
   * Return the visible regions at a position, front first.
   * @param {Point} at
   * @returns {string[]}
   */
  regionsAt(at) {
    return regionsAt(this.scene, at);
  }

  shown() {
    return this.scene.regions.filter((region) => !region.is_hidden);
  }

  /** Return the ids of the regions whose vertices can be edited. */
  touchable() {
    return this.scene.regions.filter((region) => !region.is_hidden && !region.is_locked).map((region) => region.id);
  }

  /**
   * Apply a change to the scene as one undo step; tell the user why if it is rejected.
   * @param {string} kind @param {string | null} region @param {(steps: import("./scene-changes.js").Steps) => string | null} change
   */
  edit(kind, region, change) {
    if (this.isReadOnly) return this.refuse("closed");
    const { refusal } = this.history.run(kind, region, change);
    if (refusal) return this.refuse(refusal);
    this.changed();
    return true;
  }

  /**
   * Zoom to a box in image px.
   * @param {[number, number, number, number]} box
   * @param {number} margin in screen px
   */
  showBox(box, margin) {
    this.onShowBox();
    this.picture.show(box, margin);
  }

  /** @param {string} refusal */
  refuse(refusal) {
    this.say(REFUSALS[refusal] ?? "This is not possible here.");
    this.changed();
    return false;
  }

  undo() {
    if (this.isReadOnly) return void this.refuse("closed");
    this.let();
    const step = this.history.undo();
    if (!step) this.say("Nothing to undo.");
    if (step?.kind === "merge") this.say("Undone: the changes that were saved elsewhere. Redo brings them back.");
    this.afterStep(step);
  }

  redo() {
    if (this.isReadOnly) return void this.refuse("closed");
    this.let();
    const step = this.history.redo();
    if (!step) this.say("Nothing to redo.");
    this.afterStep(step);
  }

  /** @param {{kind: string, region: string | null} | null} step */
  afterStep(step) {
    this.chosen.clear();
    if (step?.region && this.scene.has(step.region) && !this.isSelected(step.region)) {
      this.selected = step.region;
      this.alsoSelected.clear();
    }
    if (this.scene.open.length && this.tool.name !== "draw") this.useTool("draw");
    if (step) this.tool.afterStep?.(step);
    this.changed();
  }

  /** Notify all listeners and repaint. */
  changed() {
    if (this.selected && !this.scene.has(this.selected)) this.selected = null;
    for (const id of this.alsoSelected) if (!this.scene.has(id)) this.alsoSelected.delete(id);
    for (const listener of this.listeners) listener();
    this.picture.redraw();
    clearTimeout(this.depthTimer);
    this.depthTimer = setTimeout(() => this.measureDepth(), DEPTH_AFTER_MS);
  }

  /** Measuring areas is slow in large pictures, so it is done when the pointer is idle. */
  measureDepth() {
    if (this.isHolding) return;
    if (!this.depth.updateSome(DEPTH_AT_ONCE_MS)) {
      clearTimeout(this.depthTimer);
      this.depthTimer = setTimeout(() => this.measureDepth());
      return;
    }
    for (const listener of this.listeners) listener();
    this.picture.redraw();
  }

  /**
   * Return the snap target of a new vertex at a position; null if none is near or snapping is off.
   * @param {Touch} touch @param {{except?: Set<number>}} [options] @returns {Target | null}
   */
  snapAt(touch, options = {}) {
    if (!this.settings.magnet || this.isSuspended) return null;
    return snap(this.scene, touch.at, this.size, touch.snap, options);
  }

  /** @param {number} pixels on the screen */
  inImage(pixels) {
    return pixels / this.picture.view.scale;
  }

  /** Cancel and undo the gesture in progress. Return whether there was one. */
  let() {
    if (!this.isHolding) return false;
    this.isHolding = false;
    this.tool.cancel?.();
    this.changed();
    return true;
  }

  /** @param {Touch} touch */
  point(touch) {
    const isSplit = touch.isAlt || this.settings.splits;
    this.cursor = { ...touch, isSplit, reach: this.inImage(REACH[touch.kind]), snap: this.inImage(SNAP_RADIUS_PX[touch.kind]) };
  }
}

// The editor of a scene: what is drawn, what is selected, which tool is in the hand. It knows no buttons and no keys.

import { Depth } from "./depth.js";
import { listen } from "./pointer.js";
import { nextRegion, regionsAt } from "./picking.js";
import { snap } from "./snapping.js";

/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./history.js").History} History */
/** @typedef {import("./picture.js").Picture} Picture */
/** @typedef {import("./pointer.js").Sample} Sample */
/** @typedef {import("./snapping.js").Target} Target */
/** @typedef {import("./view.js").View} View */
/** @typedef {[number, number]} Point */

/**
 * @typedef {object} Touch  a place that somebody points at
 * @property {Point} at  in image px
 * @property {"mouse" | "touch" | "pen" | "keys"} kind
 * @property {number} reach  how near a handle counts as there, in image px
 * @property {number} snap  how near a new vertex is drawn to what is there, in image px
 * @property {boolean} isSplit  Alt is held, or the tool bar says so: shared vertices come apart
 * @property {boolean} isBox  Shift is held
 */

/**
 * @typedef {object} Tool  what a pointer does; all but names may be left out
 * @property {string} name
 * @property {string} title
 * @property {(touch: Touch, clicks: number) => void | boolean} [press]
 * @property {(touch: Touch) => void} [drag]
 * @property {(touch: Touch) => void} [release]
 * @property {() => void} [cancel]
 * @property {(touch: Touch) => void} [second]
 * @property {(touch: Touch) => void} [hover]
 * @property {(context: CanvasRenderingContext2D, view: View) => void} [draw]  in screen px
 * @property {() => void} [enter]  it is taken into the hand
 * @property {() => void} [exit]
 * @property {() => string} [advice]  what to do now, in a sentence; "" where hints say enough
 * @property {Record<string, () => boolean>} [keys]  keys that it takes first; true when taken
 * @property {boolean} [hasLoupe]  fingers want to see what is below them
 */

/** How near is near, in screen px. */
const REACH = { mouse: 9, pen: 12, touch: 22, keys: 12 };
const SNAP = { mouse: 9, pen: 10, touch: 13, keys: 9 };
/** How far a cursor moved by keys steps, in screen px. */
const STEPS = { fine: 1, plain: 10, far: 60 };
/** Tools that change nothing. */
const LOOKING = ["adjust", "hand"];
/** For a pen or a finger alone: it moves the picture. */
const HAND = { name: "hand", title: "Move the picture" };
const DEPTH_AFTER_MS = 120;

export class Editor {
  /**
   * @param {Picture} picture that has its image
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
     * Vertices that were chosen by a box.
     * @type {Set<number>}
     */
    this.chosen = new Set();
    /** @type {Map<string, Tool>} */
    this.tools = new Map();
    /** @type {Tool} */
    this.tool = { name: "none", title: "" };
    /** @type {Touch} */
    this.cursor = { at: [this.size[0] / 2, this.size[1] / 2], kind: "mouse", reach: 0, snap: 0, isSplit: false, isBox: false };
    this.isPointing = false;
    this.hasCursor = false;
    this.isHolding = false;
    this.isReadOnly = false;
    this.settings = { fills: false, hatches: true, magnet: true, splits: false, numbers: true };
    this.isSuspended = false;
    this.isSpaceHeld = false;
    /**
     * Something but the picture has changed: selection, tool, scene.
     * @type {Set<() => void>}
     */
    this.listeners = new Set();
    /**
     * A sentence for the person.
     * @type {(text: string) => void}
     */
    this.say = () => {};
    /**
     * A region was closed.
     * @type {(id: string) => void}
     */
    this.onClosed = () => {};
    /** The name of the selected region is to be written. */
    this.onName = () => {};
    this.depthTimer = 0;
    this.addTool(HAND);
    this.stop = listen(picture.overlay, this.handlers());
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

  /** The region that is selected. */
  get region() {
    return this.selected === null ? null : this.scene.region(this.selected);
  }

  /** @param {string | null} id */
  select(id) {
    if (id === this.selected) return;
    this.selected = id;
    this.chosen.clear();
    this.changed();
  }

  /**
   * The region after this one, in order of depth; `by` -1: before it.
   * @param {number} by
   */
  selectNext(by) {
    const ids = this.shown().map((region) => region.id);
    if (!ids.length) return;
    const at = this.selected ? ids.indexOf(this.selected) : by > 0 ? -1 : ids.length;
    this.select(ids[(at + by + ids.length) % ids.length]);
  }

  /**
   * Select what is at a place; again there: what is behind it.
   * @param {Point} at
   */
  selectAt(at) {
    this.select(nextRegion(this.regionsAt(at), this.selected));
  }

  /**
   * Regions at a place that are shown, front first.
   * @param {Point} at
   * @returns {string[]}
   */
  regionsAt(at) {
    return regionsAt(this.scene, at);
  }

  shown() {
    return this.scene.regions.filter((region) => !region.is_hidden);
  }

  /** Ids of regions whose vertices can be touched. */
  touchable() {
    return this.scene.regions.filter((region) => !region.is_hidden && !region.is_locked).map((region) => region.id);
  }

  /**
   * Do something to the scene, as one step that can be undone; says why where it is refused.
   * @param {string} kind @param {string | null} region @param {(steps: import("./steps.js").Steps) => string | null} change
   */
  edit(kind, region, change) {
    if (this.isReadOnly) return this.refuse("closed");
    const { refusal } = this.history.run(kind, region, change);
    if (refusal) return this.refuse(refusal);
    this.changed();
    return true;
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
    if (step?.region && this.scene.has(step.region)) this.selected = step.region;
    if (this.scene.open.length && this.tool.name !== "draw") this.useTool("draw");
    this.changed();
  }

  /** Tell all who show something of it, and paint. */
  changed() {
    if (this.selected && !this.scene.has(this.selected)) this.selected = null;
    for (const listener of this.listeners) listener();
    this.picture.redraw();
    clearTimeout(this.depthTimer);
    this.depthTimer = setTimeout(() => this.measureDepth(), DEPTH_AFTER_MS);
  }

  /** Areas take a moment in large pictures: they are measured when the hand rests. */
  measureDepth() {
    if (this.isHolding) return;
    this.depth.update();
    for (const listener of this.listeners) listener();
    this.picture.redraw();
  }

  /**
   * What a new vertex at a place would be drawn to; null without magnet.
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

  // The cursor that keys move.

  /** @param {boolean} isOn */
  showCursor(isOn) {
    this.hasCursor = isOn;
    if (isOn) {
      const [x0, y0, x1, y1] = this.picture.view.inView;
      const { at } = this.cursor;
      const isSeen = at[0] >= x0 && at[0] <= x1 && at[1] >= y0 && at[1] <= y1;
      this.point({ ...this.cursor, at: isSeen ? at : [(x0 + x1) / 2, (y0 + y1) / 2], kind: "keys" });
    }
    this.changed();
  }

  /**
   * @param {number} columns
   * @param {number} rows
   * @param {"fine" | "plain" | "far"} step
   */
  moveCursor(columns, rows, step) {
    const by = this.inImage(STEPS[step]);
    this.pointAt([this.cursor.at[0] + columns * by, this.cursor.at[1] + rows * by]);
  }

  /**
   * Put the cursor there and bring it into view.
   * @param {Point} at
   */
  pointAt(at) {
    this.hasCursor = true;
    this.point({ ...this.cursor, at, kind: "keys", isBox: false });
    this.keepInView(at);
    if (this.isHolding) this.tool.drag?.(this.cursor);
    else this.tool.hover?.(this.cursor);
    this.changed();
  }

  /** What a click does, at the cursor; in what can be grabbed the first one grabs, the second one drops. */
  pressCursor() {
    if (this.isHolding) {
      this.isHolding = false;
      this.tool.release?.(this.cursor);
    } else {
      this.isHolding = true;
      const isGrabbed = this.tool.press?.(this.cursor, 1) === false;
      if (!isGrabbed) {
        this.isHolding = false;
        this.tool.release?.(this.cursor);
      }
    }
    this.changed();
  }

  /** Drop what is held, undone. Whether there was something. */
  let() {
    if (!this.isHolding) return false;
    this.isHolding = false;
    this.tool.cancel?.();
    this.changed();
    return true;
  }

  /** @param {Point} at */
  keepInView(at) {
    const [x, y] = this.picture.view.toScreen(at);
    const [width, height] = this.picture.screen;
    const edge = 40;
    const dx = Math.max(edge - x, 0) || Math.min(width - edge - x, 0);
    const dy = Math.max(edge - y, 0) || Math.min(height - edge - y, 0);
    if (dx || dy) this.picture.panBy(dx, dy);
  }

  // What pointers do.

  /** @returns {import("./pointer.js").Handlers} */
  handlers() {
    return {
      pans: () => this.isSpaceHeld || this.tool.name === HAND.name,
      pan: (dx, dy) => this.picture.panBy(dx, dy),
      zoom: (point, factor) => this.picture.zoomAbout(point, factor),
      press: (sample, clicks) => {
        this.isHolding = true;
        this.hasCursor = false;
        const answer = this.tool.press?.(this.touch(sample), clicks);
        this.picture.redraw();
        return answer;
      },
      drag: (samples) => {
        this.tool.drag?.(this.touch(samples[samples.length - 1]));
        this.picture.redraw();
      },
      release: (sample) => {
        this.isHolding = false;
        this.tool.release?.(this.touch(sample));
        this.isPointing = sample.kind !== "touch";
        this.changed();
      },
      cancel: () => this.let(),
      second: (sample) => {
        this.tool.second?.(this.touch(sample));
        this.changed();
      },
      hover: (sample) => {
        this.hasCursor = false;
        this.tool.hover?.(this.touch(sample));
        this.picture.redraw();
      },
      leave: () => {
        if (!this.isHolding) this.isPointing = false;
        this.picture.redraw();
      },
    };
  }

  /**
   * @param {Sample} sample
   * @returns {Touch}
   */
  touch(sample) {
    const at = this.picture.view.toImage([sample.x, sample.y]);
    this.isPointing = true;
    const { altKey, shiftKey } = sample.event;
    this.isSuspended = altKey && this.tool.name === "draw";
    this.point({ at, kind: sample.kind, reach: 0, snap: 0, isSplit: altKey, isBox: shiftKey });
    return this.cursor;
  }

  /** @param {Touch} touch */
  point(touch) {
    const isSplit = touch.isSplit || this.settings.splits;
    this.cursor = { ...touch, isSplit, reach: this.inImage(REACH[touch.kind]), snap: this.inImage(SNAP[touch.kind]) };
  }
}

/**
 * Why an edit was refused, for people.
 * @type {Record<string, string>}
 */
const REFUSALS = {
  crosses: "The outline would cross itself.",
  nothing: "There is nothing to do it to here.",
  repeated: "There is a vertex here already.",
  few: "A region needs at least four vertices.",
  small: "A region needs at least 600 image pixels.",
  locked: "A region that has this is locked; L unlocks it.",
  taken: "This line is drawn already.",
  closed: "This scene is not open for changes.",
};

// The adjust tool: select regions; move, insert and delete vertices. A shared vertex moves for all
// regions that share it; dragging the midpoint of an edge inserts a vertex.

import { deletePoints, insertVertex, movePointTo, movePoints } from "./vertex-editing.js";
import { deleteRegions } from "./region-commands.js";
import { edgeAt, pointsInBox, vertexAt } from "./hit-testing.js";
import { nextPlace } from "./scene.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./editor.js").Touch} Touch */
/** @typedef {[number, number]} Point */
/** @typedef {{region: string, edge: number, at: Point}} Middle */

/** Edges shorter than this on the screen have no midpoint handle, in px. */
export const LEAST_EDGE = { mouse: 30, keys: 30, pen: 36, touch: 52 };

export class Adjusting {
  name = "adjust";
  title = "Select and adjust";
  hasLoupe = true;

  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    /** @type {"nothing" | "vertices" | "box" | "tap" | "pan"} */
    this.does = "nothing";
    /**
     * A change that follows the pointer.
     * @type {import("./history.js").Live | null}
     */
    this.live = null;
    /**
     * Returns the change to make once the pointer has moved to a position.
     * @type {((touch: Touch) => import("./history.js").Act) | null}
     */
    this.moves = null;
    /** @type {Point} */
    this.from = [0, 0];
    /** @type {Point} */
    this.to = [0, 0];
    this.isBad = false;
    /**
     * The vertex under the pointer.
     * @type {number | null}
     */
    this.vertex = null;
    /** @type {Middle | null} */
    this.middle = null;
    /** @type {import("./snapping.js").Target | null} */
    this.target = null;
  }

  exit() {
    this.forget();
  }

  /** Return a hint about the next possible actions. */
  advice() {
    const { editor } = this;
    if (editor.chosen.size) return `${editor.chosen.size} selected: drag one to move them all.`;
    if (!editor.scene.regions.length) return "";
    return editor.region ? "Drag a vertex, or a small handle between two vertices." : "Click a region; click again to select the region behind it.";
  }

  /** @param {Touch} touch */
  hover(touch) {
    this.vertex = this.vertexAt(touch);
    this.middle = this.vertex === null ? this.middleAt(touch) : null;
  }

  /**
   * @param {Touch} touch
   * @param {number} clicks
   */
  press(touch, clicks) {
    this.from = this.to = touch.at;
    this.hover(touch);
    if (touch.isBox) this.does = "box";
    else if (this.vertex !== null && clicks > 1) this.deleteVertex(this.vertex, touch.isSplit);
    else if (this.vertex !== null) this.grab(this.vertex, touch.isSplit);
    else if (this.middle) this.grabMiddle(this.middle, touch.isSplit);
    else this.does = "tap";
    return this.does === "tap";
  }

  /** @param {Touch} touch */
  drag(touch) {
    if (this.does === "tap" && this.isAway(touch)) this.does = "pan";
    if (this.does === "pan") this.pan(touch);
    if (this.does === "box") this.to = touch.at;
    if (this.does === "vertices") this.move(touch);
  }

  /** @param {Touch} touch */
  release(touch) {
    if (this.does === "tap") this.editor.selectAt(touch.at);
    if (this.does === "box" && this.isAway(touch)) this.chooseInBox();
    else if (this.does === "box") this.choose(touch);
    if (this.does === "vertices") this.live?.commit();
    this.forget();
    this.hover(touch);
  }

  cancel() {
    this.live?.cancel();
    this.forget();
  }

  /**
   * Insert a vertex into the nearest edge of the selected region. If none is selected, select the region here.
   * @param {Touch} touch
   */
  second(touch) {
    const id = this.editor.selected;
    if (!id) return this.editor.selectAt(touch.at);
    const found = edgeAt(this.editor.scene, touch.at, Infinity, [id]);
    if (!found) return;
    const only = touch.isSplit ? id : null;
    this.editor.edit("insert", id, (steps) => insertVertex(steps, id, found.edge, touch.at, { only }));
  }

  forget() {
    this.does = "nothing";
    this.live = null;
    this.target = null;
    this.isBad = false;
    this.moves = null;
  }

  /**
   * @param {number} vertex
   * @param {boolean} isSplit
   */
  grab(vertex, isSplit) {
    const { editor } = this;
    const id = /** @type {string} */ (editor.selected);
    if (editor.scene.region(id).is_locked) return void editor.refuse("locked");
    if (editor.isReadOnly) return void editor.refuse("closed");
    this.does = "vertices";
    this.live = editor.history.start("move", id);
    const only = isSplit ? id : null;
    if (editor.chosen.has(vertex)) this.moves = this.moveMany([...editor.chosen], only);
    else this.moves = this.moveOne(vertex, only);
  }

  /**
   * @param {Middle} middle
   * @param {boolean} isSplit
   */
  grabMiddle(middle, isSplit) {
    const { editor } = this;
    if (editor.scene.region(middle.region).is_locked) return void editor.refuse("locked");
    if (editor.isReadOnly) return void editor.refuse("closed");
    this.does = "vertices";
    this.live = editor.history.start("insert", middle.region);
    const only = isSplit ? middle.region : null;
    const insert = (/** @type {Point} */ at) => (/** @type {import("./scene-changes.js").Steps} */ steps) => insertVertex(steps, middle.region, middle.edge, at, { only });
    this.moves = (touch) => insert(this.snapped(touch, new Set(editor.scene.region(middle.region).ring)));
    this.isBad = this.live.set(insert(middle.at)) !== null;
  }

  /**
   * Let one vertex follow the pointer; on release it merges with the vertex or edge it snaps to.
   * @param {number} vertex
   * @param {string | null} only
   */
  moveOne(vertex, only) {
    const { scene } = this.editor;
    const from = scene.points[vertex];
    const own = new Set(scene.owners(vertex).flatMap((region) => region.ring));
    return (/** @type {Touch} */ touch) => (/** @type {import("./scene-changes.js").Steps} */ steps) => {
      const at = this.snapped(touch, own);
      if (this.target) return movePointTo(steps, vertex, this.target, { only });
      return movePoints(steps, [vertex], at[0] - from[0], at[1] - from[1], { only });
    };
  }

  /**
   * @param {number[]} vertices
   * @param {string | null} only
   */
  moveMany(vertices, only) {
    return (/** @type {Touch} */ touch) => {
      const [dx, dy] = [touch.at[0] - this.from[0], touch.at[1] - this.from[1]];
      return (/** @type {import("./scene-changes.js").Steps} */ steps) => movePoints(steps, vertices, dx, dy, { only });
    };
  }

  /**
   * Move the vertices to follow the pointer. An invalid move is still shown; on release
   * the last valid one is kept.
   * @param {Touch} touch
   */
  move(touch) {
    if (this.moves && this.live) this.isBad = this.live.set(this.moves(touch)) !== null;
  }

  /**
   * @param {Touch} touch
   * @param {Set<number>} except
   */
  snapped(touch, except) {
    this.target = this.editor.snapAt(touch, { except });
    return this.target?.at ?? touch.at;
  }

  /** @param {Touch} touch */
  pan(touch) {
    const { picture } = this.editor;
    const [x0, y0] = picture.view.toScreen(this.from);
    const [x1, y1] = picture.view.toScreen(touch.at);
    picture.panBy(x1 - x0, y1 - y0);
  }

  /**
   * Select the vertices in the box: those of the selected region or, if none is selected, those of all
   * visible regions that are not locked.
   */
  chooseInBox() {
    const { editor } = this;
    const ids = editor.selected ? [editor.selected] : editor.touchable();
    editor.chosen.clear();
    this.add(pointsInBox(editor.scene, boxBetween(this.from, this.to), ids));
  }

  /**
   * Select or deselect the vertex at this position.
   * @param {Touch} touch
   */
  choose(touch) {
    const vertex = this.vertexAt(touch);
    if (vertex !== null && this.editor.chosen.delete(vertex)) this.add([]);
    else this.add([vertex]);
  }

  /**
   * Add vertices to the selection.
   * @param {Iterable<number | null>} vertices
   */
  add(vertices) {
    const { editor } = this;
    for (const vertex of vertices) if (vertex !== null) editor.chosen.add(vertex);
    const { size } = editor.chosen;
    editor.say(`${size} ${size === 1 ? "vertex" : "vertices"} selected${size ? ": drag one to move them, Delete deletes them" : ""}.`);
    editor.changed();
  }

  /**
   * Delete the selected vertices. If there are none, delete the vertex at the cursor. If there is none either,
   * or if several regions are selected, delete the selected regions.
   */
  delete() {
    const { editor } = this;
    const { selected: id, chosen } = editor;
    if (chosen.size) {
      if (editor.edit("delete", id, (steps) => deletePoints(steps, [...chosen], {}))) chosen.clear();
      return editor.changed();
    }
    if (!id) return editor.say("Select a region first.");
    const vertex = this.vertexAt(editor.cursor);
    if (vertex !== null && !editor.alsoSelected.size && (editor.isPointing || editor.hasCursor)) this.deleteVertex(vertex, editor.cursor.isSplit);
    else editor.edit("delete", id, (steps) => deleteRegions(steps, editor.selection));
  }

  /**
   * @param {number} vertex
   * @param {boolean} isSplit
   */
  deleteVertex(vertex, isSplit) {
    const id = this.editor.selected;
    this.editor.edit("delete", id, (steps) => deletePoints(steps, [vertex], { only: isSplit ? id : null }));
    this.vertex = null;
  }

  /**
   * @param {Touch} touch
   * @returns {number | null}
   */
  vertexAt(touch) {
    const { selected, scene } = this.editor;
    return selected ? vertexAt(scene, touch.at, touch.reach, [selected]) : null;
  }

  /**
   * @param {Touch} touch
   * @returns {Middle | null}
   */
  middleAt(touch) {
    const { selected, picture } = this.editor;
    if (!selected) return null;
    const least = LEAST_EDGE[touch.kind] / picture.view.scale;
    const middles = middlesOf(this.editor.scene, selected, least);
    const near = middles.filter(({ at }) => Math.hypot(at[0] - touch.at[0], at[1] - touch.at[1]) < 0.8 * touch.reach);
    return near.length ? { region: selected, edge: near[0].edge, at: near[0].at } : null;
  }

  /** @param {Touch} touch */
  isAway(touch) {
    const { scale } = this.editor.picture.view;
    return Math.hypot(touch.at[0] - this.from[0], touch.at[1] - this.from[1]) * scale > 5;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("../../../reports/viewer/viewport.js").View} view
   */
  draw(context, view) {
    if (this.does !== "box") return;
    const [x0, y0] = view.toScreen(this.from);
    const [x1, y1] = view.toScreen(this.to);
    context.setLineDash([5, 4]);
    context.lineWidth = 1.5;
    context.fillStyle = "#ffffff22";
    context.strokeStyle = "#fff";
    context.fillRect(x0, y0, x1 - x0, y1 - y0);
    context.strokeRect(x0, y0, x1 - x0, y1 - y0);
    context.setLineDash([]);
  }
}

/**
 * Return the midpoints of the edges of a region that are long enough for a handle.
 * @param {import("./scene.js").Scene} scene
 * @param {string} id
 * @param {number} least
 * @returns {{edge: number, at: Point}[]}
 */
export function middlesOf(scene, id, least) {
  const region = scene.region(id);
  const polygon = scene.polygon(id);
  return polygon.flatMap((a, edge) => {
    const b = polygon[nextPlace(region, edge)];
    if (Math.hypot(b[0] - a[0], b[1] - a[1]) < least) return [];
    return [{ edge, at: /** @type {Point} */ ([(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]) }];
  });
}

/**
 * @param {Point} a
 * @param {Point} b
 * @returns {[number, number, number, number]}
 */
export function boxBetween(a, b) {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[0], b[0]), Math.max(a[1], b[1])];
}

// Everything painted above the picture in each frame: idle regions come from a cache, and
// regions being edited are painted anew.

import { colourOf } from "./region-colours.js";
import { LEAST_EDGE, middlesOf } from "./adjust-tool.js";
import { FILL_ALPHA, Resting } from "./idle-regions.js";
import { AIM, BAD, disc, line, ring, square } from "./marks.js";
import { HALO, meet, Shapes } from "./canvas-paths.js";
import { nextPlace } from "./scene.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("../../../reports/viewer/viewport.js").View} View */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {[number, number]} Point */
/** @typedef {CanvasRenderingContext2D} Context */

/** Tools that edit vertices. */
const HANDLING = ["adjust", "sweep"];
/** Half the size of a vertex on the screen, in px; smaller where vertices are close together. */
const MARK = { mouse: 4.5, keys: 4.5, pen: 5, touch: 5.5 };

export class Painting {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    this.shapes = new Shapes(editor);
    this.resting = new Resting(editor, this.shapes);
    editor.picture.onDraw = (context, view) => this.draw(context, view);
  }

  /**
   * @param {Context} context
   * @param {View} view
   */
  draw(context, view) {
    const { editor } = this;
    this.drawFrame(context, view);
    // A region that was dropped stays here until the cache has it again; otherwise it would flicker.
    const separate = this.resting.show(context, view, this.moving());
    for (const region of [...editor.scene.regions].reverse()) if (separate.has(region.id) && !region.is_hidden) this.drawMoving(context, view, region);
    for (const id of editor.selection.reverse()) {
      const region = editor.scene.region(id);
      if (!region.is_hidden) this.drawSelected(context, view, region);
    }
    this.resting.showNumbers(context, view);
    if (editor.region && !editor.region.is_hidden && !editor.alsoSelected.size) this.drawHandles(context, view, editor.region);
    this.drawOpen(context, view);
    this.drawTarget(context, view);
    editor.tool.draw?.(context, view);
    this.drawCursor(context, view);
  }

  /**
   * Return the regions whose outlines follow the pointer now.
   * @returns {Set<string>}
   */
  moving() {
    const { selection, scene, tool, isHolding } = this.editor;
    if (!selection.length || !isHolding || !(/** @type {any} */ (tool).live)) return new Set();
    const regions = selection.map((id) => scene.region(id));
    const owners = regions.flatMap(({ ring }) => ring).flatMap((point) => scene.owners(point));
    return new Set([...regions, ...owners].filter((owner) => !owner.is_hidden).map((owner) => owner.id));
  }

  /**
   * @param {Context} context
   * @param {View} view
   * @param {Region} region
   */
  drawMoving(context, view, region) {
    context.save();
    this.shapes.inImage(context, view);
    // The fill would flicker if it were missing while the region moves.
    if (this.editor.settings.fills) this.fillVisible(context, region);
    if (region !== this.editor.region) this.hatchHidden(context, view, region);
    this.shapes.stroke(context, view, region.id);
    context.restore();
  }

  /**
   * Fill the part of a region that no region in front of it hides.
   * @param {Context} context in image px
   * @param {Region} region
   */
  fillVisible(context, { id }) {
    const { scene } = this.editor;
    const [x0, y0, x1, y1] = scene.box(id);
    context.save();
    for (const other of scene.regions.slice(0, scene.place(id))) {
      if (other.is_hidden || !meet(scene.box(other.id), scene.box(id))) continue;
      const outside = new Path2D();
      outside.rect(x0, y0, x1 - x0, y1 - y0);
      outside.addPath(this.shapes.path(other.id));
      context.clip(outside, "evenodd");
    }
    context.globalAlpha = FILL_ALPHA;
    context.fillStyle = colourOf(id, false).fill;
    context.fill(this.shapes.path(id));
    context.restore();
  }

  /**
   * Hatch the part of a region that others hide.
   * @param {Context} context in image px
   * @param {View} view
   * @param {Region} region
   */
  hatchHidden(context, view, { id }) {
    const { scene } = this.editor;
    const before = scene.regions.slice(0, scene.place(id)).filter((other) => !other.is_hidden && meet(scene.box(other.id), scene.box(id)));
    context.save();
    context.clip(this.shapes.path(id));
    context.fillStyle = this.shapes.hatch(context, view, id);
    context.fill(this.shapes.union(before));
    context.restore();
  }

  /**
   * @param {Context} context
   * @param {View} view
   * @param {Region} region
   */
  drawSelected(context, view, region) {
    const { id } = region;
    const { settings, tool } = this.editor;
    context.save();
    this.shapes.inImage(context, view);
    if (!settings.fills) {
      context.globalAlpha = 0.2;
      context.fillStyle = colourOf(id, false).fill;
      context.fill(this.shapes.path(id));
      context.globalAlpha = 1;
    }
    this.hatchHidden(context, view, region);
    const isBad = tool.name === "adjust" && /** @type {any} */ (tool).isBad;
    this.shapes.stroke(context, view, id, { width: 2.75, colour: isBad ? BAD : undefined });
    context.restore();
  }

  /**
   * Draw the handles: round vertices, square shared vertices, and small midpoints that insert a
   * vertex when dragged.
   * @param {Context} context
   * @param {View} view
   * @param {Region} region
   */
  drawHandles(context, view, region) {
    const { scene, chosen, cursor, tool, isReadOnly } = this.editor;
    if (region.is_locked || isReadOnly || !HANDLING.includes(tool.name)) return;
    const { stroke } = colourOf(region.id, false);
    const [x0, y0, x1, y1] = scene.box(region.id);
    const spacing = (2 * (x1 - x0 + y1 - y0) * view.scale) / region.ring.length;
    const size = Math.min(MARK[cursor.kind], Math.max(2, spacing / 4));
    const isSeen = inBox(view.inView);
    context.lineWidth = 1.5;
    if (tool.name === "adjust") this.drawMiddles(context, view, region, size);
    for (const point of region.ring) {
      const at = scene.points[point];
      if (!isSeen(at)) continue;
      const isOver = this.isOver("vertex", point);
      const ink = chosen.has(point) ? AIM : isOver ? stroke : "#fff";
      const draw = scene.owners(point).length > 1 ? square : disc;
      draw(context, view.toScreen(at), isOver || chosen.has(point) ? size * 1.35 : size, ink, isOver ? "#fff" : HALO);
    }
  }

  /**
   * @param {Context} context
   * @param {View} view
   * @param {Region} region
   * @param {number} size
   */
  drawMiddles(context, view, region, size) {
    const { stroke } = colourOf(region.id, false);
    const isSeen = inBox(view.inView);
    for (const { edge, at } of middlesOf(this.editor.scene, region.id, LEAST_EDGE[this.editor.cursor.kind] / view.scale)) {
      if (!isSeen(at)) continue;
      const isOver = this.isOver("middle", edge);
      disc(context, view.toScreen(at), isOver ? size : size * 0.62, isOver ? "#fff" : "rgba(255, 255, 255, 0.75)", stroke);
    }
  }

  /**
   * Whether the pointer is over this handle.
   * @param {"vertex" | "middle"} kind
   * @param {number} number
   */
  isOver(kind, number) {
    const { tool, isPointing, hasCursor } = this.editor;
    const adjusting = /** @type {any} */ (tool);
    return (isPointing || hasCursor) && (kind === "vertex" ? adjusting.vertex : adjusting.middle?.edge) === number;
  }

  /**
   * Draw the open outline and the line to the cursor.
   * @param {Context} context
   * @param {View} view
   */
  drawOpen(context, view) {
    const { scene, tool, cursor, isPointing, hasCursor, isHolding } = this.editor;
    const polygon = scene.openPolygon().map((at) => view.toScreen(at));
    if (!polygon.length) return;
    const drawing = /** @type {any} */ (tool);
    line(context, polygon, "#fff", 2);
    if (tool.name === "draw" && (isPointing || hasCursor || isHolding)) {
      const end = drawing.closes ? polygon[0] : view.toScreen(drawing.target?.at ?? cursor.at);
      line(context, [polygon[polygon.length - 1], end], drawing.isBad ? BAD : "#fff", 1.75, drawing.closes ? [] : [6, 4]);
    }
    context.lineWidth = 1.5;
    scene.open.forEach((point, at) => {
      const draw = scene.owners(point).length ? square : disc;
      draw(context, polygon[at], MARK[cursor.kind], "#fff", HALO);
    });
    if (polygon.length > 2) ring(context, polygon[0], drawing.closes ? 13 : 9, drawing.closes ? AIM : "#fff");
  }

  /**
   * Mark the snap target of the next vertex.
   * @param {Context} context
   * @param {View} view
   */
  drawTarget(context, view) {
    const { target } = /** @type {{target?: import("./snapping.js").Target | null}} */ (this.editor.tool);
    if (!target) return;
    if (target.region !== null && target.edge !== null) {
      const polygon = this.editor.scene.polygon(target.region);
      const next = nextPlace(this.editor.scene.region(target.region), target.edge);
      const ends = [polygon[target.edge], polygon[next]];
      line(context, ends.map((at) => view.toScreen(at)), AIM, 2.5);
    }
    const place = view.toScreen(target.at);
    ring(context, place, target.kind === "vertex" || target.kind === "corner" ? 9 : 7, AIM);
    disc(context, place, 2.5, AIM, HALO);
  }

  /**
   * @param {Context} context
   * @param {View} view
   */
  drawCursor(context, view) {
    const { hasCursor, cursor, isHolding } = this.editor;
    if (!hasCursor) return;
    const [x, y] = view.toScreen(cursor.at);
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      line(context, [[x + 4 * dx, y + 4 * dy], [x + 15 * dx, y + 15 * dy]], isHolding ? AIM : "#fff", 2);
    }
  } // prettier-ignore

  /**
   * Draw the frame of the picture.
   * @param {Context} context
   * @param {View} view
   */
  drawFrame(context, view) {
    const [x0, y0] = view.toScreen([0, 0]);
    const [x1, y1] = view.toScreen(this.editor.size);
    context.lineWidth = 1;
    context.strokeStyle = "rgba(128, 128, 128, 0.7)";
    context.strokeRect(x0 - 0.5, y0 - 0.5, x1 - x0 + 1, y1 - y0 + 1);
  }
}

/** @param {[number, number, number, number]} box */
function inBox([x0, y0, x1, y1]) {
  return (/** @type {Point} */ [x, y]) => x >= x0 && x <= x1 && y >= y0 && y <= y1;
}

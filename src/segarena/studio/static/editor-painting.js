// What is painted above the picture. Regions that rest are painted once into a canvas of their own and stay there until the
// view or one of them changes; only what is in the hand is painted in every frame.

import { colourOf } from "./colours.js";
import { LEAST_EDGE, middlesOf } from "./editor-adjusting.js";
import { labelPlace } from "./labels.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./view.js").View} View */
/** @typedef {import("./scene.js").Region} Region */
/** @typedef {[number, number, number, number]} Box */
/** @typedef {[number, number]} Point */

const HALO = "rgba(8, 14, 20, 0.62)";
const BAD = "#ff4d2e";
const LINE = 1.75;
/** Regions that are smaller on the screen have no number on them, in px. */
const LEAST_LABELLED = 26;

export class Painting {
  /** @param {Editor} editor */
  constructor(editor) {
    this.editor = editor;
    /** @type {Map<string, {revision: number, path: Path2D, label: Point | null}>} */
    this.shapes = new Map();
    /** @type {Map<string, CanvasPattern>} */
    this.hatches = new Map();
    this.resting = new Sheet();
    this.borders = new Sheet();
    this.numbers = new Sheet();
    this.restingKey = "";
    editor.picture.onDraw = (context, view) => this.draw(context, view);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  draw(context, view) {
    const { editor } = this;
    const held = this.held();
    this.rest(context.canvas, view, held);
    const inHand = editor.scene.regions.filter((region) => held.has(region.id)).reverse();
    this.layWhole(context, this.resting);
    for (const region of inHand) this.drawHeld(context, view, region);
    this.layWhole(context, this.numbers);
    for (const region of inHand) this.drawNumber(context, view, region);
    if (editor.region && held.has(editor.region.id)) this.drawHandles(context, view, editor.region);
    this.drawFrame(context, view);
    this.drawOpen(context, view);
    this.drawTarget(context, view);
    editor.tool.draw?.(context, view);
    this.drawCursor(context, view);
  }

  /**
   * The selected region, and all that share what is being moved: painted in every frame, above the others.
   * @returns {Set<string>}
   */
  held() {
    const { selected, scene, tool, isHolding } = this.editor;
    const held = new Set(selected && !scene.region(selected).is_hidden ? [selected] : []);
    if (selected && isHolding && tool.name === "adjust") {
      for (const point of scene.region(selected).ring) for (const owner of scene.owners(point)) held.add(owner.id);
    }
    return held;
  }

  /**
   * Paint what rests, if anything of it has changed.
   * @param {HTMLCanvasElement} like
   * @param {View} view
   * @param {Set<string>} held
   */
  rest(like, view, held) {
    const { scene, settings } = this.editor;
    const shown = scene.regions.filter((region) => !region.is_hidden);
    const resting = settings.fills ? shown : shown.filter((region) => !held.has(region.id));
    const outlines = resting.map((region) => `${region.id}.${scene.revisionOf(region.id)}`).join();
    const order = settings.numbers && scene.regions.map((region) => region.id).join();
    const place = [like.width, like.height, view.scale, ...view.offset];
    const key = [...place, JSON.stringify(settings), outlines, order, [...held]].join("|");
    if (key === this.restingKey) return;
    this.restingKey = key;
    const context = this.resting.cleared(like);
    const inView = resting.filter((region) => meet(scene.box(region.id), view.inView));
    if (settings.fills) this.fill(context, view, inView, like);
    this.drawBorders(context, view, inView, like);
    const numbers = this.numbers.cleared(like);
    for (const region of inView) if (!held.has(region.id)) this.drawNumber(numbers, view, region);
  }

  /**
   * Fills in their order, so that a wrong order is seen; together they let the picture through.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {Region[]} regions
   * @param {HTMLCanvasElement} like
   */
  fill(context, view, regions, like) {
    const sheet = this.borders.cleared(like);
    this.inImage(sheet, view);
    for (const region of [...regions].reverse()) {
      sheet.fillStyle = colourOf(region.id, false).fill;
      sheet.fill(this.shape(region.id).path);
    }
    context.globalAlpha = 0.6;
    this.lay(context, this.borders);
    context.globalAlpha = 1;
  }

  /**
   * Visible borders as lines, hidden ones dashed, hidden parts hatched.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {Region[]} regions
   * @param {HTMLCanvasElement} like
   */
  drawBorders(context, view, regions, like) {
    const { scene, settings } = this.editor;
    const boxes = regions.map((region) => scene.box(region.id));
    const before = regions.map((_, at) => regions.filter((_, other) => other < at && meet(boxes[other], boxes[at])));
    const sheet = this.borders.cleared(like);
    this.inImage(sheet, view);
    this.inImage(context, view);
    for (let at = regions.length - 1; at >= 0; at--) {
      const { id } = regions[at];
      const { path } = this.shape(id);
      if (before[at].length) {
        if (settings.hatches) this.hatch(context, view, id, before[at]);
        this.stroke(context, view, path, colourOf(id, false).stroke, 1.25, [4, 4]);
      }
      if (boxes.some((box, other) => other > at && meet(box, boxes[at]))) erase(sheet, path);
      this.stroke(sheet, view, path, colourOf(id, false).stroke, LINE);
    }
    this.lay(context, this.borders);
  }

  /**
   * Lines over what others hide of a region.
   * @param {CanvasRenderingContext2D} context in image px
   * @param {View} view
   * @param {string} id
   * @param {Region[]} before
   */
  hatch(context, view, id, before) {
    const pattern = this.hatchOf(context, id);
    pattern.setTransform(new DOMMatrix().scale(1 / view.scale));
    context.save();
    context.clip(this.shape(id).path);
    context.fillStyle = pattern;
    for (const region of before) context.fill(this.shape(region.id).path);
    context.restore();
  }

  /**
   * What is in the hand.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {Region} region
   */
  drawHeld(context, view, region) {
    const { editor } = this;
    const { settings } = editor;
    const isSelected = region.id === editor.selected;
    const { path } = this.shape(region.id);
    const { fill, stroke } = colourOf(region.id, false);
    context.save();
    this.inImage(context, view);
    if (!settings.fills) {
      context.globalAlpha = 0.2;
      context.fillStyle = fill;
      context.fill(path);
      context.globalAlpha = 1;
    }
    if (isSelected) this.hatchAround(context, view, region);
    const isBad = isSelected && editor.tool.name === "adjust" && /** @type {any} */ (editor.tool).isBad;
    this.stroke(context, view, path, isBad ? BAD : stroke, isSelected ? 2.75 : LINE);
    context.restore();
  }

  /**
   * What hides the selected region, and what it hides of others.
   * @param {CanvasRenderingContext2D} context in image px
   * @param {View} view
   * @param {Region} region
   */
  hatchAround(context, view, region) {
    const { scene, settings } = this.editor;
    const [place, box] = [scene.place(region.id), scene.box(region.id)];
    const touching = scene.regions.filter((other) => other !== region && !other.is_hidden && meet(scene.box(other.id), box));
    const before = touching.filter((other) => scene.place(other.id) < place);
    this.hatch(context, view, region.id, before);
    if (!settings.hatches) return;
    for (const other of touching) if (!before.includes(other)) this.hatch(context, view, other.id, [region]);
  }

  /**
   * Every vertex: round; a shared one: square. Small ones between them: pull to insert.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {Region} region
   */
  drawHandles(context, view, region) {
    const { editor } = this;
    const { scene, chosen, cursor } = editor;
    if (region.is_locked || editor.isReadOnly) return;
    const { stroke } = colourOf(region.id, false);
    const size = cursor.kind === "touch" ? 6.5 : 4.5;
    const adjusting = /** @type {any} */ (editor.tool);
    const [x0, y0, x1, y1] = view.inView;
    context.lineWidth = 1.5;
    if (editor.tool.name === "adjust") {
      for (const { edge, at } of middlesOf(scene.polygon(region.id), LEAST_EDGE / view.scale)) {
        const isOver = adjusting.middle?.edge === edge && editor.isPointing;
        disc(context, view.toScreen(at), isOver ? size : size * 0.62, isOver ? "#fff" : "rgba(255, 255, 255, 0.75)", stroke);
      }
    }
    for (const point of region.ring) {
      const at = scene.points[point];
      if (at[0] < x0 || at[0] > x1 || at[1] < y0 || at[1] > y1) continue;
      const isOver = adjusting.vertex === point && (editor.isPointing || editor.hasCursor);
      const ink = chosen.has(point) ? "#ffe14d" : isOver ? stroke : "#fff";
      const draw = scene.owners(point).length > 1 ? square : disc;
      draw(context, view.toScreen(at), isOver || chosen.has(point) ? size * 1.35 : size, ink, isOver ? "#fff" : HALO);
    }
  }

  /**
   * What is being drawn, and the line to the cursor.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  drawOpen(context, view) {
    const { scene, tool, cursor, isPointing, hasCursor, isHolding } = this.editor;
    const polygon = scene.openPolygon().map((at) => view.toScreen(at));
    if (!polygon.length) return;
    const drawing = /** @type {any} */ (tool);
    const end = drawing.closes ? polygon[0] : view.toScreen(drawing.target?.at ?? cursor.at);
    const isAimed = tool.name === "draw" && (isPointing || hasCursor || isHolding);
    const path = new Path2D();
    for (const [x, y] of polygon) path.lineTo(x, y);
    this.line(context, path, "#fff", 2);
    if (isAimed) {
      const last = new Path2D();
      last.moveTo(...polygon[polygon.length - 1]);
      last.lineTo(...end);
      this.line(context, last, drawing.isBad ? BAD : "#fff", 1.75, drawing.closes ? [] : [6, 4]);
    }
    const size = cursor.kind === "touch" ? 6.5 : 4.5;
    scene.open.forEach((point, at) => {
      const draw = scene.owners(point).length ? square : disc;
      draw(context, polygon[at], size, "#fff", HALO);
    });
    if (polygon.length > 2) ring(context, polygon[0], drawing.closes ? 13 : 9, drawing.closes ? "#ffe14d" : "#fff");
  }

  /**
   * Where the next vertex will be drawn to.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  drawTarget(context, view) {
    const { target } = /** @type {any} */ (this.editor.tool);
    if (!target) return;
    const place = view.toScreen(target.at);
    if (target.region && target.edge !== null && target.kind === "edge") {
      const polygon = this.editor.scene.polygon(target.region);
      const edge = new Path2D();
      edge.moveTo(...view.toScreen(polygon[target.edge]));
      edge.lineTo(...view.toScreen(polygon[(target.edge + 1) % polygon.length]));
      this.line(context, edge, "#ffe14d", 2.5);
    }
    ring(context, place, target.kind === "vertex" || target.kind === "corner" ? 9 : 7, "#ffe14d");
    disc(context, place, 2.5, "#ffe14d", HALO);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  drawCursor(context, view) {
    const { hasCursor, cursor, isHolding } = this.editor;
    if (!hasCursor) return;
    const [x, y] = view.toScreen(cursor.at);
    const cross = new Path2D();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      cross.moveTo(x + 4 * dx, y + 4 * dy);
      cross.lineTo(x + 15 * dx, y + 15 * dy);
    }
    this.line(context, cross, isHolding ? "#ffe14d" : "#fff", 2);
  }

  /**
   * The frame of the picture: what is outside it is not there.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  drawFrame(context, view) {
    const [x0, y0] = view.toScreen([0, 0]);
    const [x1, y1] = view.toScreen(this.editor.size);
    context.lineWidth = 1;
    context.strokeStyle = "rgba(128, 128, 128, 0.7)";
    context.strokeRect(x0 - 0.5, y0 - 0.5, x1 - x0 + 1, y1 - y0 + 1);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   * @param {Region} region
   */
  drawNumber(context, view, region) {
    const { scene, picture, settings } = this.editor;
    if (!settings.numbers) return;
    const [x0, y0, x1, y1] = scene.box(region.id);
    if (Math.max(x1 - x0, y1 - y0) * view.scale < LEAST_LABELLED) return;
    const shape = this.shape(region.id);
    shape.label ??= labelPlace(scene.polygon(region.id));
    const [x, y] = view.toScreen(shape.label);
    const { fill, text } = colourOf(region.id, false);
    const number = String(scene.place(region.id) + 1);
    context.save();
    context.setTransform(picture.ratio, 0, 0, picture.ratio, 0, 0);
    context.font = "600 12px system-ui, sans-serif";
    const half = Math.max(10, context.measureText(number).width / 2 + 6);
    context.beginPath();
    context.arc(x - half + 10, y, 10, 0.5 * Math.PI, 1.5 * Math.PI);
    context.arc(x + half - 10, y, 10, 1.5 * Math.PI, 0.5 * Math.PI);
    context.closePath();
    context.fillStyle = fill;
    context.strokeStyle = HALO;
    context.lineWidth = 1.5;
    context.fill();
    context.stroke();
    context.fillStyle = text;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(number, x, y + 0.5);
    context.restore();
  }

  /**
   * A line that is seen on light and dark pictures.
   * @param {CanvasRenderingContext2D} context in image px
   * @param {View} view
   * @param {Path2D} path
   * @param {string} colour
   * @param {number} width
   * @param {number[]} [dash]
   */
  stroke(context, view, path, colour, width, dash = []) {
    context.lineJoin = "round";
    context.setLineDash(dash.map((length) => length / view.scale));
    context.strokeStyle = HALO;
    context.lineWidth = (width + 1.75) / view.scale;
    if (!dash.length) context.stroke(path);
    context.strokeStyle = colour;
    context.lineWidth = width / view.scale;
    context.stroke(path);
    context.setLineDash([]);
  }

  /**
   * The same in screen px.
   * @param {CanvasRenderingContext2D} context
   * @param {Path2D} path
   * @param {string} colour
   * @param {number} width
   * @param {number[]} [dash]
   */
  line(context, path, colour, width, dash = []) {
    context.lineJoin = context.lineCap = "round";
    context.strokeStyle = HALO;
    context.lineWidth = width + 2;
    context.stroke(path);
    context.setLineDash(dash);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.stroke(path);
    context.setLineDash([]);
    context.lineCap = "butt";
  }

  /**
   * The outline of a region in image px, made again only when it has changed.
   * @param {string} id
   */
  shape(id) {
    const { scene } = this.editor;
    const revision = scene.revisionOf(id);
    const known = this.shapes.get(id);
    if (known?.revision === revision) return known;
    const path = new Path2D();
    for (const [x, y] of scene.polygon(id)) path.lineTo(x, y);
    path.closePath();
    /** @type {{revision: number, path: Path2D, label: Point | null}} */
    const shape = { revision, path, label: null };
    this.shapes.set(id, shape);
    return shape;
  }

  /**
   * Lines of a region's colour, with a dark one beside each.
   * @param {CanvasRenderingContext2D} context
   * @param {string} id
   */
  hatchOf(context, id) {
    const known = this.hatches.get(id);
    if (known) return known;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 9;
    const pen = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
    for (const [colour, shift] of /** @type {[string, number][]} */ ([["rgba(8, 14, 20, 0.4)", 1], [colourOf(id, false).stroke, 0]])) {
      pen.strokeStyle = colour;
      pen.lineWidth = 1.3;
      for (const at of [-9, 0, 9]) {
        pen.beginPath();
        pen.moveTo(at - 2 + shift, 11);
        pen.lineTo(at + 11 + shift, -2);
        pen.stroke();
      }
    }
    const pattern = /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
    this.hatches.set(id, pattern);
    return pattern;
  }

  /**
   * From here on a context takes image px.
   * @param {CanvasRenderingContext2D} context
   * @param {View} view
   */
  inImage(context, view) {
    const { ratio } = this.editor.picture;
    context.setTransform(ratio * view.scale, 0, 0, ratio * view.scale, ratio * view.offset[0], ratio * view.offset[1]);
  }

  /**
   * The same, in a context that goes on with screen px.
   * @param {CanvasRenderingContext2D} context
   * @param {Sheet} sheet
   */
  layWhole(context, sheet) {
    context.save();
    this.lay(context, sheet);
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Sheet} sheet
   */
  lay(context, sheet) {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(sheet.canvas, 0, 0);
  }
}

/** A canvas that is not in the page. */
class Sheet {
  canvas = document.createElement("canvas");

  /** @param {HTMLCanvasElement} like */
  cleared({ width, height }) {
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, width, height);
    return context;
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Path2D} path
 */
function erase(context, path) {
  context.globalCompositeOperation = "destination-out";
  context.fill(path);
  context.globalCompositeOperation = "source-over";
}

/**
 * @param {Box} a
 * @param {Box} b
 */
function meet(a, b) {
  return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point} at
 * @param {number} radius
 * @param {string} fill
 * @param {string} stroke
 */
function disc(context, [x, y], radius, fill, stroke) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = fill;
  context.strokeStyle = stroke;
  context.fill();
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point} at
 * @param {number} half
 * @param {string} fill
 * @param {string} stroke
 */
function square(context, [x, y], half, fill, stroke) {
  context.beginPath();
  context.rect(x - half, y - half, 2 * half, 2 * half);
  context.fillStyle = fill;
  context.strokeStyle = stroke;
  context.fill();
  context.stroke();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Point} at
 * @param {number} radius
 * @param {string} colour
 */
function ring(context, [x, y], radius, colour) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.strokeStyle = HALO;
  context.lineWidth = 4;
  context.stroke();
  context.strokeStyle = colour;
  context.lineWidth = 2;
  context.stroke();
  context.lineWidth = 1.5;
}

// One pane of the annotation page: the pixels of a plane, the target, the model's answer and its
// errors.
//
// Points on a plane are in array pixels. Slices of volumes are displayed rotated and with their
// physical pixel size; see viewer/plane-geometry.js.

import { drawCross, drawLetters } from "../../../reports/viewer/plane-guides.js";
import { cssOf, onColours, rgbOf } from "../../../reports/viewer/palette.js";
import { Picture } from "../../../reports/viewer/zoomable-picture.js";
import { make } from "./page-elements.js";
import { onPlane } from "./masks.js";
import { colourOf, drawOutlines, fillOf, outlinesOf } from "./painting.js";
import { shownSize } from "../../../reports/viewer/plane-geometry.js";

/** @typedef {[number, number]} Point */
/** @typedef {import("./sample-view.js").Sight} Sight */
/** @typedef {import("./masks.js").Masks} Masks */
/** @typedef {import("../../../reports/viewer/plane-geometry.js").Plane} Plane */

/**
 * Margin around a slice of a volume. Slices already have a black border; pictures get a wider margin,
 * with room to draw.
 */
const SLICE_MARGIN_PX = 4;

export class SeatPane {
  /**
   * @param {HTMLElement} host
   * @param {Plane} plane
   * @param {Sight} sight
   */
  constructor(host, plane, sight) {
    this.plane = plane;
    this.sight = sight;
    this.index = 0;
    this.axis = plane.axis ?? 0;
    this.figure = make("div", { class: "plane" });
    this.name = make("p", { "aria-hidden": "true" });
    this.figure.append(this.name);
    host.append(this.figure);
    const label = plane.letters || plane.is_turned ? `, ${plane.name}` : "";
    this.picture = new Picture(this.figure, {
      label: `The target and the model's answer${label}`,
      margin: plane.is_turned ? SLICE_MARGIN_PX : undefined,
    });
    this.picture.onDraw = (context, view) => this.draw(context, view);
    /** @type {object} token of the latest plane request */
    this.asked = {};
    /** @type {{key: string, fill: ImageBitmap | null, target: Path2D[], prediction: Path2D[]}} */
    this.painted = { key: "", fill: null, target: [], prediction: [] };
    this.forgetColours = onColours(() => this.repaint());
    /** Aborts the event listeners of the pane. */
    this.stopListening = () => {};
  }

  get place() {
    return { axis: this.axis, index: this.index };
  }

  get count() {
    return this.plane.count;
  }

  /**
   * Set whether this is the main pane, which receives keyboard input.
   * @param {boolean} isMain
   */
  setMain(isMain) {
    const { overlay } = this.picture;
    this.figure.classList.toggle("is-main", isMain);
    overlay.tabIndex = isMain ? 0 : -1;
    overlay.setAttribute("role", isMain ? "application" : "img");
    if (isMain) overlay.setAttribute("aria-describedby", "help");
    else overlay.removeAttribute("aria-describedby");
  }

  /** Show the selected plane; reject if its picture cannot be loaded. */
  async show(keepsView = true) {
    const asked = (this.asked = {});
    const source = await this.sight.sourceOf(this);
    if (this.asked !== asked) return source.close();
    this.painted.key = "";
    this.name.textContent = this.plane.is_turned ? `${this.plane.name} ${this.index + 1}` : "";
    await this.picture.setImage(source, { size: shownSize(this.plane), keepsView });
  }

  /**
   * @param {Point} point screen point
   * @returns {Point} plane point
   */
  toPlane(point) {
    const [x, y] = this.picture.view.toImage(point);
    const [down, across] = this.plane.edges;
    return this.turned([x / across, y / down]);
  }

  /**
   * @param {Point} point plane point
   * @returns {Point} screen point
   */
  toScreen(point) {
    const [x, y] = this.turned(point);
    const [down, across] = this.plane.edges;
    return this.picture.view.toScreen([x * across, y * down]);
  }

  /**
   * @param {Point} point
   * @returns {Point}
   */
  turned([x, y]) {
    const [height, width] = this.plane.size;
    return this.plane.is_turned ? [width - x, height - y] : [x, y];
  }

  /**
   * Return the labels of masks on this plane, in display orientation.
   * @param {Masks} masks
   */
  cut(masks) {
    const found = masks.plane(this.axis, this.index);
    if (this.plane.is_turned) found.data.reverse();
    return found;
  }

  repaint() {
    this.painted.key = "";
    this.picture.redraw();
  }

  async paint() {
    const { about, hasAnswer } = this.sight;
    const target = this.cut(this.sight.target);
    const prediction = this.cut(this.sight.prediction);
    const colours = { truth: rgbOf("--truth"), missing: rgbOf("--missing"), surplus: rgbOf("--surplus") };
    const objects = about.target.length;
    const key = this.painted.key;
    const fill = await fillOf(target, prediction, this.sight.ignore && this.cut(this.sight.ignore), {
      isHighlighted: about.shows.target === "highlight",
      showsErrors: about.shows.errors && hasAnswer,
      colours,
    });
    if (key !== this.painted.key) return fill.close();
    this.painted = { key, fill, target: outlinesOf(target, objects), prediction: hasAnswer ? outlinesOf(prediction, objects) : [] };
    this.picture.redraw();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {import("../../../reports/viewer/viewport.js").View} view
   */
  draw(context, view) {
    const { sight, plane } = this;
    if (!sight.about) return;
    const key = `${this.index}:${sight.answers}`;
    if (this.painted.key !== key) {
      this.painted = { key, fill: null, target: [], prediction: [] };
      void this.paint();
    }
    const { painted } = this;
    const scale = /** @type {Point} */ ([view.scale * plane.edges[1], view.scale * plane.edges[0]]);
    if (painted.fill) {
      context.imageSmoothingEnabled = false;
      context.drawImage(painted.fill, ...view.offset, this.picture.size[0] * view.scale, this.picture.size[1] * view.scale);
    }
    drawOutlines(context, view, scale, painted.prediction, (place) => (sight.several ? colourOf(place + 1) : cssOf("--guess")), []);
    if (sight.about.shows.target === "outline") {
      drawOutlines(context, view, scale, painted.target, (place) => (sight.several ? colourOf(place + 1) : cssOf("--truth")), [7, 5]);
    }
    if (sight.cross) drawCross(context, this.toScreen(this.crossing), view.screenSize);
    if (plane.letters) drawLetters(context, plane.letters, view.screenSize);
    sight.onDraw(context, this);
  }

  /**
   * Return the point of this plane where all planes meet.
   * @returns {Point}
   */
  get crossing() {
    const [x, y] = onPlane(this.sight.cross ?? [0, 0, 0], this.axis).point;
    return [x + 0.5, y + 0.5];
  }

  /** Remove the pane; discard pending requests. */
  close() {
    this.forgetColours();
    this.stopListening();
    this.painted.fill?.close();
    this.painted = { key: "", fill: null, target: [], prediction: [] };
    this.asked = {};
    this.picture.close();
    this.figure.remove();
  }
}

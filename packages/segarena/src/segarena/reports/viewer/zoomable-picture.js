// A zoomable, pannable picture with a canvas on top to draw on. Both repaint at most once per
// frame.

import { View } from "./viewport.js";

const SMALLEST_LEVEL = 512;
/** Scale, in device px per image px, at and above which pixels are shown as squares. */
const SQUARES_FROM = 4;

export class Picture {
  /**
   * @param {HTMLElement} host  an element with a size; two canvases fill it
   * @param {{label?: string, margin?: number}} options  label for screen readers; margin around a fitted picture
   */
  constructor(host, { label = "Picture", margin } = {}) {
    this.host = host;
    this.margin = margin;
    this.view = new View();
    /** @type {[number, number]} */
    this.size = [0, 0];
    /** @type {[number, number]} */
    this.screen = [0, 0];
    this.ratio = 1;
    /** @type {(context: CanvasRenderingContext2D, view: View) => void} */
    this.onDraw = () => {};
    /**
     * Called after pan, zoom or resize, before painting.
     * @type {() => void}
     */
    this.onView = () => {};
    /** @type {ImageBitmap[]} */
    this.levels = [];
    this.frame = 0;
    this.isImageStale = false;
    this.base = canvasIn(host);
    this.overlay = canvasIn(host);
    this.base.setAttribute("aria-hidden", "true");
    this.overlay.setAttribute("role", "img");
    this.overlay.setAttribute("aria-label", label);
    this.observer = new ResizeObserver(() => this.measure());
    this.observer.observe(host);
  }

  /**
   * Show another picture, fitted unless the view is kept. Rejects if fetching or decoding fails.
   * @param {Blob | ImageBitmap | string} source  the picture or its address
   * @param {{size?: [number, number], keepsView?: boolean}} options  display size, if the pixels are not square
   */
  async setImage(source, { size, keepsView = false } = {}) {
    const whole = await bitmapOf(source);
    for (const level of this.levels) level.close();
    this.levels = [whole];
    this.size = size ?? [whole.width, whole.height];
    this.measure();
    if (!keepsView) this.fit();
    this.moved();
    await this.makeLevels(whole);
    this.moved();
  }

  /**
   * Build an image pyramid by repeated halving: a zoomed-out picture of twelve megapixels is
   * painted from a level of three megapixels or less.
   * @param {ImageBitmap} whole
   */
  async makeLevels(whole) {
    let last = whole;
    while (Math.max(last.width, last.height) > 2 * SMALLEST_LEVEL && this.levels[0] === whole) {
      const [resizeWidth, resizeHeight] = [Math.ceil(last.width / 2), Math.ceil(last.height / 2)];
      last = await createImageBitmap(last, { resizeWidth, resizeHeight, resizeQuality: "high" });
      if (this.levels[0] === whole) this.levels.push(last);
      else last.close();
    }
  }

  /** Repaint the overlay in the next frame. */
  redraw() {
    this.frame ||= requestAnimationFrame(() => this.paint());
  }

  /** Repaint everything in the next frame, after a change of the view. */
  moved() {
    this.isImageStale = true;
    this.onView();
    this.redraw();
  }

  /**
   * @param {[number, number]} point
   * @param {number} factor
   */
  zoomAbout(point, factor) {
    this.view.zoomAbout(point, factor);
    this.moved();
  }

  /**
   * @param {number} dx
   * @param {number} dy
   */
  panBy(dx, dy) {
    this.view.panBy(dx, dy);
    this.moved();
  }

  fit() {
    this.view.fit(this.size, this.screen, this.margin);
    this.moved();
  }

  /**
   * Zoom to a box in image px.
   * @param {[number, number, number, number]} box
   * @param {number} [margin] in screen px
   */
  show(box, margin = 50) {
    this.view.show(box, margin);
    this.moved();
  }

  close() {
    this.observer.disconnect();
    cancelAnimationFrame(this.frame);
    for (const level of this.levels.splice(0)) level.close(); // halvings still in progress detect that they are outdated
    this.base.remove();
    this.overlay.remove();
  }

  /** Resize the canvases to the host, in device pixels. */
  measure() {
    const { width, height } = this.host.getBoundingClientRect();
    const ratio = window.devicePixelRatio || 1;
    if (width === this.screen[0] && height === this.screen[1] && ratio === this.ratio) return;
    this.screen = [width, height];
    this.ratio = ratio;
    for (const canvas of [this.base, this.overlay]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    if (this.size[0]) this.view.resize(this.screen);
    this.moved();
  }

  paint() {
    this.frame = 0;
    // In a hidden part of the page the picture has no size, and a canvas without pixels cannot be
    // drawn onto another one, so wait until the picture has a size.
    if (!this.overlay.width || !this.overlay.height) return;
    if (this.isImageStale) this.paintImage();
    const context = contextOf(this.overlay);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.overlay.width, this.overlay.height);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    if (this.size[0]) this.onDraw(context, this.view);
  }

  /** Paint the visible part of the picture from the smallest level with enough detail. */
  paintImage() {
    this.isImageStale = false;
    const context = contextOf(this.base);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.base.width, this.base.height);
    if (!this.levels.length) return;
    const pixels = (this.view.scale * this.ratio * this.size[0]) / this.levels[0].width;
    const level = this.levels[Math.min(this.levels.length - 1, Math.max(0, Math.floor(Math.log2(1 / pixels))))];
    const [x0, y0, x1, y1] = inside(this.view.inView, this.size);
    if (x1 <= x0 || y1 <= y0) return;
    const [left, top] = this.view.toScreen([x0, y0]);
    const [right, bottom] = this.view.toScreen([x1, y1]);
    const [sx, sy] = [level.width / this.size[0], level.height / this.size[1]];
    context.imageSmoothingEnabled = pixels < SQUARES_FROM;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.drawImage(level, x0 * sx, y0 * sy, (x1 - x0) * sx, (y1 - y0) * sy, left, top, right - left, bottom - top);
  }
}

/**
 * @param {Blob | ImageBitmap | string} source
 * @returns {Promise<ImageBitmap>}
 */
async function bitmapOf(source) {
  if (source instanceof ImageBitmap) return source;
  if (source instanceof Blob) return createImageBitmap(source);
  const answer = await fetch(source);
  if (!answer.ok) throw new Error(`the picture could not be loaded: ${answer.status}`);
  return createImageBitmap(await answer.blob());
}

/**
 * Clip a box to the picture, rounded outwards to whole pixels.
 * @param {[number, number, number, number]} box
 * @param {[number, number]} size
 */
function inside([x0, y0, x1, y1], [width, height]) {
  return [Math.max(0, Math.floor(x0)), Math.max(0, Math.floor(y0)), Math.min(width, Math.ceil(x1)), Math.min(height, Math.ceil(y1))];
}

/** @param {HTMLElement} host */
function canvasIn(host) {
  const canvas = document.createElement("canvas");
  Object.assign(canvas.style, { position: "absolute", inset: "0", width: "100%", height: "100%", display: "block" });
  if (getComputedStyle(host).position === "static") host.style.position = "relative";
  host.append(canvas);
  return canvas;
}

/** @param {HTMLCanvasElement} canvas */
function contextOf(canvas) {
  return /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
}

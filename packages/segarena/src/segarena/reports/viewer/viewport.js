// The position of the picture on the screen: screen = image * scale + offset, without rotation.
//
// Sizes are [width, height] and points [x, y]; image coordinates are in image pixels, screen
// coordinates in CSS pixels.

/** @typedef {[number, number]} Point */
/** @typedef {[number, number]} Size */
/** @typedef {[number, number, number, number]} Box left, top, right, bottom */

const MOST_ZOOM = 128;
const KEPT_IN_SIGHT = 48;

export class View {
  constructor() {
    /** Screen pixels per image pixel. */
    this.scale = 1;
    /** @type {Point} where the picture's top left corner is on the screen */
    this.offset = [0, 0];
    /** @type {Size} */
    this.imageSize = [1, 1];
    /** @type {Size} */
    this.screenSize = [1, 1];
    this.margin = 0;
  }

  /** The scale at which the whole picture fits: zoom 1. */
  get fittedScale() {
    const room = this.screenSize.map((length) => Math.max(1, length - 2 * this.margin));
    return Math.min(room[0] / this.imageSize[0], room[1] / this.imageSize[1]);
  }

  /** Zoom relative to the fitted picture: 1 if it fits exactly, at most 128. */
  get zoom() {
    return this.scale / this.fittedScale;
  }

  get isFitted() {
    const [x, y] = this.#middleOffset(this.fittedScale);
    const isThere = Math.abs(this.offset[0] - x) < 0.01 && Math.abs(this.offset[1] - y) < 0.01;
    return isThere && Math.abs(this.zoom - 1) < 1e-6;
  }

  /**
   * The visible part of the plane, in image pixels.
   * @returns {Box}
   */
  get inView() {
    return [...this.toImage([0, 0]), ...this.toImage(this.screenSize)];
  }

  /**
   * Fit the whole picture, centred.
   * @param {Size} imageSize
   * @param {Size} screenSize
   */
  fit(imageSize, screenSize, margin = 24) {
    this.imageSize = imageSize;
    this.screenSize = screenSize;
    this.margin = margin;
    this.scale = this.fittedScale;
    this.offset = this.#middleOffset(this.scale);
  }

  /**
   * Change the screen size; keep the point in the middle, and keep a fitted picture fitted.
   * @param {Size} screenSize
   */
  resize(screenSize) {
    if (this.isFitted) {
      this.fit(this.imageSize, screenSize, this.margin);
      return;
    }
    const middle = this.toImage([this.screenSize[0] / 2, this.screenSize[1] / 2]);
    this.screenSize = screenSize;
    this.#place(middle, [screenSize[0] / 2, screenSize[1] / 2], this.scale);
  }

  /**
   * Zoom about a fixed point of the screen.
   * @param {Point} point of the screen
   * @param {number} factor
   */
  zoomAbout(point, factor) {
    this.#place(this.toImage(point), point, this.scale * factor);
  }

  /**
   * Pan the picture; some of it always stays visible.
   * @param {number} dx
   * @param {number} dy
   */
  panBy(dx, dy) {
    this.offset = [this.offset[0] + dx, this.offset[1] + dy];
    this.#keepInSight();
  }

  /**
   * Fill the screen with a box of the image.
   * @param {Box} box
   * @param {number} margin in screen pixels
   */
  show([left, top, right, bottom], margin = 50) {
    const [width, height] = this.screenSize;
    const across = Math.max(1, width - 2 * margin) / Math.max(right - left, 1e-6);
    const down = Math.max(1, height - 2 * margin) / Math.max(bottom - top, 1e-6);
    this.#place([(left + right) / 2, (top + bottom) / 2], [width / 2, height / 2], Math.min(across, down));
  }

  /**
   * @param {Point} point of the image
   * @returns {Point}
   */
  toScreen([x, y]) {
    return [x * this.scale + this.offset[0], y * this.scale + this.offset[1]];
  }

  /**
   * @param {Point} point of the screen
   * @returns {Point}
   */
  toImage([x, y]) {
    return [(x - this.offset[0]) / this.scale, (y - this.offset[1]) / this.scale];
  }

  /**
   * Place a point of the image at a point of the screen, at the nearest allowed scale.
   * @param {Point} imagePoint
   * @param {Point} screenPoint
   * @param {number} scale
   */
  #place(imagePoint, screenPoint, scale) {
    const least = this.fittedScale;
    this.scale = Math.min(Math.max(scale, least), least * MOST_ZOOM);
    this.offset = [screenPoint[0] - imagePoint[0] * this.scale, screenPoint[1] - imagePoint[1] * this.scale];
    this.#keepInSight();
  }

  /**
   * @param {number} scale
   * @returns {Point}
   */
  #middleOffset(scale) {
    const [x, y] = [0, 1].map((axis) => (this.screenSize[axis] - this.imageSize[axis] * scale) / 2);
    return [x, y];
  }

  #keepInSight() {
    for (const axis of [0, 1]) {
      const length = this.imageSize[axis] * this.scale;
      const kept = Math.min(KEPT_IN_SIGHT, length, this.screenSize[axis]);
      this.offset[axis] = Math.min(Math.max(this.offset[axis], kept - length), this.screenSize[axis] - kept);
    }
  }
}

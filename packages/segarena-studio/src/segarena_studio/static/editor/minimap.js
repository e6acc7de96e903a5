// An overview of the picture with the visible part marked, shown when the picture is larger than
// the window. Press or drag to move the view.

import { listen } from "../../../reports/viewer/pointer.js";

/** @typedef {import("../../../reports/viewer/zoomable-picture.js").Picture} Picture */

const LONGEST = 150;

export class Minimap {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Picture} picture
   */
  constructor(canvas, picture) {
    this.canvas = canvas;
    this.picture = picture;
    this.drawn = null;
    this.stop = listen(canvas, {
      press: (sample) => this.goTo(sample),
      drag: (samples) => this.goTo(samples[samples.length - 1]),
      zoom: (_, factor) => picture.zoomAbout([picture.screen[0] / 2, picture.screen[1] / 2], factor),
    });
  }

  update() {
    const { view, size, levels, ratio } = this.picture;
    const isNeeded = size[0] > 0 && view.zoom > 1.05;
    if (this.canvas.hidden === isNeeded) this.canvas.hidden = !isNeeded;
    if (!isNeeded) return;
    const scale = LONGEST / Math.max(...size);
    const [width, height] = size.map((length) => Math.round(length * scale));
    if (this.canvas.style.width !== `${width}px` || this.drawn !== levels[0]) {
      Object.assign(this.canvas.style, { width: `${width}px`, height: `${height}px` });
      Object.assign(this.canvas, { width: width * ratio, height: height * ratio });
    }
    this.drawn = levels[0];
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.filter = this.picture.base.style.filter || "none"; // brightness and contrast
    context.drawImage(levels[levels.length - 1], 0, 0, width, height);
    context.filter = "none";
    const [x0, y0, x1, y1] = view.inView.map((at) => at * scale);
    context.fillStyle = "rgba(8, 14, 20, 0.5)";
    context.beginPath();
    context.rect(0, 0, width, height);
    context.rect(x0, y0, x1 - x0, y1 - y0);
    context.fill("evenodd");
    context.strokeStyle = "#fff";
    context.lineWidth = 1.5;
    context.strokeRect(x0, y0, x1 - x0, y1 - y0);
  }

  /** @param {import("../../../reports/viewer/pointer.js").Sample} sample */
  goTo({ x, y }) {
    const { view, size, screen } = this.picture;
    const scale = LONGEST / Math.max(...size);
    const [left, top] = view.toScreen([x / scale, y / scale]);
    this.picture.panBy(screen[0] / 2 - left, screen[1] / 2 - top);
  }
}

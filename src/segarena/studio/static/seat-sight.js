// What a person sees at a seat: a plane of the sample with the target, the model's answer and its errors.

import { cssOf, rgbOf } from "./palette.js";
import { Picture } from "./picture.js";
import { DOWN_AND_ACROSS, Masks, inSpace, planeSize } from "./seat-masks.js";
import { the, valueOf, wait } from "./seat-page.js";
import { colourOf, drawOutlines, fillOf, outlinesOf } from "./seat-painting.js";

/** @typedef {[number, number]} Point */

const FRAME_MS = 1000 / 24;
const MOST_FRAMES = 120;

export class Sight {
  constructor() {
    /** @type {any} what does not change at this seat */
    this.about = null;
    /** @type {(what: string) => string} */
    this.address = (what) => what;
    this.axis = 0;
    this.index = 0;
    this.answers = 0;
    this.hasAnswer = false;
    /** @type {object | null} which playing goes on */
    this.playing = null;
    /** @type {object} which plane was asked for last */
    this.asked = {};
    this.target = new Masks([], [1, 1]);
    this.prediction = new Masks([], [1, 1]);
    /** @type {Masks | null} */
    this.ignore = null;
    /** @type {Uint8Array | null} */
    this.voxels = null;
    /** @type {Map<number, Promise<ImageBitmap>>} */
    this.frames = new Map();
    /** @type {{key: string, fill: ImageBitmap | null, target: Path2D[], prediction: Path2D[]}} */
    this.painted = { key: "", fill: null, target: [], prediction: [] };
    /** @type {(context: CanvasRenderingContext2D) => void} what lies above */
    this.onDraw = () => {};
    /** @type {(text: string) => void} why something is not seen */
    this.onTrouble = () => {};
    this.picture = new Picture(the("picture"), { label: "What is to be segmented, and what the model made of it" });
    this.picture.onDraw = (context, view) => this.draw(context, view);
    const overlay = this.picture.overlay;
    overlay.tabIndex = 0;
    overlay.setAttribute("role", "application");
    overlay.setAttribute("aria-describedby", "help");
  }

  /**
   * Look at another sample, where most of the target is seen.
   * @param {any} about
   * @param {(what: string) => string} address
   */
  async show(about, address) {
    this.address = address;
    this.target = new Masks(about.target, about.shape);
    this.ignore = about.ignore ? new Masks([about.ignore], about.shape) : null;
    [this.axis, this.voxels] = [0, null];
    this.stop();
    this.frames.clear();
    if (about.kind === "volume") this.voxels = new Uint8Array(await (await fetched(address("voxels"))).arrayBuffer());
    this.about = about;
    this.answer([]);
    this.index = this.fullest();
    this.picture.measure();
    await this.showPlane(false);
  }

  /** The plane on which most of the target is seen. */
  fullest() {
    if (inSpace(this.about.shape)[this.axis] === 1) return 0;
    const areas = this.target.areas(this.axis);
    return areas.indexOf(Math.max(...areas));
  }

  /**
   * See another answer of the model.
   * @param {number[][]} counts  none before there is one
   */
  answer(counts) {
    const nothing = this.about.target.map(() => [inSpace(this.about.shape).reduce((all, one) => all * one, 1)]);
    this.hasAnswer = counts.length > 0;
    this.answers += 1;
    this.prediction = new Masks(this.hasAnswer ? counts : nothing, this.about.shape);
    this.picture.redraw();
  }

  get several() {
    return this.about.target.length > 1;
  }

  focus() {
    this.picture.overlay.focus({ preventScroll: true });
  }

  /** Raises what keeps the picture from coming. */
  async showPlane(keepsView = true) {
    const asked = (this.asked = {});
    // A frame is kept, and the picture closes what it is given: it has a copy.
    const source = this.voxels ? await this.slice() : await createImageBitmap(await this.frame(this.index));
    if (this.asked !== asked) return source.close();
    const size = planeSize(this.about.shape, this.axis);
    this.painted.key = "";
    this.showSlider();
    await this.picture.setImage(source, { size: this.stretched(size), keepsView });
  }

  /** Look at the plane that was chosen; one that does not come is said, and fetched again when it is looked at again. */
  async turnTo(keepsView = true) {
    try {
      await this.showPlane(keepsView);
      return true;
    } catch {
      this.onTrouble("This picture does not come; the server is not reached. Look at another one, and come back.");
      return false;
    }
  }

  /**
   * A frame, kept for a while with its neighbours.
   * @param {number} index
   * @returns {Promise<ImageBitmap>}
   */
  frame(index) {
    const last = inSpace(this.about.shape)[0] - 1;
    const wanted = this.kept(index);
    for (const near of [index + 1, index - 1]) if (near >= 0 && near <= last) this.kept(near).catch(() => {});
    return wanted;
  }

  /**
   * A frame, the newest of those that are kept; one that did not come is not.
   * @param {number} index
   * @returns {Promise<ImageBitmap>}
   */
  kept(index) {
    const { frames } = this;
    const coming = frames.get(index) ?? fetched(this.address(`picture/${index}`)).then(async (answer) => createImageBitmap(await answer.blob()));
    frames.delete(index);
    frames.set(index, coming);
    coming.catch(() => frames.get(index) === coming && frames.delete(index));
    for (const oldest of frames.keys()) if (frames.size > MOST_FRAMES) frames.delete(oldest);
    return coming;
  }

  /** A plane of a volume, with the brightness and contrast that were chosen. */
  slice() {
    const voxels = /** @type {Uint8Array} */ (this.voxels);
    const [, rows, columns] = this.about.shape;
    const [width, height] = planeSize(this.about.shape, this.axis);
    const image = new ImageData(width, height);
    const gain = 2 ** (Number(valueOf("contrast")) / 40);
    const shift = Number(valueOf("bright")) * 1.28;
    const strides = [[columns, 1], [rows * columns, 1], [rows * columns, columns]][this.axis];
    const start = this.index * [rows * columns, columns, 1][this.axis];
    for (let y = 0, at = 0; y < height; y++) {
      for (let x = 0; x < width; x++, at += 4) {
        const grey = (voxels[start + y * strides[0] + x * strides[1]] - 128) * gain + 128 + shift;
        image.data[at] = image.data[at + 1] = image.data[at + 2] = grey;
        image.data[at + 3] = 255;
      }
    }
    return createImageBitmap(image);
  }

  /**
   * The size in which a plane is shown: voxels are not cubes.
   * @param {Point} size
   * @returns {Point}
   */
  stretched([width, height]) {
    const spacing = this.about.spacing;
    if (!spacing.length) return [width, height];
    const [down, across] = DOWN_AND_ACROSS[this.axis];
    return [width, (height * spacing[down]) / spacing[across]];
  }

  /**
   * Pixels of the plane per pixel of what is shown.
   * @returns {Point}
   */
  get stretch() {
    const size = planeSize(this.about.shape, this.axis);
    const shown = this.stretched(size);
    return [size[0] / shown[0], size[1] / shown[1]];
  }

  /**
   * @param {Point} point on the screen
   * @returns {Point} on the plane
   */
  toPlane(point) {
    const [x, y] = this.picture.view.toImage(point);
    return [x * this.stretch[0], y * this.stretch[1]];
  }

  /**
   * @param {Point} point on the plane
   * @returns {Point} on the screen
   */
  toScreen([x, y]) {
    return this.picture.view.toScreen([x / this.stretch[0], y / this.stretch[1]]);
  }

  get place() {
    return { axis: this.axis, index: this.index };
  }

  async paint() {
    const { about } = this;
    const target = this.target.plane(this.axis, this.index);
    const prediction = this.prediction.plane(this.axis, this.index);
    const ignore = this.ignore && this.ignore.plane(this.axis, this.index);
    const colours = { truth: rgbOf("--truth"), missing: rgbOf("--missing"), surplus: rgbOf("--surplus") };
    const { hasAnswer } = this;
    const objects = about.target.length;
    const key = this.painted.key;
    const fill = await fillOf(target, prediction, ignore, {
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
   * @param {import("./view.js").View} view
   */
  draw(context, view) {
    if (!this.about) return;
    const key = `${this.axis}:${this.index}:${this.answers}`;
    if (this.painted.key !== key) {
      this.painted = { key, fill: null, target: [], prediction: [] };
      this.paint();
    }
    const { about, painted } = this;
    const { several } = this;
    const scale = /** @type {Point} */ ([view.scale / this.stretch[0], view.scale / this.stretch[1]]);
    if (painted.fill) {
      context.imageSmoothingEnabled = false;
      context.drawImage(painted.fill, ...view.offset, this.picture.size[0] * view.scale, this.picture.size[1] * view.scale);
    }
    drawOutlines(context, view, scale, painted.prediction, (place) => (several ? colourOf(place + 1) : cssOf("--guess")), []);
    if (about.shows.target === "outline") {
      drawOutlines(context, view, scale, painted.target, (place) => (several ? colourOf(place + 1) : cssOf("--truth")), [7, 5]);
    }
    this.onDraw(context);
  }

  showSlider() {
    const length = inSpace(this.about.shape)[this.axis];
    const slider = /** @type {HTMLInputElement} */ (the("index"));
    slider.max = String(length - 1);
    slider.value = String(this.index);
    const name = this.about.kind === "video" ? "Frame" : ["Slice", "Row", "Column"][this.axis];
    the("index-name").textContent = `${name} ${this.index + 1} of ${length}`;
  }

  /** @param {number} index */
  goTo(index) {
    const last = inSpace(this.about.shape)[this.axis] - 1;
    const wanted = Math.min(last, Math.max(0, index));
    if (wanted === this.index) return;
    this.index = wanted;
    void this.turnTo();
  }

  /** @param {number} axis */
  look(axis) {
    if (this.about.kind !== "volume" || axis === this.axis) return;
    this.axis = axis;
    this.index = this.fullest();
    void this.turnTo(false);
  }

  async play() {
    if (this.playing) return this.stop();
    const mine = (this.playing = {});
    the("play").textContent = "Stop";
    while (this.playing === mine) {
      const began = performance.now();
      const last = inSpace(this.about.shape)[0] - 1;
      this.index = this.index === last ? 0 : this.index + 1;
      if (!(await this.turnTo()) && this.playing === mine) this.stop();
      await wait(Math.max(0, FRAME_MS - (performance.now() - began)));
    }
  }

  stop() {
    this.playing = null;
    the("play").textContent = "Play";
  }
}

/**
 * Fetch what is there; raises where it does not come.
 * @param {string} address
 */
async function fetched(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`it did not come: ${answer.status}`);
  return answer;
}

// Raw strokes: every sample with time and pressure, in picture and screen coordinates.
//
// Samples are not smoothed, thinned or moved, so that analysis rules can change later.

/**
 * @typedef {object} Sample  from pointer.js: x and y in CSS px of the element, time from performance.now()
 * @property {number} x
 * @property {number} y
 * @property {number} time
 * @property {number} pressure
 * @property {string} kind
 */

/** @typedef {[number, number, number, number, number, number]} Point  x, y in the picture; x, y on the screen; ms; pressure */

/**
 * @typedef {object} Stroke
 * @property {string} pointer  "mouse", "touch", "pen" or "keyboard"
 * @property {number} clicks  2 for the second press of a double tap
 * @property {Point[]} points  from the press to the release, both included
 * @property {{axis: number, index: number}} [place]  the plane of the stroke, for volumes and videos
 */

/**
 * @typedef {object} Screen  geometry of the screen, in CSS px
 * @property {number} device_pixel_ratio
 * @property {number} page_scale  pinch zoom of the page; 1 without
 * @property {number} image_scale  CSS px per pixel of the picture
 * @property {[number, number]} window
 * @property {[number, number]} scroll
 */

const MOST_POINTS = 20000;

export class Strokes {
  /**
   * Options: `corner` gives the element's corner on the screen, `since` the time origin, and `most`
   * the maximum number of points; later ones are dropped.
   * @param {(point: [number, number]) => [number, number]} toImage from CSS px of the element to the picture
   * @param {{corner?: () => [number, number], since?: number, most?: number}} options
   */
  constructor(toImage, { corner = () => [0, 0], since = 0, most = MOST_POINTS } = {}) {
    this.toImage = toImage;
    this.corner = corner;
    this.since = since;
    this.most = most;
    /** @type {Stroke[]} */
    this.strokes = [];
    this.isDown = false;
    this.points = 0;
  }

  /**
   * @param {Sample} sample
   * @param {number} clicks
   */
  press(sample, clicks = 1) {
    this.strokes.push({ pointer: sample.kind, clicks, points: [] });
    this.isDown = true;
    this.add(sample);
  }

  /** @param {Sample[]} samples */
  drag(samples) {
    if (!this.isDown) return;
    for (const sample of samples) this.add(sample);
  }

  /** @param {Sample} sample */
  release(sample) {
    if (!this.isDown) return;
    this.add(sample);
    this.isDown = false;
  }

  /** Discard the current press. */
  cancel() {
    if (this.isDown) this.undo();
  }

  /** Remove the last stroke. */
  undo() {
    this.points -= this.strokes.pop()?.points.length ?? 0;
    this.isDown = false;
  }

  /** @param {Sample} sample */
  add(sample) {
    if (this.points >= this.most) return;
    const [x, y] = this.toImage([sample.x, sample.y]);
    const [left, top] = this.corner();
    const place = [x, y, sample.x + left, sample.y + top].map(hundredth);
    // Coalesced samples may be older than their event, but never older than the previous stroke.
    const time = tenth(Math.max(0, sample.time - this.since));
    this.strokes[this.strokes.length - 1].points.push(/** @type {Point} */ ([...place, time, hundredth(sample.pressure)]));
    this.points += 1;
  }
}

/**
 * Convert the last stroke to a prompt of the given kind; null if it does not form one (yet).
 * @param {string} kind  "click", "box", "scribble" or "lasso"
 * @param {Stroke[]} strokes
 * @param {boolean} isPositive
 */
export function promptOf(kind, strokes, isPositive = true) {
  const last = strokes[strokes.length - 1];
  if (!last?.points.length) return null;
  const places = last.points.map(([x, y]) => [x, y]);
  if (kind === "click") return { kind, at: places[0], is_positive: isPositive };
  if (kind === "box") return boxOf(places);
  return places.length < (kind === "lasso" ? 3 : 2) ? null : { kind, points: places, is_positive: isPositive };
}

/** @param {number[][]} places */
function boxOf(places) {
  const [from, to] = [places[0], places[places.length - 1]];
  if (from[0] === to[0] || from[1] === to[1]) return null;
  return {
    kind: "box",
    from: [Math.min(from[0], to[0]), Math.min(from[1], to[1])],
    to: [Math.max(from[0], to[0]), Math.max(from[1], to[1])],
  };
}

/**
 * Return the current screen geometry.
 * @param {number} imageScale
 * @returns {Screen}
 */
export function screenNow(imageScale) {
  return {
    device_pixel_ratio: window.devicePixelRatio,
    page_scale: window.visualViewport?.scale ?? 1,
    image_scale: imageScale,
    window: [window.innerWidth, window.innerHeight],
    scroll: [window.scrollX, window.scrollY],
  };
}

/** Counts disturbances of a stroke: scrolling, zooming or leaving the page. */
export class Disturbances {
  constructor() {
    this.counts = { scrolls: 0, zooms: 0, leaves: 0 };
    this.ended = new AbortController();
    const { signal } = this.ended;
    window.addEventListener("scroll", () => (this.counts.scrolls += 1), { signal, capture: true });
    window.visualViewport?.addEventListener("resize", () => (this.counts.zooms += 1), { signal });
    document.addEventListener("visibilitychange", () => (this.counts.leaves += document.hidden ? 1 : 0), { signal });
  }

  /** Stop counting and return the counts. */
  end() {
    this.ended.abort();
    return this.counts;
  }
}

/** @param {number} value */
function hundredth(value) {
  return Math.round(value * 100) / 100;
}

/** @param {number} value */
function tenth(value) {
  return Math.round(value * 10) / 10;
}

// One trial: the picture, the target, the picture again, and then the participant's input. A clock
// controls what is visible.

import { screenNow, Strokes, promptOf } from "../common/strokes.js";

/** @typedef {"free" | "shown" | "blocked" | "answer"} Phase */

/**
 * @typedef {object} Seconds  duration of each phase
 * @property {number} free
 * @property {number} shown
 * @property {number} blocked
 */

/**
 * Return the phases in order, each with its end in ms from the start of the trial.
 * @param {Seconds} seconds
 */
export function endsOf({ free, shown, blocked }) {
  /** @type {[Phase, number][]} */
  const ends = [
    ["free", 1000 * free],
    ["shown", 1000 * (free + shown)],
    ["blocked", 1000 * (free + shown + blocked)],
  ];
  return ends;
}

/**
 * Return the current phase; skip phases of zero length.
 * @param {Seconds} seconds
 * @param {number} elapsed_ms time since the start of the trial
 * @returns {Phase}
 */
export function phaseAt(seconds, elapsed_ms) {
  const now = endsOf(seconds).find(([, end]) => elapsed_ms < end);
  return now ? now[0] : "answer";
}

/**
 * Convert a point to another size of the picture, which may be rotated. Positions always refer to
 * the dataset's picture, whose pixels need not be square, regardless of how it is sent and
 * displayed.
 * @param {[number, number]} point
 * @param {[number, number]} from  size of the picture in which the point is given
 * @param {[number, number]} to
 * @param {boolean} isTurned  whether the two are rotated against each other
 * @returns {[number, number]}
 */
export function placed([x, y], from, to, isTurned) {
  const [right, down] = [(x * to[0]) / from[0], (y * to[1]) / from[1]];
  return isTurned ? [to[0] - right, to[1] - down] : [right, down];
}

const TASKS = {
  object: { click: "Click on it", box: "Draw a box around it", scribble: "Draw a line through it", lasso: "Draw around it" },
  part: {
    click: "Click on the part that you saw",
    box: "Draw a box around the part that you saw",
    scribble: "Draw a line through the part that you saw",
    lasso: "Draw around the part that you saw",
  },
};

/**
 * Return the instruction for a phase.
 * @param {Phase} phase
 * @param {string} kind
 * @param {string} goal
 */
export function taskOf(phase, kind, goal) {
  if (phase === "free") return "Look at the picture.";
  if (phase === "shown") return goal === "object" ? "This is the target." : "This is the part to mark.";
  if (phase === "blocked") return "Find it. Wait …";
  const tasks = /** @type {Record<string, string>} */ (goal === "object" ? TASKS.object : TASKS.part);
  return `${tasks[kind]}.`;
}

/**
 * Handle presses, drags and releases of one trial; input before the answer phase is only counted.
 */
export class Trial {
  /**
   * @param {object} given
   * @param {string} given.kind
   * @param {(point: [number, number]) => [number, number]} given.toImage
   * @param {() => [number, number]} given.corner
   * @param {() => void} given.onChange
   * @param {() => void} given.onDone
   */
  constructor({ kind, toImage, corner, onChange, onDone }) {
    this.kind = kind;
    this.onChange = onChange;
    this.onDone = onDone;
    this.strokes = new Strokes(toImage, { corner });
    this.early = 0;
    this.late = 0;
    this.isAllowed = false;
    this.isDone = false;
  }

  /**
   * Accept input from now on.
   * @param {number} time time from performance.now()
   */
  allow(time) {
    this.strokes.since = time;
    this.isAllowed = true;
  }

  /**
   * @param {import("../common/strokes.js").Sample} sample
   * @param {number} clicks
   */
  press(sample, clicks = 1) {
    if (!this.isAllowed) this.early += 1;
    else if (this.isDone) this.late += 1;
    else this.strokes.press(sample, clicks);
    this.onChange();
  }

  /** @param {import("../common/strokes.js").Sample[]} samples */
  drag(samples) {
    this.strokes.drag(samples);
    this.onChange();
  }

  /** @param {import("../common/strokes.js").Sample} sample */
  release(sample) {
    if (!this.strokes.isDown) return;
    this.strokes.release(sample);
    this.onChange();
    if (this.isDone || !promptOf(this.kind, this.strokes.strokes) || !this.isLongEnough()) return;
    this.isDone = true;
    this.onDone();
  }

  cancel() {
    this.strokes.cancel();
    this.onChange();
  }

  /** Whether the last stroke has as many distinct points as its kind needs. */
  isLongEnough() {
    const { points } = this.strokes.strokes[this.strokes.strokes.length - 1];
    const places = new Set(points.map(([x, y]) => `${x},${y}`)).size;
    return places >= ({ lasso: 3, scribble: 2 }[this.kind] ?? 1);
  }

  /**
   * Return the result to send.
   * @param {{free_ms: number, shown_ms: number, blocked_ms: number}} times
   * @param {{scrolls: number, zooms: number, leaves: number}} disturbances
   * @param {number} imageScale
   */
  answer(times, disturbances, imageScale) {
    const last = this.strokes.strokes[this.strokes.strokes.length - 1];
    const answer_ms = last.points[last.points.length - 1][4];
    return {
      strokes: this.strokes.strokes,
      screen: screenNow(imageScale),
      times: { ...times, answer_ms },
      ...disturbances,
      early_presses: this.early,
      late_presses: this.late,
    };
  }
}

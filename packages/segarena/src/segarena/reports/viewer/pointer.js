// Unified mouse, touch and pen input, from pointer events only: press, drag, release, secondary
// button, pan and zoom.
//
// A first finger waits briefly for a second one: two fingers pan and pinch and never draw. While a
// pen is in use and shortly afterwards, fingers only pan and pinch; while the pen touches, touches
// of the palm are ignored. A long press of a finger or pen counts as the secondary button.

/**
 * @typedef {object} Sample  a pointer position; x and y in CSS px of the element, time from performance.now()
 * @property {number} x
 * @property {number} y
 * @property {number} time
 * @property {number} pressure
 * @property {"mouse" | "touch" | "pen"} kind
 * @property {number} width
 * @property {number} height
 * @property {number} tiltX
 * @property {number} tiltY
 * @property {boolean} isEraser
 * @property {PointerEvent} event
 */

/**
 * @typedef {object} Handlers  all optional
 * @property {(sample: Sample, clicks: number) => void | boolean} [press]  return false to disable the long press
 * @property {(samples: Sample[]) => void} [drag]  all samples since the last call, including coalesced ones
 * @property {(sample: Sample) => void} [release]
 * @property {() => void} [cancel]  undo what the press began
 * @property {(sample: Sample) => void} [second]
 * @property {(sample: Sample) => void} [hover]
 * @property {() => void} [leave]
 * @property {(dx: number, dy: number) => void} [pan]
 * @property {(point: [number, number], factor: number) => void} [zoom]
 * @property {(sample: Sample) => boolean} [pans]  whether this press pans
 * @property {(dx: number, dy: number, event: WheelEvent) => boolean} [wheel]  called first, in CSS px; return true to suppress pan and zoom
 */

export const SECOND_FINGER_MS = 80;
export const LONG_PRESS_MS = 500;
const DOUBLE_MS = 350;
const PEN_STAYS_MS = 1500;
/** Distance in CSS px that a pointer may move and still count as resting. */
const SLOP = { mouse: 4, pen: 6, touch: 10 };

/**
 * Listen to an element; call the returned function to stop.
 * @param {HTMLElement} element
 * @param {Handlers} handlers
 * @returns {() => void}
 */
export function listen(element, handlers) {
  const hand = new Hand(element, handlers);
  /** @type {[string, (event: any) => void][]} */
  const heard = [
    ["pointerdown", (event) => hand.down(event)],
    ["pointermove", (event) => hand.move(event)],
    ["pointerup", (event) => hand.up(event)],
    ["pointercancel", (event) => hand.lost(event)],
    ["pointerleave", () => handlers.leave?.()],
    ["wheel", (event) => hand.wheel(event)],
    ["contextmenu", (event) => event.preventDefault()],
  ];
  element.style.touchAction = "none";
  for (const [name, hear] of heard) element.addEventListener(name, hear, { passive: false });
  return () => {
    for (const [name, hear] of heard) element.removeEventListener(name, hear);
    hand.forget();
  };
}

/** The pointers on the element and the current gesture: none, a press, a pan or a pinch. */
class Hand {
  /**
   * @param {HTMLElement} element
   * @param {Handlers} handlers
   */
  constructor(element, handlers) {
    this.element = element;
    this.handlers = handlers;
    /** @type {"nothing" | "waits" | "presses" | "pans" | "done"} */
    this.state = "nothing";
    /** @type {Map<number, Sample>} */
    this.touching = new Map();
    /** @type {Sample | null} */
    this.first = null;
    /** @type {Sample[]} */
    this.waiting = [];
    this.hasStrayed = false;
    this.canBeLong = false;
    /** @type {Set<ReturnType<typeof setTimeout>>} */
    this.timers = new Set();
    this.penAt = -Infinity;
    this.lastPress = { x: 0, y: 0, time: -Infinity, clicks: 0 };
  }

  /** @param {PointerEvent} event */
  down(event) {
    const sample = this.sampleOf(event);
    if (this.isPalm(sample)) return;
    if (event.cancelable) event.preventDefault();
    this.element.focus({ preventScroll: true });
    capture(this.element, event.pointerId);
    if (sample.kind === "pen") this.dropFingers();
    this.touching.set(event.pointerId, sample);
    if (this.touching.size > 1) this.becomePinch();
    else if (event.button === 1 || this.handlers.pans?.(sample) || this.isFingerBesidePen(sample)) this.begin("pans", sample);
    else if (event.button === 2) this.begin("done", sample, () => this.handlers.second?.(sample));
    else if (sample.kind === "touch") this.begin("waits", sample, () => this.later(SECOND_FINGER_MS, () => this.press()));
    else this.begin("presses", sample, () => this.press());
  }

  /** @param {PointerEvent} event */
  move(event) {
    if (event.pointerType === "pen") this.penAt = event.timeStamp;
    const held = this.touching.get(event.pointerId);
    if (!held) {
      if (event.pointerType !== "touch") this.handlers.hover?.(this.sampleOf(event));
      return;
    }
    const samples = coalesced(event).map((each) => this.sampleOf(each));
    const last = samples[samples.length - 1];
    if (this.state === "pans") this.moveView(event.pointerId, held, last);
    this.touching.set(event.pointerId, last);
    if (this.state === "waits") this.waiting.push(...samples);
    else if (this.state === "presses") this.drag(samples);
  }

  /** @param {PointerEvent} event */
  up(event) {
    const held = this.touching.get(event.pointerId);
    if (!held) return;
    if (this.state === "waits") this.press();
    // On a busy page the timer of a long press can be later than the event that ends the press.
    if (this.canBeLong && event.timeStamp - /** @type {Sample} */ (this.first).time >= LONG_PRESS_MS) this.hold();
    this.touching.delete(event.pointerId);
    if (this.state === "presses") this.handlers.release?.({ ...this.sampleOf(event), pressure: held.pressure });
    if (this.touching.size === 0) this.forget();
  }

  /** @param {PointerEvent} event */
  lost(event) {
    if (!this.touching.delete(event.pointerId)) return;
    if (this.state === "presses") this.handlers.cancel?.();
    if (this.touching.size === 0) this.forget();
    else this.state = "pans";
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 24 : event.deltaMode === 2 ? 400 : 1;
    const [dx, dy] = [event.deltaX * unit, event.deltaY * unit];
    if (this.handlers.wheel?.(dx, dy, event)) return;
    if (event.shiftKey) return this.handlers.pan?.(-(dx || dy), dx ? -dy : 0);
    // A trackpad pinch arrives as wheel events with Ctrl, in small steps.
    const factor = 2 ** (-dy * (event.ctrlKey ? 0.01 : 0.001));
    const { x, y } = this.placeOf(event);
    this.handlers.zoom?.([x, y], factor);
  }

  /** End the current gesture without callbacks. */
  forget() {
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    this.touching.clear();
    this.state = "nothing";
    this.first = null;
    this.waiting = [];
  }

  /**
   * @param {"waits" | "presses" | "pans" | "done"} state
   * @param {Sample} sample
   * @param {() => void} [start]
   */
  begin(state, sample, start) {
    this.state = state;
    this.first = sample;
    this.hasStrayed = false;
    this.canBeLong = false;
    start?.();
  }

  /** Start the press of the first pointer, followed by the moves recorded while it waited. */
  press() {
    const first = /** @type {Sample} */ (this.first);
    this.state = "presses";
    this.canBeLong = this.handlers.press?.(first, this.clicksOf(first)) !== false && first.kind !== "mouse" && Boolean(this.handlers.second);
    const moved = this.waiting.splice(0);
    if (moved.length) this.drag(moved);
    if (this.canBeLong) this.later(LONG_PRESS_MS - SECOND_FINGER_MS, () => this.hold());
  }

  /** @param {Sample[]} samples */
  drag(samples) {
    const first = /** @type {Sample} */ (this.first);
    this.hasStrayed ||= samples.some((sample) => distance(first, sample) > SLOP[first.kind]);
    this.handlers.drag?.(samples);
  }

  /** Report a long press as the secondary button. */
  hold() {
    const [now] = this.touching.values();
    if (this.state !== "presses" || this.hasStrayed || !now) return;
    this.state = "done";
    this.lastPress.time = -Infinity;
    this.handlers.cancel?.();
    this.handlers.second?.(now);
  }

  becomePinch() {
    if (this.state === "presses") this.handlers.cancel?.();
    this.waiting = [];
    for (const timer of this.timers) clearTimeout(timer);
    if (this.state !== "done") this.state = "pans";
  }

  /**
   * Pan with one pointer; with several, pan by their midpoint and zoom by their distance.
   * @param {number} id
   * @param {Sample} held
   * @param {Sample} now
   */
  moveView(id, held, now) {
    const others = [...this.touching].filter(([other]) => other !== id).map(([, sample]) => sample);
    if (others.length === 0) return this.handlers.pan?.(now.x - held.x, now.y - held.y);
    const other = others[0];
    this.handlers.pan?.((now.x - held.x) / 2, (now.y - held.y) / 2);
    const [before, after] = [distance(held, other), distance(now, other)];
    if (before > 8 && after > 8) this.handlers.zoom?.([(now.x + other.x) / 2, (now.y + other.y) / 2], after / before);
  }

  /**
   * Count quick successive presses at one position.
   * @param {Sample} sample
   */
  clicksOf(sample) {
    const last = this.lastPress;
    const isQuick = sample.time - last.time < DOUBLE_MS && Math.hypot(sample.x - last.x, sample.y - last.y) < 2 * SLOP[sample.kind];
    this.lastPress = { x: sample.x, y: sample.y, time: sample.time, clicks: isQuick ? last.clicks + 1 : 1 };
    return this.lastPress.clicks;
  }

  /**
   * Test for a finger while the pen touches.
   * @param {Sample} sample
   */
  isPalm(sample) {
    return sample.kind === "touch" && [...this.touching.values()].some((held) => held.kind === "pen");
  }

  /** @param {Sample} sample */
  isFingerBesidePen(sample) {
    return sample.kind === "touch" && sample.time - this.penAt < PEN_STAYS_MS;
  }

  /** The pen touched down: discard fingers as palm contact. */
  dropFingers() {
    if (this.state === "presses") this.handlers.cancel?.();
    this.forget();
  }

  /**
   * @param {number} wait_ms
   * @param {() => void} act
   */
  later(wait_ms, act) {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      act();
    }, wait_ms);
    this.timers.add(timer);
  }

  /** @param {MouseEvent} event */
  placeOf(event) {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /**
   * @param {PointerEvent} event
   * @returns {Sample}
   */
  sampleOf(event) {
    const kind = event.pointerType === "pen" || event.pointerType === "touch" ? event.pointerType : "mouse";
    if (kind === "pen") this.penAt = event.timeStamp;
    const { pressure, width, height, tiltX, tiltY, timeStamp: time } = event;
    const isEraser = (event.buttons & 32) !== 0 || event.button === 5;
    return { ...this.placeOf(event), time, pressure, kind, width, height, tiltX, tiltY, isEraser, event };
  }
}

/**
 * @param {PointerEvent} event
 * @returns {PointerEvent[]}
 */
function coalesced(event) {
  const all = event.getCoalescedEvents?.() ?? [];
  return all.length ? all : [event];
}

/**
 * @param {HTMLElement} element
 * @param {number} id
 */
function capture(element, id) {
  try {
    element.setPointerCapture(id);
  } catch {
    // The pointer was lifted before the event arrived.
  }
}

/**
 * @param {Sample} a
 * @param {Sample} b
 */
function distance(a, b) {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

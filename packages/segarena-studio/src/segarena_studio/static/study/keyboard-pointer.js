// Keyboard substitute for the pointer: arrows move a cross, Shift makes larger steps, Enter or
// Space presses and releases.

const STEP = 8;
const LARGE = 6;

/** @type {Record<string, [number, number]>} */
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export class Cross {
  /**
   * @param {HTMLElement} element  element with the keyboard focus
   * @param {{press: (sample: import("../common/strokes.js").Sample) => void, drag: (samples: import("../common/strokes.js").Sample[]) => void,
   *   release: (sample: import("../common/strokes.js").Sample) => void}} hand
   * @param {{isPoint: boolean, onMove: () => void}} options  whether a single press completes the input
   */
  constructor(element, hand, { isPoint, onMove }) {
    this.element = element;
    this.hand = hand;
    this.isPoint = isPoint;
    this.onMove = onMove;
    /** @type {[number, number] | null} */
    this.at = null;
    this.isDown = false;
    this.heard = (/** @type {KeyboardEvent} */ event) => this.key(event);
    element.addEventListener("keydown", this.heard);
  }

  close() {
    this.element.removeEventListener("keydown", this.heard);
  }

  /** @param {KeyboardEvent} event */
  key(event) {
    const arrow = ARROWS[event.key];
    if (arrow) this.move(arrow, event);
    else if ((event.key === "Enter" || event.key === " ") && !event.repeat) this.press(event);
    else return;
    event.preventDefault();
  }

  /**
   * @param {[number, number]} arrow
   * @param {KeyboardEvent} event
   */
  move([dx, dy], event) {
    const { clientWidth, clientHeight } = this.element;
    const step = event.shiftKey ? STEP * LARGE : event.altKey ? 1 : STEP;
    const [x, y] = this.at ?? [clientWidth / 2, clientHeight / 2];
    this.at = [Math.min(clientWidth, Math.max(0, x + dx * step)), Math.min(clientHeight, Math.max(0, y + dy * step))];
    if (this.isDown) this.hand.drag([this.sample(event)]);
    this.onMove();
  }

  /** @param {KeyboardEvent} event */
  press(event) {
    this.at ??= [this.element.clientWidth / 2, this.element.clientHeight / 2];
    const sample = this.sample(event);
    if (!this.isDown) this.hand.press(sample);
    if (this.isDown || this.isPoint) this.hand.release(sample);
    this.isDown = !this.isDown && !this.isPoint;
  }

  /** @param {KeyboardEvent} event */
  sample(event) {
    const [x, y] = this.at ?? [0, 0];
    return { x, y, time: event.timeStamp, pressure: this.isDown || this.isPoint ? 0.5 : 0, kind: "keyboard" };
  }
}

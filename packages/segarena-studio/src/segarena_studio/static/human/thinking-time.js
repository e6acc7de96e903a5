// Measure how long a person looked at a round and thought about it; the clock stops while there is
// any reason to pause.

/** @typedef {"paused" | "hidden" | "sent" | "loading"} Reason */

export class Clock {
  /**
   * @param {() => number} [now] in ms
   * @param {number} [begun_ms]  time spent before this page was opened
   */
  constructor(now = () => performance.now(), begun_ms = 0) {
    this.now = now;
    this.gone_ms = begun_ms;
    /** @type {Set<Reason>} */
    this.reasons = new Set();
    this.since = now();
  }

  get isRunning() {
    return this.reasons.size === 0;
  }

  /** Return the elapsed seconds. */
  get seconds() {
    return (this.gone_ms + (this.isRunning ? this.now() - this.since : 0)) / 1000;
  }

  /** @param {Reason} reason */
  stop(reason) {
    if (this.isRunning) this.gone_ms += this.now() - this.since;
    this.reasons.add(reason);
  }

  /** @param {Reason} reason */
  go(reason) {
    const ran = this.isRunning;
    this.reasons.delete(reason);
    if (!ran && this.isRunning) this.since = this.now();
  }
}

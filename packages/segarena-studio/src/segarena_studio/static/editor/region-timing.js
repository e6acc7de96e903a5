// The time spent on each region; pauses of five seconds or more do not count, as in the paper.

const LONGEST_PAUSE_MS = 5000;

export class Timing {
  /**
   * @param {(region: string, time_ms: number, active_ms: number) => void} spend called with the time spent
   * @param {() => number} [clock] milliseconds
   */
  constructor(spend, clock = () => performance.now()) {
    this.spend = spend;
    this.clock = clock;
    this.last = -Infinity;
    this.isActive = true;
  }

  /**
   * Record activity on a region; "open" stands for the region being drawn.
   * @param {string} region
   */
  did(region) {
    const now = this.clock();
    const since = now - this.last;
    this.last = now;
    if (since <= 0 || since >= LONGEST_PAUSE_MS) return;
    this.spend(region, Math.round(since), this.isActive ? Math.round(since) : 0);
  }
}

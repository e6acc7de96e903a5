// Play the frames of a video at the chosen rate, or more slowly if frames load more slowly.

/** @typedef {import("./round-viewer.js").RoundViewer} RoundViewer */

export class Player {
  /**
   * @param {RoundViewer} viewer
   * @param {{rate: () => number, show: (isPlaying: boolean) => void}} options  frames a second, and what to do when it starts or stops
   */
  constructor(viewer, { rate, show }) {
    this.viewer = viewer;
    this.rate = rate;
    this.show = show;
    this.timer = 0;
    this.isBusy = false;
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    if (this.viewer.content?.kind !== "video") return;
    this.show(true);
    this.timer = window.setInterval(() => void this.step(), 1000 / this.rate());
  }

  pause() {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.show(false);
  }

  /** Restart the timer at the chosen rate. */
  changeRate() {
    if (!this.timer) return;
    this.pause();
    this.play();
  }

  /** Show the next frame, unless the previous one is still loading. */
  async step() {
    const { viewer, timer } = this;
    const { content } = viewer;
    if (this.isBusy || !content) return;
    this.isBusy = true;
    const next = (viewer.places[0] + 1) % viewer.placesIn(0);
    try {
      await viewer.source.picture(content, 0, next);
      if (this.timer === timer) viewer.setPlace(0, next);
    } catch {
      if (this.timer === timer) this.pause();
    } finally {
      this.isBusy = false;
    }
  }
}

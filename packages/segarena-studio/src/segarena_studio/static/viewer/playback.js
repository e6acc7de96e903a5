// Play the frames of a video at the chosen rate, or more slowly if frames load more slowly.

/** @typedef {import("./viewer.js").Viewer} Viewer */

export class Player {
  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    this.timer = 0;
    this.isBusy = false;
  }

  toggle() {
    if (this.timer) this.pause();
    else this.play();
  }

  play() {
    const { place, controls } = this.viewer;
    if (place?.kind !== "video") return;
    controls.control("play").textContent = "Pause";
    this.timer = window.setInterval(() => void this.step(), 1000 / Number(controls.control("speed").value));
  }

  pause() {
    window.clearInterval(this.timer);
    this.timer = 0;
    this.viewer.controls.control("play").textContent = "Play";
  }

  /** Restart the timer at the chosen rate. */
  changePace() {
    if (!this.timer) return;
    this.pause();
    this.play();
  }

  /** Show the next frame, unless the previous one is still loading. */
  async step() {
    const { viewer, timer } = this;
    const { place } = viewer;
    if (this.isBusy || !place) return;
    this.isBusy = true;
    const next = (viewer.indices[0] + 1) % place.planes[0].count;
    try {
      await viewer.store.picture(place.key[0], 0, next, false);
      if (this.timer === timer) viewer.setIndex(0, next);
    } catch {
      if (this.timer === timer) this.pause();
    } finally {
      this.isBusy = false;
    }
  }
}

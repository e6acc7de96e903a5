// The control form of the viewer: the available choices and their effects.

import { find } from "../common/dom.js";
import { PRESETS, firstWindow, presetsOf, short } from "../../../reports/viewer/window-level.js";

/** @typedef {import("./look-viewer.js").LookViewer} LookViewer */
/** @typedef {import("../../../reports/viewer/content.js").Content} Content */
/** @typedef {import("../../../reports/viewer/window-level.js").Levels} Levels */

const NARROW_PX = 500;

export class Controls {
  /**
   * @param {LookViewer} viewer
   * @param {HTMLElement} root
   */
  constructor(viewer, root) {
    this.viewer = viewer;
    this.form = find("form.controls", HTMLFormElement, root);
    /**
     * @param {string} name
     * @returns {any}
     */
    this.control = (name) => this.form.elements.namedItem(name);
    this.control("target").checked = window.innerWidth >= NARROW_PX; // with runs, the outline is always shown
    this.form.addEventListener("submit", (event) => event.preventDefault());
    this.form.addEventListener("input", (event) => this.chosen(/** @type {HTMLInputElement} */ (event.target)));
    this.control("play").addEventListener("click", () => viewer.player.toggle());
    this.control("fit").addEventListener("click", () => viewer.panes.fit());
  }

  get settings() {
    const { control } = this;
    return { mode: control("mode").value, opacity: Number(control("opacity").value), marks: control("marks").checked };
  }

  /**
   * Show the controls that apply to the content.
   * @param {Content} content
   * @param {number} rounds
   */
  fill(content, rounds) {
    const shows = (/** @type {string} */ name, /** @type {boolean} */ isThere) => (find(`.for-${name}`, HTMLElement, this.form).hidden = !isThere);
    Object.assign(this.control("round"), { min: String(Math.min(1, rounds)), max: String(rounds) });
    shows("rounds", rounds > 1);
    shows("video", content.kind === "video");
    shows("volume", content.kind === "volume");
    shows("runs", content.dialogues.length > 0);
    if (content.kind === "video") this.control("frame").max = String(content.planes[0].count - 1);
    if (content.levels) this.fillVolume(content, content.levels);
  }

  /**
   * @param {Content} content
   * @param {Levels} levels
   */
  fillVolume({ planes }, levels) {
    const { low, high, step } = levels;
    const wide = high - low;
    Object.assign(this.control("level"), { min: low - wide, max: high + wide, step: "any" });
    Object.assign(this.control("width"), { min: Math.min(step, wide / 200), max: 2 * wide, step: "any" });
    this.control("preset").replaceChildren(...["automatic", ...presetsOf(levels)].map((name) => new Option(name)));
    const directions = this.control("directions");
    directions.replaceChildren(new Option("all", "all"), ...planes.map((plane, direction) => new Option(plane.name, String(direction))));
    directions.value = this.viewer.directions;
  }

  /** @param {import("../../../reports/viewer/window-level.js").Window} window */
  showWindow({ level, width }) {
    this.control("told-window").value = `level ${short(level)}, width ${short(width)}`;
    this.control("level").value = String(level);
    this.control("width").value = String(width);
  }

  /**
   * React to a change of a control.
   * @param {HTMLInputElement} input
   */
  chosen({ name, value }) {
    const { viewer } = this;
    const { content } = viewer;
    if (!content) return;
    if (name === "round") viewer.setRound(Number(value));
    else if (name === "frame") viewer.setPlace(0, Number(value));
    else if (name === "level" || name === "width") {
      viewer.setWindow({ level: Number(this.control("level").value), width: Math.max(1e-6, Number(this.control("width").value)) });
    } else if (name === "preset") {
      if (content.levels) viewer.setWindow(PRESETS[value] ?? firstWindow(content.levels));
    } else if (name === "speed") viewer.player.changeRate();
    else if (name === "directions" || name === "target") this.rebuild();
    else viewer.panes.redraw();
  }

  rebuild() {
    this.viewer.directions = this.control("directions").value;
    this.viewer.rebuild();
  }

  // Changes to the form by keyboard

  /**
   * @param {string} name
   * @param {string} value
   */
  choose(name, value) {
    this.control(name).value = value;
    this.chosen(this.control(name));
  }

  /** @param {string} name */
  toggle(name) {
    this.control(name).checked = !this.control(name).checked;
    this.chosen(this.control(name));
  }

  /** @param {string} name */
  next(name) {
    const select = this.control(name);
    select.selectedIndex = (select.selectedIndex + 1) % select.options.length;
    this.chosen(select);
  }

  /**
   * @param {string} name
   * @param {number} by
   */
  slide(name, by) {
    this.choose(name, String(Number(this.control(name).value) + by));
  }
}

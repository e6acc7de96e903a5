// A viewer in a card of a gallery, with its content in the page. The enlarged viewer fills a dialog,
// where its pictures can be zoomed and moved.

import { element, legendItems } from "./captions.js";
import { EmbeddedSource } from "./embedded-source.js";
import { planeLabel } from "./plane-geometry.js";
import { Player } from "./playback.js";
import { RoundViewer } from "./round-viewer.js";
import { drawCurve } from "./value-curve.js";
import { short } from "./window-level.js";

/** @typedef {import("./content.js").Content} Content */

const FRAMES_PER_SECOND = 6;
/** Number of steps of the sliders for level and window. */
const LEVEL_STEPS = 200;

/** The dialog of the enlarged viewer, shared by all viewers of the page. */
class Stage {
  constructor() {
    this.dialog = /** @type {HTMLDialogElement} */ (element("dialog", "stage"));
    this.dialog.setAttribute("aria-label", "enlarged");
    document.body.append(this.dialog);
    /** @type {CardViewer | null} */
    this.viewer = null;
    this.home = document.createComment("");
    this.dialog.addEventListener("close", () => this.giveBack());
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close();
    });
  }

  /** @param {CardViewer} viewer */
  show(viewer) {
    if (this.dialog.open) return this.dialog.close();
    this.viewer = viewer;
    viewer.root.replaceWith(this.home);
    const bar = element("div", "bar");
    bar.append(button("close", () => this.dialog.close()), button("whole picture", () => viewer.panes.fit()));
    bar.append(button("target", () => viewer.panes.showTarget()));
    const wheel = viewer.embedded.kind === "volume" ? "The wheel steps through slices, or zooms with Ctrl held" : "The wheel zooms";
    bar.append(element("span", "note", `${wheel}; two fingers zoom, and a drag moves the picture.`));
    this.dialog.replaceChildren(bar, viewer.root);
    this.dialog.showModal();
    viewer.setEnlarged(true);
  }

  giveBack() {
    const { viewer } = this;
    if (!viewer) return;
    this.home.replaceWith(viewer.root);
    this.viewer = null;
    viewer.setEnlarged(false);
    viewer.enlargeButton.focus();
  }
}

/** @type {Stage | null} */
let stage = null;

export class CardViewer extends RoundViewer {
  /**
   * @param {HTMLElement} root  element with the content as JSON
   * @param {() => {mode: import("./pane.js").Mode, opacity: number, marks: boolean, hidden: Set<string>}} choices the gallery's settings
   */
  constructor(root, choices) {
    const host = element("div", "panes");
    super(host, new EmbeddedSource());
    this.root = root;
    this.choices = choices;
    this.isEnlarged = false;
    this.isNear = false;
    /** @type {Content} */
    this.embedded = JSON.parse(root.querySelector("script")?.textContent ?? "");
    this.curve = element("div", "rounds");
    this.note = element("p", "note");
    this.bar = element("div", "bar");
    this.moveCursor = (/** @type {number} */ _round) => {};
    /** @type {(() => void)[]} */
    this.updates = [];
    this.enlargeButton = button("enlarge", () => (stage ??= new Stage()).show(this));
    host.addEventListener("click", () => {
      if (!this.isEnlarged) this.enlargeButton.click();
    });
    root.append(host);
    this.build();
  }

  get fillsWindow() {
    return this.isEnlarged;
  }

  get scrollsByTouch() {
    return true;
  }

  get settings() {
    return this.choices();
  }

  get numberedRounds() {
    return this.isEnlarged ? Infinity : super.numberedRounds;
  }

  /** @param {import("./content.js").Dialogue} dialogue */
  isHidden(dialogue) {
    return dialogue.is_run && this.choices().hidden.has(dialogue.label);
  }

  /** Build controls and panes without loading pictures yet. */
  build() {
    this.directions = "0";
    const content = this.embedded;
    const { rounds } = this.setContent(content, Infinity);
    const legend = element("ul", "legend");
    legend.append(...legendItems(content));
    const notes = content.notes.map((text) => element("p", "note", text));
    this.root.append(this.bar, legend, this.curve, this.note, ...notes);
    this.fillBar(content, rounds);
    const runs = content.dialogues.filter((dialogue) => dialogue.is_run);
    this.moveCursor = drawCurve(this.curve, runs, rounds, content.thresholds, (round) => this.setRound(round));
    this.rebuild(false);
  }

  /** Draw the pictures; called when the card comes near the visible part of the page. */
  drawPictures() {
    if (this.isNear) return;
    this.isNear = true;
    this.refresh();
  }

  /**
   * @param {Content} content
   * @param {number} direction
   */
  async refreshDirection(content, direction) {
    if (this.isNear) await super.refreshDirection(content, direction);
  }

  /** Apply changed gallery settings. */
  update() {
    for (const { dialogue, figure } of this.panes.slots) figure.hidden = Boolean(dialogue && this.isHidden(dialogue));
    this.panes.redraw();
  }

  /** @param {boolean} isEnlarged */
  setEnlarged(isEnlarged) {
    this.isEnlarged = isEnlarged;
    this.enlargeButton.hidden = isEnlarged;
    this.rebuild(false);
  }

  /** @param {Content} content */
  onChange(content) {
    for (const update of this.updates) update();
    this.moveCursor(this.round);
    const direction = this.shownDirections[0];
    this.note.textContent = content.planes[direction].note;
    this.note.hidden = !this.note.textContent;
  }

  /** @param {string} problem */
  showProblem(problem) {
    if (problem) this.note.textContent = problem;
  }

  /**
   * @param {Content} content
   * @param {number} rounds
   */
  fillBar(content, rounds) {
    if (content.planes.length > 1) this.bar.append(this.directionChoice(content));
    if (rounds > 1) {
      const slider = this.addSlider(content.word, () => [this.round, `${this.round} of ${rounds}`], (value) => this.setRound(value));
      Object.assign(slider, { min: 1, max: rounds });
    }
    if (this.placesIn(0) > 1) this.addPlaneSlider(content);
    if (content.kind === "video" && this.placesIn(0) > 1) this.addPlayer();
    if (content.levels) this.addWindow(content.levels);
    this.bar.append(this.enlargeButton);
  }

  /** @param {Content} content */
  directionChoice({ planes }) {
    const select = document.createElement("select");
    planes.forEach((plane, direction) => select.add(new Option(plane.name, String(direction))));
    select.addEventListener("input", () => {
      this.directions = select.value;
      this.rebuild(false);
    });
    return labelled("View", select);
  }

  /** @param {Content} content */
  addPlaneSlider(content) {
    const shown = () => this.shownDirections[0];
    const slider = this.addSlider(
      content.kind === "video" ? "frame" : "slice",
      () => [this.places[shown()], planeLabel(content.planes[shown()], this.places[shown()])],
      (value) => this.setPlace(shown(), value),
    );
    this.updates.unshift(() => (slider.max = String(this.placesIn(shown()) - 1)));
  }

  addPlayer() {
    const player = new Player(this, {
      rate: () => FRAMES_PER_SECOND,
      show: (isPlaying) => (play.textContent = isPlaying ? "pause" : "play"),
    });
    const play = button("play", () => player.toggle());
    this.bar.append(play);
  }

  /** @param {import("./window-level.js").Levels} levels */
  addWindow({ low, high }) {
    const step = (high - low) / LEVEL_STEPS;
    const current = () => /** @type {import("./window-level.js").Window} */ (this.window);
    const level = this.addSlider("level", () => [current().level, short(current().level)], (value) => this.setWindow({ ...current(), level: value }));
    Object.assign(level, { min: low, max: high, step });
    const width = this.addSlider("window", () => [current().width, short(current().width)], (value) => this.setWindow({ ...current(), width: value }));
    Object.assign(width, { min: step, max: high - low, step });
  }

  /**
   * Add a slider to the bar.
   * @param {string} text
   * @param {() => [number, string]} state  its value and its text
   * @param {(value: number) => void} set
   */
  addSlider(text, state, set) {
    const slider = Object.assign(document.createElement("input"), { type: "range", min: "0" });
    const output = document.createElement("output");
    slider.addEventListener("input", () => set(Number(slider.value)));
    // The value stays beside its slider when the bar wraps.
    const group = element("span", "group");
    group.append(labelled(text, slider), output);
    this.bar.append(group);
    this.updates.push(() => {
      const [value, words] = state();
      slider.value = String(value);
      slider.setAttribute("aria-valuetext", words);
      output.value = words;
    });
    return slider;
  }

  /** Outcomes of the runs that are not hidden, for the filter of the gallery. */
  get outcomes() {
    const shown = this.embedded.dialogues.filter((dialogue) => dialogue.is_run && !this.isHidden(dialogue));
    return shown.map((dialogue) => dialogue.state).filter(Boolean);
  }

  /** Labels of the runs. */
  get runs() {
    return this.embedded.dialogues.filter((dialogue) => dialogue.is_run).map((dialogue) => dialogue.label);
  }

  /** Whether any round has a prompt that can be hidden. */
  get hasPrompts() {
    return this.embedded.dialogues.some((dialogue) => dialogue.prompts.some((prompts) => prompts.length));
  }
}

/**
 * @param {string} text
 * @param {() => void} act
 */
function button(text, act) {
  const made = Object.assign(document.createElement("button"), { type: "button", textContent: text });
  made.addEventListener("click", act);
  return made;
}

/**
 * @param {string} text
 * @param {HTMLElement} control
 */
function labelled(text, control) {
  const label = document.createElement("label");
  label.append(text, " ", control);
  return label;
}

// The comparison page: several annotators' drawings of one picture, side by side or one above the
// other, with the same zoom, the same selection and marked disagreements.

import { Talk } from "../common/api.js";
import { find } from "../common/dom.js";
import { isTaken, keyOf } from "../common/key-names.js";
import { alignDocument, listDisagreements, summaryOf } from "./disagreements.js";
import { DrawingPane } from "./drawing-pane.js";

/** @typedef {import("./disagreements.js").Disagreement} Disagreement */
/** @typedef {import("./disagreements.js").Comparison} Comparison */
/** @typedef {{task: number, annotator: string, state: string, scene: any}} Drawing */

const ZOOM = 1.25;
const STEP_PX = 60;
/** Below this width in CSS px two pictures side by side are too small. */
const NARROW_PX = 700;
/** @type {Record<string, [number, number]>} */
const WAYS = { ArrowLeft: [1, 0], ArrowRight: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

class ComparisonPage {
  /**
   * @param {HTMLElement} root
   * @param {{drawings: Drawing[], comparisons: Record<string, Comparison>}} content
   * @param {Blob} file  the picture
   */
  constructor(root, { drawings, comparisons }, file) {
    this.root = root;
    this.drawings = drawings;
    this.comparisons = comparisons;
    this.file = file;
    this.host = find("[data-panes]", HTMLElement, root);
    /** @type {DrawingPane[]} */
    this.panes = [];
    this.front = 0;
    this.isHeld = false;
    this.isFollowing = false;
    this.current = -1;
    /** @type {Disagreement[]} */
    this.entries = [];
  }

  get isFlicker() {
    return this.root.dataset.mode === "flicker";
  }

  get threshold() {
    return Number(find("input[name=threshold]", HTMLInputElement, this.root).value);
  }

  /** Show the drawings whose boxes are ticked. */
  async showDrawings() {
    const ticked = /** @type {NodeListOf<HTMLInputElement>} */ (this.root.querySelectorAll("input[name=shown]:checked"));
    const wanted = new Set([...ticked].map((box) => box.value));
    const shown = this.drawings.filter((drawing) => wanted.has(String(drawing.task)));
    for (const pane of this.panes.splice(0)) pane.close();
    this.host.replaceChildren();
    const { width, height } = this.root.dataset;
    for (const drawing of shown) {
      const comparison = this.comparisons[drawing.task];
      const scene = comparison ? alignDocument(drawing.scene, comparison, String(drawing.task)) : { ...drawing.scene };
      const pane = new DrawingPane(this.host, drawing.annotator, scene, [Number(width), Number(height)]);
      pane.onView = () => this.follow(pane);
      pane.onSelect = (id) => this.select(id);
      this.panes.push(pane);
    }
    await Promise.all(this.panes.map((pane) => pane.show(this.file)));
    this.front = Math.min(this.front, this.panes.length - 1);
    this.showTabs();
    this.showDisagreements();
    this.fill(find("input[name=fills]", HTMLInputElement, this.root).checked);
  }

  /**
   * Give all panes the view of one of them.
   * @param {DrawingPane} leader
   */
  follow(leader) {
    if (this.isFollowing) return;
    this.isFollowing = true;
    for (const pane of this.panes) if (pane !== leader) pane.takeView(leader);
    this.isFollowing = false;
  }

  /** @param {string | null} id */
  select(id) {
    for (const pane of this.panes) pane.select(id);
    for (const button of this.root.querySelectorAll("[data-differences] button")) {
      const isOfRegion = id !== null && this.entries[Number(button.getAttribute("data-entry"))].regions.includes(id);
      button.toggleAttribute("aria-current", isOfRegion);
    }
  }

  /** @param {boolean} isFilled */
  fill(isFilled) {
    for (const pane of this.panes) pane.fill(isFilled);
  }

  /** @param {"side" | "flicker"} mode */
  setMode(mode) {
    this.root.dataset.mode = mode;
    find(`input[name=mode][value=${mode}]`, HTMLInputElement, this.root).checked = true;
    find("[data-flicker]", HTMLElement, this.root).hidden = mode !== "flicker";
    this.showFront();
  }

  /** Build the buttons that bring a drawing to the front. */
  showTabs() {
    const tabs = this.panes.map((pane, place) => {
      const tab = Object.assign(document.createElement("button"), { type: "button", textContent: `${place + 1} ${pane.annotator}` });
      tab.addEventListener("click", () => this.bringToFront(place));
      return tab;
    });
    find("[data-tabs]", HTMLElement, this.root).replaceChildren(...tabs);
    this.showFront();
  }

  /** @param {number} place */
  bringToFront(place) {
    if (!this.panes[place]) return;
    this.front = place;
    this.showFront();
  }

  /**
   * While held, the next drawing is in front.
   * @param {boolean} isHeld
   */
  hold(isHeld) {
    if (this.isHeld === isHeld) return;
    this.isHeld = isHeld;
    this.showFront();
  }

  showFront() {
    const front = (this.front + (this.isHeld ? 1 : 0)) % Math.max(1, this.panes.length);
    for (const [place, pane] of this.panes.entries()) pane.setFront(place === front);
    for (const [place, tab] of [...this.root.querySelectorAll("[data-tabs] button")].entries()) {
      tab.setAttribute("aria-pressed", String(place === front));
    }
  }

  /** List the disagreements of the shown drawings with the first one, and mark them in the pictures. */
  showDisagreements() {
    this.entries = [];
    this.current = -1;
    const [first] = this.drawings;
    const parts = [];
    for (const pane of this.panes) pane.clearMarks();
    const one = { annotator: first.annotator, nameOf: namer(first.scene) };
    for (const drawing of this.drawings.slice(1)) {
      const place = this.panes.findIndex((pane) => pane.annotator === drawing.annotator);
      if (place < 0) continue;
      const other = { annotator: drawing.annotator, nameOf: namer(drawing.scene) };
      const comparison = this.comparisons[drawing.task];
      const found = listDisagreements(comparison, this.threshold, one, other, String(drawing.task));
      for (const pane of [this.panes[0], this.panes[place]]) pane.mark(found);
      parts.push(...this.section(`${first.annotator} and ${drawing.annotator}`, summaryOf(comparison), found));
    }
    find("[data-differences]", HTMLElement, this.root).replaceChildren(...parts);
  }

  /**
   * @param {string} title
   * @param {string} summary
   * @param {Disagreement[]} found
   */
  section(title, summary, found) {
    const heading = Object.assign(document.createElement("h2"), { textContent: title });
    const count = found.length === 1 ? "1 difference" : `${found.length} differences`;
    const note = Object.assign(document.createElement("p"), { textContent: `${count}. ${summary}` });
    const list = document.createElement("ol");
    for (const entry of found) {
      const place = this.entries.push(entry) - 1;
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: entry.text });
      button.dataset.entry = String(place);
      button.append(Object.assign(document.createElement("small"), { textContent: entry.detail }));
      button.addEventListener("click", () => this.goTo(place));
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    }
    return [heading, note, list];
  }

  /** @param {number} place */
  goTo(place) {
    if (!this.entries.length) return;
    this.current = (place + this.entries.length) % this.entries.length;
    const { regions } = this.entries[this.current];
    const holder = this.panes.find((pane) => pane.has(regions[0]));
    this.select(regions[0]);
    for (const button of this.root.querySelectorAll("[data-entry]")) {
      const isCurrent = button.getAttribute("data-entry") === String(this.current);
      button.toggleAttribute("aria-current", isCurrent);
      if (isCurrent) button.scrollIntoView({ block: "nearest" });
    }
    if (this.isFlicker && holder && !this.panes[this.front].has(regions[0])) this.bringToFront(this.panes.indexOf(holder));
    holder?.zoomTo(regions);
  }

  /** @param {string} way */
  zoom(way) {
    const pane = this.panes[this.isFlicker ? this.front : 0];
    if (way === "fit") pane.picture.fit();
    else pane.zoomBy(way === "in" ? ZOOM : 1 / ZOOM);
  }

  /**
   * @param {string} key
   * @returns {boolean} whether the key has a function here
   */
  press(key) {
    const way = WAYS[key];
    if (way) this.panes[this.isFlicker ? this.front : 0].picture.panBy(STEP_PX * way[0], STEP_PX * way[1]);
    else if (key === "F") this.setMode(this.isFlicker ? "side" : "flicker");
    else if (key === "X") this.bringToFront((this.front + 1) % this.panes.length);
    else if (/^[1-9]$/.test(key)) this.bringToFront(Number(key) - 1);
    else if (key === "H" || key === "Space") this.hold(true);
    else if (key === "J") this.goTo(this.current + 1);
    else if (key === "K") this.goTo(Math.max(this.current, 0) - 1);
    else if (key === "+" || key === "=") this.zoom("in");
    else if (key === "-") this.zoom("out");
    else if (key === "0") this.zoom("fit");
    else return false;
    return true;
  }

  /** Connect the controls and the keys. */
  listen() {
    const { root } = this;
    root.addEventListener("change", (event) => {
      const input = /** @type {HTMLInputElement} */ (event.target);
      if (input.name === "mode") this.setMode(input.value === "flicker" ? "flicker" : "side");
      else if (input.name === "shown") void this.showDrawings();
      else if (input.name === "fills") this.fill(input.checked);
    });
    const threshold = find("input[name=threshold]", HTMLInputElement, root);
    threshold.addEventListener("input", () => {
      find(".threshold b", HTMLElement, root).textContent = this.threshold.toFixed(2);
      this.showDisagreements();
    });
    for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (root.querySelectorAll("[data-zoom]"))) {
      button.addEventListener("click", () => this.zoom(button.dataset.zoom ?? ""));
    }
    const holder = find("[data-hold]", HTMLButtonElement, root);
    holder.addEventListener("pointerdown", () => this.hold(true));
    for (const name of ["pointerup", "pointercancel", "pointerleave", "blur"]) holder.addEventListener(name, () => this.hold(false));
    holder.addEventListener("contextmenu", (event) => event.preventDefault());
    document.addEventListener("keydown", (event) => {
      const key = keyOf(event);
      // These keys hold the button down, as the pointer does.
      const isHolder = event.target === holder && (key === "Space" || key === "Enter");
      if (isHolder) this.hold(true);
      else if (isTaken(event.target, key) || !this.press(key)) return;
      event.preventDefault();
    });
    document.addEventListener("keyup", () => this.hold(false));
    window.addEventListener("blur", () => this.hold(false));
  }
}

/**
 * Return a function that names a region by its position in the depth order and its name.
 * @param {any} scene
 * @returns {(id: string) => string}
 */
function namer({ regions }) {
  const names = new Map(regions.map((/** @type {any} */ region, /** @type {number} */ place) => [region.id, `${place + 1} ${region.name || "unnamed"}`]));
  return (id) => names.get(id) ?? id;
}

/** @param {HTMLElement} root */
async function open(root) {
  const { task = "", key = "" } = root.dataset;
  const address = `/studio/tasks/${task}`;
  const picture = fetch(`${address}/picture`);
  const answer = await new Talk({ key }).ask("GET", `${address}/comparison`);
  if (answer.outcome !== "done") throw new Error(answer.message || "The drawings could not be loaded.");
  const response = await picture;
  if (!response.ok) throw new Error("The picture could not be loaded.");
  const page = new ComparisonPage(root, answer.body, await response.blob());
  page.setMode(innerWidth < NARROW_PX ? "flicker" : "side");
  await page.showDrawings();
  page.listen();
  root.dataset.ready = "true";
  return page;
}

const root = document.getElementById("compare");
if (root) {
  open(root).then(
    // Tests use this to find regions on the screen.
    (page) => Object.assign(window, { segarena: page }),
    (error) => {
      const place = find("[data-waiting]", HTMLElement, root);
      place.textContent = String(error.message ?? error);
      place.setAttribute("role", "alert");
    },
  );
}

// The frames of a video below the picture: where the selected region is drawn, accepted or proposed,
// steps to other frames, and the propagation of regions.

import { askUntilChecked } from "./check-progress.js";
import { acceptProposals, proposalsIn } from "./proposals.js";
import { deleteRegion } from "./region-commands.js";
import { find } from "../common/dom.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("./actions.js").Action} Action */
/** @typedef {import("./scene.js").Scene} Scene */
/** @typedef {import("./saving.js").Saving} Saving */
/** @typedef {import("../common/api.js").Talk} Talk */
/** @typedef {"drawn" | "accepted" | "proposed"} TrackState */
/** @typedef {TrackState | "absent"} Mark */
/** @typedef {{task: number, name: string, state: string, revision: number, tracks: Record<string, TrackState>}} Frame */
/** @typedef {{state: "none" | "waiting" | "running" | "done" | "failed", progress: string, failure: string, frames: number, finished: number}} Status */

const AGAIN_MS = 1000;
/** How long to wait for a save before leaving the page; the edits are then sent or kept anyway. */
const SAVED_WITHIN_MS = 2000;
const VIEW_KEY = "segarena-frame-view";
const TOLD_KEY = "segarena-frames-finished";
/** States of begun tasks in which their annotator may draw. */
const OPEN = ["in progress", "returned"];
/** @type {Record<Mark, string>} */
const SAID = { drawn: "key frame", accepted: "accepted", proposed: "proposal", absent: "nothing" };

export class Timeline {
  /** @type {Frame[]} */
  frames = [];
  /** Whether this page waits for a propagation. */
  isWatching = false;

  /**
   * @param {HTMLElement} place
   * @param {Editor} editor
   * @param {Saving} saving
   * @param {Talk} talk
   * @param {string} task
   */
  constructor(place, editor, saving, talk, task) {
    this.place = place;
    this.editor = editor;
    this.saving = saving;
    this.talk = talk;
    this.task = Number(task);
    this.list = find("ol", HTMLElement, place);
    this.at = find("output", HTMLElement, place);
    this.said = find("[role=status]", HTMLElement, place);
    this.cancelling = find("#propagation-cancel", HTMLButtonElement, place);
    this.dialog = find("#propagating", HTMLDialogElement, document);
    this.form = find("form.sheet", HTMLFormElement, this.dialog);
    this.failed = find("[role=alert]", HTMLElement, this.dialog);
    this.shown = "";
    this.cancelling.addEventListener("click", () => void this.cancel());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.propagate();
    });
    editor.listeners.add(() => this.show());
  }

  /** Load the frames, show the region and the view of the previous frame, and follow a propagation in progress. */
  async open() {
    const { editor } = this;
    const region = decodeURIComponent(location.hash.slice(1));
    if (editor.scene.has(region)) editor.select(region);
    const view = takeView(editor.size);
    if (view) editor.picture.show(view, 0);
    this.said.textContent = sessionStorage.getItem(TOLD_KEY) ?? "";
    sessionStorage.removeItem(TOLD_KEY);
    await this.load();
    const status = await this.status();
    if (status?.state === "waiting" || status?.state === "running") await this.watch(status);
  }

  async load() {
    const answer = await this.talk.ask("GET", `/studio/tasks/${this.task}/frames`);
    if (answer.outcome !== "done") return;
    this.frames = answer.body.frames;
    this.show();
  }

  /** Show the state of the selected region in each frame, or that of all regions. */
  show() {
    const { editor, frames, task } = this;
    const region = editor.alsoSelected.size ? null : editor.selected;
    const here = frames.findIndex((frame) => frame.task === task);
    const marks = frames.map((frame) => markOf(frame.task === task ? tracksOf(editor.scene) : frame.tracks, region));
    const key = JSON.stringify([region, marks, frames.map(({ state }) => state)]);
    if (key === this.shown) return;
    this.shown = key;
    this.at.textContent = here < 0 ? "" : `${here + 1} / ${frames.length}`;
    const isNew = this.list.children.length !== frames.length;
    if (isNew) this.list.replaceChildren(...frames.map((frame) => this.item(frame)));
    frames.forEach((frame, index) => {
      const link = /** @type {HTMLAnchorElement} */ (this.list.children[index].firstElementChild);
      link.dataset.mark = marks[index];
      link.title = `${frame.name}: ${SAID[marks[index]]}, ${frame.state}`;
      link.setAttribute("aria-label", `Frame ${index + 1}: ${SAID[marks[index]]}`);
      link.classList.toggle("is-finished", ["finished", "in review", "approved"].includes(frame.state));
      if (frame.task === task) link.setAttribute("aria-current", "true");
      if (isNew && frame.task === task) this.list.scrollLeft = link.offsetLeft - this.list.clientWidth / 2;
    });
  }

  /** @param {Frame} frame */
  item(frame) {
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { className: "frame", href: `/studio/tasks/${frame.task}` });
    // The keys and the two buttons step through the frames; hundreds of stops for Tab would be in the way.
    link.tabIndex = frame.task === this.task ? 0 : -1;
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      void this.goTo(frame);
    });
    item.append(link);
    return item;
  }

  /**
   * Go to the next or previous frame.
   * @param {number} by 1 or -1
   */
  step(by) {
    const frame = neighbour(this.frames, this.task, by);
    if (frame) void this.goTo(frame);
    else this.editor.say(by > 0 ? "This is the last frame." : "This is the first frame.");
  }

  /** @param {Frame} frame */
  async goTo(frame) {
    const { editor, saving } = this;
    if (frame.task === this.task) return;
    editor.let();
    await this.save();
    if (saving.theirs) return editor.say("First choose which version of this frame to keep.");
    keepView(editor.picture.view.inView, editor.size);
    const region = editor.selected ?? decodeURIComponent(location.hash.slice(1));
    location.assign(`/studio/tasks/${frame.task}${region ? `#${encodeURIComponent(region)}` : ""}`);
  }

  /** Save now, and wait a little for the answer. Return whether everything is saved. */
  async save() {
    const { saving } = this;
    saving.retry();
    for (let waited_ms = 0; !saving.isSaved && !saving.theirs && waited_ms < SAVED_WITHIN_MS; waited_ms += 50) await pause(50);
    return saving.isSaved;
  }

  /** Ask how to propagate the selected regions. */
  ask() {
    const { editor } = this;
    const ids = editor.selection;
    if (!ids.length) return editor.say("Select the region to propagate.");
    if (proposalsIn(editor.scene, ids).length) return editor.say("Accept or correct the proposal first; then it is a key frame.");
    find("h2", HTMLElement, this.dialog).textContent = ids.length === 1 ? "Propagate the region" : `Propagate ${ids.length} regions`;
    this.failed.hidden = true;
    this.dialog.showModal();
  }

  async propagate() {
    const { editor, form } = this;
    const fields = new FormData(form);
    const button = find("button", HTMLButtonElement, form);
    const body = {
      regions: editor.selection,
      segmenter: fields.get("segmenter"),
      direction: fields.get("direction"),
      frames: Number(fields.get("frames")),
    };
    button.disabled = true;
    const isSaved = await this.save();
    const answer = isSaved ? await this.talk.ask("POST", `/studio/tasks/${this.task}/propagation`, body) : null;
    button.disabled = false;
    if (answer?.outcome !== "done") return this.refuse(answer ? answer.message : "the drawing is not saved yet; try again in a moment");
    this.dialog.close();
    await this.watch(answer.body);
  }

  /** @param {string} message */
  refuse(message) {
    this.failed.textContent = `Not propagated: ${message}.`;
    this.failed.hidden = false;
  }

  async cancel() {
    this.cancelling.disabled = true;
    await this.talk.ask("POST", `/studio/tasks/${this.task}/propagation/cancel`, {});
    this.cancelling.disabled = false;
  }

  /** @returns {Promise<Status | null>} null if the request fails */
  async status() {
    const answer = await this.talk.ask("GET", `/studio/tasks/${this.task}/propagation`);
    return answer.outcome === "done" ? answer.body : null;
  }

  /**
   * Show the progress of a propagation until it ends.
   * @param {Status} status
   */
  async watch(status) {
    if (this.isWatching) return;
    this.isWatching = true;
    this.cancelling.hidden = false;
    let now = status;
    while (now.state === "waiting" || now.state === "running") {
      this.said.textContent = progressOf(now);
      await pause(AGAIN_MS);
      now = (await this.status()) ?? now;
    }
    this.isWatching = false;
    this.cancelling.hidden = true;
    this.said.textContent = resultOf(now);
    await this.load();
    this.showNews();
  }

  /** Show proposals that have arrived for this frame; if edits are unsaved, saving merges the proposals into them. */
  showNews() {
    const frame = this.frames.find(({ task }) => task === this.task);
    const { editor, saving } = this;
    if (frame && frame.revision > saving.base && saving.isSaved && !editor.isHolding) location.reload();
  }

  /**
   * Finish the other begun frames that pass the checks, one after the other, and say how many are left.
   * @param {(text: string) => void} onStep
   */
  async finishOthers(onStep) {
    await this.load();
    // The other frames are finished, or nobody has looked at them yet.
    const open = this.frames.filter(({ task, state }) => task !== this.task && OPEN.includes(state));
    let finished = 0;
    for (const [index, frame] of open.entries()) {
      onStep(`Finishing frame ${index + 1} of ${open.length} …`);
      const body = { base: frame.revision, is_complete: true, is_ordered: true };
      const ask = () => this.talk.ask("POST", `/studio/tasks/${frame.task}/finalise`, body);
      const answer = await askUntilChecked(ask, () => {}, () => true);
      if (answer.outcome === "done") finished += 1;
    }
    sessionStorage.setItem(TOLD_KEY, finishedText(finished, open.length - finished));
  }

  /**
   * Accept or remove the proposals for the selected region in all frames. Only the change in this
   * frame can be undone.
   * @param {"accept" | "remove"} action
   */
  async settle(action) {
    const { editor } = this;
    const id = editor.selected;
    if (id === null || editor.isReadOnly) return;
    if (proposalsIn(editor.scene, [id]).length) {
      editor.edit(action, id, (steps) => (action === "accept" ? acceptProposals(steps, [id]) : deleteRegion(steps, id)));
    }
    const answer = await this.talk.ask("POST", `/studio/tasks/${this.task}/track`, { region: id, action });
    if (answer.outcome !== "done") return editor.say(`This did not work in the other frames: ${answer.message}.`);
    const { frames } = answer.body;
    editor.say(`${action === "accept" ? "Accepted" : "Removed"} in ${frames === 1 ? "1 other frame" : `${frames} other frames`}.`);
    await this.load();
  }
}

/**
 * The actions for videos, for the table in actions.js.
 * @param {() => Timeline | null} current returns the timeline; null while the page is opening
 * @returns {Action[]}
 */
export function videoActions(current) {
  const isFree = (/** @type {Editor} */ editor) => !editor.scene.open.length;
  const canAccept = (/** @type {Editor} */ editor) => isFree(editor) && !editor.isReadOnly && chosenProposals(editor).length > 0;
  const hasTrack = (/** @type {Editor} */ editor) => editor.selected !== null && !editor.isReadOnly;
  return [
    { name: "previous-frame", title: "Previous frame", keys: ["PageUp"], group: "Video", run: () => current()?.step(-1) },
    { name: "next-frame", title: "Next frame", keys: ["PageDown"], group: "Video", run: () => current()?.step(1) },
    { name: "propagate", title: "Propagate the region to other frames", keys: ["Shift+G"], group: "Video", run: () => current()?.ask(),
      when: (editor) => isFree(editor) && !editor.isReadOnly },
    { name: "accept", title: "Accept the proposal; without a selection, all proposals of the frame", keys: ["G"], group: "Video", when: canAccept, run: accept,
      hint: (editor) => (canAccept(editor) ? "accept" : null) },
    { name: "accept-track", title: "Accept the proposals in all frames", keys: ["Alt+G"], group: "Video", when: hasTrack, run: () => void current()?.settle("accept") },
    { name: "remove-track", title: "Remove the proposals in all frames", keys: [], group: "Video", when: hasTrack, run: () => void current()?.settle("remove") },
  ]; // prettier-ignore
}

/** @param {Editor} editor */
function accept(editor) {
  const ids = chosenProposals(editor);
  if (editor.edit("accept", editor.selected, (steps) => acceptProposals(steps, ids))) {
    editor.say(ids.length === 1 ? "Accepted: this is a key frame of the region now." : `Accepted ${ids.length} regions.`);
  }
}

/** @param {Editor} editor */
function chosenProposals(editor) {
  return proposalsIn(editor.scene, editor.selection.length ? editor.selection : undefined);
}

/**
 * Return how each region of a drawing was made.
 * @param {Scene} scene
 * @returns {Record<string, TrackState>}
 */
export function tracksOf(scene) {
  return Object.fromEntries(scene.regions.map(({ id, propagation }) => [id, propagation || "drawn"]));
}

/**
 * Return the mark of a frame: the state of a region, or that of all regions, where a proposal takes precedence.
 * @param {Record<string, TrackState>} tracks
 * @param {string | null} region
 * @returns {Mark}
 */
export function markOf(tracks, region) {
  if (region !== null) return tracks[region] ?? "absent";
  const states = Object.values(tracks);
  const order = /** @type {TrackState[]} */ (["proposed", "drawn", "accepted"]);
  return order.find((state) => states.includes(state)) ?? "absent";
}

/**
 * Return the frame before or after another one.
 * @param {Frame[]} frames
 * @param {number} task
 * @param {number} by 1 or -1
 * @returns {Frame | undefined} undefined at the ends
 */
export function neighbour(frames, task, by) {
  const here = frames.findIndex((frame) => frame.task === task);
  return here < 0 ? undefined : frames[here + by];
}

/** @param {Status} status */
function progressOf({ state, progress }) {
  if (state === "waiting") return "Waiting to propagate …";
  return progress ? `Propagating: ${progress} …` : "Propagating …";
}

/** @param {Status} status */
export function resultOf({ state, failure, frames, finished }) {
  if (state === "failed") return `Not propagated: ${failure}.`;
  if (state === "none") return "Cancelled; nothing was proposed.";
  const kept = finished ? ` ${finished === 1 ? "1 finished frame was" : `${finished} finished frames were`} left as they are.` : "";
  return `Proposals changed in ${frames === 1 ? "1 frame" : `${frames} frames`}.${kept}`;
}

/**
 * @param {number} finished
 * @param {number} left
 */
export function finishedText(finished, left) {
  const done = `${finished === 1 ? "1 other frame was" : `${finished} other frames were`} finished.`;
  if (!left) return done;
  return `${done} ${left === 1 ? "1 frame has" : `${left} frames have`} something to correct first.`;
}

/**
 * Keep the visible part of the picture for the next frame in this tab, unless the whole picture is visible.
 * @param {[number, number, number, number]} box in image px
 * @param {[number, number]} size of the picture
 */
function keepView([x0, y0, x1, y1], size) {
  const isWhole = x0 <= 0 && y0 <= 0 && x1 >= size[0] && y1 >= size[1];
  if (isWhole) sessionStorage.removeItem(VIEW_KEY);
  else sessionStorage.setItem(VIEW_KEY, JSON.stringify({ box: [x0, y0, x1, y1], size }));
}

/**
 * Return the box that was visible in the previous frame, and forget it; null if none was kept, or if that
 * frame had another size.
 * @param {[number, number]} size of the picture
 * @returns {[number, number, number, number] | null}
 */
function takeView(size) {
  const kept = JSON.parse(sessionStorage.getItem(VIEW_KEY) ?? "null");
  sessionStorage.removeItem(VIEW_KEY);
  return kept && kept.size.join() === size.join() ? kept.box : null;
}

/** @param {number} wait_ms */
function pause(wait_ms) {
  return new Promise((resolve) => setTimeout(resolve, wait_ms));
}

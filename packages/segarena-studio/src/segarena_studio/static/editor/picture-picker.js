// The dialog with the other pictures of a project: continue with one of them, or copy the regions that
// the user has drawn on it.

import { copyRegions } from "./region-commands.js";
import { find } from "../common/dom.js";
import { Scene } from "./scene.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {import("../common/api.js").Talk} Talk */
/** @typedef {{id: number, name: string, state: string, regions: number, saved_at: number | null}} Entry */
/** @typedef {{own: Entry[], free: Entry[]}} Entries */

/** The server accepts no larger drawing. */
const MOST_REGIONS = 2000;

export class PicturePicker {
  /**
   * @param {HTMLDialogElement} dialog
   * @param {Editor} editor
   * @param {Talk} talk
   * @param {string} task
   */
  constructor(dialog, editor, talk, task) {
    this.dialog = dialog;
    this.editor = editor;
    this.talk = talk;
    this.task = task;
    this.title = find("h2", HTMLElement, dialog);
    this.list = find("ul", HTMLElement, dialog);
    this.said = find("#picker-said", HTMLElement, dialog);
    this.form = find("#picker-take", HTMLFormElement, dialog);
    /**
     * The video of this picture; null if it is not a frame of a video.
     * @type {string | null}
     */
    this.video = null;
    editor.onPictures = (purpose) => void this.open(purpose);
  }

  /** @param {"go" | "copy"} purpose */
  async open(purpose) {
    const isCopy = purpose === "copy";
    if (isCopy && this.editor.isReadOnly) return void this.editor.refuse("closed");
    this.title.textContent = isCopy ? "Copy your regions from another picture" : "Choose a picture";
    this.list.replaceChildren();
    this.tell("Loading …");
    this.dialog.showModal();
    const answer = await this.talk.ask("GET", `/studio/tasks/${this.task}/tasks`);
    if (answer.outcome !== "done") return this.tell(`The pictures could not be loaded: ${answer.message}.`);
    /** @type {Entries} */
    const { own, free } = answer.body;
    if (isCopy) this.showCopies(copyable(own, Number(this.task)));
    else this.showChoice(own, free);
    // The focus scrolls the dialog to the top, because an earlier list may have been scrolled.
    this.list.querySelector("button")?.focus();
  }

  /** @param {Entry[]} entries */
  showCopies(entries) {
    this.list.replaceChildren(...entries.map((entry) => this.line(entry, `/studio/tasks/${entry.id}/thumbnail`, () => void this.copy(entry))));
    this.tell(entries.length ? "The regions are added in front of all others and selected, as one step. The picture that you saved last comes first." : "You have drawn on no other picture of this project yet.");
  }

  /**
   * @param {Entry[]} own
   * @param {Entry[]} free
   */
  showChoice(own, free) {
    const mine = own.map((entry) => this.line(entry, `/studio/tasks/${entry.id}/thumbnail`, () => location.assign(`/studio/tasks/${entry.id}`)));
    const open = free.map((entry) => this.line({ ...entry, state: "free" }, `/studio/tasks/${this.task}/tasks/${entry.id}/thumbnail`, () => this.take(entry)));
    this.list.replaceChildren(...mine, ...open);
    this.tell(free.length ? "Free pictures become yours when you choose them. This drawing stays saved." : "This drawing stays saved.");
  }

  /** @param {Entry} entry */
  take(entry) {
    find("input[name=task]", HTMLInputElement, this.form).value = String(entry.id);
    this.form.submit();
  }

  /** @param {Entry} entry */
  async copy(entry) {
    const { editor } = this;
    this.tell("Loading …");
    const answer = await this.talk.ask("GET", `/studio/tasks/${this.task}/tasks/${entry.id}/scene`);
    if (answer.outcome !== "done") return this.tell(`The drawing could not be loaded: ${answer.message}.`);
    const { scene, width, height } = answer.body;
    if (!isReadable(scene)) return this.tell("This drawing cannot be read.");
    if (editor.scene.regions.length + scene.regions.length > MOST_REGIONS) return this.tell(`A picture can have at most ${MOST_REGIONS} regions.`);
    /** @type {string[]} */
    let copies = [];
    const isDone = editor.edit("copy", null, (steps) => {
      const scale = /** @type {[number, number]} */ ([editor.size[0] / width, editor.size[1] / height]);
      // In another frame of the same video, a copy is the same object.
      const isTrack = this.video !== null && videoOf(entry.name) === this.video;
      copies = copyRegions(steps, scene, scale, { isTrack });
      return copies.length ? null : "nothing";
    });
    this.dialog.close();
    if (!isDone) return;
    const regions = copies.length;
    editor.useTool("move");
    editor.selectAll(copies);
    editor.say(`${regions === 1 ? "1 region was" : `${regions} regions were`} copied from ${entry.name}.`);
  }

  /**
   * @param {Entry} entry
   * @param {string} thumbnail
   * @param {() => void} choose
   */
  line({ id, name, state, regions }, thumbnail, choose) {
    const isHere = id === Number(this.task);
    const line = document.createElement("li");
    const button = Object.assign(document.createElement("button"), { type: "button" });
    const image = Object.assign(document.createElement("img"), { src: thumbnail, alt: "", loading: "lazy" });
    const label = Object.assign(document.createElement("span"), { textContent: name });
    const drawn = regions === 1 ? "1 region" : `${regions} regions`;
    const words = [isHere ? "this picture" : state, ...(regions ? [drawn] : [])];
    const small = Object.assign(document.createElement("small"), { textContent: words.join(", ") });
    button.append(image, label, small);
    if (isHere) button.setAttribute("aria-current", "true");
    button.addEventListener("click", () => (isHere ? this.dialog.close() : choose()));
    line.append(button);
    return line;
  }

  /** @param {string} text */
  tell(text) {
    this.said.textContent = text;
  }
}

/**
 * Return the entries with regions to copy, the one that was saved last first.
 * @param {Entry[]} own
 * @param {number} task the picture to copy to
 */
export function copyable(own, task) {
  const drawn = own.filter((entry) => entry.id !== task && entry.regions > 0);
  return drawn.sort((one, other) => (other.saved_at ?? 0) - (one.saved_at ?? 0));
}

/** @param {any} scene */
function isReadable(scene) {
  try {
    Scene.read(scene);
    return true;
  } catch {
    return false;
  }
}

/**
 * Return the folder of a picture, which is its video.
 * @param {string} name
 */
export function videoOf(name) {
  return name.slice(0, Math.max(name.lastIndexOf("/"), 0));
}

// The live list of problems in a scene, and the dialog with two questions that finishes the scene.

import { nameOf } from "./actions.js";
import { askUntilChecked, progressText } from "./check-progress.js";
import { showProgress } from "./picture-loading.js";
import { check, checkInSteps } from "./scene-checks.js";

/** @typedef {import("./editor.js").Editor} Editor */
/** @typedef {{kind: string, message: string, regions: string[], at: [number, number] | null, isError: boolean}} Fault */

const LOOK_AFTER_MS = 800;
const SHOWN = 40;
/** How long the scene is checked before the page may react to the user. */
const CHECK_AT_ONCE_MS = 8;
/** How long Finish waits for the drawing to be saved, and how often it checks. */
const SAVED_WITHIN_MS = 20_000;
const SAVED_STEP_MS = 50;

/**
 * Short labels for problems whose messages are longer.
 * @type {Record<string, string>}
 */
const PLAIN = { unnamed: "has no name yet", proposed: "is only proposed; accept, correct or delete it" };

/** The list of remaining problems. */
export class Faults {
  /**
   * @param {HTMLElement} place a <details>
   * @param {Editor} editor
   */
  constructor(place, editor) {
    this.place = place;
    this.editor = editor;
    this.revision = -1;
    this.timer = 0;
    editor.listeners.add(() => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.update(), LOOK_AFTER_MS);
    });
  }

  /** @returns {Fault[]} */
  find() {
    const { scene, depth } = this.editor;
    return check(scene, depth).map(faultOf);
  }

  update() {
    const { scene, depth, isHolding, isReadOnly } = this.editor;
    if (isHolding || isReadOnly || scene.revision === this.revision) return;
    this.goOn(checkInSteps(scene, depth), scene.revision, []);
  }

  /**
   * Check some more regions; when all are checked, show what was found. If the scene has changed meanwhile, stop;
   * `update` begins again later.
   * @param {Generator<import("./scene-checks.js").Fault[]>} steps
   * @param {number} revision of the scene
   * @param {import("./scene-checks.js").Fault[]} found so far
   */
  goOn(steps, revision, found) {
    const { scene, isHolding } = this.editor;
    if (isHolding || scene.revision !== revision) return;
    const until = performance.now() + CHECK_AT_ONCE_MS;
    for (let step = steps.next(); !step.done; step = steps.next()) {
      found.push(...step.value);
      if (performance.now() < until) continue;
      this.timer = setTimeout(() => this.goOn(steps, revision, found));
      return;
    }
    this.revision = revision;
    this.showAll(found.map(faultOf));
  }

  /** @param {Fault[]} faults */
  showAll(faults) {
    this.place.hidden = faults.length === 0;
    const summary = /** @type {HTMLElement} */ (this.place.querySelector("summary"));
    summary.textContent = faults.length === 1 ? "1 thing to look at" : `${faults.length} things to look at`;
    const list = /** @type {HTMLElement} */ (this.place.querySelector("ul"));
    list.replaceChildren(...faultLines(this.editor, faults, (fault) => this.show(fault)));
  }

  /** @param {Fault} fault */
  show(fault) {
    const { editor } = this;
    const [id] = fault.regions.filter((region) => editor.scene.has(region));
    editor.useTool("adjust");
    if (id) editor.select(id);
    if (id) editor.showBox(editor.scene.box(id), 80);
    if (fault.kind === "unnamed") editor.onName();
  }
}

/**
 * @param {import("./scene-checks.js").Fault} fault
 * @returns {Fault}
 */
function faultOf(fault) {
  return { ...fault, isError: fault.severity === "error" };
}

/** The dialog that finishes a picture. */
export class Finishing {
  /**
   * @param {Editor} editor
   * @param {import("./saving.js").Saving} saving
   * @param {import("../common/api.js").Talk} talk
   * @param {string} task
   * @param {Faults} faults
   */
  constructor(editor, saving, talk, task, faults) {
    this.editor = editor;
    this.saving = saving;
    this.talk = talk;
    this.task = task;
    this.faults = faults;
    this.dialog = /** @type {HTMLDialogElement} */ (document.getElementById("finishing"));
    this.place = /** @type {HTMLElement} */ (document.getElementById("finish-faults"));
    this.form = /** @type {HTMLFormElement} */ (document.getElementById("finish-form"));
    /**
     * Finishes further frames of the video, and reports each step; set for frames of videos.
     * @type {((onStep: (text: string) => void) => Promise<void>) | null}
     */
    this.finishOthers = null;
    document.getElementById("finish")?.addEventListener("click", () => this.open());
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.finish();
    });
  }

  open() {
    this.saving.finished();
    this.show(this.faults.find());
    this.dialog.showModal();
  }

  /** @param {Fault[]} faults */
  show(faults) {
    const isOpen = this.editor.scene.open.length > 0;
    const first = isOpen ? [{ kind: "open", message: "A region is not closed yet.", regions: [], at: null, isError: true }] : [];
    const list = document.createElement("ul");
    list.append(...faultLines(this.editor, [...first, ...faults], (fault) => this.goTo(fault)));
    this.place.replaceChildren(list);
  }

  /** @param {Fault} fault */
  goTo(fault) {
    this.dialog.close();
    if (fault.kind === "open") this.editor.useTool("draw");
    else this.faults.show(fault);
  }

  async finish() {
    const button = /** @type {HTMLButtonElement} */ (this.form.querySelector("button"));
    button.disabled = true;
    const answer = (await untilSaved(this.saving, () => this.dialog.open)) ? await this.check(button) : null;
    button.disabled = false;
    button.textContent = "Finish";
    if (!this.dialog.open) return;
    if (!answer) return this.say("The drawing is not saved yet; try again in a moment.");
    if (answer.outcome === "done") {
      const wanted = /** @type {HTMLInputElement | null} */ (this.form.elements.namedItem("others"));
      button.disabled = true;
      if (wanted?.checked) await this.finishOthers?.((text) => this.say(text));
      return location.reload();
    }
    if (answer.body.faults) return this.show(answer.body.faults.map((/** @type {Fault} */ fault) => ({ ...fault, isError: true })));
    this.say(answer.message || "This did not work; try again.");
  }

  /**
   * Let the server check and finish the drawing.
   * @param {HTMLButtonElement} button
   */
  check(button) {
    const body = { base: this.saving.base, is_complete: true, is_ordered: true };
    button.textContent = "Checking …";
    return askUntilChecked(
      () => this.talk.ask("POST", `/studio/tasks/${this.task}/finalise`, body),
      (progress) => this.showProgress(progress),
      () => this.dialog.open,
    );
  }

  /** @param {import("./check-progress.js").CheckProgress | null} progress */
  showProgress(progress) {
    let text = this.place.querySelector("[data-progress]");
    if (!text) {
      text = Object.assign(document.createElement("span"), { id: "check-progress" });
      text.setAttribute("data-progress", "");
      text.setAttribute("role", "status");
      const bar = document.createElement("progress");
      bar.setAttribute("aria-labelledby", "check-progress");
      const line = Object.assign(document.createElement("p"), { className: "checking" });
      line.append(text, bar);
      this.place.replaceChildren(line);
    }
    text.textContent = progressText(progress);
    const bar = /** @type {HTMLProgressElement} */ (this.place.querySelector("progress"));
    showProgress(bar, progress?.done ?? 0, progress?.total ?? 0);
  }

  /** @param {string} text */
  say(text) {
    const said = Object.assign(document.createElement("p"), { className: "is-error", textContent: text });
    said.setAttribute("role", "alert");
    this.place.replaceChildren(said);
  }
}

/**
 * Send unsaved changes and wait for the answer; return whether everything is saved. Do not wait if
 * saving needs the user or the network first.
 * @param {Pick<import("./saving.js").Saving, "isSaved" | "retry" | "state">} saving
 * @param {() => boolean} isWanted  whether the user still waits
 * @param {(wait_ms: number) => Promise<unknown>} [pause]
 */
export async function untilSaved(saving, isWanted, pause = (wait_ms) => new Promise((done) => setTimeout(done, wait_ms))) {
  saving.retry();
  for (let waited_ms = 0; waited_ms < SAVED_WITHIN_MS && !saving.isSaved && isWanted(); waited_ms += SAVED_STEP_MS) {
    if (!["saved", "unsaved", "saving"].includes(saving.state.kind)) break;
    await pause(SAVED_STEP_MS);
  }
  return saving.isSaved;
}

/**
 * Build the entries of the first problems, and say how many more there are.
 * @param {Editor} editor
 * @param {Fault[]} faults
 * @param {(fault: Fault) => void} go
 */
function faultLines(editor, faults, go) {
  const lines = faults.slice(0, SHOWN).map((fault) => faultLine(editor, fault, () => go(fault)));
  const more = faults.length - lines.length;
  if (more) lines.push(Object.assign(document.createElement("li"), { textContent: `and ${more.toLocaleString("en")} more` }));
  return lines;
}

/**
 * Build one entry: a button that names the regions and the problem.
 * @param {Editor} editor
 * @param {Fault} fault
 * @param {() => void} go
 */
function faultLine(editor, fault, go) {
  const line = document.createElement("li");
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: faultText(editor, fault) });
  button.className = fault.isError ? "is-error" : "";
  button.addEventListener("click", go);
  line.append(button);
  return line;
}

/**
 * Say what is wrong, with the names of the regions.
 * @param {Editor} editor
 * @param {Pick<Fault, "kind" | "message" | "regions">} fault
 */
export function faultText(editor, fault) {
  const names = fault.regions.filter((id) => editor.scene.has(id)).map((id) => nameOf(editor, id));
  if (fault.kind === "contained" && names.length === 2) {
    const [front, inner] = names;
    return `${inner}: ${front} contains it and hides it. Put ${inner} in front, or delete it.`;
  }
  return `${names.join(", ")}${names.length ? ": " : ""}${PLAIN[fault.kind] ?? fault.message}`;
}

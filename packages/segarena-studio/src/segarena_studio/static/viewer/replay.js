// Replay a dialogue of which not all answers were stored, to show the answer after every round.

import { queryOf } from "./sample-info.js";

/** @typedef {import("./look-viewer.js").LookViewer} LookViewer */
/** @typedef {import("../../../reports/viewer/content.js").Content} Content */
/** @typedef {import("../../../reports/viewer/content.js").Dialogue} Dialogue */

const POLL_MS = 400;

export class Replays {
  /** @param {LookViewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    /** @type {Set<Dialogue>} dialogues whose replay is running */
    this.running = new Set();
  }

  /**
   * Return the button that starts the replay of a dialogue.
   * @param {Dialogue} dialogue
   */
  button(dialogue) {
    const isRunning = this.running.has(dialogue);
    const button = Object.assign(document.createElement("button"), { type: "button", disabled: isRunning });
    button.textContent = isRunning ? "Replaying …" : "Replay";
    button.title = `Send the recorded prompts to ${dialogue.label} again to see its answer after every round`;
    button.addEventListener("click", () => void this.replay(dialogue));
    return button;
  }

  /**
   * Replay a dialogue; this takes about as long as the original. Do not disturb a user who has
   * moved on.
   * @param {Dialogue} dialogue
   */
  async replay(dialogue) {
    const { viewer } = this;
    const content = /** @type {Content} */ (viewer.content);
    this.running.add(dialogue);
    viewer.refresh([]);
    try {
      const outcome = await this.outcomeOf(content, dialogue);
      viewer.store.forget(queryOf(content.key));
      if (viewer.content !== content) return;
      await viewer.load(content.key, viewer.round);
      viewer.text.showNotes([...(viewer.content?.notes ?? []), `${dialogue.label}: ${outcome}`]);
    } catch (error) {
      if (viewer.content === content) viewer.text.showNotes([error instanceof Error ? error.message : String(error)]);
    } finally {
      this.running.delete(dialogue);
      if (viewer.content === content) viewer.refresh([]);
    }
  }

  /**
   * Poll until the replay has finished; return its outcome.
   * @param {Content} content
   * @param {Dialogue} dialogue
   * @returns {Promise<string>}
   */
  async outcomeOf(content, dialogue) {
    const { root, store } = this.viewer;
    const body = JSON.stringify({ run: dialogue.number, key: content.key });
    const headers = { "content-type": "application/json", "x-form-key": root.dataset.key ?? "" };
    for (;;) {
      const { outcome } = await (await store.request("replay", { method: "POST", body, headers })).json();
      if (outcome !== null) return outcome;
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }
}

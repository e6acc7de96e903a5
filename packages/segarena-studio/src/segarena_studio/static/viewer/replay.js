// Replay a dialogue whose masks were not saved, to show the answers of every round.

import { addressOf } from "./sample-info.js";

/** @typedef {import("./viewer.js").Viewer} Viewer */
/** @typedef {import("./sample-info.js").Place} Place */
/** @typedef {import("./dialogue.js").Dialogue} Dialogue */

const ASK_AGAIN_MS = 400;

export class Again {
  /** @param {Viewer} viewer */
  constructor(viewer) {
    this.viewer = viewer;
    /** @type {Set<Dialogue>} dialogues whose replay is running */
    this.holding = new Set();
  }

  /** @param {Dialogue} dialogue */
  isHolding(dialogue) {
    return this.holding.has(dialogue);
  }

  /**
   * Replay a dialogue; this takes about as long as the original. Do not disturb a user who has
   * moved on to another place.
   * @param {Dialogue} dialogue
   */
  async hold(dialogue) {
    const { viewer } = this;
    const place = /** @type {Place} */ (viewer.place);
    this.holding.add(dialogue);
    viewer.words.tell(place);
    try {
      const told = await this.heldOf(place, dialogue);
      viewer.store.forget(addressOf(place.key));
      if (viewer.place !== place) return;
      await viewer.load(place.key, viewer.round);
      viewer.words.tellNotes([...(viewer.place?.notes ?? []), `${dialogue.label}: ${told}`]);
    } catch (error) {
      if (viewer.place === place) viewer.words.tellNotes([error instanceof Error ? error.message : String(error)]);
    } finally {
      this.holding.delete(dialogue);
      if (viewer.place === place) viewer.words.tell(place);
    }
  }

  /**
   * Poll until the replay has finished; return its outcome.
   * @param {Place} place
   * @param {Dialogue} dialogue
   * @returns {Promise<string>}
   */
  async heldOf(place, dialogue) {
    const { root, store } = this.viewer;
    const body = JSON.stringify({ run: dialogue.number, key: place.key });
    const headers = { "content-type": "application/json", "x-form-key": root.dataset.key ?? "" };
    for (;;) {
      const { told } = await (await store.ask("again", { method: "POST", body, headers })).json();
      if (told !== null) return told;
      await new Promise((done) => setTimeout(done, ASK_AGAIN_MS));
    }
  }
}

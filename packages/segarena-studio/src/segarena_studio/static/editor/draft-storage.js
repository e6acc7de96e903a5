// Keeping the draft in this browser while it is not saved: after each edit, and never in the way of the hand.

/**
 * @typedef {import("./saving.js").Saving} Saving
 *
 * @typedef {object} Keeper  what Keeping needs of Drafts
 * @property {(draft: import("./local-drafts.js").Draft, adopted?: string) => Promise<void>} put
 * @property {(person: number, task: string, tab: string) => Promise<void>} remove
 */

export class Keeping {
  /**
   * @param {Saving} saving whose draft it is
   * @param {Keeper} drafts
   * @param {string} adopted  the tab that left the draft behind; "" where there is none
   */
  constructor(saving, drafts, adopted) {
    this.saving = saving;
    this.drafts = drafts;
    this.adopted = adopted;
    this.keptVersion = 0;
    this.canKeep = true;
    /** @type {Promise<void> | null} */
    this.keeping = null;
  }

  /**
   * Whether a version is kept here.
   * @param {number} version
   */
  has(version) {
    return this.canKeep && this.keptVersion === version;
  }

  /**
   * Keep what there is in this browser; edits that come meanwhile are kept after it.
   * @returns {Promise<void>}
   */
  keep() {
    this.keeping ??= this.keepAll().finally(() => {
      this.keeping = null;
    });
    return this.keeping;
  }

  async keepAll() {
    await new Promise((resolve) => void this.saving.later(0, () => resolve(undefined))); // what was edited is painted first
    do await this.put();
    while (this.keptVersion < this.saving.version && this.canKeep && !this.saving.hasEnded);
  }

  /** Keep the draft as it is; once it is saved, let go of it. */
  async put() {
    const { saving, drafts } = this;
    const { version, person, task } = saving;
    try {
      if (!saving.isSaved) await drafts.put(saving.draft(), this.adopted);
      else if (this.adopted) await drafts.remove(person, task, this.adopted);
      this.adopted = "";
      if (saving.isSaved) await drafts.remove(person, task, saving.tab);
      this.canKeep = true;
      this.keptVersion = Math.max(this.keptVersion, version);
    } catch {
      this.canKeep = false;
    }
    saving.tell(saving.state.kind, saving.state.text);
  }
}

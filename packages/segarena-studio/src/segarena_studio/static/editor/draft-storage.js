// Keeping unsaved work in this browser after each edit, without delaying the user.

/**
 * @typedef {import("./saving.js").Saving} Saving
 *
 * @typedef {object} Keeper  the part of Drafts that Keeping uses
 * @property {(draft: import("./local-drafts.js").Draft, adopted?: string) => Promise<void>} put
 * @property {(person: number, task: string, tab: string) => Promise<void>} remove
 */

export class Keeping {
  /**
   * @param {Saving} saving the owner of the draft
   * @param {Keeper} drafts
   * @param {string} adopted  the closed tab whose draft is continued; "" if there is none
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
   * Whether this version is stored in this browser.
   * @param {number} version
   */
  has(version) {
    return this.canKeep && this.keptVersion === version;
  }

  /**
   * Store the current draft in this browser; edits made meanwhile are stored afterwards.
   * @returns {Promise<void>}
   */
  keep() {
    this.keeping ??= this.keepAll().finally(() => {
      this.keeping = null;
    });
    return this.keeping;
  }

  async keepAll() {
    await this.saving.afterPaint(); // let the edit be painted first
    do await this.put();
    while (this.keptVersion < this.saving.version && this.canKeep && !this.saving.hasEnded);
  }

  /** Store the current draft, or remove it once it is saved on the server. */
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

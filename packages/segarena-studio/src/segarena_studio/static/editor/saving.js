// Saving a picture while the user works on it, without ever blocking the user or losing work.
//
// After each edit the draft is stored in this browser; after each object, and at most 1.5 seconds
// after an edit, it is sent to the server. The state is "saved" only after the server has
// acknowledged it. A save that was not answered is sent again with the same id, and the server
// deduplicates by id. A save contains only the differences from the server's revision if that is
// known here. A revision from elsewhere is never overwritten: it is merged, or the user chooses between
// the two.

import { Keeping } from "./draft-storage.js";
import { add, noNews, together } from "../common/pending-log.js";
import { newId, OTHER_PERSON } from "../common/api.js";
import { diffDrafts, patchScene } from "./scene-patch.js";
import { isSame } from "./equality.js";

export { isSame };

/**
 * @typedef {import("../common/api.js").Talk} Talk
 * @typedef {import("../common/api.js").Answer} Answer
 * @typedef {import("./local-drafts.js").Draft} Draft
 * @typedef {import("../common/pending-log.js").News} News
 *
 * @typedef {object} Content  the content that is saved of a picture; opaque here
 * @property {any} scene
 * @property {any} [history]  the undo stack
 *
 * @typedef {object} Theirs  a revision on the server that was saved elsewhere
 * @property {number} revision
 * @property {any} scene
 * @property {any} [history]
 * @property {number | null} [saved_at]  seconds since 1970
 * @property {string} [id]
 *
 * @typedef {"saved" | "unsaved" | "saving" | "offline" | "signed-out" | "waiting" | "conflict" | "refused"} Kind
 * @typedef {object} State
 * @property {Kind} kind
 * @property {string} text  one line for the user
 * @property {boolean} isKept  whether all edits are stored in this browser or on the server
 * @property {Theirs | null} theirs  the conflicting revision, if any
 *
 * @typedef {object} Start  the state to continue from; see `open-picture.js`
 * @property {number} base
 * @property {string[]} own  ids of saves sent before the page was closed, some unanswered
 * @property {boolean} isUnsaved  the content shown differs from the server's
 * @property {News} news  log entries that no save has sent yet
 * @property {Sent[]} sent  log entries of saves that may or may not have reached the server
 * @property {Theirs | null} theirs
 * @property {any} [ancestor]  the scene that the draft and `theirs` both come from, if known
 * @property {Content | null} [synced]  what the server has at revision `base`, if known
 * @property {string} adopted  the closed tab whose draft is continued; "" if there is none
 *
 * @typedef {object} Sent
 * @property {string} id
 * @property {News} news
 *
 * @typedef {object} Save  a save that was sent
 * @property {string} id
 * @property {number} version
 * @property {News} news
 * @property {Content} content
 * @property {any} body
 *
 * @typedef {(ancestor: any, theirs: any, preference: "none" | "mine" | "theirs") => "merged" | "conflict" | "busy"} Merge
 *   merges their scene into the one on the screen; both come from the ancestor. "busy": the user is dragging something.
 */

export const SAVE_WITHIN_MS = 1500;
const AGAIN_MS = [500, 1000, 2000, 4000, 8000, 15_000];
const MOST_ENTRIES = 20_000;
const MOST_OWN = 20;
/** Maximum size of a request that browsers still send while a page closes, in bytes. */
const MOST_WHEN_LEAVING = 60_000;
/** Delay before another attempt to merge if the user is dragging something, in ms. */
const MERGE_AGAIN_MS = 400;
const SAVING = "Saving…";
/** @type {Kind[]} */
const USUAL = ["saved", "unsaved", "saving"];

export class Saving {
  /**
   * @param {object} given
   * @param {Talk} given.talk
   * @param {import("./draft-storage.js").Keeper} given.drafts
   * @param {number} given.person
   * @param {string} given.task
   * @param {string} given.tab
   * @param {Start} given.start
   * @param {() => Content} given.content  returns the current content; called when it is written, not at each edit
   * @param {Merge} [given.merge]
   * @param {(state: State) => void} [given.onState]
   * @param {() => number} [given.clock]  milliseconds since 1970
   * @param {(wait_ms: number, act: () => void) => () => void} [given.later]  a timer; returns a function that cancels it
   * @param {() => Promise<void>} [given.afterPaint]  resolves after the next frame, or at once
   */
  constructor({ talk, drafts, person, task, tab, start, content, merge = () => "conflict", onState = () => {}, clock = Date.now, later = laterByTimer, afterPaint }) {
    this.talk = talk;
    this.person = person;
    this.task = task;
    this.tab = tab;
    this.content = content;
    this.merge = merge;
    this.onState = onState;
    this.clock = clock;
    this.later = later;
    this.afterPaint = afterPaint ?? (() => new Promise((resolve) => void later(0, () => resolve())));
    this.base = start.base;
    this.theirs = start.theirs;
    /** The scene that this one and `theirs` both come from; null if unknown. */
    this.ancestor = start.ancestor ?? null;
    /** The content of the server's revision `base`; null if unknown. */
    this.synced = start.synced ?? null;
    this.keeping = new Keeping(this, drafts, start.adopted);
    this.news = start.news;
    /** Saves from before a reload: the next answer shows whether the server has one of them. */
    this.before = start.sent;
    /** Each edit increments the version; `savedVersion` is the last one that the server has. */
    this.version = start.isUnsaved ? 1 : 0;
    this.savedVersion = 0;
    /**
     * The save that was sent but not answered, to be resent unchanged.
     * @type {Save | null}
     */
    this.unanswered = null;
    /**
     * Ids of this draft's saves, including those from before a reload, to recognize its own
     * revisions.
     */
    this.own = start.own;
    this.isSending = false;
    this.isUrgent = false;
    this.isLeaving = false;
    this.hasEnded = false;
    this.tries = 0;
    /** @type {(() => void) | null} */
    this.cancelTimer = null;
    /** @type {State} */
    this.state = { kind: "saved", text: "", isKept: true, theirs: null };
    if (this.theirs) this.tell("conflict", conflictText(this.theirs));
    else if (start.isUnsaved) this.edited();
    else this.tell("saved", "Saved");
  }

  /**
   * Record an edit.
   * @param {{kind: string, region: string | null}} [done]  for the log
   */
  edited(done) {
    this.version += 1;
    if (done && this.news.log.length < MOST_ENTRIES) this.news.log.push({ at_ms: this.clock(), kind: done.kind, region: done.region });
    if (this.state.kind === "saved" || this.state.kind === "refused") this.tell("unsaved", SAVING);
    void this.keeping.keep();
    if (!this.theirs && !this.cancelTimer) this.sendIn(SAVE_WITHIN_MS);
  }

  /**
   * Record that an object was finished, and save now.
   * @param {{kind: string, region: string | null}} [done]
   */
  finished(done) {
    this.edited(done);
    void this.send();
  }

  /**
   * Record time spent on a region; it is sent with the next save.
   * @param {string} region
   * @param {number} time_ms
   * @param {number} active_ms
   */
  spent(region, time_ms, active_ms) {
    add(this.news.time_ms, { [region]: time_ms });
    add(this.news.active_ms, { [region]: active_ms });
  }

  /** Retry now: the connection is back, or the user returns to the page or leaves it. */
  retry() {
    if (!this.isSaved) void this.send();
  }

  /** Resolve a conflict in favour of the local revision. */
  keepMine() {
    if (this.settled()) this.finished();
  }

  /**
   * Resolve a conflict in favour of the server's revision and return it, for the page to show as
   * one undo step.
   * @returns {Theirs | null}
   */
  takeTheirs() {
    return this.settled();
  }

  /** @returns {Theirs | null} */
  settled() {
    const { theirs } = this;
    if (!theirs) return null;
    this.basedOn(theirs.revision, { scene: theirs.scene, history: null });
    this.theirs = null;
    this.ancestor = null;
    this.unanswered = null;
    this.tell("unsaved", SAVING);
    return theirs;
  }

  /** Merge the revision that was saved elsewhere before this page was opened, if it does not conflict with this one. */
  mergeAtStart() {
    if (!this.theirs || !this.ancestor) return;
    if (this.merge(this.ancestor, this.theirs.scene, "none") === "merged" && this.settled()) this.finished();
  }

  /**
   * Replace the id of a region in the log entries that are not sent yet.
   * @param {string} from
   * @param {string} to
   */
  renameRegion(from, to) {
    const { log, time_ms, active_ms } = this.news;
    for (const entry of log) if (entry.region === from) entry.region = to;
    for (const times of [time_ms, active_ms]) {
      if (!(from in times)) continue;
      times[to] = times[from];
      delete times[from];
    }
  }

  /**
   * @param {number} revision
   * @param {Content} synced what the server has at that revision
   */
  basedOn(revision, synced) {
    this.base = revision;
    this.synced = synced;
  }

  /** Whether the server has everything. */
  get isSaved() {
    return this.savedVersion === this.version && !this.theirs;
  }

  /** Whether everything is stored at least in this browser. */
  get isKept() {
    return this.isSaved || this.keeping.has(this.version);
  }

  /** Whether unsaved work is safe: it is stored here, and saving is proceeding normally. */
  get isSafe() {
    return this.isSaved || (USUAL.includes(this.state.kind) && this.keeping.canKeep);
  }

  /** Stop sending; stored drafts remain. */
  end() {
    this.hasEnded = true;
    this.stopTimer();
  }

  /** @returns {Draft} */
  draft() {
    const { person, task, tab, base, own, news, unanswered } = this;
    const sent = unanswered ? [...this.before, { id: unanswered.id, news: unanswered.news }] : this.before;
    return { person, task, tab, base, own, content: this.content(), news, sent, at_ms: this.clock() };
  }

  /** Send the draft. If a save is under way, send the later edits after it. */
  async send() {
    if (this.theirs || this.hasEnded || this.isSaved) return;
    if (this.isSending) {
      this.isUrgent = true;
      return;
    }
    this.isSending = true;
    this.isUrgent = false;
    this.stopTimer();
    try {
      const keepalive = this.isLeaving;
      if (!this.unanswered) {
        this.unanswered = this.nextSave();
        // Store the draft first, so that the page recognizes this revision as its own even if the browser is killed now.
        // A closing page has no time for this.
        if (this.keeping.canKeep && !keepalive) await this.keeping.put();
      }
      if (this.state.kind === "unsaved") this.tell("saving", SAVING);
      const save = this.unanswered;
      const answer = await this.talk.ask("PUT", `/studio/tasks/${this.task}/draft`, save.body, { keepalive: keepalive && isSmall(save.body) });
      if (!this.hasEnded) this.take(save, answer);
    } finally {
      this.isSending = false;
    }
    if (this.cancelTimer && !this.isUrgent) return;
    if (!this.isSaved && ["unsaved", "saving"].includes(this.state.kind)) this.sendIn(this.isUrgent ? 0 : SAVE_WITHIN_MS);
  }

  /** @returns {Save} */
  nextSave() {
    const { base, news, synced, version } = this;
    const id = newId();
    const content = this.content();
    const patch = synced && diffDrafts(synced, content);
    this.own = [...this.own, id].slice(-MOST_OWN);
    this.news = noNews();
    const { scene, history = null } = content;
    return { id, version, news, content, body: { base, id, ...(patch ? { patch } : { scene, history }), ...news } };
  }

  /**
   * @param {Save} save
   * @param {Answer} answer
   */
  take(save, answer) {
    switch (answer.outcome) {
      case "done":
        return this.acknowledged(save, answer.body.revision);
      case "conflict":
        return this.met(save, answer.body);
      case "refused":
        if ([413, 422].includes(answer.status) && makeSimpler(save)) return this.sendIn(0);
        this.untold(save);
        return this.tell("refused", `The server rejected this: ${answer.message}.`);
      case "signed-out":
        this.tell("signed-out", `${answer.message === OTHER_PERSON ? "Another user has signed in here" : "You are signed out"}. Sign in again in another tab to continue saving.`);
        break;
      case "busy":
        this.tell("waiting", `The server cannot save at the moment: ${answer.message}. Saving will be retried.`);
        break;
      case "away":
        this.tell("offline", "No connection to the server. Saving will be retried.");
    }
    const usual = AGAIN_MS[Math.min(this.tries, AGAIN_MS.length - 1)];
    this.tries += 1;
    this.sendIn(Math.max(usual * (0.75 + 0.5 * Math.random()), answer.wait_ms));
  }

  /**
   * Handle a save that was rejected because the server already has a newer revision.
   * @param {Save} save
   * @param {any} answer  their revision, whose scene may be a patch of the last one that this page has
   */
  met(save, answer) {
    const ancestor = this.synced?.scene ?? null;
    /** @type {Theirs} */
    const theirs = answer.changes && ancestor ? { ...answer, scene: patchScene(ancestor, answer.changes) } : answer;
    if (theirs.id === save.id || isSame(theirs.scene, save.content.scene)) return this.acknowledged(save, theirs.revision, theirs.id);
    this.untold(save);
    this.resolve(theirs.id ?? "");
    const synced = { scene: theirs.scene, history: null };
    if (theirs.id && this.own.includes(theirs.id)) {
      this.basedOn(theirs.revision, synced); // an earlier save of ours, whose answer never came
      return this.sendIn(0);
    }
    const outcome = ancestor ? this.merge(ancestor, theirs.scene, "none") : "conflict";
    if (outcome === "busy") return this.sendIn(MERGE_AGAIN_MS);
    if (outcome === "merged") {
      this.basedOn(theirs.revision, synced);
      return this.sendIn(0);
    }
    this.ancestor = ancestor;
    this.theirs = theirs;
    void this.keeping.keep();
    this.tell("conflict", conflictText(theirs));
  }

  /**
   * Use the newest server revision to settle the saves from before a reload: the save with that id,
   * if any, arrived; queue the log entries of the others again. Return whether there were any
   * others.
   * @param {string} id
   */
  resolve(id) {
    const others = this.before.filter((sent) => sent.id !== id);
    this.before = [];
    for (const { news } of others) this.news = together(news, this.news);
    return others.length > 0;
  }

  /**
   * A save failed: move its log entries to the next one.
   * @param {Save} save
   */
  untold(save) {
    this.unanswered = null;
    this.news = together(save.news, this.news);
  }

  /**
   * @param {Save} save
   * @param {number} revision
   * @param {string} [id] its id on the server
   */
  acknowledged(save, revision, id = save.id) {
    this.basedOn(revision, id === save.id ? save.content : { scene: save.content.scene, history: null });
    this.savedVersion = save.version;
    this.unanswered = null;
    if (this.resolve(id)) this.version += 1; // their log entries need one more save
    this.isUrgent ||= this.tries > 0; // after a resend, later edits have waited long enough
    this.tries = 0;
    this.tell(this.isSaved ? "saved" : "unsaved", this.isSaved ? "Saved" : SAVING);
    void this.keeping.keep(); // a tab closed now must continue from this revision
  }

  /** @param {number} wait_ms */
  sendIn(wait_ms) {
    this.stopTimer();
    this.cancelTimer = this.later(wait_ms, () => {
      this.cancelTimer = null;
      void this.send();
    });
  }

  stopTimer() {
    this.cancelTimer?.();
    this.cancelTimer = null;
  }

  /**
   * @param {Kind} kind
   * @param {string} text
   */
  tell(kind, text) {
    this.state = { kind, text, isKept: this.isKept, theirs: this.theirs };
    if (USUAL.includes(kind) && this.keeping.canKeep) return this.onState(this.state);
    // Storing an edit takes only milliseconds, so do not warn the user meanwhile.
    const where = this.keeping.canKeep ? "Your work is stored in this browser." : "Your work exists only in this page: do not close it.";
    this.onState({ ...this.state, text: this.isSaved ? text : `${text} ${where}` });
  }
}

/** @param {Theirs} theirs */
function conflictText({ saved_at }) {
  const at = saved_at ? ` at ${new Date(1000 * saved_at).toLocaleTimeString()}` : "";
  return `This picture was also changed elsewhere${at}. Choose which version to continue.`;
}

/** @param {any} body */
function isSmall(body) {
  return new TextEncoder().encode(JSON.stringify(body)).length < MOST_WHEN_LEAVING;
}

/**
 * Simplify a rejected save: replace a patch by the whole drawing; if the whole drawing was rejected, leave out
 * the undo history, because losing it is better than not saving. Return whether this changed the save.
 * @param {Save} save
 */
function makeSimpler(save) {
  const { body, content } = save;
  if (body.patch) {
    delete body.patch;
    Object.assign(body, { scene: content.scene, history: content.history ?? null });
    return true;
  }
  if (!body.history) return false;
  body.history = null;
  save.content = { ...content, history: null };
  return true;
}

/**
 * @param {number} wait_ms
 * @param {() => void} act
 */
function laterByTimer(wait_ms, act) {
  const timer = setTimeout(act, wait_ms);
  return () => clearTimeout(timer);
}

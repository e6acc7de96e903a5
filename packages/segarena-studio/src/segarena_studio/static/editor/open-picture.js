// Opening a picture: combines the server's revision with local work that the server does not have.

import { noNews, together } from "../common/pending-log.js";
import { isSame } from "./equality.js";
import { unpackScene } from "./packed-scene.js";
import { patchScene } from "./scene-patch.js";

/**
 * @typedef {import("./saving.js").Start} Start
 * @typedef {import("./local-drafts.js").Draft} Draft
 * @typedef {import("../common/api.js").Talk} Talk
 *
 * @typedef {object} Opened
 * @property {any} content  the scene and history to continue with
 * @property {any} told  the server's whole answer: revision, state, comments ...; null if the server was unreachable
 * @property {Start} start  the initial state of Saving
 * @property {boolean} isElsewhere  another open tab of this browser has unsaved work on the picture
 *
 * @typedef {object} Finder  the part of Drafts used here
 * @property {(person: number, task: string) => Promise<Draft[]>} of
 * @property {(person: number, task: string, tab: string) => Promise<void>} remove
 */

/**
 * Return the drawing on which the user continues.
 * @param {object} given
 * @param {Talk} given.talk
 * @param {Finder} given.drafts
 * @param {{lives: (tab: string) => Promise<boolean>}} given.tabs
 * @param {number} given.person
 * @param {string} given.task
 * @param {Promise<import("../common/api.js").Answer>} [given.earlyAnswer]  to the request for the draft, if it was sent already
 * @returns {Promise<Opened | import("../common/api.js").Answer>}  the server's answer if there is nothing to show
 */
export async function openPicture({ talk, drafts, tabs, person, task, earlyAnswer }) {
  const kept = await drafts.of(person, task).catch(() => []);
  /** @type {Draft[]} */
  const left = [];
  for (const draft of kept) if (!(await tabs.lives(draft.tab))) left.push(draft);
  const isElsewhere = left.length < kept.length;
  // The server reports what has changed since the revision that the draft is based on.
  const asked = left[0]?.base ?? 0;
  const address = `/studio/tasks/${task}/draft?packed=1${asked ? `&base=${asked}` : ""}`;
  const early = await earlyAnswer;
  const hasChanged = asked > 0 && early?.outcome === "done" && early.body.revision !== asked;
  const answer = early && !hasChanged ? early : await talk.ask("GET", address);
  const told = answer.outcome === "done" ? { ...answer.body, scene: unpackScene(answer.body.scene) } : null;
  if (!told && (!left.length || answer.outcome === "refused")) return answer;
  for (const draft of left) {
    if (told && isSame(draft.content.scene, told.scene)) await drafts.remove(person, task, draft.tab).catch(() => {});
    else return { content: draft.content, told, isElsewhere, start: startOf(draft, told, draft.base === asked) };
  }
  if (told.edited && told.history) {
    // Proposals have arrived since the last edit: merge them as a step of the undo history.
    const ancestor = patchScene(told.scene, told.edited);
    const start = { base: told.revision, own: [], isUnsaved: false, news: noNews(), sent: [], theirs: told, ancestor, synced: null, adopted: "" };
    return { content: { scene: ancestor, history: told.history }, told, isElsewhere, start };
  }
  const start = { base: told.revision, own: [], isUnsaved: false, news: noNews(), sent: [], theirs: null, synced: syncedOf(told), adopted: "" };
  return { content: told, told, isElsewhere, start };
}

/**
 * Continue the draft of a closed tab.
 * @param {Draft} draft
 * @param {any} told
 * @param {boolean} hasAncestor whether `told` has the changes since the draft's base
 * @returns {Start}
 */
function startOf({ base, own, news, sent, tab }, told, hasAncestor) {
  const isSaved = Boolean(told?.id) && own.includes(told.id);
  const isOwn = !told || told.revision === base || isSaved;
  return {
    base: isSaved ? told.revision : base,
    own,
    isUnsaved: true,
    news: told ? together(untold(sent, told), news) : news,
    sent: told ? [] : sent,
    theirs: isOwn ? null : told,
    ancestor: !isOwn && hasAncestor && told.ancestor ? patchScene(told.scene, told.ancestor) : null,
    synced: told && isOwn ? syncedOf(told) : null,
    adopted: tab,
  };
}

/**
 * Return the content of the server's newest revision.
 * @param {any} told
 * @returns {import("./saving.js").Content}
 */
function syncedOf({ scene, history }) {
  return { scene, history };
}

/**
 * Return the log entries of saves that did not reach the server.
 * @param {import("./saving.js").Sent[]} sent
 * @param {any} told
 */
function untold(sent, told) {
  return sent.filter(({ id }) => id !== told.id).reduce((all, { news }) => together(all, news), noNews());
}

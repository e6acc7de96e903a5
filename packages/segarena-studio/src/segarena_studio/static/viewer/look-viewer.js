// The viewer of `segarena look`: it loads samples and dialogues from the server, and adds the page's
// controls, keys, neighbours and replays to the viewer of rounds.

import { roundsOf } from "../../../reports/viewer/content.js";
import { Player } from "../../../reports/viewer/playback.js";
import { RoundViewer } from "../../../reports/viewer/round-viewer.js";
import { drawCurve } from "../../../reports/viewer/value-curve.js";
import { find } from "../common/dom.js";
import { Controls } from "./controls.js";
import { listenToKeys } from "./keyboard.js";
import { PageText } from "./page-text.js";
import { PlaneStore } from "./plane-store.js";
import { Replays } from "./replay.js";
import { queryOf } from "./sample-info.js";

/** @typedef {import("../../../reports/viewer/content.js").Content} Content */
/** @typedef {import("../../../reports/viewer/content.js").Dialogue} Dialogue */
/** @typedef {import("../../../reports/viewer/content.js").Key} Key */
/** @typedef {import("../../../reports/viewer/window-level.js").Window} Window */

/** Number of planes to prefetch. */
const AHEAD = 12;

export class LookViewer extends RoundViewer {
  /** @param {HTMLElement} root  the element whose `data-address` is that of the collection */
  constructor(root) {
    const address = /** @type {string} */ (root.dataset.address);
    const store = new PlaneStore(address);
    super(find(".panes", HTMLElement, root), store);
    this.root = root;
    this.address = address;
    this.store = store;
    /** Query of the list from which the page was opened. */
    this.query = new URLSearchParams(location.search);
    for (const name of ["sample", "target", "user", "repeat", "round"]) this.query.delete(name);
    /** @type {import("./sample-info.js").Answer | null} */
    this.answer = null;
    /** @type {Key} */
    this.key = ["", "", "", 0];
    this.loading = 0;
    this.moveCursor = (/** @type {number} */ _round) => {};
    this.controls = new Controls(this, root);
    this.player = new Player(this, {
      rate: () => Number(this.controls.control("speed").value),
      show: (isPlaying) => (this.controls.control("play").textContent = isPlaying ? "Pause" : "Play"),
    });
    this.replays = new Replays(this);
    this.text = new PageText(this);
    listenToKeys(this);
    for (const name of /** @type {("previous" | "next")[]} */ (["previous", "next"])) {
      find(`a.${name}`, HTMLAnchorElement, root).addEventListener("click", (event) => {
        if (event.metaKey || event.ctrlKey) return;
        event.preventDefault();
        this.go(name);
      });
    }
    const help = find("dialog.help", HTMLDialogElement, root);
    find("button.help", HTMLButtonElement, root).addEventListener("click", () => help.showModal());
  }

  get showsTarget() {
    return this.controls.control("target").checked;
  }

  get dragTool() {
    return this.controls.control("drag").value;
  }

  get settings() {
    return this.controls.settings;
  }

  /**
   * Load and show a sample or dialogue.
   * @param {Key} key
   * @param {number} [round]
   */
  async load(key, round = Infinity) {
    const number = ++this.loading;
    this.player.pause();
    this.root.setAttribute("aria-busy", "true");
    const answer = await this.request(key);
    if (number !== this.loading) return;
    this.root.removeAttribute("aria-busy");
    this.answer = answer;
    this.key = key;
    this.text.showProblem(answer.problem);
    this.text.showNeighbours(key, answer.around, answer.user_words);
    this.text.showNotes(answer.content?.notes ?? []);
    this.root.classList.toggle("is-bare", !answer.content);
    if (answer.content) return this.show(answer.content, round);
    this.content = null;
    this.panes.clear();
    this.text.clear();
  }

  /**
   * @param {Key} key
   * @returns {Promise<import("./sample-info.js").Answer>}
   */
  async request(key) {
    try {
      return await (await this.store.request(`content?${queryOf(key)}&${this.query}`)).json();
    } catch (error) {
      const around = { row: null, count: 0, previous: null, next: null };
      return { around, user_words: "", content: null, problem: error instanceof Error ? error.message : String(error) };
    }
  }

  /**
   * @param {Content} content
   * @param {number} round
   */
  show(content, round) {
    const { rounds, isSameTarget } = this.setContent(content, round);
    this.controls.fill(content, rounds);
    if (this.window) this.controls.showWindow(this.window);
    this.panes.wantsTarget = content.kind === "image" && Boolean(content.key[1]) && !isSameTarget;
    this.text.showObjects(content);
    const host = find(".rounds", HTMLElement, this.root);
    this.moveCursor = drawCurve(host, content.dialogues, rounds, content.thresholds, (chosen) => this.setRound(chosen));
    this.rebuild(isSameTarget);
  }

  /** @param {Content} content */
  onChange(content) {
    this.text.update(content);
    this.moveCursor(this.round);
    this.writeAddress(content);
    this.store.prefetch(this.nextLoads(content, AHEAD));
  }

  /**
   * @param {Dialogue} dialogue
   * @param {import("../../../reports/viewer/content.js").Moment} moment
   */
  captionExtras(dialogue, moment) {
    return moment.at && moment.last !== moment.at ? [this.replays.button(dialogue)] : [];
  }

  /** @param {string} text */
  showReadout(text) {
    this.text.showReadout(text);
  }

  /** @param {string} problem */
  showProblem(problem) {
    this.text.showProblem(problem);
  }

  /**
   * Update the page's address to match the content.
   * @param {Content} content
   */
  writeAddress(content) {
    const isLast = this.round === roundsOf(content.dialogues);
    const query = String(this.query);
    history.replaceState(null, "", `?${queryOf(this.key)}${query && `&${query}`}${isLast ? "" : `&round=${this.round}`}`);
  }

  /**
   * @param {Window} window
   * @param {boolean} [refreshes]
   */
  setWindow(window, refreshes = true) {
    super.setWindow(window, refreshes);
    this.controls.showWindow(window);
  }

  /** @param {"previous" | "next"} which */
  go(which) {
    const key = this.answer?.around[which];
    if (key) void this.load(key);
  }
}

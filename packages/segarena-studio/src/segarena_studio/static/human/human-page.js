// A person in place of a simulated user: take a seat, look at the model's answer, and correct it
// round by round.

import { Clock } from "./thinking-time.js";
import { showControls } from "./controls.js";
import { Hand } from "./prompt-input.js";
import { the, valueOf, wait } from "./page-elements.js";
import { Sight } from "./sample-view.js";
import { screenNow } from "../common/strokes.js";
import { Talk, newId } from "../common/api.js";

const WAIT_MS = 2000;
const POLL_MS = 400;
const MOST_WAIT_MS = 8000;

class Seat {
  constructor() {
    const root = the("seat");
    this.run = String(root.dataset.run);
    this.talk = new Talk({ key: String(root.dataset.key), person: Number(root.dataset.person) });
    /** @type {any} constant data of the seat */
    this.about = null;
    /** @type {any} current state of the dialogue */
    this.state = null;
    this.seat = "";
    this.clock = new Clock();
    this.id = newId();
    this.isBusy = false;
    this.sight = new Sight();
    /** @type {Hand} */
    this.hand = new Hand(this.sight, {
      mayDraw: () => this.state && !this.state.is_over && !this.isBusy && the("cover").hidden,
      changed: () => this.keepDraft(),
      drew: () => void (this.sendsAtOnce && this.send()),
      send: (isEnd) => void this.send(isEnd),
      pause: () => this.pause(),
      tell: (text) => this.tell(text),
    });
    this.listen();
  }

  listen() {
    the("note").oninput = () => this.keepOpenDraft();
    this.sight.onTrouble = (text) => this.tell(text);
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) this.clock.stop("hidden");
      else this.clock.go("hidden");
      this.keepOpenDraft();
    });
    window.addEventListener("pagehide", () => this.keepOpenDraft());
  }

  // Choice of a seat

  async take() {
    for (;;) {
      const answer = await this.talk.ask("POST", `/studio/seats/${this.run}/take`, {});
      if (answer.outcome === "done" && answer.body.seat) return this.sit(answer.body.seat);
      if (answer.outcome === "signed-out" || answer.outcome === "refused") return this.tell(this.why(answer));
      const done = answer.body.mine ? `Dialogues that you have finished: ${answer.body.mine}. ` : "";
      if (answer.outcome === "away" && this.seat) this.waits("The run has ended, or its page cannot be reached; your prompts are stored.");
      else if (answer.outcome !== "done") this.waits(this.why(answer));
      else if (answer.body.is_answered) this.waits(`${done}No dialogue is free for you at the moment; this page checks again by itself.`);
      else this.waits(`${done}The run is paused or over; this page checks again by itself.`);
      await wait(WAIT_MS);
    }
  }

  /**
   * Explain, in place of the picture, why there is nothing to do now.
   * @param {string} told
   */
  waits(told) {
    this.tell(told);
    the("cover-told").textContent = told;
    the("round").textContent = "";
    the("controls").hidden = the("cover-act").hidden = true;
    the("stage").hidden = the("cover").hidden = false;
  }

  /** @param {string} seat */
  async sit(seat) {
    this.seat = seat;
    this.tell("One moment …");
    const [about, state] = await Promise.all([this.fetch("about"), this.fetch("state")]);
    this.about = about;
    this.hand.clear();
    this.hand.tool = showControls(about, this.sight);
    the("send").hidden = the("undo").hidden = this.sendsAtOnce; // a click is sent at once
    the("stage").hidden = the("controls").hidden = false;
    the("cover").hidden = true;
    await this.show();
    this.takeIn(state);
    this.sight.focus();
  }

  /** Load the sample; retry until it arrives. */
  async show() {
    for (let wait_ms = POLL_MS; ; wait_ms = Math.min(MOST_WAIT_MS, 2 * wait_ms)) {
      try {
        return await this.sight.show(this.about, (what) => this.address(what));
      } catch {
        this.tell("The picture could not be loaded; retrying.");
        await wait(wait_ms);
      }
    }
  }

  /**
   * Request data until it arrives.
   * @param {string} what
   */
  async fetch(what) {
    for (let wait_ms = POLL_MS; ; wait_ms = Math.min(MOST_WAIT_MS, 2 * wait_ms)) {
      const answer = await this.talk.ask("GET", this.address(what));
      if (answer.outcome === "done") return answer.body;
      this.tell(this.why(answer));
      await wait(wait_ms);
    }
  }

  /** @param {string} what */
  address(what) {
    return `/studio/seats/${this.run}/${this.seat}/${what}`;
  }

  /** @param {import("../common/api.js").Answer} answer */
  why(answer) {
    if (answer.outcome === "signed-out") return "You are signed out: open the link that the run printed, or sign in again. Your prompts are stored.";
    if (answer.outcome === "away") return "The server cannot be reached; retrying. Your prompts are stored.";
    return answer.message;
  }

  // Rounds

  /**
   * Continue from the server's state of the dialogue.
   * @param {any} state
   */
  takeIn(state) {
    this.state = state;
    this.isBusy = false;
    this.sight.answer(state.prediction);
    const count = this.about.rounds >= 1000 ? "" : ` of ${this.about.rounds}`;
    the("round").textContent = state.is_over ? "" : `Round ${state.round}${count}`;
    this.showValues();
    if (state.is_waiting) return void this.poll();
    const drafted = this.drafted();
    this.id = drafted.id;
    this.clock = new Clock(undefined, drafted.ms);
    if (document.hidden) this.clock.stop("hidden");
    /** @type {HTMLTextAreaElement} */ (the("note")).value = drafted.note;
    this.hand.beginRound(drafted.prompts, drafted.pointers, state.given);
    if (state.is_over) this.end();
    else this.tell(this.task());
  }

  task() {
    const what = this.about.label ? `“${this.about.label}”` : "the outlined target";
    if (this.state.round === 1) return `Show the model ${what}.`;
    return this.about.shows.errors ? "Missing and surplus parts are coloured: mark the most important error." : "Mark an error, or end the dialogue if the answer is good enough.";
  }

  end() {
    this.clock.stop("sent");
    const rounds = this.state.given.filter((/** @type {any} */ each) => each).length;
    const why = this.state.failure ? `It ended early: ${this.state.failure}` : `${rounds} ${rounds === 1 ? "round" : "rounds"}. Thank you.`;
    this.tell("This dialogue has ended.");
    the("controls").hidden = true;
    this.covered(`This dialogue has ended. ${why}`, "Next one", () => this.take());
  }

  /**
   * @param {string} told
   * @param {string} name
   * @param {() => void} act
   */
  covered(told, name, act) {
    const button = the("cover-act");
    the("cover-told").textContent = told;
    button.textContent = name;
    button.onclick = () => {
      the("cover").hidden = true;
      act();
    };
    the("cover").hidden = button.hidden = false;
    button.focus();
  }

  pause() {
    if (!this.state || this.state.is_over || this.isBusy) return;
    this.clock.stop("paused");
    this.keepDraft();
    this.covered("Paused. Your time is not counted, and your drawing is kept.", "Go on", () => {
      this.clock.go("paused");
      this.sight.focus();
    });
  }

  /**
   * @param {boolean} isEnd whether nothing is left to correct
   * @returns {Promise<void>}
   */
  async send(isEnd = false) {
    if (this.isBusy || !this.state || this.state.is_over || !the("cover").hidden) return;
    if (!isEnd && this.hand.round.isEmpty) return this.tell("Nothing is drawn yet: press on the picture for a click, or drag for a box or a line.");
    this.isBusy = true;
    this.clock.stop("sent");
    this.keepDraft();
    const body = {
      id: this.id,
      prompts: isEnd ? null : this.hand.round.prompts,
      active_s: Math.round(1000 * this.clock.seconds) / 1000,
      pointer: [...this.hand.pointers].sort().join("+"),
      note: valueOf("note"),
      strokes: { screen: screenNow(this.sight.main.picture.view.scale), strokes: this.hand.strokes.strokes },
    };
    this.tell("The model is working; your time is not counted.");
    for (let wait_ms = POLL_MS; ; wait_ms = Math.min(MOST_WAIT_MS, 2 * wait_ms)) {
      const answer = await this.talk.ask("PUT", this.address(`rounds/${this.state.round}`), body, { limit_ms: 40_000 });
      if (answer.outcome === "done") {
        this.dropDraft();
        return this.takeIn(answer.body);
      }
      if (answer.outcome === "conflict") {
        this.dropDraft();
        this.takeIn(await this.fetch("state"));
        return this.tell(answer.message);
      }
      if (answer.outcome === "refused") {
        this.isBusy = false;
        this.clock.go("sent");
        return this.tell(answer.message);
      }
      this.tell(this.why(answer));
      await wait(wait_ms);
    }
  }

  /** Poll for an answer that takes a long time to arrive. */
  async poll() {
    this.isBusy = true;
    this.clock.stop("sent");
    let state = this.state;
    while (state.is_waiting) {
      this.tell(state.is_answered ? "The model is working; your time is not counted." : "The run is paused and continues when it is started again. Your prompts are stored.");
      await wait(POLL_MS);
      state = await this.fetch("state");
    }
    this.takeIn(state);
  }

  // Keep unsent prompts across reloads of the page.

  draftName() {
    return `seat:${this.run}:${this.seat}:${this.state.round}`;
  }

  keepOpenDraft() {
    if (this.state && !this.isBusy && !this.state.is_over) this.keepDraft();
  }

  keepDraft() {
    const note = valueOf("note");
    const draft = { id: this.id, prompts: this.hand.round.prompts, ms: 1000 * this.clock.seconds, note, pointers: [...this.hand.pointers] };
    try {
      localStorage.setItem(this.draftName(), JSON.stringify(draft));
    } catch {
      // Browser storage is off or full: the prompts exist only in this page, and can still be sent.
    }
  }

  /** Delete the stored draft once it has been sent. */
  dropDraft() {
    try {
      localStorage.removeItem(this.draftName());
    } catch {
      // Browser storage is off, so there is no draft.
    }
  }

  /** @returns {{id: string, prompts: import("./round.js").Prompt[], ms: number, note: string, pointers: string[]}} */
  drafted() {
    const empty = { id: newId(), prompts: [], ms: 0, note: "", pointers: [] };
    try {
      return { ...empty, ...JSON.parse(localStorage.getItem(this.draftName()) ?? "{}") };
    } catch {
      return empty;
    }
  }

  /** Whether each click is sent at once, because a round consists of a single click. */
  get sendsAtOnce() {
    return this.about.kind === "image" && this.about.kinds.length === 1 && this.about.kinds[0] === "click";
  }

  showValues() {
    const told = Object.entries(this.state.values).filter(([, value]) => value !== null);
    the("values").hidden = told.length === 0;
    the("values").textContent = told.map(([name, value]) => `${name} ${Number(value).toFixed(3)}`).join(" · ");
  }

  /** @param {string} text */
  tell(text) {
    if (the("told").textContent !== text) the("told").textContent = text;
  }
}

new Seat().take();

// A person's tab as the editor has it, without a page: a scene that is a number of edits, and its saving.

import { openPicture } from "../../src/segarena_studio/static/editor/open-picture.js";
import { Saving } from "../../src/segarena_studio/static/editor/saving.js";
import { newId, Talk } from "../../src/segarena_studio/static/common/api.js";

/** Tabs of one browser: alive until they are closed or killed. */
export class FakeTabs {
  constructor() {
    this.living = new Set();
  }

  async lives(tab) {
    return this.living.has(tab);
  }
}

export class Tab {
  /** Open the picture in a tab; `tab.shown` is the scene. */
  static async open({ server, drafts, tabs, time, task = "t", person = 7, key = server.key }) {
    const tab = new Tab();
    tab.name = newId();
    tab.tabs = tabs;
    tab.talk = new Talk({ key, person, fetch: tab.asLongAsItLives(server.fetch) });
    const opened = await openPicture({ talk: tab.talk, drafts, tabs, person, task });
    tab.opened = opened;
    if (!opened.start) return tab;
    tabs.living.add(tab.name);
    tab.shown = structuredClone(opened.content.scene);
    tab.history = structuredClone(opened.content.history ?? []);
    tab.states = [];
    tab.saving = new Saving({
      talk: tab.talk, drafts: { put: tab.asLongAsItLives((...of) => drafts.put(...of)), remove: tab.asLongAsItLives((...of) => drafts.remove(...of)) },
      person, task, tab: tab.name, start: opened.start, clock: time.clock, later: time.later,
      content: () => ({ scene: structuredClone(tab.shown), history: structuredClone(tab.history) }),
      onState: (state) => tab.states.push(state),
    });
    return tab;
  }

  /** Change the scene. */
  edit(value, isFinished = false) {
    this.history.push(this.shown);
    this.shown = { n: value };
    const done = { kind: "edit", region: "r1" };
    this.saving.spent("r1", 10, 5);
    if (isFinished) this.saving.finished(done);
    else this.saving.edited(done);
  }

  get state() {
    return this.states.at(-1) ?? this.saving.state;
  }

  /** The browser, or the tab, is gone from one moment to the next. */
  kill() {
    this.isDead = true;
    this.tabs.living.delete(this.name);
  }

  /** What the tab does has its effect only while it lives, and comes back to nobody after it. */
  asLongAsItLives(act) {
    const never = new Promise(() => {});
    return async (...given) => {
      if (this.isDead) return never;
      const done = await act(...given).then((result) => () => result, (error) => () => Promise.reject(error));
      return this.isDead ? never : done();
    };
  }
}

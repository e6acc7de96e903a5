// Browsers that draw in the studio, for studio_saves.py: the page's own modules of saving, under node, against a real server.
//
// Reads {address, browsers: [{task, person, cookie}], saves, kills (share of saves after which the tab is killed), seed} as the first
// line, then {browser, cookie} for somebody who signed in again. Prints a line of JSON for every save that was acknowledged, every
// tab that was killed and at the end what each browser shows. What IndexedDB keeps is kept here in memory, beyond the tabs.

import { createInterface } from "node:readline";

import { FakeTabs, Tab } from "../../packages/segarena-studio/tests/static/browser.js";
import { FakeDrafts } from "../../packages/segarena-studio/tests/static/fake_server.js";

const tell = (told) => process.stdout.write(`${JSON.stringify(told)}\n`);
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const time = {
  clock: Date.now,
  later: (wait_ms, act) => {
    const timer = setTimeout(act, wait_ms);
    return () => clearTimeout(timer);
  },
};

/** A scene of seven regions of 64 corners, whose first name says how many edits are in it. */
function sceneOf(edits) {
  const points = [];
  const regions = Array.from({ length: 7 }, (_, number) => {
    const ring = Array.from({ length: 64 }, (_, at) => {
      const angle = (2 * Math.PI * at) / 64;
      return points.push([60 + (20 + number) * Math.cos(angle), 45 + (20 + number) * Math.sin(angle)]) - 1;
    });
    return { id: `r${number + 1}`, ring, name: number ? "thing" : String(edits), is_stuff: false, is_hidden: false, is_locked: false };
  });
  return { version: 1, points, regions, next_id: 8 };
}

const editsIn = (scene) => (scene ? Number(scene.regions[0].name) : 0);

class Browser {
  constructor(number, { task, person, cookie }, { address, kills, most_ahead = 30 }, draw) {
    Object.assign(this, { number, task, person, cookie, address, kills, draw, most_ahead });
    [this.drafts, this.tabs] = [new FakeDrafts(), new FakeTabs()];
    [this.made, this.acknowledged, this.choices, this.wrong] = [0, 0, 0, 0];
    this.editedAt = [0];
    this.waits = [];
    this.seen = 0;
  }

  fetch = async (address, options) => {
    const headers = { ...options.headers, cookie: this.cookie };
    const started = performance.now();
    const response = await fetch(this.address + address, { ...options, headers, credentials: undefined, cache: undefined, keepalive: undefined });
    if (options.method === "PUT" && response.status === 200) this.waits.push(performance.now() - started);
    return response;
  };

  async open() {
    for (;;) {
      this.tab = await Tab.open({ server: { fetch: this.fetch, key: "unknown" }, drafts: this.drafts, tabs: this.tabs, time, task: String(this.task), person: this.person });
      if (this.tab.saving) break;
      await sleep(100);
    }
    const { saving } = this.tab;
    this.shown = editsIn(this.tab.shown);
    this.tab.history = { version: 1, stamp: 0, done: [], undone: [] };
    const acknowledged = saving.acknowledged.bind(saving);
    saving.acknowledged = (save, revision) => {
      this.acknowledged += 1;
      tell({ browser: this.number, edits: editsIn(save.content.scene), revision });
      acknowledged(save, revision);
      // What is called saved is with the server, all of it.
      if (saving.state.kind === "saved" && editsIn(save.content.scene) !== this.shown) this.wrong += 1;
    };
  }

  edit(isFinished) {
    this.shown += 1;
    this.made += 1;
    this.editedAt[this.shown] = Date.now();
    this.tab.history = { ...this.tab.history, done: [...this.tab.history.done.slice(-50), { edit: this.shown }] };
    this.tab.shown = sceneOf(this.shown);
    if (isFinished) this.tab.saving.finished({ kind: "edit", region: "r1" });
    else this.tab.saving.edited({ kind: "edit", region: "r1" });
  }

  /** The tab is killed; another one opens what there is. */
  async kill() {
    const [before, at] = [this.shown, Date.now()];
    this.tab.kill();
    await sleep(this.draw() * 200);
    await this.open();
    const lost = [];
    for (let edit = this.shown + 1; edit <= before; edit += 1) lost.push(at - this.editedAt[edit]);
    tell({ browser: this.number, killed: true, lost: lost.length, oldest_ms: Math.max(0, ...lost) });
  }

  async draws(isOver) {
    await this.open();
    while (!isOver()) {
      this.edit(this.draw() < 0.7);
      const isUnlucky = this.acknowledged > this.seen && this.draw() < this.kills;
      this.seen = this.acknowledged;
      if (isUnlucky && this.draw() < 0.5) await this.kill(); // before anything of the edit was kept
      await sleep(5 + this.draw() * 60);
      if (this.tab.saving.theirs) {
        this.choices += 1;
        this.tab.saving.keepMine();
      }
      if (isUnlucky && this.tab.isDead === undefined && this.draw() < 0.7) await this.kill();
      const ahead = this.tab.saving.version - this.tab.saving.savedVersion;
      if (ahead > this.most_ahead) await sleep(100);
    }
    while (!this.tab.saving.isSaved) await sleep(20);
    await sleep(50);
    tell({ browser: this.number, over: true, shown: this.shown, made: this.made, kept: this.drafts.kept.size, choices: this.choices, wrong: this.wrong, waits: this.waits });
  }
}

function random(seed) {
  let state = seed;
  return () => ((state = (state * 1664525 + 1013904223) % 4294967296), state / 4294967296);
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const given = JSON.parse((await lines.next()).value);
const browsers = given.browsers.map((each, number) => new Browser(number, each, given, random(given.seed * 101 + number * 7919 + 1)));
void (async () => {
  for (let line = await lines.next(); !line.done; line = await lines.next()) {
    const { browser, cookie } = JSON.parse(line.value);
    browsers[browser].cookie = cookie;
  }
})();
const isOver = () => browsers.reduce((sum, each) => sum + each.acknowledged, 0) >= given.saves;
await Promise.all(browsers.map((each) => each.draws(isOver)));
process.exit(0);

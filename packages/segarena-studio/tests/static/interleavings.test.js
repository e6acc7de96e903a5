// Tabs and browsers that work on one picture at the same time, while network, server and session come and go and tabs
// are killed, all at moments drawn at random. A scene is the list of the edits in it, so it can be told what became of each.
//
//     INTERLEAVINGS=500 SEED=1 node --test packages/segarena-studio/tests/static/interleavings.test.js

import assert from "node:assert/strict";
import { test } from "node:test";

import { FakeTabs, Tab } from "./browser.js";
import { FakeDrafts, FakeServer, FakeTime } from "./fake_server.js";

const TIMES = Number(process.env.INTERLEAVINGS ?? 60);
const SEED = Number(process.env.SEED ?? 1);
const STEPS = 30;

/** Numbers in [0, 1) that a seed decides (mulberry32). */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

class Story {
  /** @param {number} seed @param {number} browsers @param {number} tabs  that are open at once */
  constructor(seed, browsers = 2, tabs = 3) {
    this.draw = random(seed);
    this.tabs = tabs;
    this.server = new FakeServer();
    this.server.revisions[0].scene = { edits: [] };
    this.time = new FakeTime();
    this.browsers = Array.from({ length: browsers }, () => ({ drafts: new FakeDrafts(), tabs: new FakeTabs() }));
    this.open = [];
    this.made = [];
    this.given = new Set(); // edits that somebody chose to do without
    this.maybe = new Set(); // edits that were killed before they could be kept
    this.choices = 0;
    this.kills = 0;
    this.offered = 0;
  }

  pick(list) {
    return list[Math.floor(this.draw() * list.length)];
  }

  async openTab(browser = this.pick(this.browsers)) {
    const tab = await Tab.open({ ...browser, server: this.server, time: this.time });
    if (!tab.saving) return null;
    tab.browser = browser;
    tab.states.push = (state) => {
      if (state.kind === "saved") this.checkSaved(tab);
      return Array.prototype.push.call(tab.states, state);
    };
    this.offered += tab.opened.start.isUnsaved;
    this.open.push(tab);
    return tab;
  }

  checkSaved(tab) {
    const shown = JSON.stringify(tab.shown);
    assert.ok(this.server.revisions.some((each) => JSON.stringify(each.scene) === shown), "saved was said of what the server does not have");
  }

  edit(tab, isFinished) {
    const edit = `e${this.made.length}`;
    this.made.push(edit);
    tab.shown = { edits: [...tab.shown.edits, edit] };
    this.logged = (this.logged ?? 0) + 1;
    const done = { kind: "edit", region: "r1" };
    if (isFinished) tab.saving.finished(done);
    else tab.saving.edited(done);
    (tab.edits ??= []).push({ edit, at: this.time.now_ms });
  }

  choose(tab) {
    const { theirs } = tab.saving;
    if (!theirs) return;
    this.choices += 1;
    const [mine, other] = [tab.shown.edits, theirs.scene.edits];
    if (this.draw() < 0.5) {
      for (const edit of other) if (!mine.includes(edit)) this.given.add(edit);
      tab.saving.keepMine();
    } else {
      for (const edit of mine) if (!other.includes(edit)) this.given.add(edit);
      tab.saving.takeTheirs();
      tab.shown = structuredClone(theirs.scene);
      tab.saving.edited();
    }
  }

  kill(tab) {
    this.kills += 1;
    for (const { edit, at } of tab.edits ?? []) if (at === this.time.now_ms) this.maybe.add(edit);
    tab.kill();
    this.open.splice(this.open.indexOf(tab), 1);
  }

  async step() {
    const tab = this.open.length ? this.pick(this.open) : await this.openTab();
    if (!tab) return void (await this.heal());
    const server = this.server;
    const what = this.draw();
    if (what < 0.4) this.edit(tab, this.draw() < 0.4);
    else if (what < 0.5) server.faults.push(this.pick(["lost", "unheard"]));
    else if (what < 0.55) server.isReached = !server.isReached;
    else if (what < 0.6) server.isFull = !server.isFull;
    else if (what < 0.65) server.isSignedIn ? (server.isSignedIn = false) : server.signInAgain();
    else if (what < 0.75) this.kill(tab);
    else if (what < 0.85 && this.open.length < this.tabs) await this.openTab();
    else this.choose(tab);
    if (this.draw() < 0.8) await this.time.pass(this.pick([0, 1, 100, 700, 2500]));
  }

  async heal() {
    this.server.isReached = true;
    this.server.isFull = false;
    this.server.faults = [];
    if (!this.server.isSignedIn) this.server.signInAgain();
    await this.time.pass(40_000);
  }

  /** Everything works again, and whoever is given a choice makes it; then what was left behind is opened. */
  async end() {
    for (let round = 0; round < 40; round += 1) {
      await this.heal();
      for (const tab of [...this.open]) {
        this.choose(tab);
        await this.time.pass(40_000);
        if (tab.saving.isSaved) {
          tab.kill();
          this.open.splice(this.open.indexOf(tab), 1);
        }
      }
      const waiting = this.browsers.find((browser) => browser.drafts.kept.size);
      if (!this.open.length && !waiting) return;
      if (!this.open.length) await this.openTab(waiting);
    }
    assert.fail("it does not come to an end");
  }

  check() {
    for (const [at, { scene }] of this.server.revisions.entries()) {
      const before = at ? this.server.revisions[at - 1].scene.edits : [];
      const dropped = before.filter((edit) => !scene.edits.includes(edit) && !this.given.has(edit));
      assert.deepEqual(dropped, [], `revision ${at} overwrites what nobody chose to drop`);
    }
    const there = new Set(this.server.latest.scene.edits);
    const lost = this.made.filter((edit) => !there.has(edit) && !this.given.has(edit) && !this.maybe.has(edit));
    assert.deepEqual(lost, [], "edits are lost");
  }
}

test(`${TIMES} interleavings of tabs, kills and faults lose and overwrite nothing`, async (context) => {
  const sum = { edits: 0, revisions: 0, choices: 0, kills: 0, offered: 0 };
  for (let number = 0; number < TIMES; number += 1) {
    const story = new Story(SEED * 100_000 + number);
    try {
      for (let step = 0; step < STEPS; step += 1) await story.step();
      await story.end();
      story.check();
    } catch (error) {
      error.message = `interleaving ${number} of seed ${SEED}: ${error.message}`;
      throw error;
    }
    sum.edits += story.made.length;
    sum.revisions += story.server.revisions.length - 1;
    for (const what of ["choices", "kills", "offered"]) sum[what] += story[what];
  }
  assert.ok(sum.choices > TIMES / 5 && sum.kills > TIMES / 2 && sum.offered > 0);
  context.diagnostic(
    `${sum.edits} edits, ${sum.revisions} revisions, ${sum.choices} choices between two, ${sum.kills} tabs killed, ` +
      `${sum.offered} times went on from what a tab left; 0 lost, 0 overwritten`,
  );
});

test("who works in one tab at a time is never given a choice, whatever is lost and killed", async () => {
  for (let number = 0; number < TIMES / 2; number += 1) {
    const story = new Story(SEED * 100_000 + number, 1, 1);
    for (let step = 0; step < STEPS; step += 1) await story.step();
    await story.end();
    story.check();
    assert.ok(story.server.added.log <= story.logged, `interleaving ${number} of seed ${SEED}: ${story.server.added.log} of ${story.logged}`);
    assert.equal(story.choices, 0, `interleaving ${number} of seed ${SEED}`);
  }
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { isSame, SAVE_WITHIN_MS } from "../../src/segarena_studio/static/editor/saving.js";
import { FakeTabs, Tab } from "./browser.js";
import { FakeDrafts, FakeServer, FakeTime, settle } from "./fake_server.js";

function world() {
  return { server: new FakeServer(), drafts: new FakeDrafts(), tabs: new FakeTabs(), time: new FakeTime() };
}

test("an edit is kept here at once, sent within two seconds, and only then called saved", async () => {
  const all = world();
  const tab = await Tab.open(all);
  tab.edit(1);
  assert.notEqual(tab.state.kind, "saved");
  await all.time.pass(1);
  assert.equal((await all.drafts.of(7, "t"))[0].content.scene.n, 1);
  assert.equal(all.server.latest.revision, 0);
  await all.time.pass(SAVE_WITHIN_MS - 2);
  assert.equal(all.server.latest.revision, 0);
  await all.time.pass(1);
  assert.deepEqual(all.server.latest.scene, { n: 1 });
  assert.equal(tab.state.kind, "saved");
  assert.equal(all.drafts.kept.size, 0);
});

test("edits that never pause are sent every two seconds all the same", async () => {
  const all = world();
  const tab = await Tab.open(all);
  for (let n = 1; n <= 50; n += 1) {
    tab.edit(n);
    await all.time.pass(100);
    assert.ok(n - all.server.latest.scene.n <= SAVE_WITHIN_MS / 100, `${n} against ${all.server.latest.scene.n}`);
  }
  assert.ok(all.server.latest.revision <= 3);
});

test("a finished object is sent at once, with the log of what was done, each entry once", async () => {
  const all = world();
  const tab = await Tab.open(all);
  tab.edit(1);
  tab.edit(2, true);
  await settle();
  await all.time.pass(1);
  assert.deepEqual(all.server.latest.scene, { n: 2 });
  assert.equal(all.server.latest.log.length, 2);
  tab.edit(3, true);
  await all.time.pass(1);
  assert.equal(all.server.latest.log.length, 1);
});

test("a save whose answer is lost counts once, and the edits of meanwhile follow", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.faults = ["unheard", "lost", "unheard"];
  tab.edit(1, true);
  await all.time.pass(1);
  assert.equal(tab.state.kind, "offline");
  tab.edit(2);
  await all.time.pass(60_000);
  assert.deepEqual(all.server.revisions.map((each) => each.scene.n), [0, 1, 2]);
  assert.deepEqual(all.server.added, { log: 2, time_ms: 20, active_ms: 10 });
  assert.equal(tab.state.kind, "saved");
});

test("without a network work goes on, is kept, and reaches the server when it is back", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.isReached = false;
  for (let n = 1; n <= 20; n += 1) {
    tab.edit(n);
    await all.time.pass(5000);
    assert.equal((await all.drafts.of(7, "t"))[0].content.scene.n, n);
    if (n > 1) assert.equal(tab.state.kind, "offline");
  }
  assert.match(tab.state.text, /stored in this browser/);
  const asked = all.server.requests;
  assert.ok(asked < 40, `${asked} requests in 100 s`);
  all.server.isReached = true;
  tab.saving.retry();
  await all.time.pass(1);
  assert.deepEqual(all.server.latest.scene, { n: 20 });
  assert.equal(tab.state.kind, "saved");
});

test("a full disk is told, and saved to once there is room", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.isFull = true;
  tab.edit(1, true);
  await all.time.pass(10_000);
  assert.equal(tab.state.kind, "waiting");
  assert.match(tab.state.text, /files cannot be written/);
  all.server.isFull = false;
  await all.time.pass(20_000);
  assert.equal(tab.state.kind, "saved");
  assert.deepEqual(all.server.latest.scene, { n: 1 });
});

test("after signing in again in another tab it goes on with the new session's key", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.isSignedIn = false;
  tab.edit(1, true);
  await all.time.pass(1);
  assert.equal(tab.state.kind, "signed-out");
  tab.edit(2);
  all.server.signInAgain();
  await all.time.pass(20_000);
  assert.equal(tab.state.kind, "saved");
  assert.deepEqual(all.server.latest.scene, { n: 2 });
});

test("nothing is saved in the name of somebody else who signs in", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.signInAgain(8);
  tab.edit(1, true);
  await all.time.pass(20_000);
  assert.equal(tab.state.kind, "signed-out");
  assert.match(tab.state.text, /Another user/);
  assert.equal(all.server.latest.revision, 0);
});

test("two tabs: the later one is given the choice, with both revisions, and nothing is overwritten before", async () => {
  const all = world();
  const [one, other] = [await Tab.open(all), await Tab.open(all)];
  one.edit(1, true);
  await all.time.pass(1);
  other.edit(2, true);
  await all.time.pass(30_000);
  assert.equal(other.state.kind, "conflict");
  assert.deepEqual(other.state.theirs.scene, { n: 1 });
  assert.deepEqual(all.server.latest.scene, { n: 1 });
  other.edit(3, true);
  await all.time.pass(30_000);
  assert.deepEqual(all.server.latest.scene, { n: 1 });
  assert.equal((await all.drafts.of(7, "t"))[0].content.scene.n, 3);
  other.saving.keepMine();
  await all.time.pass(1);
  assert.deepEqual(all.server.latest.scene, { n: 3 });
  assert.equal(other.state.kind, "saved");
  one.edit(4, true);
  await all.time.pass(1);
  assert.equal(one.state.kind, "conflict");
  const theirs = one.saving.takeTheirs();
  one.history.push(one.shown);
  one.shown = theirs.scene;
  one.saving.edited();
  await all.time.pass(3000);
  assert.equal(one.state.kind, "saved");
  assert.deepEqual(all.server.latest.scene, { n: 3 });
  assert.deepEqual(all.server.latest.history.at(-1), { n: 4 });
});

test("a tab that is killed before the answer knows its own revision, and goes on from what it kept", async () => {
  for (const fault of ["lost", "unheard"]) {
    const all = world();
    const tab = await Tab.open(all);
    all.server.faults = [fault];
    tab.edit(1, true);
    await all.time.pass(1);
    tab.edit(2);
    await all.time.pass(1);
    tab.kill();
    const again = await Tab.open(all);
    assert.deepEqual(again.shown, { n: 2 });
    assert.deepEqual(again.history.at(-1), { n: 1 });
    await all.time.pass(20_000);
    assert.equal(again.state.kind, "saved");
    assert.deepEqual(all.server.latest.scene, { n: 2 });
    assert.equal(all.drafts.kept.size, 0);
    assert.deepEqual(all.server.added, { log: 2, time_ms: 20, active_ms: 10 });
  }
});

test("what a killed tab left is offered beside what another machine saved since", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.isReached = false;
  tab.edit(1);
  await all.time.pass(5000);
  tab.kill();
  all.server.isReached = true;
  const elsewhere = await Tab.open({ ...all, drafts: new FakeDrafts(), tabs: new FakeTabs() });
  elsewhere.edit(5, true);
  await all.time.pass(1);
  const again = await Tab.open(all);
  await all.time.pass(30_000);
  assert.equal(again.state.kind, "conflict");
  assert.deepEqual([again.shown, again.state.theirs.scene], [{ n: 1 }, { n: 5 }]);
  assert.deepEqual(all.server.latest.scene, { n: 5 });
});

test("a second tab does not take the draft of one that lives", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.isFull = true;
  tab.edit(1);
  await all.time.pass(5000);
  const other = await Tab.open(all);
  assert.deepEqual(other.shown, { n: 0 });
  assert.equal(other.opened.isElsewhere, true);
});

test("a browser that keeps nothing says so, and saving goes on", async () => {
  const all = world();
  all.drafts.isBroken = true;
  const tab = await Tab.open(all);
  all.server.isReached = false;
  tab.edit(1, true);
  await all.time.pass(5000);
  assert.match(tab.state.text, /only in this page/);
  all.server.isReached = true;
  await all.time.pass(20_000);
  assert.equal(tab.state.kind, "saved");
});

test("where all is too large, the steps of undo are left out rather than the scene", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.mostBytes = 400;
  tab.history = Array(100).fill({ n: 1 });
  tab.edit(1, true);
  await all.time.pass(10);
  assert.equal(tab.state.kind, "saved");
  assert.equal(all.server.latest.history, null);
});

test("what the server refuses is told, kept, and tried again with the next edit", async () => {
  const all = world();
  const tab = await Tab.open(all);
  all.server.mostBytes = 0;
  tab.history = [];
  tab.edit(1, true);
  await all.time.pass(60_000);
  assert.equal(tab.state.kind, "refused");
  assert.match(tab.state.text, /at most 2 bytes.*stored in this browser/);
  all.server.mostBytes = Infinity;
  tab.edit(2);
  await all.time.pass(5000);
  assert.equal(tab.state.kind, "saved");
});

test("scenes are the same when they say the same", () => {
  assert.ok(isSame({ a: [1, { b: 2 }], c: null }, { c: null, a: [1, { b: 2 }] }));
  for (const other of [{ a: 1 }, { a: [1], b: 2 }, [1], null, "a", { a: { 0: 1 } }]) assert.ok(!isSame({ a: [1] }, other));
});

import assert from "node:assert/strict";
import { test } from "node:test";

import { mergeRevision } from "../../src/segarena_studio/static/editor/scene-merge.js";
import { addRegion, deleteRegion, setField } from "../../src/segarena_studio/static/editor/region-commands.js";
import { diffScenes, patchScene } from "../../src/segarena_studio/static/editor/scene-patch.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { openPicture } from "../../src/segarena_studio/static/editor/open-picture.js";
import { Saving } from "../../src/segarena_studio/static/editor/saving.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { newId, Talk } from "../../src/segarena_studio/static/common/api.js";
import { FakeTabs, Tab } from "./browser.js";
import { FakeDrafts, FakeServer, FakeTime } from "./fake_server.js";
import { documentOf, generator, starPolygon } from "./random.js";

const square = (x, y) => [[x, y], [x + 20, y], [x + 20, y + 20], [x, y + 20]];
const BASE = documentOf([square(0, 0), square(50, 0), square(100, 0)]);

/** A server of documents that takes patches. */
class PatchServer extends FakeServer {
  constructor(scene = BASE) {
    super();
    this.revisions[0] = { ...this.revisions[0], revision: 1, scene };
    this.takesPatches = true;
    this.sizes = [];
    this.patches = 0;
  }

  answer(address, method, headers, body) {
    const base = /base=(\d+)/.exec(address)?.[1];
    if (method === "GET" && base && this.isSignedIn) {
      const { revision, scene, history, id } = this.latest;
      const earlier = this.at(Number(base));
      const ancestor = earlier && revision !== earlier.revision ? diffScenes(scene, earlier.scene) : null;
      return respond(200, { revision, scene, history, id, ancestor, state: "in progress", comments: [] });
    }
    if (method === "PUT") this.sizes.push(body.length);
    const told = method === "PUT" ? JSON.parse(body) : {};
    if (!told.patch) return super.answer(address, method, headers, body);
    this.patches += 1;
    if (!this.takesPatches) return respond(422, { error: "invalid", message: "patch" });
    const known = this.at(told.base);
    const { patch, ...rest } = told;
    const { history } = this.latest;
    const scene = known ? patchScene(known.scene, patch.scene) : null;
    const lists = (name) => [...(history?.[name] ?? []).slice(patch.history[name].first, patch.history[name].first + patch.history[name].count), ...patch.history[name].added];
    const whole = { ...rest, scene, history: { ...patch.history, done: lists("done"), undone: lists("undone") } };
    const response = super.answer(address, method, headers, JSON.stringify(whole));
    if (response.status !== 409 || !known) return response;
    const { revision, id } = this.latest;
    return respond(409, { revision, id, scene: null, changes: diffScenes(known.scene, this.latest.scene), saved_at: 1000 });
  }

  at(revision) {
    return this.revisions.find((each) => each.revision === revision);
  }
}

const respond = (status, body) => new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json" } });

/** A tab with a scene and its history, as the page has them. */
class SceneTab extends Tab {
  static async open({ server, drafts, tabs, time, task = "t", person = 7 }) {
    const tab = new SceneTab();
    tab.name = newId();
    tab.tabs = tabs;
    tab.talk = new Talk({ key: server.key, person, fetch: tab.asLongAsItLives(server.fetch) });
    const opened = await openPicture({ talk: tab.talk, drafts, tabs, person, task });
    tabs.living.add(tab.name);
    tab.opened = opened;
    tab.scene = Scene.read(opened.content.scene);
    tab.history = opened.content.history ? History.read(tab.scene, opened.content.history) : new History(tab.scene);
    tab.editor = { scene: tab.scene, history: tab.history, selected: null, chosen: new Set(), isHolding: false, tool: { name: "draw" }, changed() {}, useTool() {} };
    tab.states = [];
    tab.saving = new Saving({
      talk: tab.talk, drafts: { put: tab.asLongAsItLives((...of) => drafts.put(...of)), remove: tab.asLongAsItLives((...of) => drafts.remove(...of)) },
      person, task, tab: tab.name, start: opened.start, clock: time.clock, later: time.later,
      content: () => ({ scene: tab.scene.toDocument(), history: tab.history.toJSON() }),
      merge: (ancestor, theirs, preference) => mergeRevision(tab.editor, ancestor, theirs, preference, (from, to) => tab.saving.renameRegion(from, to)),
      onState: (state) => tab.states.push(state),
    });
    tab.history.onEdit = ({ kind, region }) => tab.saving.edited({ kind, region });
    tab.saving.mergeAtStart();
    return tab;
  }

  edit(act, region = null) {
    assert.equal(this.history.run("edit", region, act).refusal, null);
    return this.saving.send();
  }

  names() {
    return Object.fromEntries(this.scene.regions.map(({ id, name }) => [id, name]));
  }
}

const world = (server = new PatchServer()) => ({ server, drafts: new FakeDrafts(), tabs: new FakeTabs(), time: new FakeTime() });
const renames = (id, name) => (steps) => setField(steps, id, "name", name);
const namesOn = (server) => Object.fromEntries(server.latest.scene.regions.map(({ id, name }) => [id, name]));

test("a save of a large drawing takes as much as the edit, not as the drawing", async () => {
  const random = generator(3);
  const scene = documentOf(Array.from({ length: 300 }, () => starPolygon(random, [2000 * random(), 1500 * random()], 90, 100)));
  const all = world(new PatchServer(scene));
  const tab = await SceneTab.open(all);
  for (const name of ["dog", "cat", "sky"]) {
    tab.edit(renames("r7", name), "r7");
    await all.time.pass(1);
    assert.equal(tab.state.kind, "saved");
  }
  tab.history.undo();
  await all.time.pass(3000);
  assert.deepEqual(all.server.latest.scene, tab.scene.toDocument());
  assert.deepEqual(all.server.latest.history, JSON.parse(JSON.stringify(tab.history.toJSON())));
  assert.equal(all.server.patches, 4);
  assert.ok(Math.max(...all.server.sizes) < 4000, `${all.server.sizes}`);
});

test("a server that does not take a patch is sent the whole drawing", async () => {
  const all = world();
  all.server.takesPatches = false;
  const tab = await SceneTab.open(all);
  tab.edit(renames("r1", "dog"));
  await all.time.pass(10);
  assert.equal(tab.state.kind, "saved");
  assert.equal(namesOn(all.server).r1, "dog");
});

test("a patch whose answer is lost counts once", async () => {
  for (const fault of ["lost", "unheard"]) {
    const all = world();
    const tab = await SceneTab.open(all);
    all.server.faults = [fault];
    tab.edit(renames("r1", "dog"));
    await all.time.pass(1);
    tab.edit(renames("r2", "cat"));
    await all.time.pass(30_000);
    assert.equal(tab.state.kind, "saved");
    assert.deepEqual(namesOn(all.server), { r1: "dog", r2: "cat", r3: "region 3" });
    assert.equal(all.server.latest.revision, 3);
  }
});

test("two tabs on different regions are merged without a question, both ways", async () => {
  const all = world();
  const [one, other] = [await SceneTab.open(all), await SceneTab.open(all)];
  one.edit(renames("r1", "one"), "r1");
  await all.time.pass(1);
  other.edit(renames("r3", "other"), "r3");
  await all.time.pass(10);
  const both = { r1: "one", r2: "region 2", r3: "other" };
  assert.deepEqual([namesOn(all.server), other.names(), other.state.kind], [both, both, "saved"]);
  one.edit(renames("r2", "one too"), "r2");
  await all.time.pass(10);
  assert.deepEqual([namesOn(all.server), one.names(), one.state.kind], [{ ...both, r2: "one too" }, { ...both, r2: "one too" }, "saved"]);
  assert.ok(Math.max(...all.server.sizes) < 1500);
});

test("regions that two tabs added at once are both kept, each with its own log", async () => {
  const all = world();
  const [one, other] = [await SceneTab.open(all), await SceneTab.open(all)];
  one.edit((steps) => addRegion(steps, square(0, 60)), "r4");
  await all.time.pass(1);
  other.saving.spent("r4", 10, 5);
  other.edit((steps) => addRegion(steps, square(50, 60)), "r4");
  await all.time.pass(10);
  assert.equal(other.state.kind, "saved");
  assert.deepEqual(all.server.latest.scene.regions.map(({ id }) => id).sort(), ["r1", "r2", "r3", "r4", "r5"]);
  assert.deepEqual(other.scene.polygon("r5"), square(50, 60));
  assert.deepEqual(all.server.revisions.at(-1).time_ms, { r5: 10 });
});

test("the same region changed in two tabs is asked about, and nothing is overwritten before", async () => {
  const all = world();
  const [one, other] = [await SceneTab.open(all), await SceneTab.open(all)];
  one.edit(renames("r1", "one"), "r1");
  await all.time.pass(1);
  other.edit(renames("r1", "other"), "r1");
  await all.time.pass(30_000);
  assert.equal(other.state.kind, "conflict");
  assert.deepEqual([namesOn(all.server).r1, other.names().r1], ["one", "other"]);
  assert.deepEqual(other.saving.ancestor, BASE);
  assert.equal(other.state.theirs.scene.regions[0].name, "one");
});

test("while something is dragged the merge waits", async () => {
  const all = world();
  const [one, other] = [await SceneTab.open(all), await SceneTab.open(all)];
  one.edit(renames("r1", "one"), "r1");
  await all.time.pass(1);
  other.editor.isHolding = true;
  other.edit(renames("r3", "other"), "r3");
  await all.time.pass(3000);
  assert.equal(namesOn(all.server).r3, "region 3");
  other.editor.isHolding = false;
  await all.time.pass(1000);
  assert.deepEqual([namesOn(all.server).r1, namesOn(all.server).r3, other.state.kind], ["one", "other", "saved"]);
});

test("what a killed tab left is merged with what another machine saved since", async () => {
  const all = world();
  const tab = await SceneTab.open(all);
  tab.edit(renames("r1", "first"));
  await all.time.pass(10);
  all.server.isReached = false;
  tab.edit(renames("r1", "left"));
  await all.time.pass(5000);
  tab.kill();
  all.server.isReached = true;
  const elsewhere = await SceneTab.open({ ...all, drafts: new FakeDrafts(), tabs: new FakeTabs() });
  elsewhere.edit(renames("r3", "elsewhere"));
  await all.time.pass(10);
  const again = await SceneTab.open(all);
  await all.time.pass(30_000);
  assert.equal(again.state.kind, "saved");
  assert.deepEqual(namesOn(all.server), { r1: "left", r2: "region 2", r3: "elsewhere" });
  assert.equal(all.drafts.kept.size, 0);
});

test("random edits in two browsers with faults and kills lose no region and end in one drawing", async () => {
  const sum = { merges: 0, conflicts: 0, kills: 0 };
  for (let seed = 0; seed < 30; seed += 1) {
    const random = generator(seed + 1);
    const pick = (list) => list[Math.floor(random() * list.length)];
    const all = world();
    const browsers = [all, { ...all, drafts: new FakeDrafts(), tabs: new FakeTabs() }];
    const open = await Promise.all(browsers.map((browser) => SceneTab.open(browser)));
    const made = new Set();
    for (let step = 0; step < 40; step += 1) {
      const at = Math.floor(2 * random());
      const what = random();
      if (what < 0.6) {
        const name = `s${seed}-${step}`;
        made.add(name);
        open[at].history.run("draw", null, (steps) => {
          const refusal = addRegion(steps, square(300 * random(), 200 * random()));
          return refusal ?? setField(steps, steps.about, "name", name);
        });
      } else if (what < 0.7) all.server.faults.push(pick(["lost", "unheard"]));
      else if (what < 0.8) {
        sum.kills += 1;
        open[at].kill();
        all.server.faults = [];
        open[at] = await SceneTab.open(browsers[at]);
      } else if (what < 0.9) open[at].history.run("drop", null, (steps) => deleteRegion(steps, pick(["r1", "r2", "r3"].filter((id) => steps.scene.has(id))) ?? steps.scene.regions[0].id));
      await all.time.pass(pick([1, 100, 700, 2500]));
      sum.conflicts += open.filter((tab) => tab.state.kind === "conflict").length;
    }
    all.server.faults = [];
    for (let round = 0; round < 4; round += 1) {
      for (const [at, tab] of open.entries()) {
        tab.edit((steps) => addRegion(steps, square(10 * round, 10 * at)));
        await all.time.pass(40_000);
      }
    }
    for (const tab of open) assert.equal(tab.state.kind, "saved");
    const ids = all.server.latest.scene.regions.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    const there = new Set(all.server.latest.scene.regions.map(({ name }) => name));
    const dropped = [...made].filter((name) => !there.has(name));
    const deleted = all.server.revisions.flatMap(({ log }) => log).filter(({ kind }) => kind === "drop").length;
    assert.ok(dropped.length <= deleted, `${dropped} of ${made.size}, ${deleted} deleted`);
    sum.merges += all.server.revisions.flatMap(({ log }) => log).filter(({ kind }) => kind === "merge").length;
  }
  assert.ok(sum.merges > 30 && sum.kills > 30, JSON.stringify(sum));
});

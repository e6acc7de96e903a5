import assert from "node:assert/strict";
import test from "node:test";

import { ACTIONS } from "../../src/segarena_studio/static/editor/actions.js";
import { ASSISTING } from "../../src/segarena_studio/static/editor/assist-tool.js";
import { OwnKeys } from "../../src/segarena_studio/static/editor/own-keys.js";

const ALL = [...ACTIONS, ...ASSISTING];

function storeOf(entries = {}) {
  const kept = new Map(Object.entries(entries));
  return { kept, getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => void kept.set(name, value), removeItem: (name) => void kept.delete(name) };
}

/** Keys on copies of the actions, so that no test changes the table. */
function begun(store = storeOf()) {
  const actions = ALL.map((action) => ({ ...action }));
  const named = (name) => actions.find((action) => action.name === name);
  return { own: new OwnKeys(store, "7", actions), store, named };
}

test("no key of the table has two meanings outside the tools", () => {
  const everywhere = ["Tools", "Cursor", "Region", "Depth", "Steps", "View"];
  const tools = ASSISTING.slice(0, 3);
  const found = [...ACTIONS.filter((action) => everywhere.includes(action.group) || action.group === ""), ...tools].flatMap((action) => action.keys);
  assert.deepEqual(found.filter((key, at) => found.indexOf(key) !== at), []);
});

test("a changed key is stored for the person and applied on the next page", () => {
  const { own, store, named } = begun();
  own.set(named("fills"), "Shift+F");
  assert.deepEqual(named("fills").keys, ["Shift+F"]);
  assert.deepEqual([...store.kept.keys()], ["segarena-keys-7"]);
  const next = begun(store);
  assert.deepEqual(next.named("fills").keys, ["Shift+F"]);
  assert.deepEqual(next.named("draw").keys, ["D"]);
  next.own.reset(next.named("fills"));
  assert.deepEqual(next.named("fills").keys, ["F"]);
  assert.equal(store.kept.size, 0);
});

test("conflicts are named, and a key is taken from the other action on request", () => {
  const { own, named } = begun();
  const conflicts = own.conflictsOf(named("fills"), "D");
  assert.deepEqual(conflicts.map(({ name }) => name), ["draw"]);
  own.set(named("fills"), "D", conflicts);
  assert.deepEqual(named("draw").keys, []);
  own.reset(named("draw"));
  assert.deepEqual(named("draw").keys, ["D"]);
  assert.deepEqual(named("fills").keys, [], "the usual key goes back to its action");
  own.resetAll();
  assert.deepEqual(named("fills").keys, ["F"]);
});

test("keys with a fixed meaning stay, and different tools may use the same key", () => {
  const { own, named } = begun();
  for (const key of ["Enter", "Shift+Enter", "Escape", "Space", "Tab", "Shift+Tab", "ArrowUp", "Alt+ArrowUp", "Ctrl+W", "F5", "?"]) {
    assert.equal(own.conflictsOf(named("fills"), key), "fixed", key);
  }
  assert.deepEqual(own.conflictsOf(named("erase"), "Q"), [], "Q is of drawing, this of painting");
  assert.deepEqual(own.conflictsOf(named("discard"), "Backspace"), [], "as in the table");
  assert.ok(!own.changeable().some(({ name }) => ["press", "escape", "pan-left"].includes(name)));
});

test("stored values that are no keys are ignored", () => {
  for (const text of ["no JSON", "null", "[1]", '{"fills": "G"}', '{"fills": [3]}', '{"unknown": ["G"]}']) {
    const { named } = begun(storeOf({ "segarena-keys-7": text }));
    assert.deepEqual(named("fills").keys, ["F"], text);
  }
});

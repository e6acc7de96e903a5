import assert from "node:assert/strict";
import { test } from "node:test";

import { keyOf, printed } from "../../src/segarena_studio/static/common/key-names.js";

/** @param {string} key @param {object} [more] */
const event = (key, more = {}) => /** @type {any} */ ({ key, code: "", shiftKey: false, altKey: false, ctrlKey: false, metaKey: false, ...more });

test("letters are called by their capital, with Shift where it is held", () => {
  assert.equal(keyOf(event("d", { code: "KeyD" })), "D");
  assert.equal(keyOf(event("D", { code: "KeyD", shiftKey: true })), "Shift+D");
});

test("command counts as Ctrl, and Ctrl comes before Shift", () => {
  assert.equal(keyOf(event("z", { metaKey: true })), "Ctrl+Z");
  assert.equal(keyOf(event("Z", { ctrlKey: true, shiftKey: true })), "Ctrl+Shift+Z");
});

test("what Shift writes is called by what it writes", () => {
  assert.equal(keyOf(event("?", { shiftKey: true })), "?");
  assert.equal(keyOf(event("}", { shiftKey: true })), "}");
  assert.equal(keyOf(event("Enter", { shiftKey: true })), "Shift+Enter");
});

test("on a keyboard of another script the place of the key counts", () => {
  assert.equal(keyOf(event("в", { code: "KeyD" })), "D");
  assert.equal(keyOf(event("∂", { code: "KeyD", altKey: true })), "Alt+D");
});

test("keys are printed one by one", () => {
  assert.deepEqual(printed("Ctrl+Shift+Z"), ["Ctrl", "Shift", "Z"]);
  assert.deepEqual(printed("+"), ["+"]);
  assert.deepEqual(printed("Alt+ArrowUp"), ["Alt", "↑"]);
});

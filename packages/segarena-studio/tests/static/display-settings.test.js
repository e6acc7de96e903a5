import assert from "node:assert/strict";
import { test } from "node:test";

import { DisplaySettings } from "../../src/segarena_studio/static/editor/display-settings.js";

const levels = { offset: -1024, step: 1, low: -160, high: 240, modality: "CT" };

test("an 8-bit picture has a filter, which doubles every 50 and is limited", () => {
  const display = new DisplaySettings(null);
  assert.deepEqual([display.filter, display.isChanged], ["", false]);
  for (let step = 0; step < 5; step++) display.brighten(1);
  display.sharpen(-1);
  assert.equal(display.filter, "brightness(2) contrast(0.8706)");
  for (let step = 0; step < 50; step++) display.brighten(-1);
  assert.equal(display.settings.brightness, -100);
  display.reset();
  assert.deepEqual([display.filter, display.isChanged], ["", false]);
});

test("a 16-bit picture has level and width instead", () => {
  const display = new DisplaySettings(levels);
  assert.deepEqual(display.settings.window, { level: 40, width: 400 });
  display.brighten(1);
  display.sharpen(2);
  assert.equal(display.settings.window.level, 20);
  assert.ok(Math.abs(display.settings.window.width - 400 / 1.15 ** 2) < 1e-9);
  assert.deepEqual([display.filter, display.isChanged], ["", true]);
  for (let step = 0; step < 200; step++) display.sharpen(1);
  assert.equal(display.settings.window.width, 1);
});

test("settings of an earlier visit return, unless they are damaged or of another kind of picture", () => {
  const eight = { brightness: 30, contrast: -10, window: null };
  const deep = { brightness: 0, contrast: 0, window: { level: 5, width: 9 } };
  assert.deepEqual(new DisplaySettings(null, eight).settings, eight);
  assert.deepEqual(new DisplaySettings(levels, deep).settings, deep);
  for (const damaged of [null, 7, "x", {}, { ...eight, brightness: 1e9 }, { ...eight, contrast: "1" }, deep]) {
    assert.equal(new DisplaySettings(null, damaged).isChanged, false);
  }
  for (const damaged of [eight, { ...deep, window: { level: 5, width: 0 } }, { ...deep, window: { level: NaN, width: 2 } }]) {
    assert.equal(new DisplaySettings(levels, damaged).isChanged, false);
  }
});

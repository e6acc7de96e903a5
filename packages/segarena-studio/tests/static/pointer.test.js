import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, mock, test } from "node:test";

import { listen, LONG_PRESS_MS, SECOND_FINGER_MS } from "../../../segarena/src/segarena/reports/viewer/pointer.js";

/** An element that takes events by hand, and what its listeners told. */
function touched() {
  /** @type {Map<string, (event: any) => void>} */
  const heard = new Map();
  /** @type {string[]} */
  const told = [];
  const element = /** @type {any} */ ({
    style: {},
    addEventListener: (/** @type {string} */ name, /** @type {any} */ hear) => heard.set(name, hear),
    removeEventListener: (/** @type {string} */ name) => heard.delete(name),
    getBoundingClientRect: () => ({ left: 10, top: 20 }),
    setPointerCapture: () => {},
    focus: () => {},
  });
  const round = (/** @type {number} */ value) => Math.round(10 * value) / 10;
  const stop = listen(element, {
    press: ({ x, y }, clicks) => void told.push(`press ${x},${y} ${clicks}`),
    drag: (samples) => void told.push(`drag ${samples.map(({ x, y }) => `${x},${y}`).join(" ")}`),
    release: ({ x, y }) => void told.push(`release ${x},${y}`),
    cancel: () => void told.push("cancel"),
    second: ({ x, y }) => void told.push(`second ${x},${y}`),
    pan: (dx, dy) => void told.push(`pan ${dx},${dy}`),
    zoom: ([x, y], factor) => void told.push(`zoom ${x},${y} ${round(factor)}`),
  });
  let time = 0;
  const send = (/** @type {string} */ name, /** @type {any} */ given = {}) => {
    const { x = 0, y = 0, kind = "mouse", id = 1, ...more } = given;
    const event = { pointerType: kind, pointerId: id, clientX: x + 10, clientY: y + 20, button: 0, buttons: 1, timeStamp: (time += 10), preventDefault() {}, ...more };
    heard.get(name)?.(event);
  };
  const wait = (/** @type {number} */ wait_ms) => {
    time += wait_ms;
    mock.timers.tick(wait_ms);
  };
  return { told, send, wait, stop, heard };
}

// In a group, or these hooks would stop the clock of all other tests as well.
describe("pointers", () => {
  beforeEach(() => mock.timers.enable(/** @type {any} */ (["setTimeout"])));
  afterEach(() => mock.timers.reset());

  test("a mouse presses at once, in px of the element", () => {
    const { told, send } = touched();
    send("pointerdown", { x: 5, y: 6 });
    send("pointermove", { x: 7, y: 6 });
    send("pointerup", { x: 7, y: 6 });
    assert.deepEqual(told, ["press 5,6 1", "drag 7,6", "release 7,6"]);
  });

  test("the second of two quick presses at one place is counted", () => {
    const { told, send, wait } = touched();
    for (const pause of [0, 100, 1000]) {
      wait(pause);
      send("pointerdown", { x: 5, y: 6 });
      send("pointerup", { x: 5, y: 6 });
    }
    assert.deepEqual(told.filter((line) => line.startsWith("press")), ["press 5,6 1", "press 5,6 2", "press 5,6 1"]);
  });

  test("a finger waits for a second one; what it did meanwhile is not lost", () => {
    const { told, send, wait } = touched();
    send("pointerdown", { x: 5, y: 6, kind: "touch" });
    send("pointermove", { x: 6, y: 6, kind: "touch" });
    assert.deepEqual(told, []);
    wait(SECOND_FINGER_MS);
    assert.deepEqual(told, ["press 5,6 1", "drag 6,6"]);
  });

  test("a tap that is shorter than the wait is a press and a release", () => {
    const { told, send, wait } = touched();
    send("pointerdown", { x: 5, y: 6, kind: "touch" });
    send("pointerup", { x: 5, y: 6, kind: "touch" });
    wait(LONG_PRESS_MS);
    assert.deepEqual(told, ["press 5,6 1", "release 5,6"]);
  });

  test("two fingers pan by their middle, zoom by their distance, and never press", () => {
    const { told, send, wait } = touched();
    send("pointerdown", { x: 0, y: 0, kind: "touch", id: 1 });
    send("pointerdown", { x: 100, y: 0, kind: "touch", id: 2 });
    send("pointermove", { x: 200, y: 0, kind: "touch", id: 2 });
    wait(LONG_PRESS_MS);
    assert.deepEqual(told, ["pan 50,0", "zoom 100,0 2"]);
  });

  test("a second finger that comes late takes the press back", () => {
    const { told, send, wait } = touched();
    send("pointerdown", { kind: "touch", id: 1 });
    wait(SECOND_FINGER_MS);
    send("pointerdown", { x: 100, kind: "touch", id: 2 });
    assert.deepEqual(told, ["press 0,0 1", "cancel"]);
  });

  test("a long press is the second button; a finger that has moved away never is", () => {
    const { told, send, wait } = touched();
    send("pointerdown", { x: 5, y: 6, kind: "touch" });
    wait(SECOND_FINGER_MS);
    wait(LONG_PRESS_MS);
    assert.deepEqual(told, ["press 5,6 1", "cancel", "second 5,6"]);
    const other = touched();
    other.send("pointerdown", { kind: "pen" });
    other.send("pointermove", { x: 40, kind: "pen" });
    other.send("pointermove", { x: 0, kind: "pen" });
    other.wait(LONG_PRESS_MS);
    assert.deepEqual(other.told, ["press 0,0 1", "drag 40,0", "drag 0,0"]);
  });

  test("a long press counts even if the page was too busy for its timer", () => {
    const { told, send, wait } = touched();
    send("pointerdown", { x: 5, y: 6, kind: "touch", timeStamp: 0 });
    wait(SECOND_FINGER_MS);
    send("pointerup", { x: 5, y: 6, kind: "touch", timeStamp: LONG_PRESS_MS });
    assert.deepEqual(told, ["press 5,6 1", "cancel", "second 5,6"]);
    told.length = 0;
    send("pointerdown", { x: 5, y: 6, kind: "touch", timeStamp: 2000 });
    send("pointerup", { x: 5, y: 6, kind: "touch", timeStamp: 2000 + LONG_PRESS_MS - 1 });
    assert.deepEqual(told, ["press 5,6 1", "release 5,6"]);
  });

  test("where a pen is in use a finger pans, and while it touches a palm does nothing", () => {
    const { told, send } = touched();
    send("pointerdown", { kind: "pen", id: 7 });
    send("pointerdown", { x: 50, kind: "touch", id: 8 });
    send("pointermove", { x: 70, kind: "touch", id: 8 });
    send("pointerup", { kind: "pen", id: 7 });
    assert.deepEqual(told, ["press 0,0 1", "release 0,0"]);
    send("pointerdown", { x: 50, kind: "touch", id: 9 });
    send("pointermove", { x: 70, kind: "touch", id: 9 });
    assert.deepEqual(told.slice(2), ["pan 20,0"]);
  });

  test("the wheel zooms about the pointer, by Shift it pans", () => {
    const { told, send } = touched();
    send("wheel", { x: 5, y: 6, deltaX: 0, deltaY: -1000, deltaMode: 0 });
    send("wheel", { x: 5, y: 6, deltaX: 0, deltaY: 30, deltaMode: 0, shiftKey: true });
    assert.deepEqual(told, ["zoom 5,6 2", "pan -30,0"]);
  });

  test("the browser's taking over undoes the press, and nothing is heard once it is stopped", () => {
    const { told, send, stop, heard } = touched();
    send("pointerdown");
    send("pointercancel");
    assert.deepEqual(told, ["press 0,0 1", "cancel"]);
    stop();
    assert.equal(heard.size, 0);
  });
});

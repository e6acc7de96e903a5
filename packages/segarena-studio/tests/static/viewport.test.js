import assert from "node:assert/strict";
import test from "node:test";
import { View } from "../../../segarena/src/segarena/reports/viewer/viewport.js";
import { generator } from "./random.js";

function fitted(imageSize = [4000, 3000], screenSize = [1000, 600]) {
  const view = new View();
  view.fit(imageSize, screenSize);
  return view;
}

function near(one, other, tolerance = 1e-6) {
  one.forEach((value, index) => assert.ok(Math.abs(value - other[index]) <= tolerance, `${one} is not ${other}`));
}

test("a fitted picture lies in the middle, inside the margin", () => {
  const view = fitted();
  assert.equal(view.zoom, 1);
  assert.ok(view.isFitted);
  near(view.toScreen([0, 0]), [132, 24]);
  near(view.toScreen([4000, 3000]), [868, 576]);
});

test("screen and image are inverse to each other, and zooming keeps what is under the pointer", () => {
  const random = generator(1);
  const view = fitted();
  for (let turn = 0; turn < 200; turn++) {
    const under = [1000 + random() * 2000, 750 + random() * 1500];
    const pointer = view.toScreen(under);
    near(view.toImage(pointer), under);
    if (pointer[0] < 0 || pointer[0] > 1000 || pointer[1] < 0 || pointer[1] > 600) continue;
    view.zoomAbout(pointer, 2 ** (2 * random() - 1));
    near(view.toImage(pointer), under);
  }
});

test("zoom stays between the fitted picture and 128 times", () => {
  const view = fitted();
  view.zoomAbout([500, 300], 1e9);
  assert.ok(Math.abs(view.zoom - 128) < 1e-9);
  view.zoomAbout([500, 300], 1e-9);
  assert.equal(view.zoom, 1);
});

test("some of the picture stays in sight, however far it is moved", () => {
  const view = fitted();
  view.zoomAbout([500, 300], 4);
  view.panBy(1e6, -1e6);
  const [left, top, right, bottom] = view.inView;
  assert.ok(left < 0 && right > 0 && right * view.scale > 47.9, `${left} ${right}`);
  assert.ok(top < 3000 && bottom > 3000 && (3000 - top) * view.scale > 47.9);
});

test("another size of the screen keeps what is in its middle, and what is fitted fitted", () => {
  const view = fitted();
  view.resize([700, 900]);
  assert.ok(view.isFitted);
  view.zoomAbout([300, 400], 6);
  const middle = view.toImage([350, 450]);
  const { scale } = view;
  view.resize([900, 500]);
  near(view.toImage([450, 250]), middle);
  assert.equal(view.scale, scale);
  assert.ok(!view.isFitted);
});

test("a box fills the screen but for its margin", () => {
  const view = fitted();
  view.show([1000, 1000, 1400, 1100], 50);
  near(view.toScreen([1000, 1050]), [50, 300]);
  near(view.toScreen([1400, 1050]), [950, 300]);
});

import assert from "node:assert/strict";
import test from "node:test";
import * as geometry from "../../src/segarena_studio/static/common/geometry.js";
import { firstCrossing, isSimple, lineMeets } from "../../src/segarena_studio/static/editor/self-intersections.js";
import { generator, starPolygon } from "./random.js";

/** A number as a whole number of 2 ** -1074, exactly. */
function exact(number) {
  const bits = new BigUint64Array(new Float64Array([number]).buffer)[0];
  const exponent = (bits >> 52n) & 0x7ffn;
  const digits = bits & ((1n << 52n) - 1n);
  const size = exponent ? (digits | (1n << 52n)) << (exponent - 1n) : digits;
  return bits >> 63n ? -size : size;
}

function exactTurn(a, b, c) {
  const [[ax, ay], [bx, by], [cx, cy]] = [a, b, c].map((point) => point.map(exact));
  const determinant = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
  return determinant > 0n ? 1 : determinant < 0n ? -1 : 0;
}

test("the side of a line is never wrong by rounding", () => {
  const random = generator(2);
  let closest = 0;
  for (let turn = 0; turn < 4000; turn++) {
    const a = [random() * 4000, random() * 3000];
    const b = [random() * 4000, random() * 3000];
    const share = random();
    const c = [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])]; // on the line, but for rounding
    const naive = Math.sign((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]));
    if (naive !== exactTurn(a, b, c)) closest += 1;
    assert.equal(geometry.turn(a, b, c), exactTurn(a, b, c));
  }
  assert.ok(closest > 50, "the cases are hard enough to fool plain arithmetic");
  assert.equal(geometry.turn([0.1, 0.1], [0.3, 0.3], [0.7, 0.7]), 0);
  assert.equal(geometry.turn([0, 0], [1e9, 0], [5, 1e-9]), 1);
});

/** By how often the outline winds around the point. */
function winds(polygon, [x, y]) {
  const angles = polygon.map((point) => Math.atan2(point[1] - y, point[0] - x));
  const sum = angles.reduce((total, angle, index) => {
    const step = angles[(index + 1) % angles.length] - angle;
    return total + step - 2 * Math.PI * Math.round(step / (2 * Math.PI));
  }, 0);
  return Math.abs(Math.round(sum / (2 * Math.PI))) % 2 === 1;
}

test("a polygon contains what its outline winds around, and its outline", () => {
  const random = generator(3);
  for (let turn = 0; turn < 60; turn++) {
    const polygon = starPolygon(random, [50, 50], 40, 3 + Math.floor(random() * 20));
    for (let shot = 0; shot < 40; shot++) {
      const at = [random() * 100, random() * 100];
      assert.equal(geometry.contains(polygon, at), winds(polygon, at));
    }
    polygon.forEach((vertex) => assert.ok(geometry.contains(polygon, vertex)));
  }
  assert.ok(geometry.contains([[0, 0], [10, 0], [10, 10], [0, 10]], [10, 5]));
});

test("areas, lengths, boxes and the nearest point of a segment", () => {
  const square = [[1, 1], [5, 1], [5, 4], [1, 4]];
  assert.equal(geometry.signedArea(square), 12);
  assert.equal(geometry.area([...square].reverse()), 12);
  assert.equal(geometry.perimeter(square), 14);
  assert.equal(geometry.lengthOf(square), 11);
  assert.deepEqual(geometry.boxOf(square), [1, 1, 5, 4]);
  assert.deepEqual(geometry.project([3, 9], [1, 4], [5, 4]), { at: [3, 4], share: 0.5, squared: 25 });
  assert.deepEqual(geometry.project([9, 9], [1, 4], [5, 4]).at, [5, 4]);
  assert.equal(geometry.squaredFromSegment([3, 9], [1, 4], [5, 4]), 25);
  assert.equal(geometry.squaredFromSegment([3, 9], [3, 4], [3, 4]), 25);
});

test("a hull holds all points and is convex", () => {
  const random = generator(4);
  const points = [...Array(80)].map(() => [Math.floor(random() * 12), Math.floor(random() * 12)]);
  const hull = geometry.convexHull(points);
  points.forEach((point) => assert.ok(geometry.contains(hull, point)));
  hull.forEach((point, index) => {
    assert.equal(geometry.turn(point, hull[(index + 1) % hull.length], hull[(index + 2) % hull.length]), 1);
  });
});

/** Every pair of sides that are not neighbours, without any sorting. */
function crossesAnywhere(polygon) {
  const sides = polygon.map((point, index) => [point, polygon[(index + 1) % polygon.length]]);
  return sides.some(([a, b], one) => {
    return sides.some(([c, d], other) => {
      const gap = other - one;
      if (gap < 2 || gap === sides.length - 1) return false;
      const turns = [exactTurn(a, b, c), exactTurn(a, b, d), exactTurn(c, d, a), exactTurn(c, d, b)];
      return turns[0] !== turns[1] && turns[2] !== turns[3];
    });
  });
}

test("crossings are found wherever they are", () => {
  const random = generator(5);
  const counts = { simple: 0, crossed: 0 };
  for (let turn = 0; turn < 400; turn++) {
    const polygon = starPolygon(random, [50, 50], 40, 6 + Math.floor(random() * 9));
    if (turn % 2) polygon[Math.floor(random() * polygon.length)] = [random() * 100, random() * 100];
    const isCrossed = crossesAnywhere(polygon);
    counts[isCrossed ? "crossed" : "simple"] += 1;
    assert.equal(isSimple(polygon), !isCrossed, JSON.stringify(polygon));
    assert.equal(firstCrossing(polygon) !== null, isCrossed);
  }
  assert.ok(counts.simple > 100 && counts.crossed > 50, JSON.stringify(counts));
});

test("touching, running back and repeated vertices are crossings", () => {
  assert.ok(!isSimple([[0, 0], [10, 0], [10, 10], [5, 0], [0, 10]]), "a vertex on a side");
  assert.ok(!isSimple([[0, 0], [10, 0], [5, 0], [5, 8]]), "a side that runs back");
  assert.ok(!isSimple([[0, 0], [10, 0], [10, 0], [5, 8]]), "a side without length");
  assert.ok(!isSimple([[0, 0], [4, 4], [8, 0], [8, 8], [4, 4], [0, 8]]), "a vertex used twice");
  assert.ok(isSimple([[0, 0], [5, 0], [10, 0], [5, 8]]), "a vertex in a straight side");
  assert.deepEqual(firstCrossing([[0, 0], [10, 10], [10, 0], [0, 10]]), { first: 0, second: 2, at: [5, 5] });
});

test("a line may leave its own end, and nothing else of itself", () => {
  const line = [[0, 0], [10, 0], [10, 10]];
  assert.ok(!lineMeets(line, [0, 10]));
  assert.ok(lineMeets(line, [5, -1]));
  assert.ok(lineMeets(line, [5, 0]), "touching");
  assert.ok(lineMeets(line, [10, 5]), "back over the last side");
});

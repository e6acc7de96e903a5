import assert from "node:assert/strict";
import test from "node:test";
import * as drawing from "../../src/segarena_studio/static/editor/region-drawing.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { nearestLine, nearestVertex } from "../../src/segarena_studio/static/editor/snapping.js";
import { arcs, linesBetween } from "../../src/segarena_studio/static/editor/border-tracing.js";
import { documentOf, generator, gridDocument, starPolygon } from "./random.js";

const SIZE = [400, 300];
// A region with a toothed right border.
const TEETH = [[50, 50], [150, 50], [160, 70], [150, 90], [160, 110], [150, 130], [150, 250], [50, 250]];

function begun(document = documentOf([TEETH])) {
  const scene = Scene.read(document);
  const history = new History(scene);
  const click = (at) => history.run("add vertex", null, (steps) => drawing.addVertex(steps, at)).refusal;
  const q = (at) => history.run("snap", null, (steps) => drawing.addSnapped(steps, nearestLine(scene, at, SIZE))).refusal;
  const w = (at) => history.run("snap", null, (steps) => drawing.addSnapped(steps, nearestVertex(scene, at, SIZE))).refusal;
  const turn = () => history.run("turn", null, drawing.turnArc).refusal;
  const close = () => history.run("close", null, (steps) => drawing.closeOpen(steps, { size: SIZE }));
  return { scene, history, click, q, w, turn, close };
}

test("plain clicks draw a region that comes to the front", () => {
  const { scene, click, close } = begun();
  for (const at of [[200, 50], [300, 50], [300, 150], [200, 150]]) assert.equal(click(at), null);
  assert.ok(close().done);
  assert.equal(scene.regions[0].id, "r2");
  assert.deepEqual(scene.polygon("r2"), [[200, 50], [300, 50], [300, 150], [200, 150]]);
  assert.deepEqual(scene.open, []);
});

test("vertices that are there already or would cross are refused", () => {
  const { scene, click } = begun();
  for (const at of [[200, 50], [300, 50], [300, 150]]) assert.equal(click(at), null);
  assert.equal(click([200, 50]), "repeated");
  assert.equal(click([250, 0]), "crosses");
  assert.equal(click([300, 100]), "crosses", "back over the last side");
  assert.equal(scene.open.length, 3);
});

test("outlines close with four vertices, without crossing, and with 600 pixels of the picture", () => {
  const three = begun();
  for (const at of [[200, 50], [300, 50], [300, 150]]) three.click(at);
  assert.equal(three.close().refusal, "few");
  const crossed = begun();
  for (const at of [[200, 50], [300, 50], [300, 150], [250, 20]]) crossed.click(at);
  for (const at of [[250, 20], [200, 150]]) crossed.click(at);
  const small = begun();
  for (const at of [[200, 50], [224, 50], [224, 74], [200, 74]]) small.click(at);
  assert.equal(small.close().refusal, "small");
  assert.equal(small.scene.open.length, 4, "what was drawn is not lost");
  const enough = begun();
  for (const at of [[200, 50], [225, 50], [225, 74], [200, 74]]) enough.click(at);
  assert.ok(enough.close().done);
  const outside = begun();
  for (const at of [[390, 50], [500, 50], [500, 90], [390, 90]]) outside.click(at);
  assert.equal(outside.close().refusal, "small", "only what is in the picture counts");
});

test("a closing side that crosses is refused", () => {
  const { click, close } = begun();
  for (const at of [[200, 50], [300, 50], [220, 100], [320, 120], [260, 20]]) click(at);
  assert.equal(close().refusal, "crosses");
});

test("Q makes a vertex of both regions, and the border between two is copied along the shorter arc", () => {
  const { scene, q, click, close } = begun();
  assert.equal(q([170, 60]), null);
  const [first] = scene.open;
  assert.deepEqual(scene.owners(first).map(({ id }) => id), ["r1"]);
  assert.equal(scene.region("r1").ring.length, 9, "it was inserted into the neighbour");
  assert.equal(q([155, 190]), null);
  assert.deepEqual(scene.openPolygon().slice(1, -1), [[160, 70], [150, 90], [160, 110], [150, 130]]);
  for (const at of [[250, 190], [250, 60]]) assert.equal(click(at), null);
  assert.ok(close().done);
  assert.equal(scene.sharedEdges().length, 5);
});

test("undoing a snap takes the neighbour's new vertex back as well", () => {
  const { scene, history, q } = begun();
  const before = JSON.stringify(scene.toDocument());
  q([170, 60]);
  history.undo();
  assert.equal(JSON.stringify(scene.toDocument()), before);
});

test("the arc can be turned: the longer one, the straight line, and around again", () => {
  const { scene, q, turn } = begun();
  q([152, 60]);
  q([155, 190]);
  const lengths = [scene.open.length];
  const ends = [scene.open[0], scene.open.at(-1)];
  for (let time = 0; time < 3; time++) {
    assert.equal(turn(), null);
    lengths.push(scene.open.length);
    assert.deepEqual([scene.open[0], scene.open.at(-1)], ends);
  }
  assert.deepEqual(lengths, [6, 6, 2, 6]);
  assert.deepEqual(scene.openPolygon()[1], [160, 70]);
});

test("there is nothing to turn where nothing was copied", () => {
  const { click, turn } = begun();
  click([200, 50]);
  assert.equal(turn(), "nothing");
  click([300, 50]);
  assert.equal(turn(), "nothing");
});

test("the other arc is taken where the shorter one has vertices that are drawn already", () => {
  const { scene, w } = begun();
  assert.equal(w([150, 90]), null);
  assert.equal(w([160, 110]), null);
  assert.equal(w([150, 50]), null); // the shorter arc would go back through 150,90
  assert.deepEqual(scene.openPolygon().slice(2), [[150, 130], [150, 250], [50, 250], [50, 50], [150, 50]]);
});

test("equal arcs are copied in the order of the ring", () => {
  const { scene, w } = begun(documentOf([[[100, 100], [200, 100], [200, 200], [100, 200]]]));
  w([100, 100]);
  w([200, 200]);
  assert.deepEqual(scene.openPolygon(), [[100, 100], [200, 100], [200, 200]]);
  const { shorter, longer } = arcs(scene, "r1", 2, 0);
  assert.deepEqual([shorter, longer], [[2, 3, 0], [2, 1, 0]]);
});

test("Q is refused on a line that is drawn already", () => {
  const { scene, q } = begun();
  q([152, 160]);
  q([152, 240]);
  assert.equal(q([152, 200]), "taken");
  assert.equal(q([152, 240]), "taken");
  assert.equal(scene.open.length, 2);
});

test("Q at a vertex takes the vertex, and on a shared side all who share it get the new one", () => {
  const { scene, q } = begun(gridDocument(2, 1, 100));
  q([100.0004, 99.9998]);
  assert.equal(scene.points.length, 6);
  assert.equal(q([101, 50]), null);
  assert.deepEqual(scene.owners(scene.open[1]).map(({ id }) => id), ["r1", "r2"]);
});

test("a neighbour's border is traced by its two ends", () => {
  const { scene, history, close } = begun();
  const trace = (from, to, options) => history.run("trace", null, (steps) => drawing.addTrace(steps, "r1", TEETH[from], TEETH[to], options));
  assert.ok(trace(1, 5).done);
  assert.deepEqual(scene.open, [1, 2, 3, 4, 5]);
  assert.equal(history.run("turn", null, drawing.turnArc).refusal, null);
  assert.deepEqual(scene.open, [1, 0, 7, 6, 5]);
  assert.ok(trace(5, 1).done, "back to the first: the outline is ready to be closed");
  assert.deepEqual(scene.open, [1, 0, 7, 6, 5, 4, 3, 2]);
  assert.ok(close().done);
  history.undo();
  history.undo();
  history.undo();
  history.undo();
  assert.ok(trace(1, 5, { isLonger: true }).done);
  assert.deepEqual(scene.open, [1, 0, 7, 6, 5]);
});

test("a trace from a place that is no vertex makes it one, and is what was shown before, either way round", () => {
  const random = generator(3);
  for (let turn = 0; turn < 60; turn++) {
    const { scene, history } = begun(documentOf([starPolygon(random, [200, 150], 100, 12)]));
    const polygon = scene.polygon("r1");
    const [start, end] = [0, 0].map(() => {
      const [edge, share] = [Math.floor(12 * random()), Math.floor(3 * random()) / 3];
      const [a, b] = [polygon[edge], polygon[(edge + 1) % 12]];
      return { edge, at: [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])] };
    });
    const shown = linesBetween(scene, "r1", start, end);
    for (const isLonger of [false, true]) {
      const trace = (steps) => drawing.addTrace(steps, "r1", start.at, end.at, { isLonger });
      const { done, refusal } = history.run("trace", null, trace);
      if (String(start.at) === String(end.at)) assert.equal(refusal, "repeated");
      if (!done) continue;
      const drawn = scene.openPolygon();
      const expected = shown[isLonger ? "longer" : "shorter"].filter((at, index, line) => String(at) !== String(line[index - 1]));
      assert.equal(drawn.length, expected.length);
      drawn.forEach((at, index) => assert.ok(Math.hypot(at[0] - expected[index][0], at[1] - expected[index][1]) < 0.002));
      history.undo();
      assert.equal(scene.region("r1").ring.length, 12, "one step of undo");
    }
  }
});

test("points outside the picture can be drawn, and corners and frame are shared when they are vertices already", () => {
  const { scene, click, w, q } = begun(documentOf([[[0, 0], [50, 0], [50, 50], [0, 50]]]));
  assert.equal(click([-30, -20]), null);
  assert.equal(w([1, 1]), null);
  assert.equal(scene.open[1], 0);
  assert.equal(q([399, 100]), null);
  assert.deepEqual(scene.openPolygon()[2], [400, 100]);
});

test("vertices are taken away one by one, or all at once", () => {
  const { scene, history, click } = begun();
  assert.equal(history.run("remove", null, drawing.removeLastVertex).refusal, "nothing");
  assert.equal(history.run("discard", null, drawing.discardOpen).refusal, "nothing");
  for (const at of [[200, 50], [300, 50], [300, 150]]) click(at);
  assert.ok(history.run("remove", null, drawing.removeLastVertex).done);
  assert.equal(scene.open.length, 2);
  assert.ok(history.run("discard", null, drawing.discardOpen).done);
  assert.equal(scene.open.length, 0);
  history.undo();
  assert.equal(scene.open.length, 2);
});

test("an outline closes in a picture that has less than 600 pixels", () => {
  const { history, click, scene } = begun(documentOf([]));
  for (const at of [[1, 1], [4, 1], [4, 4], [1, 4]]) click(at);
  assert.equal(history.run("close", null, (steps) => drawing.closeOpen(steps, { size: [8, 8] })).refusal, null);
  assert.equal(scene.regions.length, 1);
});

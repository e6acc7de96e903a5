// How long operations take in a scene of 200 regions of 100 vertices on 12 megapixels: `node packages/segarena-studio/tests/static/speed.js`.

import { deletePoints, movePoints } from "../../src/segarena_studio/static/editor/vertex-editing.js";
import { check } from "../../src/segarena_studio/static/editor/scene-checks.js";
import { Depth } from "../../src/segarena_studio/static/editor/occlusion.js";
import { History } from "../../src/segarena_studio/static/editor/history.js";
import { regionsAt } from "../../src/segarena_studio/static/editor/hit-testing.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";
import { nearestLine, snap } from "../../src/segarena_studio/static/editor/snapping.js";
import { documentOf, generator, gridDocument } from "./random.js";

const SIZE = [4000, 3000];
const random = generator(5);

function wavy() {
  const [x, y, phase, waves] = [4000 * random(), 3000 * random(), 6 * random(), 2 + Math.floor(4 * random())];
  return [...Array(100).keys()].map((index) => {
    const angle = (index / 100) * 2 * Math.PI;
    const reach = 260 * (0.7 + 0.25 * Math.sin(waves * angle + phase) + 0.02 * random());
    return [Math.round((x + reach * Math.cos(angle)) * 1000) / 1000, Math.round((y + reach * Math.sin(angle)) * 1000) / 1000];
  });
}

function tell(name, act, times = 40) {
  const spent = [...Array(times).keys()].map((turn) => {
    const began = performance.now();
    act(turn);
    return performance.now() - began;
  });
  spent.sort((one, other) => one - other);
  console.log(`  ${name.padEnd(48)} median ${spent[times >> 1].toFixed(2)} ms, longest ${spent[times - 1].toFixed(1)} ms`);
}

const behind = [[0, 0], [4000, 0], [4000, 3000], [0, 3000]];
const scenes = {
  "200 tiles that share their borders": gridDocument(20, 10, 200, 25),
  "199 regions on top of one another, one behind all": documentOf([...[...Array(199)].map(wavy), behind]),
};
for (const [name, document] of Object.entries(scenes)) {
  console.log(name);
  const scene = Scene.read(document);
  const history = new History(scene);
  const { id, ring } = scene.regions[100];
  const anywhere = () => [4000 * random(), 3000 * random()];
  let depth = new Depth(scene, SIZE);
  const hidden = () => scene.regions.forEach((region) => depth.occlusion(region.id));
  const drag = (live, turn) => live.set((steps) => movePoints(steps, [ring[3]], turn / 10, turn / 10));
  tell("read a document", () => Scene.read(document));
  tell("what the magnet snaps to", () => snap(scene, anywhere(), SIZE, 5));
  tell("the nearest line of all", () => nearestLine(scene, anywhere(), SIZE));
  tell("regions under the pointer", () => regionsAt(scene, anywhere()));
  const live = history.start("move", id);
  tell("a vertex moves", (turn) => drag(live, turn));
  tell("overlaps and hidden shares, for the first time", () => ((depth = new Depth(scene, SIZE)), hidden()), 9);
  tell("the same after a vertex has moved", (turn) => (drag(live, turn), hidden()));
  live.cancel();
  tell("all checks", () => check(scene, depth));
  tell("a hundred vertices are deleted, and come back", (turn) => {
    history.run("delete", id, (steps) => deletePoints(steps, scene.regions[turn].ring));
    history.undo();
  });
  tell("document and history as JSON", () => JSON.stringify([scene.toDocument(), history.toJSON()]));
}

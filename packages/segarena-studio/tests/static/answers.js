// What the studio's modules say of scenes: reads [{size, document}, ...] as JSON, writes what of each is known in Python too.

import { readFileSync } from "node:fs";
import { check } from "../../src/segarena_studio/static/editor/scene-checks.js";
import { Depth } from "../../src/segarena_studio/static/editor/occlusion.js";
import { area, perimeter } from "../../src/segarena_studio/static/common/geometry.js";
import { isSimple } from "../../src/segarena_studio/static/editor/self-intersections.js";
import { encode, maskToRings } from "../../src/segarena_studio/static/common/run-lengths.js";
import { Scene } from "../../src/segarena_studio/static/editor/scene.js";

function answersAbout({ size, document }) {
  const scene = Scene.read(document);
  const depth = new Depth(scene, size);
  const ids = scene.regions.map(({ id }) => id);
  return {
    document: scene.toDocument(),
    areas: ids.map((id) => scene.outlines(id).map(area)),
    perimeters: ids.map((id) => scene.outlines(id).map(perimeter)),
    simple: ids.map((id) => scene.outlines(id).map(isSimple)),
    overlap_px: ids.map((one) => ids.map((other) => depth.overlapPx(one, other))),
    visible_px: ids.map((id) => depth.visiblePx(id)),
    occlusion: ids.map((id) => depth.occlusion(id)),
    shared: scene.sharedEdges().map((edge) => edge.sort((a, b) => a - b)),
    visible_runs: ids.map((id) => encode(maskOf(depth.visibleSpans(id), size))),
    outlines: ids.map((id) => maskToRings(maskOf(depth.visibleSpans(id), size), [size[1], size[0]])),
    faults: check(scene, depth).map(({ kind, regions, severity }) => [kind, regions, severity]),
  };
}

function maskOf(spans, [width, height]) {
  const mask = new Uint8Array(width * height);
  for (let at = 0; at < spans.length; at += 3) mask.fill(1, spans[at] * width + spans[at + 1], spans[at] * width + spans[at + 2]);
  return mask;
}

process.stdout.write(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(answersAbout)));

// Two revisions of one picture: both are displayed, and the user chooses which to continue. If the drawing on
// the screen is replaced, Undo restores it.

import { colourOf } from "./region-colours.js";
import { ringsOf } from "./scene.js";

/** @typedef {import("./scene.js").SceneDocument} SceneDocument */
/** @typedef {import("./scene-changes.js").Steps} Steps */

/**
 * Replace the current scene with another one, as steps that can be undone together.
 * @param {Steps} steps
 * @param {SceneDocument | null} document  null for an empty scene
 */
export function replaceScene(steps, document) {
  const { scene } = steps;
  steps.splice("", 0, scene.open.length, []);
  for (const { id } of [...scene.regions].reverse()) steps.removeRegion(id);
  if (!document) return null;
  /** @type {Map<number, number>} */
  const points = new Map();
  const pointOf = (/** @type {number} */ index) => {
    const known = points.get(index) ?? steps.addPoint(document.points[index]);
    points.set(index, known);
    return known;
  };
  document.regions.forEach(({ ring, id: _, ...fields }, place) => {
    steps.addRegion(ring.map(pointOf), fields, place);
  });
  steps.splice("", 0, 0, (document.open ?? []).map(pointOf));
  return null;
}

/**
 * Paint a thumbnail of a scene and return a description in words.
 * @param {HTMLCanvasElement} canvas
 * @param {SceneDocument | null} document
 * @param {[number, number]} size  width, height of the picture
 * @param {Set<string>} [marked]  ids of regions with a wider outline
 */
export function showScene(canvas, document, size, marked = new Set()) {
  const context = canvas.getContext("2d");
  const regions = document?.regions ?? [];
  canvas.height = Math.round((canvas.width * size[1]) / size[0]);
  const scale = canvas.width / size[0];
  for (const region of [...regions].reverse()) {
    if (!context || !document) break;
    const { id } = region;
    context.beginPath();
    for (const ring of ringsOf(region)) {
      const outline = ring.map((index) => document.points[index]);
      outline.forEach(([x, y], place) => (place ? context.lineTo(x * scale, y * scale) : context.moveTo(x * scale, y * scale)));
      context.closePath();
    }
    const { fill } = colourOf(id, false);
    [context.fillStyle, context.strokeStyle, context.globalAlpha] = [fill, "#000", 0.75];
    context.fill("evenodd");
    context.globalAlpha = 1;
    context.lineWidth = marked.has(id) ? 3 : 1;
    context.stroke();
  }
  return wordsOf(document);
}

/**
 * @param {SceneDocument | null} document
 */
export function wordsOf(document) {
  const regions = document?.regions ?? [];
  const names = regions.map(({ name }) => name).filter(Boolean);
  const listed = names.length > 5 ? [...names.slice(0, 5), "…"] : names;
  const count = regions.length === 1 ? "1 region" : `${regions.length} regions`;
  return listed.length ? `${count}: ${listed.join(", ")}` : count;
}

// Pointer actions on a pane: pan, step through planes, place the cross, set the window, go to the
// next place.

import { listen } from "../common/pointer.js";
import { isInside, positionOf } from "./plane-geometry.js";
import { dragged, short } from "./window-level.js";

/** @typedef {import("./viewer.js").Viewer} Viewer */
/** @typedef {import("./panes.js").Held} Held */

const SWIPE_PX = 60;
const WHEEL_STEP_PX = 40;

/**
 * Listen to a pane; call the returned function to stop.
 * @param {Viewer} viewer
 * @param {Held} held
 * @param {HTMLElement} host
 */
export function hear(viewer, held, host) {
  const { plane, picture } = held.pane;
  const isVolume = viewer.place?.kind === "volume";
  /** @type {{x: number, y: number, kind: string} | null} */
  let from = null;
  let last = { x: 0, y: 0 };
  let turned = 0;
  const tool = () => viewer.controls.control("drag").value;
  const moves = (/** @type {{x: number, y: number}} */ sample) => {
    if (isVolume && tool() === "cross") {
      viewer.setCross(positionOf(plane, viewer.indices[held.direction], picture.view.toImage([sample.x, sample.y])));
    } else if (isVolume && tool() === "window" && viewer.window && viewer.place?.levels) {
      viewer.setWindow(dragged(viewer.window, sample.x - last.x, sample.y - last.y, viewer.place.levels));
    }
    last = sample;
  };
  return listen(host, {
    pans: (sample) => viewer.isSpaceDown || sample.event.altKey || (!isVolume && sample.kind !== "touch") || (isVolume && tool() === "pan"),
    press: (sample) => {
      from = last = sample;
      if (isVolume && tool() === "cross") moves(sample);
      return false;
    },
    drag: (samples) => {
      const sample = samples[samples.length - 1];
      if (isVolume) moves(sample);
      else if (!picture.view.isFitted) picture.panBy(sample.x - last.x, sample.y - last.y);
      last = sample;
    },
    release: (sample) => {
      if (!isVolume && from && picture.view.isFitted && isSwipe(from, sample)) viewer.go(sample.x < from.x ? "next" : "previous");
      from = null;
    },
    pan: (dx, dy) => picture.panBy(dx, dy),
    zoom: (point, factor) => picture.zoomAbout(point, factor),
    wheel: (_dx, dy, event) => {
      if (!isVolume || event.ctrlKey || event.shiftKey) return false;
      turned += dy;
      const steps = Math.trunc(turned / WHEEL_STEP_PX);
      if (steps) {
        turned -= WHEEL_STEP_PX * steps;
        viewer.setIndex(held.direction, viewer.indices[held.direction] - Math.sign(steps));
      }
      return true;
    },
    hover: (sample) => void tellUnder(viewer, held, [sample.x, sample.y]),
    leave: () => viewer.words.tellUnder(""),
  });
}

/**
 * Test for a horizontal swipe: far to one side with little vertical movement.
 * @param {{x: number, y: number}} from
 * @param {{x: number, y: number}} to
 */
function isSwipe(from, to) {
  const across = Math.abs(to.x - from.x);
  return across > SWIPE_PX && across > 2 * Math.abs(to.y - from.y);
}

/**
 * Show the values under the pointer.
 * @param {Viewer} viewer
 * @param {Held} held
 * @param {[number, number]} at  on the screen
 */
async function tellUnder(viewer, { pane, direction }, at) {
  const { place } = viewer;
  const { plane, picture } = pane;
  const point = picture.view.toImage(at);
  if (!place || !isInside(plane, point)) return viewer.words.tellUnder("");
  const index = viewer.indices[direction];
  const position = positionOf(plane, index, point);
  const names = position.length === 2 ? ["row", "column"] : [place.kind === "video" ? "frame" : "plane", "row", "column"];
  const text = names.map((name, axis) => `${name} ${position[axis]}`).join(", ");
  if (!place.levels) return viewer.words.tellUnder(text);
  const { offset, step, modality } = place.levels;
  // If a plane fails to load, the pane itself reports it.
  const told = await viewer.store.picture(place.key[0], direction, index, true).catch(() => null);
  const [column, row] = [Math.floor(point[0] / plane.edges[1]), Math.floor(point[1] / plane.edges[0])];
  const value = told?.bits ? `: ${short(offset + step * told.bits[row * told.size[1] + column])}${modality === "CT" ? " HU" : ""}` : "";
  viewer.words.tellUnder(text + value);
}

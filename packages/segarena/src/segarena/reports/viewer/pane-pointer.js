// Pointer actions on a pane: pan, step through planes, place the cross, set the window, go to the
// next sample.

import { listen } from "./pointer.js";
import { indexAt, isInside, positionOf } from "./plane-geometry.js";
import { dragged, short } from "./window-level.js";

/** @typedef {import("./round-viewer.js").RoundViewer} RoundViewer */
/** @typedef {import("./panes.js").Slot} Slot */

const SWIPE_PX = 60;
const WHEEL_STEP_PX = 40;

/**
 * Listen to a pane; call the returned function to stop.
 * @param {RoundViewer} viewer
 * @param {Slot} slot
 * @param {HTMLElement} host
 */
export function listenToPane(viewer, slot, host) {
  const { plane, picture } = slot.pane;
  const isVolume = viewer.content?.kind === "volume";
  /** @type {{x: number, y: number, kind: string} | null} */
  let from = null;
  let last = { x: 0, y: 0 };
  let scrolled = 0;
  const tool = () => viewer.dragTool;
  const moves = (/** @type {{x: number, y: number}} */ sample) => {
    if (isVolume && tool() === "cross") {
      viewer.setCross(positionOf(plane, indexAt(plane, viewer.places[slot.direction]), picture.view.toImage([sample.x, sample.y])));
    } else if (isVolume && tool() === "window" && viewer.window && viewer.content?.levels) {
      viewer.setWindow(dragged(viewer.window, sample.x - last.x, sample.y - last.y, viewer.content.levels));
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
      scrolled += dy;
      const steps = Math.trunc(scrolled / WHEEL_STEP_PX);
      if (steps) {
        scrolled -= WHEEL_STEP_PX * steps;
        viewer.setPlace(slot.direction, viewer.places[slot.direction] - Math.sign(steps));
      }
      return true;
    },
    hover: (sample) => void readOut(viewer, slot, [sample.x, sample.y]),
    leave: () => viewer.showReadout(""),
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
 * Show position and value under the pointer.
 * @param {RoundViewer} viewer
 * @param {Slot} slot
 * @param {[number, number]} at  on the screen
 */
async function readOut(viewer, { pane, direction }, at) {
  const { content } = viewer;
  const { plane, picture } = pane;
  const point = picture.view.toImage(at);
  if (!content || !isInside(plane, point)) return viewer.showReadout("");
  const place = viewer.places[direction];
  const position = positionOf(plane, indexAt(plane, place), point);
  const names = position.length === 2 ? ["row", "column"] : [content.kind === "video" ? "frame" : "plane", "row", "column"];
  const text = names.map((name, axis) => `${name} ${position[axis]}`).join(", ");
  if (!content.levels) return viewer.showReadout(text);
  const { offset, step, modality } = content.levels;
  // If a plane fails to load, the pane itself reports it.
  const shown = await viewer.source.picture(content, direction, place).catch(() => null);
  if (!shown?.bits) return viewer.showReadout(text);
  const column = Math.floor(point[0] / plane.edges[1]);
  const row = Math.floor(point[1] / plane.edges[0]);
  const value = short(offset + step * shown.bits[row * shown.size[1] + column]);
  viewer.showReadout(`${text}: ${value}${modality === "CT" ? " HU" : ""}`);
}

// The shorter form in which the server sends a scene document, see `annotation/packed_scene.py`.

/**
 * Return the unpacked scene document. Return a document that is not packed, or a missing one, as it is.
 * @param {any} scene
 */
export function unpackScene(scene) {
  if (!scene?.points?.deltas) return scene;
  const regions = scene.regions.map((/** @type {any} */ region) => ({ ...region, ring: ringOf(region.ring.runs) }));
  return { ...scene, points: pointsOf(scene.points), regions };
}

/** @param {{scale: number, deltas: number[], others: [number, number, number][]}} packed */
function pointsOf({ scale, deltas, others }) {
  /** @type {[number, number][]} */
  const points = [];
  let [x, y] = [0, 0];
  for (let at = 0; at < deltas.length; at += 2) {
    x += deltas[at];
    y += deltas[at + 1];
    points.push([x / scale, y / scale]);
  }
  for (const [point, ...at] of others) points[point] = at;
  return points;
}

/** @param {number[]} runs first and count of each */
function ringOf(runs) {
  /** @type {number[]} */
  const ring = [];
  for (let at = 0; at < runs.length; at += 2) {
    for (let step = 0; step < runs[at + 1]; step++) ring.push(runs[at] + step);
  }
  return ring;
}

// Random scenes and polygons for the tests of the studio's modules: the same ones each time.

/** @param {number} seed */
export function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A polygon that does not meet itself, around a middle. */
export function starPolygon(random, [x, y], radius, count) {
  return [...Array(count).keys()].map((index) => {
    const angle = ((index + 0.8 * random()) / count) * 2 * Math.PI;
    const reach = radius * (0.4 + 0.6 * random());
    return [Math.round((x + reach * Math.cos(angle)) * 1000) / 1000, Math.round((y + reach * Math.sin(angle)) * 1000) / 1000];
  });
}

/** The document of a scene of separate regions. */
export function documentOf(polygons) {
  const points = polygons.flat();
  let next = 0;
  const regions = polygons.map((polygon, index) => ({
    id: `r${index + 1}`,
    ring: polygon.map(() => next++),
    name: `region ${index + 1}`,
    is_stuff: false,
    is_hidden: false,
    is_locked: false,
  }));
  return { version: 1, points, regions, next_id: polygons.length + 1 };
}

/** A grid of squares that share all inner borders, front first from the upper left; with so many vertices on each side. */
export function gridDocument(columns, rows, length, perSide = 1) {
  const points = [];
  const places = new Map();
  const point = (x, y) => {
    const key = `${x} ${y}`;
    if (!places.has(key)) places.set(key, points.push([x, y]) - 1);
    return places.get(key);
  };
  const regions = [];
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [left, top, step] = [column * length, row * length, length / perSide];
      const way = [...Array(perSide).keys()];
      const ring = [
        ...way.map((k) => point(left + k * step, top)),
        ...way.map((k) => point(left + length, top + k * step)),
        ...way.map((k) => point(left + length - k * step, top + length)),
        ...way.map((k) => point(left, top + length - k * step)),
      ];
      const id = `r${regions.length + 1}`;
      regions.push({ id, ring, name: id, is_stuff: false, is_hidden: false, is_locked: false });
    }
  }
  return { version: 1, points, regions, next_id: regions.length + 1 };
}

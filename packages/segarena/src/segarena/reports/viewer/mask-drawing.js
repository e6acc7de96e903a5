// Draw masks over a picture from the outlines of their objects, which stay sharp at every zoom.

/** @typedef {import("./content.js").Outlines} Outlines */
/** @typedef {import("./viewport.js").View} View */

/** Outlines of a pane at its current zoom and position. */
export class PlacedOutlines {
  /**
   * @param {Map<string, Path2D>} known  cache of parsed path data
   * @param {View} view
   * @param {[number, number]} scale  displayed length of a unit of the path data, across and down
   */
  constructor(known, view, [across, down]) {
    this.known = known;
    const [x, y] = view.toScreen([0, 0]);
    this.matrix = new DOMMatrix([view.scale * across, 0, 0, view.scale * down, x, y]);
    this.screenSize = view.screenSize;
  }

  /**
   * Return path data as a path on the screen.
   * @param {string} data
   */
  path(data) {
    let parsed = this.known.get(data);
    if (!parsed) this.known.set(data, (parsed = new Path2D(data)));
    const placed = new Path2D();
    placed.addPath(parsed, this.matrix);
    return placed;
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Outlines} objects
   * @param {(number: number) => string} colourOf
   * @param {number} alpha
   */
  fill(context, objects, colourOf, alpha) {
    context.save();
    context.globalAlpha = alpha;
    for (const [number, data] of objects) {
      context.fillStyle = colourOf(number);
      context.fill(this.path(data), "evenodd");
    }
    context.restore();
  }

  /**
   * Fill the missing and the surplus area of a prediction, object by object.
   * @param {CanvasRenderingContext2D} context
   * @param {Outlines} answer
   * @param {Outlines} target
   * @param {Outlines} ignored  stays empty
   * @param {{missing: string, surplus: string}} colours
   * @param {number} alpha
   */
  fillErrors(context, answer, target, ignored, colours, alpha) {
    context.save();
    context.globalAlpha = alpha;
    for (const data of ignored.values()) context.clip(this.outside(data), "evenodd");
    for (const number of new Set([...answer.keys(), ...target.keys()])) {
      const own = answer.get(number) ?? "";
      const right = target.get(number) ?? "";
      this.fillDifference(context, own, right, colours.surplus);
      this.fillDifference(context, right, own, colours.missing);
    }
    context.restore();
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {string} shown
   * @param {string} without
   * @param {string} colour
   */
  fillDifference(context, shown, without, colour) {
    context.save();
    context.clip(this.outside(without), "evenodd");
    context.fillStyle = colour;
    context.fill(this.path(shown), "evenodd");
    context.restore();
  }

  /**
   * Return a path of the whole screen with the area as a hole, to be filled by the even-odd rule.
   * @param {string} data
   */
  outside(data) {
    const path = this.path(data);
    path.rect(-1, -1, this.screenSize[0] + 2, this.screenSize[1] + 2);
    return path;
  }

  /**
   * Stroke outlines several times, each line on top of the previous one.
   * @param {CanvasRenderingContext2D} context
   * @param {string} data
   * @param {...[string, number, number[]]} lines  colour, width and dashes
   */
  stroke(context, data, ...lines) {
    const path = this.path(data);
    context.save();
    context.lineJoin = "round";
    for (const [colour, width, dashes] of lines) {
      context.strokeStyle = colour;
      context.lineWidth = width;
      context.setLineDash(dashes);
      context.stroke(path);
    }
    context.restore();
  }
}

/**
 * Return the bounding box of outlines with absolute coordinates: left, top, right, bottom; null if
 * there is none.
 * @param {Outlines} objects
 * @returns {[number, number, number, number] | null}
 */
export function boundsOf(objects) {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const data of objects.values()) {
    for (const [, x, y] of data.matchAll(/(-?[\d.]+)[ ,](-?[\d.]+)/g)) {
      [left, right] = [Math.min(left, Number(x)), Math.max(right, Number(x))];
      [top, bottom] = [Math.min(top, Number(y)), Math.max(bottom, Number(y))];
    }
  }
  return right > left ? [left, top, right, bottom] : null;
}

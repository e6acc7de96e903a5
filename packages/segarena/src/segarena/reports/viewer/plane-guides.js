// Orientation aids on a plane of a volume: the crosshair where all planes meet, and the patient's
// sides.

/** Gap of the crosshair around its centre, in screen px. */
const GAP = 9;

/**
 * Draw a thin crosshair at the position where all planes meet.
 * @param {CanvasRenderingContext2D} context
 * @param {[number, number]} point  on the screen
 * @param {[number, number]} size  of the screen
 */
export function drawCross(context, point, [width, height]) {
  const [x, y] = point.map((place) => Math.round(place) + 0.5);
  context.save();
  context.strokeStyle = "#7fd4ffb0";
  context.lineWidth = 1;
  context.beginPath();
  for (const [from, to] of [[0, x - GAP], [x + GAP, width]]) {
    context.moveTo(from, y);
    context.lineTo(to, y);
  }
  for (const [from, to] of [[0, y - GAP], [y + GAP, height]]) {
    context.moveTo(x, from);
    context.lineTo(x, to);
  }
  context.stroke();
  context.restore();
}

/**
 * Label the patient's sides.
 * @param {CanvasRenderingContext2D} context
 * @param {string} letters  letters at the top, right, bottom and left
 * @param {[number, number]} size
 */
export function drawLetters(context, letters, [width, height]) {
  context.save();
  context.font = "600 13px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.lineWidth = 3;
  context.strokeStyle = "#000a";
  context.fillStyle = "#fff";
  const places = [[width / 2, 12], [width - 12, height / 2], [width / 2, height - 12], [12, height / 2]];
  [...letters].forEach((letter, at) => {
    context.strokeText(letter, places[at][0], places[at][1]);
    context.fillText(letter, places[at][0], places[at][1]);
  });
  context.restore();
}

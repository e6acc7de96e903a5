// A magnifier of the area that the finger covers, shown above the finger, or below it if there is no room.

/** @typedef {import("./editor.js").Editor} Editor */

const SIZE = 128;
const TIMES = 2;
const ABOVE = 96;

export class Loupe {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Editor} editor
   */
  constructor(canvas, editor) {
    this.canvas = canvas;
    this.editor = editor;
    const { picture } = editor;
    const draw = picture.onDraw;
    picture.onDraw = (context, view) => {
      draw(context, view);
      this.update();
    };
  }

  update() {
    const { picture, cursor, tool, isHolding } = this.editor;
    const isNeeded = isHolding && cursor.kind === "touch" && Boolean(tool.hasLoupe);
    // Writing the attribute again would cost a style update in every frame.
    if (this.canvas.hidden === isNeeded) this.canvas.hidden = !isNeeded;
    if (!isNeeded) return;
    const { ratio } = picture;
    const [x, y] = picture.view.toScreen(cursor.at);
    if (this.canvas.width !== SIZE * ratio) Object.assign(this.canvas, { width: SIZE * ratio, height: SIZE * ratio });
    const left = Math.min(Math.max(x - SIZE / 2, 4), picture.screen[0] - SIZE - 4);
    const isRoom = y - ABOVE - SIZE / 2 > 4;
    const top = isRoom ? y - ABOVE - SIZE / 2 : y + ABOVE - SIZE / 2;
    Object.assign(this.canvas.style, { left: `${left}px`, top: `${top}px`, width: `${SIZE}px`, height: `${SIZE}px` });
    const context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, SIZE * ratio, SIZE * ratio);
    const part = (SIZE / TIMES) * ratio;
    for (const canvas of [picture.base, picture.overlay]) {
      context.filter = canvas.style.filter || "none"; // brightness and contrast
      context.drawImage(canvas, x * ratio - part / 2, y * ratio - part / 2, part, part, 0, 0, SIZE * ratio, SIZE * ratio);
    }
    context.filter = "none";
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.strokeStyle = "#fff";
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(SIZE / 2 + 5 * dx, SIZE / 2 + 5 * dy);
      context.lineTo(SIZE / 2 + 14 * dx, SIZE / 2 + 14 * dy);
    }
    context.stroke();
  }
}

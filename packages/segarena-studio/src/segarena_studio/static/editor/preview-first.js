// Loads the modules of the editor and the drawing after the preview of the picture: on a slow
// connection they would otherwise share the bandwidth, and the page would stay blank for longer.

import { requestDrawing } from "./early-request.js";

/** How long the editor waits for the preview, in ms. */
const MOST_MS = 4000;

const preview = document.getElementById("preview");
if (preview instanceof HTMLImageElement && !preview.complete) {
  await new Promise((resolve) => {
    for (const name of ["load", "error"]) preview.addEventListener(name, resolve);
    setTimeout(resolve, MOST_MS);
  });
}
requestDrawing();
await import("./scene-page.js");

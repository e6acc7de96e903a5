// Loading the picture of a task: a preview comes with the page, and the full picture replaces it
// when it has arrived.

/** @typedef {import("../../../reports/viewer/zoomable-picture.js").Picture} Picture */
/** @typedef {(received: number, total: number) => void} OnProgress  bytes so far and in all; the total is 0 if unknown */

const AGAIN_MS = [1000, 4000, 15_000, 60_000];

/**
 * Fetch a file; report the progress after each part that arrives.
 * @param {string} address
 * @param {OnProgress} onProgress
 * @returns {Promise<Blob>}
 */
export async function fetchFile(address, onProgress) {
  const response = await fetch(address);
  if (!response.ok || !response.body) throw new Error(`The picture could not be loaded: the server responded with ${response.status}.`);
  const total = Number(response.headers.get("content-length") ?? 0);
  const reader = response.body.getReader();
  /** @type {BlobPart[]} */
  const parts = [];
  let received = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    received += value.length;
    onProgress(received, total);
  }
  return new Blob(parts, { type: response.headers.get("content-type") ?? "" });
}

/**
 * Return the preview that the page shows; null if there is none.
 * @param {HTMLElement | null} image
 * @returns {Promise<ImageBitmap | null>}
 */
export async function previewIn(image) {
  if (!(image instanceof HTMLImageElement)) return null;
  return image.decode().then(() => createImageBitmap(image)).catch(() => null); // prettier-ignore
}

/**
 * Replace the preview with the full picture. A lost connection only delays it.
 * @param {Picture} picture
 * @param {string} address
 * @param {OnProgress} onProgress
 */
export async function replacePreview(picture, address, onProgress) {
  const { size } = picture;
  for (let tries = 0; ; tries += 1) {
    const file = await fetchFile(address, onProgress).catch(() => null);
    if (file) return picture.setImage(file, { size, keepsView: true });
    onProgress(0, 0);
    await nextChance(AGAIN_MS[Math.min(tries, AGAIN_MS.length - 1)]);
  }
}

/**
 * Wait for a time, or until the network is back.
 * @param {number} wait_ms
 */
function nextChance(wait_ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), wait_ms);
    window.addEventListener("online", () => (clearTimeout(timer), resolve(undefined)), { once: true });
  });
}

/**
 * Show the progress, or, if the total is unknown, only that something is under way.
 * @param {HTMLProgressElement} bar
 * @param {number} received
 * @param {number} total
 */
export function showProgress(bar, received, total) {
  if (!total) return bar.removeAttribute("value");
  bar.value = Math.min(1, received / total);
}

// Entry point of the page that shows one sample or dialogue.

import { LookViewer } from "./look-viewer.js";

const root = document.querySelector("[data-address]");
if (root instanceof HTMLElement) {
  const here = new URLSearchParams(location.search);
  const [sample, target, user] = ["sample", "target", "user"].map((name) => here.get(name) ?? "");
  const round = here.get("round");
  new LookViewer(root).load([sample, target, user, Number(here.get("repeat") ?? 0)], round ? Number(round) : Infinity);
}

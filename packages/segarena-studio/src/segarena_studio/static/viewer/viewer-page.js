// Entry point of the page that shows one place.

import { Viewer } from "./viewer.js";

const root = document.querySelector("[data-address]");
if (root instanceof HTMLElement) {
  const here = new URLSearchParams(location.search);
  const [sample, target, user] = ["sample", "target", "user"].map((name) => here.get(name) ?? "");
  const round = here.get("round");
  new Viewer(root).load([sample, target, user, Number(here.get("repeat") ?? 0)], round ? Number(round) : Infinity);
}

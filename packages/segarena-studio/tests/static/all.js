// Runs every test of the studio's modules in one process: `node packages/segarena-studio/tests/static/all.js`.

import { readdirSync } from "node:fs";

import "./served_paths.js";

// Tabs that tests kill leave requests without an answer behind; nobody waits the 20 s until those are given up.
const LONG_MS = 10_000;
const { setTimeout: plain } = globalThis;
globalThis.setTimeout = (act, wait_ms, ...given) => {
  const timer = plain(act, wait_ms, ...given);
  return wait_ms >= LONG_MS ? timer.unref() : timer;
};

const here = new URL("./", import.meta.url);
for (const name of readdirSync(here).filter((file) => file.endsWith(".test.js")).sort()) await import(new URL(name, here).href);

// Every test of the studio's modules in one process: `node tests/studio/static/all.js`.

import { readdirSync } from "node:fs";

const here = new URL("./", import.meta.url);
for (const name of readdirSync(here).filter((file) => file.endsWith(".test.js")).sort()) await import(new URL(name, here).href);

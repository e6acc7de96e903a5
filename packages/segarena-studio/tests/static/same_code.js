// Compare pairs of modules as the compiler prints them without comments. Its package is the first argument.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const compiler = createRequire(import.meta.url)(process.argv[2]);
const printer = compiler.createPrinter({ removeComments: true });
const printed = (text) => printer.printFile(compiler.createSourceFile("module.js", text, compiler.ScriptTarget.ES2022));

const pairs = JSON.parse(readFileSync(0, "utf8"));
const differing = pairs.filter(([text, sent]) => printed(text) !== printed(sent));
console.log(differing.length ? differing[0][1] : `${pairs.length} equal`);

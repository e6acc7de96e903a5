// Resolves modules as the server serves them: it offers the core's report scripts under /static/reports/, beside the
// studio's own modules. On disk the two lie in different packages.

import { register } from "node:module";

const REPORTS = new URL("../../../segarena/src/segarena/reports/", import.meta.url).href;
const HOOK = `
export function resolve(specifier, context, next) {
  const served = "../../../reports/";
  if (!specifier.startsWith(served)) return next(specifier, context);
  return next(${JSON.stringify(REPORTS)} + specifier.slice(served.length), context);
}`;

register(`data:text/javascript,${encodeURIComponent(HOOK)}`);

import assert from "node:assert/strict";
import { test } from "node:test";

import { newId, Talk } from "../../src/segarena_studio/static/common/api.js";

/** A talk that is answered so. */
function answered(status, text, headers = {}, type = "default") {
  const response = status ? new Response(status === 204 ? null : text, { status, headers }) : null;
  const fetch = async () => response ?? { type, status: 0, headers: new Headers(), text: async () => "" };
  return new Talk({ key: "k", fetch }).ask("GET", "/studio/x");
}

test("what came of a request is one word, whatever answers", async () => {
  const outcomes = [
    [200, "{}", "done"], [202, "", "done"], [204, "", "done"], [409, "{}", "conflict"], [401, "{}", "signed-out"],
    [404, "{}", "refused"], [413, "{}", "refused"], [422, "{}", "refused"], [429, "{}", "busy"], [500, "<html>", "busy"],
    [503, "{}", "busy"], [507, "{}", "busy"], [0, "", "signed-out"], [200, "<html>Sign in to the network</html>", "away"],
  ];
  for (const [status, text, outcome] of outcomes) {
    const answer = await answered(status, text, {}, "opaqueredirect");
    assert.equal(answer.outcome, outcome, `${status} ${text}`);
  }
});

test("a refusal's line and its pause are passed on", async () => {
  const answer = await answered(503, '{"error": "busy", "message": "no room"}', { "retry-after": "3" });
  assert.deepEqual([answer.message, answer.wait_ms], ["no room", 3000]);
});

test("a request that is not answered in time is given up", async () => {
  const fetch = (_address, { signal }) => new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  const answer = await new Talk({ key: "k", fetch }).ask("GET", "/studio/x", undefined, { limit_ms: 5 });
  assert.equal(answer.outcome, "away");
});

test("requests tell the key of the page, and that they want JSON", async () => {
  let told;
  const fetch = async (_address, given) => ((told = given), new Response("{}"));
  await new Talk({ key: "k", fetch }).ask("PUT", "/studio/x", { a: 1 });
  assert.deepEqual([told.headers["x-form-key"], told.headers.accept, told.body], ["k", "application/json", '{"a":1}']);
  assert.equal(told.redirect, "manual");
});

test("many requests with an old key renew it once", async () => {
  let renewals = 0;
  const fetch = async (address, { headers }) => {
    if (address === "/studio/key") return (renewals += 1), new Response('{"key": "new", "person": 1}');
    return headers["x-form-key"] === "new" ? new Response('{"a": 1}') : new Response('{"error": "form"}', { status: 403 });
  };
  const talk = new Talk({ key: "old", person: 1, fetch });
  const answers = await Promise.all([1, 2, 3].map(() => talk.ask("POST", "/studio/x", {})));
  assert.deepEqual(answers.map((answer) => answer.outcome), ["done", "done", "done"]);
  assert.equal(renewals, 1);
});

test("ids differ, and have the form of others", () => {
  const ids = new Set(Array.from({ length: 100 }, newId));
  assert.equal(ids.size, 100);
  for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

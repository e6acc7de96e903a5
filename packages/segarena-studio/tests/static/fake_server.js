// A server of drafts and what lies before it, in memory: for tests of what browsers do. Time passes when it is told to.

/** Drafts of one task, by the rules of the interface: a base that is not the latest is a conflict, an id counts once. */
export class FakeServer {
  constructor() {
    this.revisions = [{ revision: 0, id: "", base: -1, scene: { n: 0 }, history: null, log: [] }];
    this.isSignedIn = true;
    this.key = "key-1";
    this.person = 7;
    this.isFull = false;
    this.mostBytes = Infinity;
    this.isReached = true;
    /** What happens to the next requests: "lost" on the way there, "unheard" on the way back. @type {string[]} */
    this.faults = [];
    this.requests = 0;
  }

  get latest() {
    return this.revisions[this.revisions.length - 1];
  }

  /** Stands in for the browser's fetch. */
  fetch = async (address, { method, headers, body }) => {
    this.requests += 1;
    const fault = this.faults.shift();
    await Promise.resolve();
    if (!this.isReached || fault === "lost") throw new TypeError("network");
    const response = this.answer(address, method, headers, body);
    await Promise.resolve();
    if (fault === "unheard") throw new TypeError("network");
    return response;
  };

  answer(address, method, headers, body) {
    if (!this.isSignedIn) return json(401, { error: "token", message: "sign in" });
    if (address === "/studio/key") return json(200, { key: this.key, person: this.person });
    if (method !== "GET" && headers["x-form-key"] !== this.key) return json(403, { error: "form", message: "an earlier session" });
    const { revision, scene, history, id } = this.latest;
    if (method === "GET") return json(200, { revision, scene, history, id, state: "clean", comments: [] });
    if (this.isFull) return json(503, { error: "busy", message: "files cannot be written" }, { "retry-after": "1" });
    if (body.length > this.mostBytes) return json(413, { error: "too_large", message: "at most 2 bytes" });
    const told = JSON.parse(body);
    const known = this.revisions.find((each) => each.id === told.id);
    if (known) return json(200, { revision: known.revision });
    const keys = Object.keys(told).sort().join();
    if (keys !== "active_ms,base,history,id,log,scene,time_ms") return json(422, { error: "invalid", message: keys });
    if (told.base !== revision) return json(409, { revision, scene, id, saved_at: 1000 });
    this.revisions.push({ ...told, revision: revision + 1 });
    return json(200, { revision: revision + 1 });
  }

  /** All that was told once: how many entries of the log, and milliseconds. */
  get added() {
    const told = this.revisions.filter((each) => each.id);
    const sum = (name) => told.reduce((all, each) => all + (each[name].r1 ?? 0), 0);
    return { log: told.reduce((all, each) => all + each.log.length, 0), time_ms: sum("time_ms"), active_ms: sum("active_ms") };
  }

  signInAgain(person = 7) {
    this.isSignedIn = true;
    this.person = person;
    this.key = `key-${this.key.length}${Math.random()}`;
  }
}

/** Drafts of a browser that outlive its tabs. */
export class FakeDrafts {
  constructor() {
    this.kept = new Map();
    this.isBroken = false;
  }

  async put(draft, adopted) {
    await Promise.resolve();
    if (this.isBroken) throw new Error("quota");
    this.kept.set([draft.person, draft.task, draft.tab].join("/"), structuredClone(draft));
    if (adopted) this.kept.delete([draft.person, draft.task, adopted].join("/"));
  }

  async remove(...key) {
    await Promise.resolve();
    this.kept.delete(key.join("/"));
  }

  async of(person, task) {
    const own = [...this.kept.values()].filter((draft) => draft.person === person && draft.task === task);
    return structuredClone(own.sort((a, b) => b.at_ms - a.at_ms));
  }
}

/** A clock that stands until it is moved; what was asked to happen later happens then, in order. */
export class FakeTime {
  constructor() {
    this.now_ms = 1_000_000;
    this.waiting = [];
  }

  clock = () => this.now_ms;

  later = (wait_ms, act) => {
    const one = { at: this.now_ms + wait_ms, act };
    this.waiting.push(one);
    return () => (this.waiting = this.waiting.filter((each) => each !== one));
  };

  /** Let time pass, and all that happens in it. */
  async pass(ms) {
    const until = this.now_ms + ms;
    await settle();
    for (;;) {
      const next = this.waiting.filter((each) => each.at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.waiting.splice(this.waiting.indexOf(next), 1);
      this.now_ms = Math.max(this.now_ms, next.at);
      next.act();
      await settle();
    }
    this.now_ms = until;
  }
}

/** Let everything that is under way come to its end. */
export async function settle() {
  for (let turn = 0; turn < 4; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function json(status, body, headers = {}) {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}

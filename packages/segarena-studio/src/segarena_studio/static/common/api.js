// Requests from a page to its server, with the session's key and a timeout; each outcome is one
// word.
//
// No function here throws because of a network or server error: the caller gets an outcome and
// decides.

/**
 * @typedef {"done" | "conflict" | "refused" | "signed-out" | "busy" | "away"} Outcome
 *   done: success. conflict: another change came first. refused: retrying cannot succeed.
 *   signed-out: the session ended or belongs to another user. busy: try later. away: the server was not
 *   reached, or did not answer in time; it may or may not have acted.
 *
 * @typedef {object} Answer
 * @property {Outcome} outcome
 * @property {number} status  HTTP status; 0 without a response
 * @property {any} body  parsed JSON of the response; {} without JSON
 * @property {string} message  one line for the reader; "" on success
 * @property {number} wait_ms  time to wait before a retry; 0 if the server gives none
 *
 * @typedef {object} Options
 * @property {number} [limit_ms]
 * @property {AbortSignal} [signal]  an aborted request has the outcome "away"
 * @property {boolean} [keepalive]  continues when the page is closed; for small bodies
 * @property {(received: number, total: number) => void} [onProgress]  bytes of the body so far and in all (0 if
 *   unknown); the time limit then applies to each part of the response
 */

const KEY_ADDRESS = "/studio/key";
export const OTHER_PERSON = "somebody else is signed in";
const USUAL_LIMIT_MS = 20_000;
/** Slowest connection on which large requests get through, in bytes per ms. */
const SLOWEST = 5;

export class Talk {
  /**
   * @param {object} given
   * @param {string} given.key  key of the session, as embedded in the page
   * @param {number | null} [given.person]  signed-in user, as embedded in the page
   * @param {typeof fetch} [given.fetch]
   */
  constructor({ key, person = null, fetch = globalThis.fetch.bind(globalThis) }) {
    this.key = key;
    this.person = person;
    this.fetch = fetch;
    /** @type {Promise<Answer> | null} */
    this.renewing = null;
  }

  /**
   * Send a request to the server.
   * @param {"GET" | "POST" | "PUT" | "DELETE"} method
   * @param {string} address
   * @param {unknown} [body]  sent as JSON
   * @param {Options} [options]
   * @returns {Promise<Answer>}
   */
  async ask(method, address, body, options = {}) {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const answer = await this.send(method, address, text, options);
    if (answer.status !== 403 || answer.body.error !== "form") return answer;
    // A new sign-in in another tab has made the key of this page outdated.
    const renewed = await this.renew();
    return renewed.outcome === "done" ? this.send(method, address, text, options) : renewed;
  }

  /**
   * Fetch the key of the current session.
   * @returns {Promise<Answer>}
   */
  renew() {
    this.renewing ??= this.send("GET", KEY_ADDRESS, undefined, {}).then((answer) => {
      this.renewing = null;
      if (answer.outcome !== "done") return answer;
      if (this.person !== null && answer.body.person !== this.person) {
        return { ...answer, outcome: "signed-out", message: OTHER_PERSON };
      }
      this.key = answer.body.key;
      return answer;
    });
    return this.renewing;
  }

  /**
   * @param {string} method @param {string} address @param {string | undefined} text @param {Options} options
   * @returns {Promise<Answer>}
   */
  async send(method, address, text, { limit_ms = USUAL_LIMIT_MS + (text?.length ?? 0) / SLOWEST, signal, keepalive = false, onProgress }) {
    const stop = new AbortController();
    const abort = () => stop.abort();
    let over = setTimeout(abort, limit_ms);
    const goOn = (/** @type {number} */ received, /** @type {number} */ total) => {
      clearTimeout(over);
      over = setTimeout(abort, limit_ms);
      onProgress?.(received, total);
    };
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
    /** @type {Record<string, string>} */
    const headers = { accept: "application/json", "x-form-key": this.key };
    if (text !== undefined) headers["content-type"] = "application/json";
    try {
      const response = await this.fetch(address, {
        method, headers, body: text, keepalive, signal: stop.signal, redirect: "manual", credentials: "same-origin", cache: "no-store",
      });
      return await read(response, onProgress ? await textOf(response, goOn) : await response.text());
    } catch {
      return { outcome: "away", status: 0, body: {}, message: "the server cannot be reached", wait_ms: 0 };
    } finally {
      clearTimeout(over);
      signal?.removeEventListener("abort", abort);
    }
  }
}

/**
 * @param {Response} response
 * @param {(received: number, total: number) => void} onProgress
 */
async function textOf(response, onProgress) {
  const reader = response.body?.getReader();
  if (!reader) return "";
  // Content-Length counts compressed bytes, so the server sends the uncompressed length as well.
  const total = Number(response.headers.get("x-uncompressed-length") ?? 0);
  const decoder = new TextDecoder();
  let [text, received] = ["", 0];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    received += value.length;
    onProgress(received, total);
  }
}

/**
 * @param {Response} response
 * @param {string} text its body
 * @returns {Promise<Answer>}
 */
async function read(response, text) {
  // A proxy may respond instead of the server, and not in JSON; a lost connection counts as no
  // response.
  const body = objectIn(text);
  const outcome = outcomeOf(response, body !== null);
  const told = String(body?.message ?? "");
  const message = outcome === "done" ? "" : told || `the server responded with ${response.status || "another page"}`;
  return { outcome, status: response.status, body: body ?? {}, message, wait_ms: waitOf(response) };
}

/**
 * @param {string} text
 * @returns {any}
 */
function objectIn(text) {
  try {
    const found = JSON.parse(text);
    return found !== null && typeof found === "object" ? found : null;
  } catch {
    return null;
  }
}

/**
 * @param {Response} response
 * @param {boolean} isJson
 * @returns {Outcome}
 */
function outcomeOf({ status, type }, isJson) {
  if (type === "opaqueredirect" || status === 401) return "signed-out";
  if (status === 204 || status === 202) return "done";
  // A 200 without JSON comes from an intermediary, such as a captive portal.
  if (status >= 200 && status < 300) return isJson ? "done" : "away";
  if (status === 409) return "conflict";
  return status >= 500 || [408, 425, 429].includes(status) ? "busy" : "refused";
}

/** @param {Response} response */
function waitOf(response) {
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? 1000 * seconds : 0;
}

/**
 * Return a unique id; works without TLS too.
 * @returns {string}
 */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

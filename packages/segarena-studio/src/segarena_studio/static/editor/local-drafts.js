// Work that has not reached the server yet, stored in this browser: one record per picture and tab.
//
// A record belongs to its tab as long as the tab is open, which is detected by a lock. A record
// left by a closed tab is taken over by the next tab of this browser that opens the picture.

/**
 * @typedef {object} Draft
 * @property {number} person
 * @property {string} task
 * @property {string} tab  the tab that writes it
 * @property {number} base  the server revision that the draft is based on
 * @property {string[]} own  ids of its latest saves, answered or not
 * @property {import("./saving.js").Content} content
 * @property {import("../common/pending-log.js").News} news  log entries that no save has sent yet
 * @property {import("./saving.js").Sent[]} sent  log entries of saves that were never answered
 * @property {number} at_ms  time of writing, by the clock of this machine
 */

const NAME = "segarena-studio";
const STORE = "drafts";
/** How long to wait for the lock of a closing page, which keeps it for a moment, in ms. */
const LEAVING_MS = 500;

/**
 * A draft as it is stored. Its content is a JSON string: browsers copy several hundred kB of text in less than a
 * millisecond, whereas the same content as arrays of points takes tens of milliseconds, during which the page
 * freezes. Drafts stored by older versions of the page contain the object instead of a string.
 * @typedef {Omit<Draft, "content"> & {content: string | import("./saving.js").Content}} StoredDraft
 */

/** The drafts of this browser. All methods reject if the browser cannot store anything. */
export class Drafts {
  /** @param {IDBFactory} [factory] */
  constructor(factory = globalThis.indexedDB) {
    this.factory = factory;
    /** @type {Promise<IDBDatabase> | null} */
    this.opened = null;
  }

  /**
   * Store a draft; it replaces the tab's previous draft of this picture and the draft of another
   * tab that it continues.
   * @param {Draft} draft
   * @param {string} [adopted]
   */
  async put(draft, adopted) {
    await this.change((store) => {
      store.put({ ...draft, content: JSON.stringify(draft.content) });
      if (adopted) store.delete([draft.person, draft.task, adopted]);
    });
  }

  /**
   * Delete a tab's draft of a picture.
   * @param {number} person
   * @param {string} task
   * @param {string} tab
   */
  async remove(person, task, tab) {
    await this.change((store) => store.delete([person, task, tab]));
  }

  /**
   * Return all drafts that a person has of a picture, newest first.
   * @param {number} person
   * @param {string} task
   * @returns {Promise<Draft[]>}
   */
  async of(person, task) {
    return this.range([person, task], [person, task, []]);
  }

  /**
   * Return all drafts that a person has in this browser, newest first.
   * @param {number} person
   * @returns {Promise<Draft[]>}
   */
  async all(person) {
    return this.range([person], [person, []]);
  }

  /**
   * @param {IDBValidKey} from
   * @param {IDBValidKey} to
   * @returns {Promise<Draft[]>}
   */
  async range(from, to) {
    const store = (await this.database()).transaction(STORE, "readonly").objectStore(STORE);
    /** @type {StoredDraft[]} */
    const found = await result(store.getAll(IDBKeyRange.bound(from, to)));
    return found.map(readDraft).sort((a, b) => b.at_ms - a.at_ms);
  }

  /** @param {(store: IDBObjectStore) => void} act */
  async change(act) {
    const transaction = (await this.database()).transaction(STORE, "readwrite");
    act(transaction.objectStore(STORE));
    await /** @type {Promise<void>} */ (new Promise((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = transaction.onerror = () => reject(transaction.error ?? new Error("not kept"));
    }));
  }

  /** @returns {Promise<IDBDatabase>} */
  database() {
    this.opened ??= this.open().catch((error) => {
      this.opened = null;
      throw error;
    });
    return this.opened;
  }

  /** @returns {Promise<IDBDatabase>} */
  async open() {
    if (!this.factory) throw new Error("this browser stores no data");
    const asked = this.factory.open(NAME, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: ["person", "task", "tab"] });
    const database = await result(asked);
    // Another version of the page, or the browser's own cleanup, may close the database; the next
    // call reopens it.
    database.onversionchange = () => database.close();
    database.onclose = () => (this.opened = null);
    return database;
  }
}

/**
 * @param {StoredDraft} stored
 * @returns {Draft}
 */
function readDraft(stored) {
  const { content } = stored;
  return { ...stored, content: typeof content === "string" ? JSON.parse(content) : content };
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function result(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("not kept"));
  });
}

/**
 * Open tabs of this browser: each holds a lock with its name until it is closed, is killed or
 * navigates away.
 */
export class Tabs {
  /** @param {LockManager | undefined} [locks]  unavailable without TLS; then every other tab counts as closed */
  constructor(locks = globalThis.navigator?.locks) {
    this.locks = locks;
  }

  /**
   * Hold the lock of this tab until the tab ends.
   * @param {string} tab
   * @returns {Promise<void>}
   */
  async hold(tab) {
    const { locks } = this;
    if (locks) await new Promise((held) => void locks.request(lockOf(tab), () => new Promise(() => held(undefined))));
  }

  /**
   * Return whether a tab is still open.
   * @param {string} tab
   * @returns {Promise<boolean>}
   */
  async lives(tab) {
    if (!this.locks) return false;
    const patience = new AbortController();
    const over = setTimeout(() => patience.abort(), LEAVING_MS);
    const lives = await this.locks.request(lockOf(tab), { signal: patience.signal }, () => false).catch(() => true);
    clearTimeout(over);
    return lives;
  }
}

/** @param {string} tab */
function lockOf(tab) {
  return `${NAME}/${tab}`;
}

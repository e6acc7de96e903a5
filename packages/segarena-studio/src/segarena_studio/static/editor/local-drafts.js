// What has not reached the server yet, kept in this browser: one record for each picture and each tab that works on it.
//
// A tab's record is its own as long as the tab lives, which its lock tells; what a tab left behind belongs to whoever
// opens the picture next in this browser.

/**
 * @typedef {object} Draft
 * @property {number} person
 * @property {string} task
 * @property {string} tab  which tab writes it
 * @property {number} base  the revision of the server that it goes on from
 * @property {string[]} own  the ids of the last saves of it, answered or not
 * @property {import("./saving.js").Content} content
 * @property {import("../common/pending-log.js").News} news  what no save has told yet
 * @property {import("./saving.js").Sent[]} sent  what saves told whose answers did not come
 * @property {number} at_ms  when, of this machine's clock
 */

const NAME = "segarena-studio";
const STORE = "drafts";
/** A page that is being left keeps its lock for a moment. */
const LEAVING_MS = 500;

/** The drafts of this browser. All methods reject where the browser cannot keep anything. */
export class Drafts {
  /** @param {IDBFactory} [factory] */
  constructor(factory = globalThis.indexedDB) {
    this.factory = factory;
    /** @type {Promise<IDBDatabase> | null} */
    this.opened = null;
  }

  /**
   * Keep a draft, in place of the one that the tab kept of this picture, and of the one of another tab that it goes on from.
   * @param {Draft} draft
   * @param {string} [adopted]
   */
  async put(draft, adopted) {
    await this.change((store) => {
      store.put(draft);
      if (adopted) store.delete([draft.person, draft.task, adopted]);
    });
  }

  /**
   * Let go of what a tab kept of a picture.
   * @param {number} person
   * @param {string} task
   * @param {string} tab
   */
  async remove(person, task, tab) {
    await this.change((store) => store.delete([person, task, tab]));
  }

  /**
   * All drafts that somebody has of a picture, the newest first.
   * @param {number} person
   * @param {string} task
   * @returns {Promise<Draft[]>}
   */
  async of(person, task) {
    return this.range([person, task], [person, task, []]);
  }

  /**
   * All drafts that somebody has here, the newest first.
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
    /** @type {Draft[]} */
    const found = await result(store.getAll(IDBKeyRange.bound(from, to)));
    return found.sort((a, b) => b.at_ms - a.at_ms);
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
    if (!this.factory) throw new Error("this browser keeps nothing");
    const asked = this.factory.open(NAME, 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE, { keyPath: ["person", "task", "tab"] });
    const database = await result(asked);
    // Another version of the page, or the browser's own cleaning, may close it: the next use opens it again.
    database.onversionchange = () => database.close();
    database.onclose = () => (this.opened = null);
    return database;
  }
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

/** Tabs of this browser that work on pictures: each holds a lock of its name until it is closed, killed or left. */
export class Tabs {
  /** @param {LockManager | undefined} [locks]  there is none where pages come without TLS: then no other tab is known to live */
  constructor(locks = globalThis.navigator?.locks) {
    this.locks = locks;
  }

  /**
   * Hold the name of this tab until it ends.
   * @param {string} tab
   * @returns {Promise<void>}
   */
  async hold(tab) {
    const { locks } = this;
    if (locks) await new Promise((held) => void locks.request(lockOf(tab), () => new Promise(() => held(undefined))));
  }

  /**
   * Tell whether a tab lives.
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

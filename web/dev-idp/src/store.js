/** Sessions, grants and refresh tokens in one small file, so that a restart signs nobody out. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { writePrivate } from "./secrets.js";

/** @typedef {import("oidc-provider").AdapterPayload} Payload */
/** @typedef {{ payload: Payload, expires: number | null }} Entry Expiry in milliseconds since 1970; null for never. */

/** What is worth keeping; all else is short-lived and stays in memory. */
const KEPT = new Set(["Session", "Grant", "RefreshToken"]);

/** The entries of all models, and their copy on disk. */
export class Store {
  /** @type {Map<string, Entry>} */
  #entries;
  #file;
  /** @type {Promise<void>} */
  #writing = Promise.resolve();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #closed = false;

  /**
   * @param {string} file
   * @param {Map<string, Entry>} entries
   */
  constructor(file, entries) {
    this.#file = file;
    this.#entries = entries;
  }

  /**
   * Open the store of a data folder. A damaged file costs sessions, not the start.
   *
   * @param {string} folder
   */
  static async open(folder) {
    const file = join(folder, "grants.json");
    try {
      return new Store(file, new Map(JSON.parse(await readFile(file, "utf8"))));
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ENOENT") {
        console.error(`${file} cannot be read, so everybody has to sign in again.`);
      }
      return new Store(file, new Map());
    }
  }

  /**
   * @param {string} key
   * @returns {Payload | undefined}
   */
  get(key) {
    const entry = this.#entries.get(key);
    return entry && !hasExpired(entry) ? entry.payload : undefined;
  }

  /**
   * @param {string} model
   * @param {(payload: Payload) => boolean} wanted
   * @returns {Payload | undefined}
   */
  findIn(model, wanted) {
    for (const [key, entry] of this.#entries) {
      if (key.startsWith(`${model}:`) && !hasExpired(entry) && wanted(entry.payload)) return entry.payload;
    }
    return undefined;
  }

  /**
   * @param {string} key
   * @param {Payload} payload
   * @param {number | undefined} seconds
   */
  set(key, payload, seconds) {
    this.#entries.set(key, { payload, expires: seconds === undefined ? null : Date.now() + seconds * 1000 });
    this.#schedule();
  }

  /** @param {string} key */
  delete(key) {
    this.#entries.delete(key);
    this.#schedule();
  }

  /** @param {(payload: Payload) => boolean} wanted */
  deleteWhere(wanted) {
    for (const [key, entry] of this.#entries) {
      if (wanted(entry.payload)) this.#entries.delete(key);
    }
    this.#schedule();
  }

  /** Note that a one-time token was used. @param {string} key */
  consume(key) {
    const payload = this.get(key);
    if (payload) payload.consumed = Math.floor(Date.now() / 1000);
    this.#schedule();
  }

  /** Write everything down a last time. */
  async close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#write();
    await this.#writing;
  }

  /** Changes of one request are written together, after it. */
  #schedule() {
    if (this.#timer || this.#closed) return;
    this.#timer = setTimeout(() => this.#write(), 20).unref();
  }

  #write() {
    this.#timer = undefined;
    this.#writing = this.#writing.then(() => writePrivate(this.#file, this.#serialise())).catch(reportLoss);
  }

  #serialise() {
    for (const [key, entry] of this.#entries) {
      if (hasExpired(entry)) this.#entries.delete(key);
    }
    return JSON.stringify([...this.#entries].filter(([key]) => KEPT.has(key.slice(0, key.indexOf(":")))));
  }
}

/**
 * Make the adapter class that the provider asks for.
 *
 * @param {Store} store
 * @returns {import("oidc-provider").AdapterFactory}
 */
export function adapterOn(store) {
  return (model) => ({
    upsert: async (id, payload, expiresIn) => store.set(`${model}:${id}`, payload, expiresIn),
    find: async (id) => store.get(`${model}:${id}`),
    findByUid: async (uid) => store.findIn(model, (payload) => payload.uid === uid),
    findByUserCode: async (code) => store.findIn(model, (payload) => payload.userCode === code),
    consume: async (id) => store.consume(`${model}:${id}`),
    destroy: async (id) => store.delete(`${model}:${id}`),
    revokeByGrantId: async (grantId) => store.deleteWhere((payload) => payload.grantId === grantId),
  });
}

/** @param {Entry} entry */
function hasExpired(entry) {
  return entry.expires !== null && entry.expires <= Date.now();
}

/**
 * A full disk costs the sessions of this run at the next start, and nothing now.
 *
 * @param {NodeJS.ErrnoException} error
 */
function reportLoss(error) {
  console.error(`grants could not be written: ${error.code}`);
}

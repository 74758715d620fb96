/** A provider on a free port with an empty data folder, and a browser that keeps cookies. */
import { createPublicKey, verify } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { start } from "../src/server.js";

export const WEB_ORIGIN = "http://127.0.0.1:8080";

/** @returns {Promise<number>} */
function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = /** @type {import("node:net").AddressInfo} */ (probe.address());
      probe.close(() => resolve(port));
    });
  });
}

/** @returns {Promise<import("../src/config.js").Config & { remove: () => Promise<void> }>} */
export async function freshConfig() {
  const data = await mkdtemp(join(tmpdir(), "dev-idp-"));
  const remove = () => rm(data, { recursive: true });
  return { port: await freePort(), data, webOrigins: [WEB_ORIGIN], remove };
}

/**
 * Run a test against a provider and clean up after it.
 *
 * @param {(issuer: string, config: import("../src/config.js").Config) => Promise<void>} body
 */
export async function withProvider(body) {
  const config = await freshConfig();
  const running = await start(config);
  try {
    await body(running.issuer, config);
  } finally {
    await running.close();
    await config.remove();
  }
}

/**
 * @param {string} address
 * @param {Record<string, string>} fields
 * @param {Record<string, string>} headers
 * @returns {Promise<{ status: number, body: any }>}
 */
export async function post(address, fields, headers = {}) {
  const answer = await fetch(address, { method: "POST", body: new URLSearchParams(fields), headers });
  return { status: answer.status, body: await answer.json() };
}

/** @param {string} token @returns {{ header: any, payload: any }} */
export function decode(token) {
  const [header = "", payload = ""] = token.split(".");
  const read = (/** @type {string} */ part) => JSON.parse(Buffer.from(part, "base64url").toString());
  return { header: read(header), payload: read(payload) };
}

/**
 * @param {string} issuer
 * @param {string} token
 * @returns {Promise<boolean>} Whether a published key of the provider signed the token.
 */
export async function isSigned(issuer, token) {
  const { keys } = await (await fetch(`${issuer}/jwks`)).json();
  const [header = "", payload = "", signature = ""] = token.split(".");
  const { kid } = decode(token).header;
  const key = createPublicKey({ key: keys.find((/** @type {any} */ one) => one.kid === kid), format: "jwk" });
  return verify("RSA-SHA256", Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, "base64url"));
}

/** Follows redirects by hand and keeps cookies, as a browser does. */
export class Browser {
  /** @type {Map<string, string>} */
  #cookies = new Map();

  /**
   * @param {string} address
   * @param {Record<string, string>} [form] Sent by POST when given.
   * @returns {Promise<{ status: number, url: string, html: string, headers: Headers }>} The page, or the redirect
   *   that leaves the provider.
   */
  async open(address, form) {
    const init = form ? { method: "POST", body: new URLSearchParams(form) } : {};
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const answer = await fetch(address, { ...init, redirect: "manual", headers: { cookie } });
    for (const line of answer.headers.getSetCookie()) this.#keep(line);
    const location = answer.headers.get("location");
    if (location) {
      const next = new URL(location, address);
      if (next.origin === new URL(address).origin) return this.open(next.href);
      return { status: answer.status, url: next.href, html: "", headers: answer.headers };
    }
    return { status: answer.status, url: address, html: await answer.text(), headers: answer.headers };
  }

  /** @param {string} line */
  #keep(line) {
    const [pair = ""] = line.split(";");
    const [name = "", value = ""] = pair.split("=");
    if (value) this.#cookies.set(name, value);
    else this.#cookies.delete(name);
  }
}

/**
 * @param {string} html
 * @param {string} name
 * @returns {string} Value of a hidden field.
 */
export function field(html, name) {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1] ?? "";
}

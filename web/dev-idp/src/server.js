/** The HTTP server around the provider: loopback only, own host name only, and the login page. */
import { createServer } from "node:http";

import { issuerOf } from "./config.js";
import { CONTENT_SECURITY_POLICY, errorPage, loginPage } from "./pages.js";
import { makeProvider } from "./provider.js";
import { loadSecrets } from "./secrets.js";
import { Store, adapterOn } from "./store.js";
import { findUser } from "./users.js";

const INTERACTION = /^\/interaction\/([\w-]+)$/;
const MAX_FORM_BYTES = 1024;

/**
 * Start the provider.
 *
 * @param {import("./config.js").Config} config
 * @returns {Promise<{ issuer: string, close: () => Promise<void> }>}
 */
export async function start(config) {
  const secrets = await loadSecrets(config.data);
  const store = await Store.open(config.data);
  const provider = makeProvider(config, secrets, adapterOn(store));
  const handle = provider.callback();
  const server = createServer((request, response) => void route(config, provider, handle, request, response));
  await new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(config.port, "127.0.0.1", () => resolve(undefined));
  });
  return {
    issuer: issuerOf(config),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await store.close();
    },
  };
}

/**
 * @param {import("./config.js").Config} config
 * @param {import("oidc-provider").Provider} provider
 * @param {ReturnType<import("oidc-provider").Provider["callback"]>} handle
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 */
async function route(config, provider, handle, request, response) {
  response.setHeader("Content-Security-Policy", CONTENT_SECURITY_POLICY);
  response.setHeader("X-Content-Type-Options", "nosniff");
  response.setHeader("Referrer-Policy", "no-referrer");
  if (!isOurs(config, request.headers.host)) return sendHtml(response, 421, refusal("This host name is not served."));
  const path = new URL(request.url ?? "/", issuerOf(config)).pathname;
  if (!INTERACTION.test(path)) return handle(request, response);
  try {
    await login(provider, request, response);
  } catch (error) {
    sendHtml(response, 400, refusal("This sign-in has expired. Go back and start again."));
    console.error(`interaction failed: ${error instanceof Error ? error.message : "unknown"}`);
  }
  return undefined;
}

/**
 * Show who can sign in, or sign in who was chosen.
 *
 * @param {import("oidc-provider").Provider} provider
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 */
async function login(provider, request, response) {
  const { uid, params } = await provider.interactionDetails(request, response);
  const client = await provider.Client.find(String(params.client_id));
  const show = (/** @type {number} */ status) =>
    sendHtml(response, status, loginPage(`/interaction/${uid}`, client?.clientName ?? "GroundedDocs"));
  if (request.method !== "POST") return show(200);
  const user = findUser((await readForm(request)).get("user") ?? undefined);
  if (!user) return show(422);
  return provider.interactionFinished(request, response, { login: { accountId: user.id } });
}

/**
 * A page of the internet that points its own name at 127.0.0.1 must not talk to us.
 *
 * @param {import("./config.js").Config} config
 * @param {string | undefined} host
 */
function isOurs(config, host) {
  return host === `127.0.0.1:${config.port}` || host === `localhost:${config.port}`;
}

/**
 * @param {import("node:http").IncomingMessage} request
 * @returns {Promise<URLSearchParams>}
 */
async function readForm(request) {
  let text = "";
  for await (const part of request.setEncoding("utf8")) {
    text += part;
    if (text.length > MAX_FORM_BYTES) throw new Error("the form is too large");
  }
  return new URLSearchParams(text);
}

/**
 * @param {import("node:http").ServerResponse} response
 * @param {number} status
 * @param {string} html
 */
function sendHtml(response, status, html) {
  response.writeHead(status, { "Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store" });
  response.end(html);
}

/** @param {string} text */
function refusal(text) {
  return errorPage({ error: "invalid_request", error_description: text });
}

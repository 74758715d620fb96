import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";

import { start } from "../src/server.js";
import { Browser, WEB_ORIGIN, decode, freshConfig, isSigned, post, withProvider } from "./harness.js";

const CALLBACK = `${WEB_ORIGIN}/auth/callback`;

/** @param {string} issuer @param {Record<string, string>} changes */
function authorization(issuer, changes = {}) {
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    client_id: "groundeddocs-web",
    response_type: "code",
    redirect_uri: CALLBACK,
    scope: "openid profile email",
    state: "here",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...changes,
  });
  return { verifier, address: `${issuer}/auth?${query}` };
}

/** @param {string} issuer @param {string} user @param {Browser} browser */
async function signIn(issuer, user, browser = new Browser()) {
  const { verifier, address } = authorization(issuer);
  const login = await browser.open(address);
  const back = await browser.open(login.url, { user });
  const code = new URL(back.url).searchParams.get("code") ?? "";
  return { login, back, exchange: { grant_type: "authorization_code", code, redirect_uri: CALLBACK, code_verifier: verifier } };
}

test("a person signs in by a click and gets a token for the api", () =>
  withProvider(async (issuer) => {
    const { login, back, exchange } = await signIn(issuer, "alice");
    assert.match(login.html, /Alice Example[^]*Bob Example[^]*Mallory Example/);
    assert.ok(back.url.startsWith(`${CALLBACK}?`));
    const { status, body } = await post(`${issuer}/token`, { ...exchange, client_id: "groundeddocs-web" });
    assert.equal(status, 200);
    const { header, payload } = decode(body.access_token);
    assert.equal(header.typ, "at+jwt");
    assert.equal(header.alg, "RS256");
    assert.equal(payload.iss, issuer);
    assert.equal(payload.aud, "urn:groundeddocs:api");
    assert.equal(payload.sub, "alice");
    assert.equal(payload.client_id, "groundeddocs-web");
    assert.equal(payload.exp - payload.iat, 900);
    assert.ok(payload.jti);
    assert.ok(await isSigned(issuer, body.access_token));
    assert.equal(decode(body.id_token).payload.email, "alice@example.com");
    assert.equal(decode(body.id_token).payload.name, "Alice Example");
  }));

test("a code without a verifier is worth nothing", () =>
  withProvider(async (issuer) => {
    const { exchange } = await signIn(issuer, "alice");
    const { grant_type, code, redirect_uri } = exchange;
    const fields = { grant_type, code, redirect_uri, client_id: "groundeddocs-web" };
    const { status, body } = await post(`${issuer}/token`, fields);
    assert.equal(status, 400);
    assert.equal(body.error, "invalid_grant");
  }));

test("signing in without a code challenge is refused", () =>
  withProvider(async (issuer) => {
    const { address } = authorization(issuer);
    const bare = new URL(address);
    bare.searchParams.delete("code_challenge");
    bare.searchParams.delete("code_challenge_method");
    const answer = await new Browser().open(bare.href);
    assert.match(answer.url, /error=invalid_request/);
  }));

test("a foreign redirect address is refused", () =>
  withProvider(async (issuer) => {
    const { address } = authorization(issuer, { redirect_uri: "https://evil.example/auth/callback" });
    const answer = await new Browser().open(address);
    assert.equal(answer.status, 400);
    assert.match(answer.html, /redirect_uri/);
  }));

test("a user who is not in the list cannot be chosen", () =>
  withProvider(async (issuer) => {
    const { back } = await signIn(issuer, "root");
    assert.equal(back.status, 422);
  }));

test("a refresh token works once, and its second use ends the grant", () =>
  withProvider(async (issuer) => {
    const { exchange } = await signIn(issuer, "bob");
    const client = { client_id: "groundeddocs-web" };
    const first = (await post(`${issuer}/token`, { ...exchange, ...client })).body;
    const refresh = { grant_type: "refresh_token", ...client };
    const second = await post(`${issuer}/token`, { ...refresh, refresh_token: first.refresh_token });
    assert.equal(decode(second.body.access_token).payload.sub, "bob");
    assert.equal(decode(second.body.access_token).payload.aud, "urn:groundeddocs:api");
    assert.notEqual(second.body.refresh_token, first.refresh_token);
    const replay = await post(`${issuer}/token`, { ...refresh, refresh_token: first.refresh_token });
    assert.equal(replay.body.error, "invalid_grant");
    const after = await post(`${issuer}/token`, { ...refresh, refresh_token: second.body.refresh_token });
    assert.equal(after.body.error, "invalid_grant");
  }));

test("a restart signs nobody out and keeps the keys", async () => {
  const config = await freshConfig();
  const browser = new Browser();
  try {
    const first = await start(config);
    const { exchange } = await signIn(first.issuer, "alice", browser);
    const { body } = await post(`${first.issuer}/token`, { ...exchange, client_id: "groundeddocs-web" });
    await first.close();
    const second = await start(config);
    assert.ok(await isSigned(second.issuer, body.access_token));
    const refresh = { grant_type: "refresh_token", client_id: "groundeddocs-web", refresh_token: body.refresh_token };
    assert.equal((await post(`${second.issuer}/token`, refresh)).status, 200);
    const again = await browser.open(authorization(second.issuer).address);
    assert.match(again.url, /code=/);
    await second.close();
  } finally {
    await config.remove();
  }
});

test("pages forbid scripts, frames and other hosts", () =>
  withProvider(async (issuer) => {
    const { login } = await signIn(issuer, "alice");
    const policy = login.headers.get("content-security-policy") ?? "";
    assert.match(policy, /default-src 'none'/);
    assert.match(policy, /frame-ancestors 'none'/);
    assert.doesNotMatch(login.html, /<script|https?:\/\//);
  }));

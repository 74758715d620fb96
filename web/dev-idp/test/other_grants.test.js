import assert from "node:assert/strict";
import { readFile, stat } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { test } from "node:test";

import { readConfig } from "../src/config.js";
import { Browser, WEB_ORIGIN, decode, field, isSigned, post, withProvider } from "./harness.js";

const DEMO_USER = "urn:groundeddocs:params:oauth:grant-type:demo-user";
const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";
const CLI = { client_id: "groundeddocs-cli" };

test("discovery names the endpoints that clients need", () =>
  withProvider(async (issuer) => {
    const document = await (await fetch(`${issuer}/.well-known/openid-configuration`)).json();
    assert.equal(document.issuer, issuer);
    assert.equal(document.jwks_uri, `${issuer}/jwks`);
    assert.equal(document.device_authorization_endpoint, `${issuer}/device/auth`);
    assert.ok(document.grant_types_supported.includes(DEMO_USER));
    assert.deepEqual(document.code_challenge_methods_supported, ["S256"]);
  }));

test("a demo user's token is the same kind of token", () =>
  withProvider(async (issuer) => {
    const { status, body } = await post(`${issuer}/token`, { grant_type: DEMO_USER, username: "alice", ...CLI });
    assert.equal(status, 200);
    assert.equal(body.token_type, "Bearer");
    assert.equal(body.expires_in, 900);
    const { header, payload } = decode(body.access_token);
    assert.equal(header.typ, "at+jwt");
    assert.equal(payload.sub, "alice");
    assert.equal(payload.aud, "urn:groundeddocs:api");
    assert.equal(payload.client_id, "groundeddocs-cli");
    assert.equal(payload.name, "Alice Example");
    assert.equal(payload.exp - payload.iat, 900);
    assert.ok(await isSigned(issuer, body.access_token));
  }));

test("two tokens never share their id", () =>
  withProvider(async (issuer) => {
    const ask = () => post(`${issuer}/token`, { grant_type: DEMO_USER, username: "bob", ...CLI });
    const [one, two] = await Promise.all([ask(), ask()]);
    assert.notEqual(decode(one.body.access_token).payload.jti, decode(two.body.access_token).payload.jti);
  }));

for (const username of ["root", "", "Alice", "__proto__"]) {
  test(`the demo grant refuses the user "${username}"`, () =>
    withProvider(async (issuer) => {
      const { status, body } = await post(`${issuer}/token`, { grant_type: DEMO_USER, username, ...CLI });
      assert.equal(status, 400);
      assert.equal(body.error, "invalid_grant");
    }));
}

test("the demo grant is not for the browser's client", () =>
  withProvider(async (issuer) => {
    const fields = { grant_type: DEMO_USER, username: "alice", client_id: "groundeddocs-web" };
    assert.equal((await post(`${issuer}/token`, fields)).status, 400);
  }));

test("a token for another audience is refused", () =>
  withProvider(async (issuer) => {
    const fields = { scope: "openid", resource: "urn:other:api", ...CLI };
    const { status, body } = await post(`${issuer}/device/auth`, fields);
    assert.equal(status, 400);
    assert.equal(body.error, "invalid_target");
  }));

test("a terminal signs in through the device flow", () =>
  withProvider(async (issuer) => {
    const { body: device } = await post(`${issuer}/device/auth`, { scope: "openid profile", ...CLI });
    const poll = () => post(`${issuer}/token`, { grant_type: DEVICE_CODE, device_code: device.device_code, ...CLI });
    assert.equal((await poll()).body.error, "authorization_pending");

    const browser = new Browser();
    const entry = await browser.open(device.verification_uri);
    const code = { user_code: device.user_code, xsrf: field(entry.html, "xsrf") };
    const confirm = await browser.open(device.verification_uri, code);
    assert.match(confirm.html, new RegExp(device.user_code));
    const login = await browser.open(device.verification_uri, { ...code, confirm: "yes" });
    const done = await browser.open(login.url, { user: "mallory" });
    assert.match(done.html, /You are signed in/);

    const { status, body } = await poll();
    assert.equal(status, 200);
    assert.equal(decode(body.access_token).payload.sub, "mallory");
    assert.equal(decode(body.access_token).payload.aud, "urn:groundeddocs:api");
    assert.ok(body.refresh_token);
    assert.equal((await poll()).body.error, "invalid_grant");
  }));

test("a person can refuse a terminal that is not theirs", () =>
  withProvider(async (issuer) => {
    const { body: device } = await post(`${issuer}/device/auth`, CLI);
    const browser = new Browser();
    const entry = await browser.open(device.verification_uri);
    const code = { user_code: device.user_code, xsrf: field(entry.html, "xsrf") };
    const refused = await browser.open(device.verification_uri, { ...code, abort: "yes" });
    assert.match(refused.html, /was refused/);
    const fields = { grant_type: DEVICE_CODE, device_code: device.device_code, ...CLI };
    assert.equal((await post(`${issuer}/token`, fields)).body.error, "access_denied");
  }));

test("a wrong device code shows the form again", () =>
  withProvider(async (issuer) => {
    const browser = new Browser();
    const entry = await browser.open(`${issuer}/device`);
    const answer = await browser.open(`${issuer}/device`, { user_code: "AAAA-AAAA", xsrf: field(entry.html, "xsrf") });
    assert.match(answer.html, /not valid/);
  }));

test("the demo service authenticates with its secret from the data folder", () =>
  withProvider(async (issuer, config) => {
    const file = join(config.data, "secrets.json");
    const { demoServiceSecret } = JSON.parse(await readFile(file, "utf8"));
    const basic = Buffer.from(`groundeddocs-demo-service:${demoServiceSecret}`).toString("base64");
    const headers = { authorization: `Basic ${basic}` };
    const { body } = await post(`${issuer}/token`, { grant_type: "client_credentials", scope: "ask" }, headers);
    const { payload } = decode(body.access_token);
    assert.equal(payload.sub, "groundeddocs-demo-service");
    assert.equal(payload.scope, "ask");
    assert.equal((await stat(file)).mode & 0o077, 0);
    const wrong = { authorization: `Basic ${Buffer.from("groundeddocs-demo-service:guess").toString("base64")}` };
    assert.equal((await post(`${issuer}/token`, { grant_type: "client_credentials" }, wrong)).status, 401);
  }));

test("only the web app's origin may read tokens from a browser", () =>
  withProvider(async (issuer) => {
    const fields = { grant_type: "refresh_token", refresh_token: "none", client_id: "groundeddocs-web" };
    const ask = async (/** @type {string} */ origin) => {
      const body = new URLSearchParams(fields);
      const answer = await fetch(`${issuer}/token`, { method: "POST", body, headers: { origin } });
      return answer.headers.get("access-control-allow-origin");
    };
    assert.equal(await ask(WEB_ORIGIN), WEB_ORIGIN);
    assert.equal(await ask("https://evil.example"), null);
  }));

test("another host name that points here is not served", () =>
  withProvider(async (issuer) => {
    const status = await new Promise((resolve) => {
      const asked = request(`${issuer}/jwks`, { headers: { host: "evil.example" } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      });
      asked.end();
    });
    assert.equal(status, 421);
  }));

test("it refuses to run in production", () => {
  assert.throws(() => readConfig({ NODE_ENV: "production", IDP_PORT: "9000", IDP_DATA: "data" }), /production/);
  assert.throws(() => readConfig({ IDP_PORT: "no", IDP_DATA: "data" }), /IDP_PORT/);
  assert.throws(() => readConfig({ IDP_PORT: "9000" }), /IDP_DATA/);
});

/** The OpenID provider: clients, tokens, and what it shows. */
import { Provider, errors, interactionPolicy } from "oidc-provider";

import { ACCESS_TOKEN_SECONDS, API_SCOPES, AUDIENCE, issuerOf } from "./config.js";
import { DEMO_USER_GRANT, registerDemoUserGrant } from "./demo_grant.js";
import {
  deviceConfirmPage,
  deviceDonePage,
  deviceInputPage,
  errorPage,
  loggedOutPage,
  logoutPage,
} from "./pages.js";
import { findUser } from "./users.js";

const DAY = 24 * 60 * 60;
const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";

/** How a token for the API looks. */
const API = {
  scope: API_SCOPES.join(" "),
  audience: AUDIENCE,
  accessTokenTTL: ACCESS_TOKEN_SECONDS,
  accessTokenFormat: /** @type {const} */ ("jwt"),
  jwt: { sign: { alg: /** @type {const} */ ("RS256") } },
};

/**
 * Make the provider.
 *
 * @param {import("./config.js").Config} config
 * @param {import("./secrets.js").Secrets} secrets
 * @param {import("oidc-provider").AdapterFactory} adapter
 * @returns {Provider}
 */
export function makeProvider(config, secrets, adapter) {
  /** @type {import("oidc-provider").Configuration} */
  const configuration = {
    adapter,
    clients: clients(config, secrets),
    jwks: /** @type {import("oidc-provider").JWKS} */ (secrets.jwks),
    cookies: { keys: secrets.cookieKeys },
    scopes: ["openid", "offline_access", ...API_SCOPES],
    claims: { openid: ["sub"], profile: ["name"], email: ["email", "email_verified"] },
    conformIdTokenClaims: false,
    findAccount: (_context, id) => account(id),
    extraTokenClaims: (_context, token) => hints(token),
    loadExistingGrant: grantEverythingAsked,
    issueRefreshToken: (_context, client) => client.grantTypeAllowed("refresh_token"),
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    clientBasedCORS: (_context, origin) => config.webOrigins.includes(origin),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}`, policy: loginOnly() },
    routes: { code_verification: "/device", device_authorization: "/device/auth" },
    ttl: lifetimes(),
    features: features(),
    renderError: (context, out) => {
      context.type = "html";
      context.body = errorPage(out);
    },
  };
  const provider = new Provider(issuerOf(config), configuration);
  registerDemoUserGrant(provider, API);
  return provider;
}

/**
 * @param {import("./config.js").Config} config
 * @param {import("./secrets.js").Secrets} secrets
 * @returns {import("oidc-provider").ClientMetadata[]}
 */
function clients(config, secrets) {
  return [
    {
      client_id: "groundeddocs-web",
      client_name: "GroundedDocs in the browser",
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      redirect_uris: config.webOrigins.map((origin) => `${origin}/auth/callback`),
      post_logout_redirect_uris: config.webOrigins.map((origin) => `${origin}/`),
    },
    {
      client_id: "groundeddocs-cli",
      client_name: "the groundeddocs command line",
      application_type: "native",
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token", DEVICE_CODE, DEMO_USER_GRANT],
      response_types: ["code"],
      redirect_uris: ["http://127.0.0.1/callback"],
    },
    {
      client_id: "groundeddocs-demo-service",
      client_name: "A demo service",
      client_secret: secrets.demoServiceSecret,
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["client_credentials"],
      response_types: [],
      redirect_uris: [],
    },
  ];
}

/** All clients are ours, so people are asked who they are and never for consent. */
function loginOnly() {
  const policy = interactionPolicy.base();
  policy.remove("consent");
  return policy;
}

/** @returns {import("oidc-provider").Configuration["features"]} */
function features() {
  return {
    devInteractions: { enabled: false },
    clientCredentials: { enabled: true },
    revocation: { enabled: true },
    userinfo: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => AUDIENCE,
      useGrantedResource: () => true,
      getResourceServerInfo: (_context, resource) => {
        if (resource !== AUDIENCE) throw new errors.InvalidTarget();
        return API;
      },
    },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (context, form) => void (context.body = logoutPage(form)),
      postLogoutSuccessSource: (context) => void (context.body = loggedOutPage()),
    },
    deviceFlow: {
      enabled: true,
      userCodeInputSource: (context, form, _out, error) => void (context.body = deviceInputPage(form, error)),
      userCodeConfirmSource: (context, form, client, _info, code) => {
        context.body = deviceConfirmPage(form, client.clientName ?? client.clientId, code);
      },
      successSource: (context) => void (context.body = deviceDonePage()),
    },
  };
}

/** @returns {import("oidc-provider").Configuration["ttl"]} In seconds. */
function lifetimes() {
  return {
    AccessToken: ACCESS_TOKEN_SECONDS,
    AuthorizationCode: 60,
    ClientCredentials: ACCESS_TOKEN_SECONDS,
    DeviceCode: 10 * 60,
    Grant: 30 * DAY,
    IdToken: 60 * 60,
    Interaction: 60 * 60,
    RefreshToken: 14 * DAY,
    Session: 14 * DAY,
  };
}

/**
 * @param {string} id
 * @returns {import("oidc-provider").Account | undefined}
 */
function account(id) {
  const user = findUser(id);
  if (!user) return undefined;
  const claims = { sub: user.id, name: user.name, email: user.email, email_verified: true };
  return { accountId: user.id, claims: () => claims };
}

/**
 * Name and e-mail in access tokens are for display alone; nothing is granted by them.
 *
 * @param {import("oidc-provider").AccessToken | import("oidc-provider").ClientCredentials} token
 */
function hints(token) {
  const user = token.kind === "AccessToken" ? findUser(token.accountId) : undefined;
  return user && { name: user.name, email: user.email };
}

/**
 * What a client asks for is granted.
 *
 * @param {import("oidc-provider").KoaContextWithOIDC} context
 */
async function grantEverythingAsked(context) {
  const { client, session, params, provider } = context.oidc;
  if (!client || !session?.accountId) return undefined;
  const known = session.grantIdFor(client.clientId);
  const found = known ? await provider.Grant.find(known) : undefined;
  const grant = found ?? new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
  grant.addOIDCScope(String(params?.scope ?? "openid"));
  grant.addResourceScope(AUDIENCE, API.scope);
  await grant.save();
  return grant;
}

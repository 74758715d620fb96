/**
 * What the provider is started with. The supervisor of the embedded set gives all of it through the environment.
 */
import process from "node:process";

/** The API that access tokens are for. */
export const AUDIENCE = "urn:groundeddocs:api";

/** What an access token may allow. People get all of it; agents ask for what they need. */
export const API_SCOPES = ["documents:read", "documents:write", "ask", "workspaces:manage"];

export const ACCESS_TOKEN_SECONDS = 15 * 60;

/**
 * @typedef {object} Config
 * @property {number} port Port on the loopback address; part of the issuer, so it must stay the same.
 * @property {string} data Folder that keeps keys, grants and sessions.
 * @property {string[]} webOrigins Origins of the web app, such as `http://127.0.0.1:8080`.
 */

/**
 * Read the environment.
 *
 * @param {NodeJS.ProcessEnv} environment
 * @returns {Config}
 * @throws {Error} Something is missing, or this is a production system.
 */
export function readConfig(environment = process.env) {
  if (environment.NODE_ENV === "production") {
    throw new Error("The local identity provider signs anybody in without a password, so it refuses to run in production.");
  }
  const port = Number(environment.IDP_PORT);
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new Error("IDP_PORT must be a port number.");
  }
  if (!environment.IDP_DATA) {
    throw new Error("IDP_DATA must name the folder that keeps the keys.");
  }
  const webOrigins = (environment.IDP_WEB_ORIGINS ?? "").split(",").map((origin) => origin.trim());
  return { port, data: environment.IDP_DATA, webOrigins: webOrigins.filter(Boolean) };
}

/**
 * @param {Config} config
 * @returns {string} The issuer, exactly as it stands in tokens.
 */
export function issuerOf(config) {
  return `http://127.0.0.1:${config.port}`;
}

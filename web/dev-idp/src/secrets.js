/** Keys and secrets: made at the first start, kept in the data folder, readable by its owner only. */
import { generateKeyPair, randomBytes } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

/**
 * @typedef {object} Secrets
 * @property {{ keys: import("node:crypto").JsonWebKey[] }} jwks Private signing keys.
 * @property {string[]} cookieKeys
 * @property {string} demoServiceSecret Secret of the confidential demo client.
 */

/**
 * Load the secrets of a data folder; make them when there are none.
 *
 * @param {string} folder
 * @returns {Promise<Secrets>}
 * @throws {Error} The file is damaged; new keys are not made then, since they would end every session silently.
 */
export async function loadSecrets(folder) {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = join(folder, "secrets.json");
  try {
    return parseSecrets(await readFile(file, "utf8"), file);
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ENOENT") throw error;
  }
  const secrets = await makeSecrets();
  await writePrivate(file, JSON.stringify(secrets, null, 2));
  return secrets;
}

/**
 * Write a file that only its owner may read; a power cut leaves the old or the new one.
 *
 * @param {string} file
 * @param {string} text
 */
export async function writePrivate(file, text) {
  const draft = `${file}.new`;
  await writeFile(draft, text, { mode: 0o600, flush: true });
  await rename(draft, file);
}

/**
 * @param {string} text
 * @param {string} file
 * @returns {Secrets}
 */
function parseSecrets(text, file) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${file} is damaged. Restore it, or delete it to make new keys, which signs everybody out.`);
  }
}

/** @returns {Promise<Secrets>} */
async function makeSecrets() {
  const { privateKey } = await promisify(generateKeyPair)("rsa", { modulusLength: 2048 });
  const key = { ...privateKey.export({ format: "jwk" }), kid: randomBytes(8).toString("hex"), use: "sig", alg: "RS256" };
  return {
    jwks: { keys: [key] },
    cookieKeys: [randomBytes(32).toString("hex")],
    demoServiceSecret: randomBytes(32).toString("hex"),
  };
}

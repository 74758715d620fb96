/** Start the local identity provider and stop it on SIGTERM or SIGINT. */
import process from "node:process";

import { readConfig } from "./config.js";
import { start } from "./server.js";

try {
  const running = await start(readConfig());
  console.log(`listening on ${running.issuer}`);
  for (const signal of ["SIGTERM", "SIGINT"]) {
    process.once(signal, () => void running.close().then(() => process.exit(0)));
  }
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

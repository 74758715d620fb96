"""Stands in for the service, so that the supervisor is tested alone: `migrate`, `worker` and `serve`."""

import http.server
import os
import signal
import sys
import time
from pathlib import Path


class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()


def main(subcommand: str) -> int:
    home = Path(os.environ["GROUNDEDDOCS_HOME"])
    owner = "MIGRATIONS_DATABASE_URL" in os.environ
    (home / "run" / f"saw-owner-{subcommand}").write_text(str(owner))
    if (home / "run" / f"fail-{subcommand}").exists():
        sys.stderr.write(f"{subcommand} was told to fail\n")
        return 3
    if (home / "run" / f"deaf-{subcommand}").exists():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if subcommand == "worker":
        time.sleep(300)
    if subcommand == "serve":
        http.server.HTTPServer((os.environ["HOST"], int(os.environ["PORT"])), Ready).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

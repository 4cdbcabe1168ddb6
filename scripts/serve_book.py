"""Serve the built book on this machine, at PORT (8000 unless told) or the next free."""

import errno
import functools
import http.server
import os
import sys
from pathlib import Path

HTML = Path(__file__).resolve().parents[1] / "_build" / "html"
PORTS_TO_TRY = 20


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments) -> None:
        """Leave the terminal to the address."""


def main() -> None:
    """Serve until interrupted."""
    port = os.environ.get("PORT") or "8000"
    if not port.isdigit() or not 0 < int(port) < 65536 - PORTS_TO_TRY:
        sys.exit(f"PORT={port} is no port: say a number such as 8000.")
    handler = functools.partial(_Quiet, directory=HTML)
    for candidate in range(int(port), int(port) + PORTS_TO_TRY):
        try:
            server = http.server.ThreadingHTTPServer(("127.0.0.1", candidate), handler)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        print(f"http://127.0.0.1:{candidate}/  (Ctrl-C ends it)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
        return
    sys.exit(f"Ports {port} to {candidate} are all in use: say another, PORT=9000.")


if __name__ == "__main__":
    main()

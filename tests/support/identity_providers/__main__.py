"""Run the platforms for a developer: `python -m tests.support.identity_providers [PORT]`."""

from __future__ import annotations

import contextlib
import sys

from tests.support.identity_providers.grants import CLIENT_ID, CLIENT_SECRET
from tests.support.identity_providers.people import Person
from tests.support.identity_providers.server import Platforms


def main() -> None:
    people = [
        Person(name="Nelly"),
        Person(
            "Omar", "80351110224678913", "112233445566778899002", "141981765", "76561197960435531", "32188"
        ),
    ]
    platforms = Platforms(port=int(sys.argv[1]) if sys.argv[1:] else 8090, people=people)
    lines = ["Start Colloquy with these settings, and sign in:", ""]
    for name in ("CHAT", "VIDEO", "STREAMING", "GAME_STORE", "MEMBERSHIP"):
        lines += [
            f"export SIGN_IN_{name}_BASE_URL={platforms.url} SIGN_IN_{name}_CLIENT_SECRET={CLIENT_SECRET}"
        ]
        if name != "GAME_STORE":
            lines += [f"export SIGN_IN_{name}_CLIENT_ID={CLIENT_ID}"]
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()
    with contextlib.suppress(KeyboardInterrupt):
        platforms.serve_forever()


if __name__ == "__main__":
    main()

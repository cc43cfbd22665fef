"""python -m tests.support.chat [PORT] --interactions-url URL: the chat platform, with a page to try it.

Prints the environment variables for Colloquy as one line of JSON. Once Colloquy answers, it sends the event
that the bot was added.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
import time

from tests.support.chat.agent import over_http, signed
from tests.support.chat.page import DemoPlatform
from tests.support.chat.world import GUILD_ID, World

PEOPLE = {"Marit": "Captain", "Adaeze": "", "Yuki": "", "Piet": "Helper", "Ingrid": "", "Sam": ""}
SECONDS_BETWEEN_ATTEMPTS = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.chat")
    parser.add_argument("port", nargs="?", type=int, default=8791)
    parser.add_argument("--guild", default=GUILD_ID, help="The server's id, which is the community's.")
    parser.add_argument("--name", default="Harbour Chess Club")
    parser.add_argument("--interactions-url", default="http://127.0.0.1:8000/chat/interactions")
    options = parser.parse_args()
    platform = DemoPlatform(
        interactions_url=options.interactions_url,
        world=_world(options.guild, options.name),
        port=options.port,
    )
    sys.stdout.write(json.dumps({**platform.environment(), "page": f"{platform.url}/"}) + "\n")
    sys.stdout.flush()
    events = options.interactions_url.replace("/interactions", "/events")
    threading.Thread(target=_tell_of_bot, args=(platform, events), daemon=True).start()
    platform.serve_forever()


def _world(guild_id: str, name: str) -> World:
    world = World(guild_id=guild_id)
    world.guild_name = name
    for channel in ("general", "surveys", "results"):
        world.add_channel(channel)
    roles = {"": "", **{each: world.add_role(each).id for each in ("Captain", "Helper", "Regular")}}
    for person, role in PEOPLE.items():
        world.add_person(person, roles=[roles[role]] if role else [])
    return world


def _tell_of_bot(platform: DemoPlatform, address: str) -> None:
    """Send the event that the platform sends when somebody adds the bot to their server."""
    guild = {"id": platform.world.guild_id, "name": platform.world.guild_name}
    event = {
        "type": "APPLICATION_AUTHORIZED",
        "data": {"integration_type": 0, "guild": guild, "scopes": ["bot"]},
    }
    body = json.dumps({"version": 1, "type": 1, "event": event}).encode()
    send = over_http(address)
    while True:
        try:
            status, _ = send(body, signed(platform, body))
        except OSError:
            status = 0
        if status == 204:
            return
        time.sleep(SECONDS_BETWEEN_ATTEMPTS)


if __name__ == "__main__":
    main()

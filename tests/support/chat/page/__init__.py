"""A page that looks like a chat client, so that people can try the chat on their own machine."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.chat.agent import Agent, InteractionFailed, over_http, parts
from tests.support.chat.server import Platform

_FILES = {
    "/": ("index.html", "text/html"),
    "/chat.css": ("chat.css", "text/css"),
    "/chat.js": ("chat.js", "text/javascript"),
}
_FOLDER = Path(__file__).parent


class DemoPlatform(Platform):
    """The platform with a page for people. Their actions use the same agent as the tests."""

    def __init__(self, *, interactions_url: str, **more: Any) -> None:
        super().__init__(**more)
        self._send = over_http(interactions_url)
        self._agents: dict[str, Agent] = {}
        self._private: dict[str, list[dict[str, Any]]] = {}
        self._acting = threading.Lock()

    def other(self, handler: Any, body: bytes) -> None:
        """The page, its state and its actions."""
        path = urlsplit(handler.path)
        if path.path in _FILES:
            name, kind = _FILES[path.path]
            handler.reply(200, (_FOLDER / name).read_bytes(), {"Content-Type": f"{kind}; charset=utf-8"})
        elif path.path == "/state":
            person = parse_qs(path.query).get("as", [""])[0]
            handler.reply(200, self._state(person), {"Cache-Control": "no-store"})
        elif path.path == "/act" and handler.command == "POST":
            handler.reply(200, self._act(json.loads(body)), {})
        else:
            super().other(handler, body)

    def _state(self, person_id: str) -> dict[str, Any]:
        world = self.world
        with world.lock:
            people = [each for each in world.people.values() if not each.is_bot]
            person_id = person_id if person_id in world.people else people[0].id
            public = [each for channel in world.channels.values() for each in channel.messages.values()]
            own = self._private.get(person_id, [])
            agent = self._agents.get(person_id)
            return {
                "guild": world.guild_name,
                "channels": [{"id": each.id, "name": each.name} for each in world.channels.values()],
                "roles": [{"id": each.id, "name": each.name} for each in world.roles.values()],
                "people": [
                    {
                        "id": each.id,
                        "name": each.nick or each.name,
                        "roles": [world.roles[role].name for role in each.roles if role in world.roles],
                    }
                    for each in people
                ],
                "commands": world.commands,
                "messages": sorted([*public, *own], key=lambda message: int(message["id"])),
                "files": [file for message in public for file in message["attachments"]],
                "window": agent.window if agent else None,
            }

    def _act(self, what: dict[str, Any]) -> dict[str, Any]:
        agent = self._agent(what["as"])
        try:
            with self._acting:
                self._perform(agent, what)
        except InteractionFailed as failure:
            return {"error": f"This interaction failed: {failure}"}
        except (AssertionError, OSError) as failure:
            return {"error": f"This did not work: {failure}"}
        own = self._private.setdefault(agent.person.id, [])
        if agent.screen is not None and agent.screen not in own:
            own.append(agent.screen)
        return {}

    def _perform(self, agent: Agent, what: dict[str, Any]) -> None:
        own = self._private.setdefault(agent.person.id, [])
        message = next((each for each in self._all(agent) if each["id"] == what.get("message")), None)
        match what["kind"]:
            case "command":
                channel = self.world.channels[what["channel"]]
                agent.command(what["name"], channel, **what["options"])
            case "press" if message:
                agent.press_button(_part(message, what), message=message)
            case "choose" if message:
                agent.choose_values(_part(message, what), what["values"], message=message)
            case "submit":
                agent.write(what["text"])
            case "cancel":
                agent.window = None
            case "dismiss" if message:
                own.remove(message)
                agent.screen = None

    def _agent(self, person_id: str) -> Agent:
        if person_id not in self._agents:
            person = self.world.people[person_id]
            self._agents[person_id] = Agent(self, person, self._send)
        return self._agents[person_id]

    def _all(self, agent: Agent) -> list[dict[str, Any]]:
        public = [each for channel in self.world.channels.values() for each in channel.messages.values()]
        return [*public, *self._private.get(agent.person.id, [])]


def _part(message: dict[str, Any], what: dict[str, Any]) -> dict[str, Any]:
    return next(part for part in parts(message) if part.get("custom_id") == what["custom_id"])

"""A person with the platform's client, which sends signed interactions and receives messages and windows.

It checks the rules of both sides: only existing components can be clicked, replies arrive within three
seconds and are of an allowed kind, a window is never the reply to a window, tokens expire after fifteen
minutes, and a reload loses private messages.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from communities.chat_platform import limits
from tests.support.chat.server import Platform
from tests.support.chat.world import APPLICATION_ID, Channel, Person, Token

PING, COMMAND, COMPONENT, WINDOW = 1, 2, 3, 5
LIVES, DEADLINE = 15 * 60, 3.0  # seconds
EPHEMERAL = 64
Send = Callable[[bytes, dict[str, str]], tuple[int, bytes]]  # body, headers → status, body


class InteractionFailed(AssertionError):
    """The client shows “This interaction failed”."""


def over_http(address: str) -> Send:
    """Sends to a server, by real HTTP."""

    def send(body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        request = urllib.request.Request(address, body, {**headers, "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    return send


def signed(platform: Platform, body: bytes, *, at: float | None = None) -> dict[str, str]:
    """The headers with which the platform signs a body."""
    timestamp = str(int(platform.world.clock() if at is None else at))
    signature = platform.world.key.sign(timestamp.encode() + body).signature.hex()
    return {"X-Signature-Ed25519": signature, "X-Signature-Timestamp": timestamp}


@dataclass
class Agent:
    """One person at one client. `screen` is the newest message that only they see, `window` an open one."""

    platform: Platform
    person: Person
    send: Send
    screen: dict[str, Any] | None = None
    window: dict[str, Any] | None = None
    last: tuple[bytes, dict[str, str]] | None = None  # the latest interaction, to be sent again
    locale: str = "en-US"
    checks_deadline: bool = True
    _source: dict[str, Any] | None = None

    # --- Doing ---

    def command(self, name: str, channel: Channel, **options: str) -> dict[str, Any]:
        registered = [each["name"] for each in self.platform.world.commands]
        assert name in registered, f"/{name} is not registered: {registered}"
        data = {
            "id": "1",
            "type": 1,
            "name": name,
            "guild_id": self.platform.world.guild_id,
            "options": [{"name": key, "type": 3, "value": value} for key, value in options.items()],
        }
        return self._use(COMMAND, data, channel_id=channel.id)

    def press(
        self, label: str = "", *, message: dict[str, Any] | None = None, nth: int = 0
    ) -> dict[str, Any]:
        """Press a button by its label, or by its emoji."""
        return self.press_button(self.button(label, message=message, nth=nth), message=message)

    def press_button(
        self, button: dict[str, Any], *, message: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        assert not button.get("disabled"), f"{button.get('label')} is disabled"
        data = {"component_type": 2, "custom_id": button["custom_id"], "id": button.get("id", 1)}
        return self._use(COMPONENT, data, source=message or self._own())

    def choose(self, *labels: str, message: dict[str, Any] | None = None) -> dict[str, Any]:
        """Choose in the only menu, by labels."""
        source = message or self._own()
        menu = next(part for part in parts(source) if part["type"] == limits.MENU)
        values = [each["value"] for each in menu["options"] if each["label"] in labels]
        assert len(values) == len(labels), [each["label"] for each in menu["options"]]
        return self.choose_values(menu, values, message=source)

    def choose_values(
        self, menu: dict[str, Any], values: Sequence[str], *, message: dict[str, Any]
    ) -> dict[str, Any]:
        assert menu["min_values"] <= len(values) <= menu["max_values"], "the client counts"
        assert set(values) <= {each["value"] for each in menu["options"]}
        data = {
            "component_type": 3,
            "custom_id": menu["custom_id"],
            "values": list(values),
            "id": menu.get("id", 1),
        }
        return self._use(COMPONENT, data, source=message)

    def write(self, text: str) -> dict[str, Any]:
        """Send the open window with a text in its field."""
        assert self.window is not None, "no window is open"
        window, self.window = self.window, None
        labelled = next(part for part in window["components"] if part["type"] == limits.LABELLED)
        field = labelled["component"]
        assert len(text) <= field["max_length"], "the client types no more"
        assert text or not field["required"], "the client asks for a text"
        inner = {"type": limits.TEXT_INPUT, "id": 3, "custom_id": field["custom_id"], "value": text}
        data = {
            "custom_id": window["custom_id"],
            "components": [{"type": limits.LABELLED, "id": 2, "component": inner}],
        }
        return self._use(WINDOW, data, source=self._source)

    def reload(self) -> None:
        """Load the client again, which loses private messages."""
        if self.screen is not None:
            self.screen["is_lost"] = True
        self.screen = self.window = None

    def again(self) -> tuple[int, Any]:
        """The platform delivers the latest interaction once more."""
        assert self.last is not None
        status, body = self.send(*self.last)
        return status, json.loads(body) if body else None

    # --- Reading ---

    @property
    def text(self) -> str:
        return text_of(self._own())

    @property
    def labels(self) -> list[str]:
        return labels_of(self._own())

    def button(self, label: str, *, message: dict[str, Any] | None = None, nth: int = 0) -> dict[str, Any]:
        source = message or self._own()
        found = [part for part in parts(source) if part["type"] == limits.BUTTON and label in _names(part)]
        assert len(found) > nth, f"no button {label!r} among {labels_of(source)}"
        return found[nth]

    def _own(self) -> dict[str, Any]:
        assert self.screen is not None, "there is no message that only this person sees"
        return self.screen

    # --- The wire ---

    def _use(
        self,
        kind: int,
        data: dict[str, Any],
        *,
        source: dict[str, Any] | None = None,
        channel_id: str = "",
    ) -> dict[str, Any]:
        world = self.platform.world
        token = f"token-{world.new_id()}"
        channel_id = channel_id or str((source or {}).get("channel_id"))
        world.tokens[token] = Token(self.person.id, world.clock() + LIVES, source)
        raw = self._interaction(kind, data, token, channel_id, source)
        body = json.dumps(raw).encode()
        self.last = (body, signed(self.platform, body))
        began = time.monotonic()
        status, answer = self.send(*self.last)
        if self.checks_deadline and time.monotonic() - began > DEADLINE:
            raise InteractionFailed("there was no reply within three seconds")
        if status != 200:
            raise InteractionFailed(f"the reply was {status}: {answer[:200]!r}")
        return self._take(kind, json.loads(answer), token, source, channel_id)

    def _interaction(
        self, kind: int, data: dict[str, Any], token: str, channel_id: str, source: dict[str, Any] | None
    ) -> dict[str, Any]:
        world, person = self.platform.world, self.person
        channel = world.channels[channel_id]
        member = person.as_json() | {"permissions": str(world.permissions_of(person, channel))}
        raw: dict[str, Any] = {
            "id": world.new_id(),
            "application_id": APPLICATION_ID,
            "type": kind,
            "token": token,
            "version": 1,
            "guild_id": channel.guild_id,
            "guild": {"id": channel.guild_id, "locale": "en-US", "features": []},
            "channel_id": channel_id,
            "channel": {"id": channel_id, "type": channel.type, "name": channel.name},
            "member": member,
            "app_permissions": str(world.permissions_of(world.bot, channel)),
            "locale": self.locale,
            "guild_locale": "en-US",
            "entitlements": [],
            "authorizing_integration_owners": {"0": channel.guild_id},
            "context": 0,
            "attachment_size_limit": 10485760,
            "data": data,
        }
        if source is not None:
            raw["message"] = {
                key: value for key, value in source.items() if key not in ("posted_at", "is_lost")
            }
        return raw

    def _take(
        self, kind: int, reply: dict[str, Any], token: str, source: dict[str, Any] | None, channel_id: str
    ) -> dict[str, Any]:
        held, data = self.platform.world.tokens[token], reply.get("data") or {}
        match reply["type"]:
            case 4:
                _lawful(limits.check_message(data))
                assert data.get("flags", 0) in (0, EPHEMERAL)
                message = self.platform.world.stored(data, channel_id=channel_id, flags=data.get("flags", 0))
                held.message = message
                if message["flags"] & EPHEMERAL:
                    self.screen = message
                else:
                    self.platform.world.channels[channel_id].messages[message["id"]] = message
            case 7:
                assert source is not None, "there is no message to change"
                assert "flags" not in data or data["flags"] == source["flags"], "flags stay as they were"
                _lawful(limits.check_message(data))
                self.platform.world.changed(source, data)
            case 9:
                assert kind != WINDOW, "a window is no answer to a window"
                _lawful(limits.check_window(data))
                self.window, self._source = data, source
            case other:
                raise InteractionFailed(f"a reply of type {other}")
        return reply


def _lawful(faults: Sequence[str]) -> None:
    if faults:
        raise InteractionFailed("; ".join(faults))


def parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The buttons and menus of a message."""
    return [part for row in message["components"] for part in row["components"]]


def _names(part: dict[str, Any]) -> list[str]:
    return [part.get("label", ""), (part.get("emoji") or {}).get("name", "")]


def labels_of(message: dict[str, Any]) -> list[str]:
    """The labels of a message's buttons, or their emoji; and those of menus' options."""
    names = []
    for part in parts(message):
        if part["type"] == limits.BUTTON:
            names.append(part.get("label") or part["emoji"]["name"])
        else:
            names += [option["label"] for option in part["options"]]
    return names


def text_of(message: dict[str, Any]) -> str:
    """All text of a message."""
    texts = [message.get("content") or ""]
    for embed in message.get("embeds") or []:
        texts += [(embed.get("author") or {}).get("name", ""), embed.get("title", "")]
        texts += [embed.get("description", ""), (embed.get("footer") or {}).get("text", "")]
    return "\n".join(filter(None, texts))

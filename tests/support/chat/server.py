"""The platform's REST API over HTTP, with its rules, rate limits and errors."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

from communities.chat_platform import limits
from tests.support.chat import schema
from tests.support.chat.world import (
    ANNOUNCEMENT,
    APPLICATION_ID,
    ATTACH,
    BOT_TOKEN,
    EMBED,
    HISTORY,
    MANAGE_ROLES,
    MANAGE_THREADS,
    SEND,
    TEXT,
    THREADS,
    VIEW,
    Channel,
    World,
)

BASE = "/api/v10"
Answer = tuple[int, Any, dict[str, str]]
_NAMES = {
    10003: "Unknown Channel",
    10004: "Unknown Guild",
    10007: "Unknown Member",
    10008: "Unknown Message",
    10011: "Unknown Role",
    50001: "Missing Access",
    50005: "Cannot edit a message authored by another user",
    50013: "Missing Permissions",
    50027: "Invalid Webhook Token",
    50035: "Invalid Form Body",
    50083: "Thread is archived",
    160005: "Thread is locked",
}


class Failure(Exception):
    """An error of the platform."""

    def __init__(self, status: int, code: int, errors: dict[str, Any] | None = None) -> None:
        super().__init__(code)
        self.status, self.body = status, {"code": code, "message": _NAMES[code]}
        if errors:
            self.body["errors"] = errors


class Platform:
    """The platform at an address of this machine.

    `requests` are the received requests: method, path, JSON. `violations` are messages that break its rules.
    `scripted` are answers that replace the platform's own: the first with a matching pattern is used, once.
    `lost` are patterns of requests that are carried out, but whose answer is lost. Each is used once, with a
    replacement for the answer (None: the connection is cut). `per_channel` is the number of messages that may
    be posted or edited in a channel in five seconds.
    """

    def __init__(self, world: World | None = None, *, port: int = 0, per_channel: int = 5) -> None:
        self.world = world or World()
        self.requests: list[tuple[str, str, Any]] = []
        self.files: list[tuple[str, bytes]] = []
        self.violations: list[str] = []
        self.scripted: list[tuple[str, Answer]] = []
        self.lost: list[tuple[str, Answer | None]] = []
        self.per_channel = per_channel
        self.is_down = False
        self.invalid_requests = 0
        self.unknown_emoji: set[str] = set()
        self._hits: dict[str, deque[float]] = defaultdict(deque)
        self._query: dict[str, list[str]] = {}  # of the request that is answered
        self._nonces: dict[tuple[str, str], dict[str, Any]] = {}
        self._server = _Server(("127.0.0.1", port), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def api_url(self) -> str:
        return f"{self.url}{BASE}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve_forever(self) -> None:
        self._server.serve_forever()

    def environment(self) -> dict[str, str]:
        """The variables with which the product uses this platform."""
        return {
            "CHAT_APPLICATION_ID": APPLICATION_ID,
            "CHAT_PUBLIC_KEY": self.world.public_key,
            "CHAT_BOT_TOKEN": BOT_TOKEN,
            "CHAT_CLIENT_SECRET": "loopback-secret",
            "CHAT_API_BASE_URL": self.api_url,
        }

    def sent(self, method: str, pattern: str) -> list[Any]:
        """The JSON of the requests to a path."""
        return [raw for each, path, raw in self.requests if each == method and re.search(pattern, path)]

    def answer(
        self, method: str, path: str, headers: Any, raw: Any, files: list[tuple[str, bytes]]
    ) -> Answer | None:
        """Answer one request to the API; None if its answer gets lost."""
        self.requests.append((method, path, raw))
        for n, (pattern, scripted) in enumerate(self.scripted):
            if re.search(pattern, f"{method} {path}"):
                del self.scripted[n]
                return scripted
        is_webhook = path.startswith("/webhooks/")
        if not str(headers.get("User-Agent", "")).startswith("DiscordBot ("):
            return 403, {"code": 40333, "message": "internal network error"}, {}
        if not is_webhook and headers.get("Authorization") != f"Bot {BOT_TOKEN}":
            self.invalid_requests += 1
            return 401, {"code": 0, "message": "401: Unauthorized"}, {}
        for fault in schema.faults_of_request(method, path, raw):
            self.violations.append(f"{method} {path} {fault}")
        if (limited := self._limited(method, path)) is not None:
            self.invalid_requests += 1
            return limited
        with self.world.lock:
            try:
                status, body = self._route(method, path, raw, files)
            except Failure as failure:
                if failure.status in (401, 403):
                    self.invalid_requests += 1
                return failure.status, failure.body, {}
        for n, (pattern, instead) in enumerate(self.lost):
            if re.search(pattern, f"{method} {path}"):
                del self.lost[n]
                return instead
        return status, body, self._headers(method, path)

    def forget_nonces(self) -> None:
        """Some minutes pass, after which the platform remembers no nonce."""
        self._nonces.clear()

    def other(self, handler: Any, body: bytes) -> None:
        """Addresses outside of the API: files that were posted."""
        match = re.fullmatch(r"/files/([0-9]+)", handler.path)
        if match and int(match[1]) < len(self.files):
            handler.reply(200, self.files[int(match[1])][1], {"Content-Type": "image/png"})
        else:
            handler.reply(404, {"message": "404: Not Found"}, {})

    # --- Rate limits ---

    def _bucket(self, method: str, path: str) -> str:
        match = re.match(r"/channels/([0-9]+)/messages", path)
        return f"{method}:{match[1]}" if match and method in ("POST", "PATCH") else ""

    def _limited(self, method: str, path: str) -> Answer | None:
        bucket = self._bucket(method, path)
        if not bucket:
            return None
        now, hits = time.monotonic(), self._hits[bucket]
        while hits and hits[0] <= now - 5:
            hits.popleft()
        if len(hits) < self.per_channel:
            hits.append(now)
            return None
        wait = hits[0] + 5 - now
        body = {"message": "You are being rate limited.", "retry_after": round(wait, 3), "global": False}
        return 429, body, {"Retry-After": str(int(wait) + 1), "X-RateLimit-Scope": "user", "Via": "1.1"}

    def _headers(self, method: str, path: str) -> dict[str, str]:
        bucket = self._bucket(method, path)
        if not bucket:
            return {}
        hits = self._hits[bucket]
        after = hits[0] + 5 - time.monotonic() if hits else 0.0
        return {
            "X-RateLimit-Limit": str(self.per_channel),
            "X-RateLimit-Remaining": str(self.per_channel - len(hits)),
            "X-RateLimit-Reset-After": f"{max(0.0, after):.3f}",
            "X-RateLimit-Bucket": f"bucket-{bucket.partition(':')[0]}",
        }

    # --- Routes ---

    def _route(self, method: str, path: str, raw: Any, files: list[tuple[str, bytes]]) -> tuple[int, Any]:
        self._query = parse_qs(path.partition("?")[2])
        for pattern, handler in _ROUTES:
            if match := re.fullmatch(pattern, f"{method} {path.partition('?')[0]}"):
                return handler(self, *match.groups(), raw=raw, files=files)
        return 404, {"code": 0, "message": "404: Not Found"}

    def _guild(self, guild_id: str) -> None:
        if guild_id != self.world.guild_id:
            raise Failure(404, 10004)
        if not self.world.has_bot:
            raise Failure(403, 50001)

    def get_guild(self, guild_id: str, **_: Any) -> tuple[int, Any]:
        self._guild(guild_id)
        roles = [role.as_json() for role in self.world.roles.values()]
        return 200, {"id": guild_id, "name": self.world.guild_name, "icon": None, "roles": roles}

    def get_own_guilds(self, **_: Any) -> tuple[int, Any]:
        return 200, [{"id": self.world.guild_id, "name": self.world.guild_name}] if self.world.has_bot else []

    def get_channels(self, guild_id: str, **_: Any) -> tuple[int, Any]:
        self._guild(guild_id)
        channels = [each for each in self.world.channels.values() if each.guild_id == guild_id]
        return 200, [each.as_json() for each in channels if not each.is_thread]

    def get_member(self, guild_id: str, user_id: str, **_: Any) -> tuple[int, Any]:
        self._guild(guild_id)
        if user_id not in self.world.people:
            raise Failure(404, 10007)
        return 200, self.world.people[user_id].as_json()

    def put_role(self, guild_id: str, user_id: str, role_id: str, **more: Any) -> tuple[int, Any]:
        self._guild(guild_id)
        world = self.world
        person, role = world.people.get(user_id), world.roles.get(role_id)
        if person is None:
            raise Failure(404, 10007)
        if role is None:
            raise Failure(404, 10011)
        is_below = role.position < world.top_position(world.bot)
        if role.managed or not is_below or not world.permissions_of(world.bot) & MANAGE_ROLES:
            raise Failure(403, 50013)
        if role_id not in person.roles:
            person.roles.append(role_id)
        world.grants.append((user_id, role_id, ""))
        return 204, None

    def put_commands(self, application_id: str, guild_id: str, *, raw: Any, **_: Any) -> tuple[int, Any]:
        self._guild(guild_id)
        self.world.commands = [
            {**each, "id": self.world.new_id(), "application_id": application_id, "version": "1"}
            for each in raw
        ]
        return 200, self.world.commands

    def get_channel(self, channel_id: str, **_: Any) -> tuple[int, Any]:
        return 200, self._channel(channel_id).as_json()

    def _channel(self, channel_id: str) -> Channel:
        channel = self.world.channels.get(channel_id)
        if channel is None:
            raise Failure(404, 10003)
        if not self.world.has_bot or not self.world.permissions_of(self.world.bot, channel) & VIEW:
            raise Failure(403, 50001)
        return channel

    def post_message(self, channel_id: str, *, raw: Any, files: list[tuple[str, bytes]]) -> tuple[int, Any]:
        channel = self._channel(channel_id)
        allowed = self.world.permissions_of(self.world.bot, channel)
        wanted = (THREADS if channel.is_thread else SEND) | EMBED | (ATTACH if files else 0)
        if allowed & wanted != wanted or not (channel.is_thread or channel.type in (TEXT, ANNOUNCEMENT)):
            raise Failure(403, 50013)
        if channel.is_locked and not allowed & MANAGE_THREADS:
            raise Failure(403, 160005)
        self._require_lawful(raw)
        channel.is_archived = False  # a new message opens its thread
        nonce = (channel_id, str(raw.get("nonce")))
        if raw.get("enforce_nonce") and nonce in self._nonces:
            return 200, self._nonces[nonce]
        message = self.world.stored(raw, channel_id=channel_id)
        message["allowed_mentions"] = raw.get("allowed_mentions")
        if "message_reference" in raw:
            message["message_reference"] = raw["message_reference"]
        message["attachments"] = self._attached(raw, files)
        channel.messages[message["id"]] = message
        self._nonces[nonce] = message
        return 200, message

    def patch_channel(self, channel_id: str, *, raw: Any, **_: Any) -> tuple[int, Any]:
        """Open an archived thread. Unless it is locked, the permission to write there is enough."""
        channel = self._channel(channel_id)
        allowed = self.world.permissions_of(self.world.bot, channel)
        if raw != {"archived": False} or not channel.is_thread or not allowed & THREADS:
            raise Failure(403, 50013)
        if channel.is_locked and not allowed & MANAGE_THREADS:
            raise Failure(403, 160005)
        channel.is_archived = False
        return 200, channel.as_json()

    def _require_no_archive(self, channel: Channel) -> None:
        if channel.is_archived:
            raise Failure(400, 50083)

    def _attached(self, raw: Any, files: list[tuple[str, bytes]]) -> list[dict[str, Any]]:
        told = {each.get("filename"): each for each in raw.get("attachments") or []}
        attached = []
        for name, content in files:
            self.files.append((name, content))
            address = f"{self.url}/files/{len(self.files) - 1}"
            described = {key: value for key, value in told.get(name, {}).items() if key == "description"}
            of_file = {"size": len(content), "url": address, "proxy_url": address}
            attached.append({"id": self.world.new_id(), "filename": name, **described, **of_file})
        return attached

    def get_messages(self, channel_id: str, **_: Any) -> tuple[int, Any]:
        """The oldest messages after an id, newest first. An empty list without a permission."""
        channel = self._channel(channel_id)
        if not self.world.permissions_of(self.world.bot, channel) & HISTORY:
            return 200, []
        after, limit = int(self._query.get("after", ["0"])[0]), int(self._query.get("limit", ["50"])[0])
        found = sorted(int(each) for each in channel.messages if int(each) > after)
        return 200, [channel.messages[str(each)] for each in reversed(found[:limit])]

    def patch_message(
        self, channel_id: str, message_id: str, *, raw: Any, files: list[tuple[str, bytes]]
    ) -> tuple[int, Any]:
        channel = self._channel(channel_id)
        self._require_no_archive(channel)
        if message_id not in channel.messages:
            raise Failure(404, 10008)
        self._require_lawful(raw)
        message = channel.messages[message_id]
        if files or "attachments" in raw:
            message["attachments"] = self._attached(raw, files)
        return 200, self.world.changed(message, raw)

    def delete_message(self, channel_id: str, message_id: str, **_: Any) -> tuple[int, Any]:
        channel = self._channel(channel_id)
        self._require_no_archive(channel)
        if channel.messages.pop(message_id, None) is None:
            raise Failure(404, 10008)
        return 204, None

    def patch_original(self, application_id: str, token: str, *, raw: Any, **_: Any) -> tuple[int, Any]:
        held = self.world.tokens.get(token)
        if held is None or held.expires_at < self.world.clock():
            raise Failure(401, 50027)
        if held.message is None or held.message.get("is_lost"):
            raise Failure(404, 10008)
        self._require_lawful(raw)
        return 200, self.world.changed(held.message, raw)

    def _require_lawful(self, raw: Any) -> None:
        faults = limits.check_message(raw)
        if faults:
            self.violations += faults
            raise Failure(400, 50035, {"content": {"_errors": [{"code": "X", "message": faults[0]}]}})
        signs = [
            part.get("emoji", {}).get("name")
            for row in raw.get("components", [])
            for part in row["components"]
        ]
        if self.unknown_emoji & set(signs):
            inner = {
                "emoji": {"name": {"_errors": [{"code": "BUTTON_COMPONENT_INVALID_EMOJI", "message": "?"}]}}
            }
            raise Failure(400, 50035, {"components": {"0": {"components": {"0": inner}}}})


_ROUTES: list[tuple[str, Callable[..., tuple[int, Any]]]] = [
    (r"GET /users/@me/guilds", Platform.get_own_guilds),
    (r"GET /guilds/([0-9]+)", Platform.get_guild),
    (r"GET /guilds/([0-9]+)/channels", Platform.get_channels),
    (r"GET /guilds/([0-9]+)/members/([0-9]+)", Platform.get_member),
    (r"PUT /guilds/([0-9]+)/members/([0-9]+)/roles/([0-9]+)", Platform.put_role),
    (r"PUT /applications/([0-9]+)/guilds/([0-9]+)/commands", Platform.put_commands),
    (r"GET /channels/([0-9]+)", Platform.get_channel),
    (r"PATCH /channels/([0-9]+)", Platform.patch_channel),
    (r"GET /channels/([0-9]+)/messages", Platform.get_messages),
    (r"POST /channels/([0-9]+)/messages", Platform.post_message),
    (r"PATCH /channels/([0-9]+)/messages/([0-9]+)", Platform.patch_message),
    (r"DELETE /channels/([0-9]+)/messages/([0-9]+)", Platform.delete_message),
    (r"PATCH /webhooks/([0-9]+)/([^/]+)/messages/@original", Platform.patch_original),
]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def _handler(platform: Platform) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # or each answer on a kept connection waits 40 ms

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if platform.is_down:
                self.close_connection = True
                return
            if not self.path.startswith(BASE):
                platform.other(self, body)
                return
            raw, files = _read(self.headers.get("Content-Type", ""), body)
            answer = platform.answer(self.command, self.path.removeprefix(BASE), self.headers, raw, files)
            if answer is None:
                self.close_connection = True
                return
            self.reply(*answer)

        def reply(self, status: int, content: Any, headers: dict[str, str]) -> None:
            is_text = isinstance(content, str | bytes)
            data = content.encode() if isinstance(content, str) else content
            data = data if is_text else b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            kind = "text/html; charset=utf-8" if is_text else "application/json"
            for name, value in {"Content-Type": kind, **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    return Handler


def _read(content_type: str, body: bytes) -> tuple[Any, list[tuple[str, bytes]]]:
    if not content_type.startswith("multipart/"):
        return (json.loads(body) if body else None), []
    parsed = BytesParser(policy=HTTP).parsebytes(
        b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body
    )
    raw: Any = None
    files: list[tuple[str, bytes]] = []
    for part in parsed.iter_parts():
        content: Any = part.get_payload(decode=True)
        if part.get_param("name", header="Content-Disposition") == "payload_json":
            raw = json.loads(content)
        else:
            files.append((str(part.get_filename()), content))
    return raw, files

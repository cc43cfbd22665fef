"""The HTTP server: sign-in pages with a list of people, token endpoints, and the platforms' API."""

from __future__ import annotations

import dataclasses
import html
import json
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

from tests.support.identity_providers import identity
from tests.support.identity_providers.assertions import Assertions
from tests.support.identity_providers.grants import CLIENT_ID, CLIENT_SECRET, Grant, Grants, Refused
from tests.support.identity_providers.people import Person

AUTHORIZE = {
    "/oauth2/authorize": ("chat", "streaming", "membership"),
    "/o/oauth2/v2/auth": ("video",),
}
TOKEN = {
    "/api/oauth2/token": ("chat", "membership"),
    "/token": ("video",),
    "/oauth2/token": ("streaming",),
}
SCOPES = {
    "chat": {"identify", "guilds", "guilds.members.read"},
    "video": {"openid", "profile", "https://www.googleapis.com/auth/youtube.readonly"},
    "streaming": {"user:read:follows", "user:read:subscriptions"},
    "membership": {"identity", "identity.memberships"},
}
Answer = tuple[int, Any, dict[str, str]]


class Platforms:
    """All five platforms at one address. A test chooses the people, and may change any rule.

    `redirect_uris` are the registered addresses; if empty, any address of this machine is allowed.
    """

    def __init__(self, *, port: int = 0, people: list[Person] | None = None) -> None:
        self.people = people if people is not None else [Person()]
        self.grants, self.assertions = Grants(), Assertions()
        self.redirect_uris: set[str] = set()
        self.claims: Callable[[dict[str, Any]], dict[str, Any]] = lambda claims: claims
        self.signed_by: Any = None
        self.withheld: set[str] = set()  # scopes that people do not grant
        self.scripted: dict[str, Answer] = {}  # by path: an answer in place of the own one
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _handler(self))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def serve_forever(self) -> None:
        self._server.serve_forever()

    def asked(self, path: str) -> int:
        """The number of requests for a path."""
        return sum(path == each for _, each, _ in self.requests)

    # --- Signing in ---

    def choices(self, path: str, query: dict[str, str]) -> Answer:
        """The authorize page: a form with the people to choose from."""
        fault = self._fault(path, query)
        if fault:
            return 400, f"<h1>{html.escape(fault)}</h1>", {}
        hidden = "".join(
            f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">'
            for name, value in query.items()
        )
        buttons = "".join(
            f'<p><button name="be" value="{number}">{html.escape(person.name)}</button></p>'
            for number, person in enumerate(self.people)
        )
        page = (
            f'<!doctype html><html lang="en"><title>Sign in</title><h1>Who are you?</h1>'
            f'<form method="post" action="{path}">{hidden}{buttons}'
            f'<p><button name="be" value="">Cancel</button></p></form></html>'
        )
        return 200, page, {}

    def choose(self, path: str, form: dict[str, str]) -> Answer:
        """The redirect back, with the result of the choice."""
        fault = self._fault(path, form)
        if fault:
            return 400, f"<h1>{html.escape(fault)}</h1>", {}
        person = self.people[int(form["be"])] if form.get("be") else None
        if path == "/openid/login":
            address = form["openid.return_to"]
            answer = (
                self.assertions.make(base=self.url, platform_id=person.game_store_id, return_to=address)
                if person
                else {"openid.ns": form["openid.ns"], "openid.mode": "cancel"}
            )
        else:
            address, state = form["redirect_uri"], {"state": form["state"]}
            platform = self._platform(path, form)
            answer = (
                {"code": self.grants.new_code(platform, person, form)}
                if person
                else {"error": "access_denied"}
            )
            answer |= state
        return 302, "", {"Location": f"{address}{'&' if '?' in address else '?'}{urlencode(answer)}"}

    def _fault(self, path: str, query: dict[str, str]) -> str:
        if path == "/openid/login":
            realm, back = query.get("openid.realm", ""), query.get("openid.return_to", "")
            return "" if realm and back.startswith(realm) else "return_to is not below realm"
        wanted = {"response_type": "code", "client_id": CLIENT_ID, "code_challenge_method": "S256"}
        if any(query.get(name) != value for name, value in wanted.items()):
            return "response_type, client_id or PKCE is missing"
        if not query.get("state") or not query.get("code_challenge"):
            return "state or code_challenge is missing"
        if self.redirect_uris and query.get("redirect_uri") not in self.redirect_uris:
            return "redirect_uri is not registered"
        if urlsplit(query.get("redirect_uri", "")).hostname not in ("127.0.0.1", "localhost", "testserver"):
            return "redirect_uri is not of this machine"
        platform = self._platform(path, query)
        if not platform:
            return "the scopes are unknown"
        return "nonce is missing" if platform == "video" and not query.get("nonce") else ""

    def _platform(self, path: str, query: dict[str, str]) -> str:
        scopes = set(query.get("scope", "").split())
        return next((each for each in AUTHORIZE.get(path, ()) if scopes == SCOPES[each]), "")

    def token(self, path: str, form: dict[str, str]) -> Answer:
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return 401, {"error": "invalid_client"}, {}
        with self.lock:
            for platform in TOKEN[path]:
                try:
                    if form.get("grant_type") == "refresh_token":
                        return 200, self.grants.refresh(platform, form), {}
                    code, grant, tokens = self.grants.exchange(platform, form)
                except Refused:
                    continue
                grant.scopes -= self.withheld
                if platform == "video":
                    tokens["id_token"] = self._id_token(code.person, code.nonce)
                return 200, tokens, {}
        return 400, {"error": "invalid_grant"}, {}

    def _id_token(self, person: Person, nonce: str) -> str:
        claims = identity.claims(
            issuer=self.url,
            audience=CLIENT_ID,
            subject=person.video_id,
            name=person.name,
            email=person.email,
            nonce=nonce,
        )
        return identity.id_token(self.claims(claims), signed_by=self.signed_by)

    # --- The API of each platform ---

    def api(self, path: str, query: dict[str, str], headers: Mapping[str, str]) -> Answer:
        parts = path.strip("/").split("/")
        match parts:
            case ["oauth2", "v3", "certs"]:
                return 200, identity.key_set(), {}
            case ["api", "v10", "users", "@me", *rest]:
                return self._chat(rest, query, headers)
            case ["youtube", "v3", "subscriptions"]:
                return self._video(query, headers)
            case ["helix", *rest]:
                return self._streaming("/".join(rest), query, headers)
            case ["ISteamUser" | "IPlayerService", *_]:
                return self._game_store(parts, query)
            case ["api", "oauth2", "v2", "identity"]:
                return self._membership(query, headers)
        return 404, {"message": "404: Not Found", "code": 0}, {}

    def _grant(self, platform: str, headers: Mapping[str, str]) -> Grant | None:
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        return self.grants.of(platform, token) if scheme == "Bearer" else None

    def _chat(self, rest: list[str], query: dict[str, str], headers: Mapping[str, str]) -> Answer:
        grant = self._grant("chat", headers)
        if grant is None:
            return 401, {"message": "401: Unauthorized", "code": 0}, {}
        person = grant.person
        user = {
            "id": person.chat_id,
            "username": person.name.lower(),
            "global_name": person.name,
            "discriminator": "0",
            "avatar": person.avatar,
            "public_flags": 0,
        }
        if rest == []:
            return 200, user, {}
        if rest == ["guilds"] and "guilds" in grant.scopes:
            after = int(query.get("after", "0"))
            found = sorted(int(each) for each in person.guilds if int(each) > after)
            page = found[: int(query.get("limit", "200"))]
            return 200, [{"id": str(each), "name": "A server", "permissions": "0"} for each in page], {}
        if len(rest) == 3 and rest[2] == "member" and "guilds.members.read" in grant.scopes:
            roles = person.guilds.get(rest[1])
            if roles is None:
                return 404, {"message": "Unknown Guild", "code": 10004}, {}
            member = {
                "user": user,
                "nick": person.nick,
                "avatar": None,
                "roles": roles,
                "joined_at": "2023-04-26T06:26:56.936000+00:00",
                "pending": False,
                "deaf": False,
                "mute": False,
            }
            return 200, member, {}
        return 403, {"message": "Missing Access", "code": 50001}, {}

    def _video(self, query: dict[str, str], headers: Mapping[str, str]) -> Answer:
        grant = self._grant("video", headers)
        if grant is None:
            return 401, {"error": {"code": 401, "errors": [{"reason": "authError"}]}}, {}
        if not any(each.endswith("youtube.readonly") for each in grant.scopes):
            return 403, {"error": {"code": 403, "errors": [{"reason": "insufficientPermissions"}]}}, {}
        channel = query["forChannelId"]
        items = [{"kind": "youtube#subscription", "id": "s1"}] if channel in grant.person.channels else []
        return 200, {"kind": "youtube#SubscriptionListResponse", "pageInfo": {}, "items": items}, {}

    def _streaming(self, path: str, query: dict[str, str], headers: Mapping[str, str]) -> Answer:
        grant = self._grant("streaming", headers)
        if grant is None or headers.get("Client-Id") != CLIENT_ID:
            return 401, {"error": "Unauthorized", "status": 401, "message": "Invalid OAuth token"}, {}
        person, channel = grant.person, query.get("broadcaster_id", "")
        if path == "users":
            user = {"id": person.streaming_id, "login": person.name.lower(), "display_name": person.name}
            return 200, {"data": [user]}, {}
        if query.get("user_id") != person.streaming_id:
            return 401, {"error": "Unauthorized", "status": 401, "message": "user_id is another's"}, {}
        if path == "channels/followed":
            rows = [{"broadcaster_id": channel}] if channel in person.followed else []
            return 200, {"total": len(person.followed), "data": rows, "pagination": {}}, {}
        if channel in person.subscribed:
            return 200, {"data": [{"broadcaster_id": channel, "tier": "1000", "is_gift": False}]}, {}
        return 404, {"error": "Not Found", "status": 404, "message": "no subscription"}, {}

    def _game_store(self, parts: list[str], query: dict[str, str]) -> Answer:
        if query.get("key") != CLIENT_SECRET:
            return 403, "<h1>Forbidden</h1>", {}
        if parts[1] == "GetPlayerSummaries":
            players = [
                {"steamid": each.game_store_id, "personaname": each.name, "communityvisibilitystate": 3}
                for each in self.people
                if each.game_store_id in query["steamids"].split(",")
            ]
            return 200, {"response": {"players": players}}, {}
        person = next(each for each in self.people if each.game_store_id == query["steamid"])
        if not person.shows_games:
            return 200, {"response": {}}, {}
        wanted = int(query["appids_filter[0]"])
        games = [{"appid": each, "playtime_forever": 5} for each in person.games if each == wanted]
        return 200, {"response": {"game_count": len(games)} | ({"games": games} if games else {})}, {}

    def _membership(self, query: dict[str, str], headers: Mapping[str, str]) -> Answer:
        grant = self._grant("membership", headers)
        if grant is None:
            return 401, {"errors": [{"status": "401", "title": "Unauthorized"}]}, {}
        person = grant.person
        data: dict[str, Any] = {
            "id": person.membership_id,
            "type": "user",
            "attributes": {"full_name": person.name, "vanity": None},
        }
        answer: dict[str, Any] = {"data": data}
        if "memberships" in query.get("include", "") and "identity.memberships" in grant.scopes:
            answer["included"] = [
                {
                    "id": f"member-{campaign}",
                    "type": "member",
                    "attributes": {"patron_status": status},
                    "relationships": {
                        "campaign": {"data": {"id": campaign, "type": "campaign"}},
                        "currently_entitled_tiers": {
                            "data": [{"id": tier, "type": "tier"} for tier in person.tiers.get(campaign, [])]
                        },
                    },
                }
                for campaign, status in person.campaigns.items()
            ]
        return 200, answer, {}


def use(platforms: Platforms, settings: Any) -> None:
    """Give an installation the credentials of all platforms."""
    settings.SIGN_IN_PROVIDERS = {
        name: dataclasses.replace(
            provider, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, base_url=platforms.url
        )
        for name, provider in settings.SIGN_IN_PROVIDERS.items()
    }


class _Server(ThreadingHTTPServer):
    daemon_threads = True


def _handler(platforms: Platforms) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._serve({})

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            self._serve(dict(parse_qsl(body, keep_blank_values=True)))

        def _serve(self, form: dict[str, str]) -> None:
            parts = urlsplit(self.path)
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            platforms.requests.append((self.command, parts.path, form or query))
            status, content, headers = self._answer(parts.path, query, form)
            is_page = isinstance(content, str)
            body = (content if is_page else json.dumps(content)).encode()
            self.send_response(status)
            kind = "text/html; charset=utf-8" if is_page else "application/json"
            for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def _answer(self, path: str, query: dict[str, str], form: dict[str, str]) -> Answer:
            if path in platforms.scripted:
                return platforms.scripted[path]
            if path in AUTHORIZE or path == "/openid/login":
                if form.get("openid.mode") == "check_authentication":
                    valid = str(platforms.assertions.confirm(form)).lower()
                    return 200, f"ns:http://specs.openid.net/auth/2.0\nis_valid:{valid}\n", {}
                return platforms.choose(path, form) if form else platforms.choices(path, query)
            if path in TOKEN and self.command == "POST":
                return platforms.token(path, form)
            return platforms.api(path, query, dict(self.headers))

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler

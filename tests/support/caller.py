"""A caller of the interface: a key of a community, and requests with it, over HTTP from the first byte."""

from __future__ import annotations

import secrets
from copy import copy
from functools import partial
from typing import Any

import httpx2
import orjson
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client

from colloquy_client import Colloquy
from communities.ground.actors import Actor
from communities.models import Community, Member
from tests.factories import ApiKeyFactory, CommunityFactory, CommunitySettingsFactory, MemberFactory

CHOICE: dict[str, Any] = {
    "type": "single_punch",
    "prompt": "Which colour?",
    "options": [{"value": "red"}, {"value": "green"}, {"value": "blue"}],
}
TEXT: dict[str, Any] = {"type": "open_text", "prompt": "Why?"}
PICTURE = "https://example.com/b.png"
SAYING: dict[str, Any] = {"type": "content_block", "prompt": "Welcome."}


class Caller:
    """One API key. `body` of an answer is `answer.json()`."""

    def __init__(
        self,
        access: str = "admin",
        *,
        tier: str = "custom",
        community: Community | None = None,
        **settings: Any,
    ) -> None:
        if community is None:
            community = CommunityFactory.create(tier=tier)
            CommunitySettingsFactory.create(community=community, **settings)
        self.community = community
        self.secret = f"cq_live_{secrets.token_urlsafe(32)}"
        member = MemberFactory.create(community=community, access=access, user__name=f"A {access}")
        self.user = member.user
        ApiKeyFactory.create(secret=self.secret, community=community, user=self.user)
        self.client = Client()

    @property
    def actor(self) -> Actor:
        role = Member.objects.get(community=self.community, user=self.user).access
        return Actor(self.user.pk, role, self.community.pk, self.community.tier)

    def beside(self, access: str) -> Caller:
        """Another caller of the same community."""
        return Caller(access, community=self.community)

    def in_another_thread(self) -> Caller:
        """The same API key with an HTTP client of its own, for use in another thread."""
        twin = copy(self)
        twin.client = Client()
        return twin

    def colloquy(self, **options: Any) -> Colloquy:
        """The Python client with this API key. Its requests stay in this process and transaction."""
        http = httpx2.Client(transport=httpx2.MockTransport(self._answer))
        community = str(self.community.pk)
        return Colloquy(url="http://testserver", key=self.secret, community=community, http=http, **options)

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        headers = dict(request.headers)
        kind = headers.pop("content-type", "")
        path = request.url.raw_path.decode()
        answer: Any = self.client.generic(request.method, path, request.content, kind, headers=headers)
        return httpx2.Response(answer.status_code, headers=dict(answer.items()), content=b"".join(answer))

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        """Send a request. `path` is relative to the community's path.

        A streamed response is read to its end, unless it is a file.
        """
        answer: Any = self.client.generic(
            method.upper(),
            f"/v1/communities/{self.community.pk}{path}",
            b"" if body is None else orjson.dumps(body),
            "application/json",
            headers={"X-API-Key": self.secret, **headers},
        )
        is_file = "Content-Disposition" in answer
        if isinstance(answer, StreamingHttpResponse) and not is_file:
            content = b"".join(answer)
            answer = HttpResponse(content, status=answer.status_code, headers=dict(answer.items()))
            answer.json = partial(orjson.loads, content)
        return answer

    def get(self, path: str, **headers: str) -> Any:
        return self.call("get", path, **headers)

    def post(self, path: str, body: object = None, **headers: str) -> Any:
        return self.call("post", path, body, **headers)

    def put(self, path: str, body: object = None, **headers: str) -> Any:
        return self.call("put", path, body, **headers)

    def patch(self, path: str, body: object = None, **headers: str) -> Any:
        return self.call("patch", path, body, **headers)

    def delete(self, path: str, **headers: str) -> Any:
        return self.call("delete", path, **headers)

    def make(self, *blocks: Any, **fields: Any) -> dict[str, Any]:
        """A new project, as the interface returns it."""
        script = {"script": {"blocks": list(blocks)}} if blocks else {}
        answer = self.post("/projects", {"name": "Opening moves", "type": "convo", **script, **fields})
        assert answer.status_code == 201, answer.content
        return answer.json()

    def make_open(self, *blocks: Any, **fields: Any) -> dict[str, Any]:
        """A new live project, as the interface returns it with its script."""
        made = self.make(*(blocks or (TEXT,)), **fields)
        answer = self.post(f"/projects/{made['id']}/open")
        assert answer.status_code == 200, answer.content
        return made | answer.json()


def faults(answer: Any) -> set[tuple[str, str]]:
    """Field and code of each violation in a refusal."""
    return {(each["field"], each["code"]) for each in answer.json().get("violations", [])}


def refusal(answer: Any) -> tuple[int, str]:
    """Status and code of a refusal."""
    return answer.status_code, answer.json()["error"]


def counts(caller: Caller) -> tuple[int, int]:
    """The community's counts of all projects, and of those live or pending."""
    caller.community.refresh_from_db()
    return caller.community.total_project_count, caller.community.active_project_count

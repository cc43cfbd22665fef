"""Tokens with which pages of other sites lead one conversation."""

from __future__ import annotations

import uuid
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from django.test import Client
from django.utils import timezone

from communities.gate import tokens, views
from communities.models import ApiKey, AuditEntry, Member
from surveys.models import Project
from tests.support.api_requests import clear_caller_cache, key_of
from tests.support.caller import CHOICE, TEXT, Caller, faults, refusal

SHOP = "https://shop.example"
OPEN = {"delivery": {"audience": {"participation": "open_web"}}}
ADDRESSES = ("", "/answers", "/back", "/continue")


class Page:
    """A page of a site with the token of a conversation."""

    def __init__(self, caller: Caller, conversation: Any, *, origin: str = SHOP, **body: Any) -> None:
        self.caller, self.origin, self.id = caller, origin, conversation["id"]
        self.made = caller.post(f"/conversations/{self.id}/tokens", body)
        self.token = self.made.json().get("token", "")

    def call(self, method: str, path: str = "", body: Any = None, **headers: str) -> Any:
        return self.send(method, f"/conversations/{self.id}{path}", body, **headers)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        return Client().generic(
            method,
            f"/v1/communities/{self.caller.community.pk}{path}",
            b"" if body is None else orjson.dumps(body),
            "application/json",
            headers={"Authorization": f"Bearer {self.token}", "Origin": self.origin, **headers},
        )

    def preflight(self, method: str, path: str) -> Any:
        return Client().options(
            f"/v1/communities/{self.caller.community.pk}{path}",
            headers={
                "Origin": self.origin,
                "Access-Control-Request-Method": method,
                "Access-Control-Request-Headers": "authorization,content-type,idempotency-key",
            },
        )


@pytest.fixture
def caller(db: None) -> Caller:
    caller = Caller()
    assert caller.patch("/settings", {"allowed_origins": [SHOP]}).status_code == 200
    return caller


def begun(caller: Caller, *blocks: Any, **fields: Any) -> Any:
    made = caller.make_open(*(blocks or (CHOICE, TEXT)), **OPEN, **fields)
    answer = caller.post(f"/projects/{made['id']}/conversations", {})
    assert answer.status_code == 201
    return answer.json()


def answer_to(step: Any) -> dict[str, Any]:
    block = step["step"]["block"]
    value = block["options"][0]["value"] if block["options"] else "Because."
    return {"block_id": block["id"], "value": value}


# --- The token ------------------------------------------------------------------------------------------


def test_a_token_leads_its_conversation_to_the_end(caller: Caller) -> None:
    """Rule 11.90."""
    step = begun(caller)
    page = Page(caller, step)

    assert page.made.status_code == 201
    assert page.made.json().keys() == {"token", "conversation_id", "expires_at"}
    assert page.token.startswith("cqt_")
    assert page.call("GET").json()["step"] == step["step"]
    first = page.call("POST", "/answers", answer_to(step))
    assert page.call("POST", "/back", {}).json()["step"]["block"] == step["step"]["block"]
    again = page.call("POST", "/answers", answer_to(step))
    assert again.json()["step"]["block"] == first.json()["step"]["block"]
    last = page.call("POST", "/answers", {"block_id": again.json()["step"]["block"]["id"], "value": "Yes."})
    assert (last.status_code, last.json()["status"]) == (200, "completed")


def test_a_token_is_for_this_conversation_and_its_moves_alone(caller: Caller) -> None:
    """Rule 11.90."""
    step, other = begun(caller), begun(caller)
    page = Page(caller, step)
    project = f"/projects/{step['project_id']}"

    for path in ADDRESSES:
        method = "POST" if path else "GET"
        answer = page.send(method, f"/conversations/{other['id']}{path}", {} if path else None)
        assert refusal(answer) == (403, "forbidden"), path
    for method, path in (
        ("POST", f"/conversations/{step['id']}/tokens"),
        ("GET", project),
        ("GET", f"{project}/script"),
        ("POST", f"{project}/conversations"),
        ("GET", f"/responses/{step['id']}"),
        ("DELETE", f"/responses/{step['id']}"),
        ("GET", "/settings"),
        ("GET", ""),
    ):
        assert refusal(page.send(method, path)) == (403, "forbidden"), path
    strangers = Caller()
    page.caller = strangers
    assert refusal(page.call("GET")) == (404, "not_found")


@pytest.mark.parametrize(
    "token",
    ["", "cqt_", "cqt_x", "cqt_" + "a" * 5000, "cqt_a-b-c.d", "cqt_\u00e9", "other"],
)
def test_a_text_that_we_did_not_sign_is_refused(caller: Caller, token: str) -> None:
    """Rule 11.91."""
    page = Page(caller, begun(caller))
    page.token = token.encode().decode("latin-1")

    assert page.call("GET").status_code == 401


def test_a_changed_token_is_refused(caller: Caller) -> None:
    """Rule 11.91."""
    step, other = begun(caller), begun(caller)
    page = Page(caller, step)
    token = page.token
    for changed in (
        token.replace(uuid.UUID(step["id"]).hex, uuid.UUID(other["id"]).hex),
        token[:-1] + ("A" if token[-1] != "A" else "B"),
        token + "a",
    ):
        page.token = changed
        assert refusal(page.call("GET")) == (401, "invalid_api_key")


@pytest.mark.parametrize(
    ("sent", "seconds"), [({}, 3600), ({"expires_in": 60}, 60), ({"expires_in": 86400}, 86400)]
)
def test_a_token_ends_at_its_time(
    caller: Caller, sent: Any, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 11.91."""
    begun_at, page = timezone.now(), Page(caller, begun(caller), **sent)
    answers = []
    for after in (seconds - 1, seconds + 5):
        clock = SimpleNamespace(now=lambda after=after: begun_at + timedelta(seconds=after))
        monkeypatch.setattr(views, "timezone", clock)
        answers.append(page.call("GET"))
    early, late = answers

    assert early.status_code == 200
    assert refusal(late) == (401, "invalid_api_key")
    assert "expired" in late.json()["message"]
    assert late["Access-Control-Allow-Origin"] == SHOP


def test_a_token_that_is_valid_for_longer_than_any_is_refused(caller: Caller) -> None:
    """Rule 11.91. Somebody who knows SECRET_KEY could sign such a token."""
    page = Page(caller, step := begun(caller))
    end = timezone.now() + timedelta(days=2)
    page.token = tokens.issue(
        conversation_id=uuid.UUID(step["id"]), api_key_id=key_of(caller).pk, expires_at=end
    )

    assert refusal(page.call("GET")) == (401, "invalid_api_key")


@pytest.mark.parametrize("seconds", [59, 86_401, "60", None, 2**63])
def test_a_lifetime_beyond_the_limits_is_refused(caller: Caller, seconds: object) -> None:
    """Rule 11.91."""
    page = Page(caller, begun(caller), expires_in=seconds)

    assert page.made.status_code == 400
    assert {field for field, _ in faults(page.made)} == {"expires_in"}


def test_a_token_ends_with_its_conversation(caller: Caller) -> None:
    """Rule 11.92."""
    step = begun(caller, TEXT)
    page = Page(caller, step)
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    last = page.call("POST", "/answers", answer_to(step), **headers)
    assert last.json()["status"] == "completed"

    for path in ADDRESSES:
        body = {"": None, "/answers": answer_to(step)}.get(path, {})
        assert refusal(page.call("POST" if path else "GET", path, body)) == (401, "invalid_api_key"), path
    again = page.call("POST", "/answers", answer_to(step), **headers)
    assert (again.status_code, again.content, again["Idempotency-Replayed"]) == (200, last.content, "true")
    assert refusal(Page(caller, step).made) == (409, "conflict")
    assert caller.get(f"/conversations/{step['id']}").status_code == 200  # the key goes on


def test_a_token_has_what_its_key_may_do_now(caller: Caller) -> None:
    """Rule 11.92."""
    maker = caller.beside("creator")
    page = Page(maker, begun(maker))
    assert page.call("GET").status_code == 200

    Member.objects.filter(user=maker.user).update(access="member")
    clear_caller_cache()
    assert refusal(page.call("GET")) == (403, "forbidden")
    Member.objects.filter(user=maker.user).update(access="creator")
    Project.objects.filter(author=maker.user).update(author=caller.user)
    clear_caller_cache()
    assert page.call("GET").status_code in (403, 404)
    Project.objects.update(author=maker.user)
    key = ApiKey.objects.get(user=maker.user)
    assert caller.delete(f"/api_keys/{key.pk}").status_code == 204
    revoked = page.call("GET")
    assert refusal(revoked) == (401, "invalid_api_key")


def test_the_rotation_of_a_key_leaves_its_tokens(caller: Caller) -> None:
    """Rule 11.92."""
    page = Page(caller, begun(caller))
    key = ApiKey.objects.get(user=caller.user)

    assert caller.post(f"/api_keys/{key.pk}/rotate").status_code == 200
    assert page.call("GET").status_code == 200


@pytest.mark.parametrize(("scope", "status"), [("conversations", 201), ("all", 201), ("read", 403)])
def test_keys_of_conversations_ask_for_tokens(caller: Caller, scope: str, status: int) -> None:
    """Rule 11.90."""
    step = begun(caller)
    ApiKey.objects.update(scope=scope)
    clear_caller_cache()

    page = Page(caller, step)

    assert page.made.status_code == status
    if status == 201:
        assert page.call("GET").status_code == 200


def test_who_may_not_lead_a_conversation_gets_no_token(caller: Caller) -> None:
    """Rule 11.90."""
    step = begun(caller)

    assert Page(caller.beside("member"), step).made.status_code in (403, 404)
    assert Page(caller.beside("creator"), step).made.status_code in (403, 404)
    assert refusal(Page(Caller(), step).made) == (404, "not_found")


def test_a_token_has_a_limit_of_its_own(caller: Caller, redis: Any) -> None:
    """Rule 11.93."""
    page, other = Page(caller, begun(caller)), Page(caller, begun(caller))
    before = int(caller.get("/settings")["X-RateLimit-Remaining"])

    answers = [page.call("GET") for _ in range(61)]

    assert [each.status_code for each in answers] == [200] * 60 + [429]
    assert (answers[0]["X-RateLimit-Limit"], answers[0]["X-RateLimit-Remaining"]) == ("60", "59")
    assert answers[-1].json().keys() == {"error", "retry_after"}
    assert answers[-1]["Access-Control-Allow-Origin"] == SHOP
    assert other.call("GET").status_code == 200
    assert int(caller.get("/settings")["X-RateLimit-Remaining"]) == before - 1
    twin = Page(caller, {"id": page.id})
    assert twin.call("GET").status_code == 429  # another token of the same conversation


def test_pages_of_one_key_may_choose_the_same_idempotency_key(caller: Caller) -> None:
    """Rule 11.93."""
    steps = [begun(caller), begun(caller)]
    headers = {"Idempotency-Key": "1"}

    answers = [Page(caller, step).call("POST", "/answers", answer_to(step), **headers) for step in steps]

    assert [each.status_code for each in answers] == [200, 200]


def test_nothing_is_stored_for_a_token(caller: Caller) -> None:
    """Rule 11.91."""
    step = begun(caller)
    before = AuditEntry.objects.count()

    token = Page(caller, step).token

    assert AuditEntry.objects.count() == before
    assert tokens.read(token, at=timezone.now()).conversation_id == uuid.UUID(step["id"])


# --- Pages of other sites -------------------------------------------------------------------------------


def test_a_browser_is_told_what_a_page_of_a_named_site_may_do(caller: Caller) -> None:
    """Rule 11.94."""
    page = Page(caller, begun(caller))
    for path in ADDRESSES:
        answer = page.preflight("POST" if path else "GET", f"/conversations/{page.id}{path}")

        assert (answer.status_code, answer.content) == (204, b"")
        assert answer["Access-Control-Allow-Origin"] == SHOP
        assert answer["Access-Control-Allow-Methods"] == ("POST" if path else "GET")
        assert {"Authorization", "Content-Type", "Idempotency-Key"} <= {
            *answer["Access-Control-Allow-Headers"].split(", ")
        }
        assert "Origin" in answer["Vary"]
        assert answer["Access-Control-Max-Age"] == "7200"
        assert "Access-Control-Allow-Credentials" not in answer
        assert answer["X-RateLimit-Limit"] == "600"


@pytest.mark.parametrize(
    "origin",
    [
        "https://other.example",
        "http://shop.example",
        "https://shop.example:8443",
        "https://sub.shop.example",
        "null",
    ],
)
def test_pages_of_other_sites_are_told_that_they_are_not_named(caller: Caller, origin: str) -> None:
    """Rule 11.94."""
    page = Page(caller, begun(caller), origin=origin)

    asked = page.preflight("GET", f"/conversations/{page.id}")
    read = page.call("GET")

    assert refusal(asked) == (403, "forbidden")
    assert "`allowed_origins` of the community's settings does not name" in asked.json()["message"]
    for answer in (asked, read):
        assert not [name for name in answer.headers if name.startswith("Access-Control")]
    assert "Origin" in read["Vary"]


def test_elsewhere_browsers_are_told_in_words_that_pages_cannot_call(caller: Caller) -> None:
    """Rule 11.95."""
    step = begun(caller)
    page = Page(caller, step)
    for method, path in (
        ("GET", "/settings"),
        ("POST", f"/projects/{step['project_id']}/conversations"),
        ("POST", f"/conversations/{step['id']}/tokens"),
        ("DELETE", f"/conversations/{step['id']}"),
        ("PATCH", f"/projects/{step['project_id']}"),
        ("GET", "/nothing"),
    ):
        answer = page.preflight(method, path)

        assert refusal(answer) == (403, "forbidden"), path
        assert "Call it from your server." in answer.json()["message"]
        assert not [name for name in answer.headers if name.startswith("Access-Control")]
    assert "Access-Control-Allow-Origin" not in page.send("GET", "/settings")


def test_a_page_reads_responses_and_refusals(caller: Caller) -> None:
    """Rule 11.94."""
    step = begun(caller)
    page = Page(caller, step)
    wrong = {**answer_to(step), "value": "mauve"}
    for answer, status in (
        (page.call("GET"), 200),
        (page.call("POST", "/answers", wrong), 400),
        (page.call("POST", "/continue", {}), 409),
        (page.send("GET", f"/conversations/{uuid.uuid4()}"), 403),
        (page.call("PUT"), 405),
    ):
        assert answer.status_code == status
        assert answer["Access-Control-Allow-Origin"] == SHOP
        assert "Origin" in answer["Vary"]
        assert "Access-Control-Allow-Credentials" not in answer
        shown = answer["Access-Control-Expose-Headers"].split(", ")
        assert {"X-Request-Id", "Retry-After", "X-RateLimit-Remaining"} <= {*shown}


def test_preflights_have_a_limit_of_their_own(caller: Caller, redis: Any) -> None:
    """Rule 11.94."""
    page = Page(caller, begun(caller))
    path = f"/conversations/{page.id}"

    statuses = [page.preflight("GET", path).status_code for _ in range(62)]

    assert statuses == [204] * 62  # more than requests without a key
    assert int(page.preflight("GET", path)["X-RateLimit-Remaining"]) == 600 - 63


# --- The names of sites ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        ("https://Shop.Example", "https://shop.example"),
        ("https://shop.example/", "https://shop.example"),
        ("https://shop.example:443", "https://shop.example"),
        ("https://shop.example:8443", "https://shop.example:8443"),
        ("https://münze.example", "https://xn--mnze-0ra.example"),
    ],
)
def test_sites_are_stored_as_browsers_name_them(caller: Caller, sent: str, stored: str) -> None:
    """Rule 1.160."""
    answer = caller.patch("/settings", {"allowed_origins": [sent, stored]})

    assert answer.json()["allowed_origins"] == [stored]


@pytest.mark.parametrize(
    "sent",
    [
        "http://shop.example",
        "shop.example",
        "*",
        "https://*.example",
        "null",
        "",
        "https://",
        "https://shop.example/path",
        "https://shop.example?a",
        "https://shop.example#a",
        "https://me@shop.example",
        "https://shop.example:0",
        "https://a b.example",
        7,
        None,
    ],
)
def test_other_texts_name_no_site(caller: Caller, sent: object) -> None:
    """Rule 1.160."""
    answer = caller.patch("/settings", {"allowed_origins": [SHOP, sent]})

    assert answer.status_code == 400
    assert {field for field, _ in faults(answer)} == {"allowed_origins[1]"}


def test_a_community_names_at_most_20_sites(caller: Caller) -> None:
    """Rule 1.160."""
    sites = [f"https://{n}.example" for n in range(21)]

    assert faults(caller.patch("/settings", {"allowed_origins": sites})) == {("allowed_origins", "too_many")}
    assert caller.patch("/settings", {"allowed_origins": sites[:20]}).json()["allowed_origins"] == sites[:20]
    assert refusal(caller.beside("creator").patch("/settings", {"allowed_origins": []})) == (403, "forbidden")


def test_a_site_that_is_no_longer_named_is_shut_out_at_once(caller: Caller) -> None:
    """Rule 11.94."""
    page = Page(caller, begun(caller))
    assert "Access-Control-Allow-Origin" in page.call("GET")

    caller.patch("/settings", {"allowed_origins": []})

    assert "Access-Control-Allow-Origin" not in page.call("GET")
    assert page.preflight("GET", f"/conversations/{page.id}").status_code == 403

"""Every response under /v1, from any layer, is JSON in one form, with a request id and limit headers.

Rules 11.5, 11.13 and 11.17.
"""

import json
import re
from typing import Any

import pytest
import structlog
from django.db import IntegrityError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from psycopg.errors import ForeignKeyViolation
from pytest_django import Settings

from communities.api.settings import SettingsViewSet
from communities.gate import authentication, middleware
from communities.models import ApiKey
from communities.services.api_keys import keys
from tests.support.api_requests import RATE_HEADERS, ask
from tests.support.caller import Caller, refusal
from tests.support.cases import try_each

ANY_ID = re.compile(r"[0-9a-f]{32}")


@pytest.fixture
def caller(db: None) -> Caller:
    return Caller()


def is_told_properly(answer: HttpResponse) -> bool:
    body = json.loads(answer.content)
    return (
        answer["Content-Type"] == "application/json"
        and isinstance(body["error"], str)
        and all(re.fullmatch("[0-9]+", answer[header]) for header in RATE_HEADERS)
        and bool(ANY_ID.fullmatch(answer["X-Request-Id"]))
    )


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("GET", "/v1", 404, "not_found"),
        ("GET", "/v1/", 404, "not_found"),
        ("GET", "/v1/nothing", 404, "not_found"),
        ("POST", "/v1/nothing", 404, "not_found"),
        ("OPTIONS", "/v1/nothing", 404, "not_found"),
        ("BREW", "/v1/nothing", 404, "not_found"),
        ("GET", "/v1/communities/", 404, "not_found"),
        ("GET", "/v1//communities", 404, "not_found"),
        ("GET", "/v1/%00", 404, "not_found"),
        ("GET", "/v1/a%0Ab%0D", 404, "not_found"),
        ("GET", "/v1/%ff%fe", 404, "not_found"),
        ("GET", "/v1/../admin/", 404, "not_found"),
        ("GET", "/v1/" + "x" * 5_000, 404, "not_found"),
        ("POST", "/v1/communities", 405, "method_not_allowed"),
        ("BREW", "/v1/communities", 405, "method_not_allowed"),
        ("TRACE", "/v1/communities", 405, "method_not_allowed"),
        ("GET", "/v1/communities?page=0", 400, "invalid_request"),
        ("GET", "/v1/communities?pgae=1", 400, "invalid_request"),
        ("GET", "/v1/communities?page=%00", 400, "invalid_request"),
        ("GET", "/v1/communities?%00=1", 400, "invalid_request"),
        ("GET", "/v1/communities?" + "&".join(f"a{n}=" for n in range(2_000)), 400, "invalid_request"),
        ("POST", "/v1/openapi.json", 405, "method_not_allowed"),
    ],
)
def test_every_refusal_has_the_one_shape(
    caller: Caller, method: str, path: str, status: int, error: str
) -> None:
    """Rule 11.1."""
    answer = ask(method, path, key=caller.secret)

    assert refusal(answer) == (status, error)
    assert is_told_properly(answer)


def test_a_wrong_method_is_answered_with_the_allowed_ones(caller: Caller) -> None:
    path = f"/v1/communities/{caller.community.pk}/settings"

    assert ask("DELETE", path, key=caller.secret)["Allow"] == "GET, PATCH"
    assert ask("POST", "/v1/openapi.json")["Allow"] == "GET, HEAD"


def test_options_lists_the_methods_and_counts_towards_the_limit(caller: Caller) -> None:
    answer = ask("OPTIONS", f"/v1/communities/{caller.community.pk}/settings", key=caller.secret)

    assert (answer.status_code, answer["Allow"], answer.content) == (204, "GET, PATCH", b"")
    assert answer["X-RateLimit-Limit"] == "1000"


def test_head_is_get_without_the_body(caller: Caller) -> None:
    read, head = (ask(method, "/v1/communities", key=caller.secret) for method in ("GET", "HEAD"))

    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Length"] == read["Content-Length"] == str(len(read.content))
    assert ask("HEAD", "/v1/nothing", key=caller.secret).status_code == 404


def test_a_host_that_is_not_ours(caller: Caller) -> None:
    answer = ask("GET", "/v1/communities", key=caller.secret, HTTP_HOST="evil.example")

    assert refusal(answer) == (400, "invalid_request")
    assert is_told_properly(answer)


def test_over_plain_http_a_site_with_https_refuses_and_does_not_redirect(
    caller: Caller, settings: Settings
) -> None:
    settings.SECURE_SSL_REDIRECT = True
    ways = [
        ("GET", "/v1/communities"),
        ("POST", f"/v1/communities/{caller.community.pk}/api_keys"),
        ("HEAD", "/v1/nothing"),
        ("GET", "/v1/openapi.json"),
        ("GET", "/v1"),
    ]

    for method, path in ways:
        answer = ask(method, path, key=caller.secret)

        assert (answer.status_code, "Location" in answer) == (403, False), path
        if method != "HEAD":
            assert is_told_properly(answer)
            assert json.loads(answer.content)["message"] == middleware.NOT_SECURE
    assert list(ApiKey.objects.values_list("last_used_at", flat=True)) == [None]
    assert ask("GET", "/docs")["Location"] == "https://testserver/docs"
    by_https: dict[str, Any] = {"wsgi.url_scheme": "https"}
    assert ask("GET", "/v1/communities", key=caller.secret, **by_https).status_code == 200


def test_without_a_key_no_object_is_revealed(db: None) -> None:
    for path in ("/v1/communities", "/v1/nothing", "/v1/communities/1/settings"):
        answer = ask("GET", path)

        assert refusal(answer) == (401, "missing_api_key")
        assert is_told_properly(answer)
        assert answer["X-RateLimit-Limit"] == "60"


def test_a_fault_of_ours(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("secret words")

    monkeypatch.setattr(SettingsViewSet, "retrieve", fail)
    with structlog.testing.capture_logs() as log:
        answer = ask("GET", f"/v1/communities/{caller.community.pk}/settings", key=caller.secret)

    assert refusal(answer) == (500, "internal_error")
    assert is_told_properly(answer)
    assert answer["X-RateLimit-Limit"] == "1000"
    assert "secret words" not in answer.content.decode() + str(log)
    assert [line["fault"] for line in log if line["event"] == "request.failed"] == ["RuntimeError"]


@pytest.mark.parametrize("fault", [OperationalError("secret"), InterfaceError("secret")])
def test_without_a_database_one_is_asked_to_come_again(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(SettingsViewSet, "retrieve", fail)
    answer = ask("GET", f"/v1/communities/{caller.community.pk}/settings", key=caller.secret)

    assert refusal(answer) == (503, "unavailable")
    assert int(answer["Retry-After"]) >= 1
    assert is_told_properly(answer)
    assert "secret" not in answer.content.decode()


def test_without_a_database_to_look_up_the_key_in(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OperationalError

    monkeypatch.setattr(authentication, "_find", fail)
    answer = ask("GET", "/v1/communities", key=caller.secret)

    assert refusal(answer) == (503, "unavailable")
    assert is_told_properly(answer)


@pytest.fixture
def _broken_layer(settings: Settings) -> None:
    outer = settings.MIDDLEWARE.index("communities.gate.middleware.RequestMiddleware")
    settings.MIDDLEWARE = [*settings.MIDDLEWARE[: outer + 1], f"{__name__}.broken_layer"]


def broken_layer(_: object) -> object:
    def fail(request: HttpRequest) -> HttpResponse:
        raise ZeroDivisionError("secret words")

    return fail


@pytest.mark.usefixtures("_broken_layer")
def test_a_fault_in_another_layer(caller: Caller) -> None:
    answer = ask("GET", "/v1/communities", key=caller.secret)

    assert refusal(answer) == (500, "internal_error")
    assert is_told_properly(answer)


@pytest.mark.parametrize("given", ["a", "A-b_9", "x" * 64])
def test_the_callers_request_id_is_used(caller: Caller, given: str) -> None:
    for path in ("/v1/communities", "/v1/nothing", "/healthz"):
        answer = ask("GET", path, key=caller.secret, headers={"X-Request-Id": given})

        assert answer["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["", "x" * 65, "a b", "a\nb", "ä", "a;b", "a\n"])
def test_another_request_id_is_replaced(caller: Caller, given: str) -> None:
    answer = ask("GET", "/v1/communities", key=caller.secret, headers={"X-Request-Id": given})

    assert ANY_ID.fullmatch(answer["X-Request-Id"])


def test_each_request_is_one_line_in_the_log(caller: Caller) -> None:
    path = f"/v1/communities/{caller.community.pk}/settings"
    with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as log:
        answer = ask("PATCH", path, key=caller.secret, body={"xp_name": "words of theirs"})

    (line,) = [line for line in log if line["event"] == "request.done"]
    assert line["method"] == "PATCH"
    assert line["route"] == "v1/communities/<id:community_id>/settings"
    assert line["status"] == 200
    assert line["milliseconds"] > 0
    assert line["request_id"] == answer["X-Request-Id"]
    assert line["community_id"] == str(caller.community.pk)
    assert line["key_prefix"] == caller.secret[:14]
    assert "words of theirs" not in str(log)
    assert caller.secret not in str(log)


def test_log_context_does_not_leak_into_the_next_request(caller: Caller) -> None:
    ask("GET", "/v1/communities", key=caller.secret)
    with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as log:
        ask("GET", "/healthz")

    assert "key_prefix" not in log[-1]


@try_each(("path", "is_ours"), [("/v1", True), ("/v1/x", True), ("/v1x", False), ("/", False)])
def test_which_paths_belong_to_the_interface(path: str, is_ours: bool) -> None:
    request = HttpRequest()
    request.path_info = path

    assert middleware.is_api_request(request) is is_ours


def test_no_shared_cache_stores_a_response(caller: Caller) -> None:
    told = [caller.get("/projects"), caller.get("/nothing"), caller.client.get("/v1/openapi.json")]

    assert [answer["Cache-Control"] for answer in told] == [*["private, no-cache"] * 2, "max-age=300"]


@pytest.mark.parametrize(("method", "path"), [("POST", "/api_keys?x=1"), ("PATCH", "/settings?x=1")])
def test_a_query_that_a_write_does_not_know_is_refused_before_anything_is_written(
    db: None, method: str, path: str
) -> None:
    caller = Caller()

    answer = caller.call(method, path, {"name": "Made once"} if method == "POST" else {"xp_name": "Tempi"})

    assert refusal(answer) == (400, "invalid_request")
    assert ApiKey.objects.count() == 1
    assert caller.get("/settings").json()["xp_name"] == "XP"


def test_a_reference_to_an_object_that_is_just_being_deleted_is_a_conflict_and_is_logged(
    db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def erased(**_: object) -> None:
        raise IntegrityError from ForeignKeyViolation()

    monkeypatch.setattr(keys, "create_key", erased)

    answer = Caller().post("/api_keys", {"name": "Made once"})

    assert refusal(answer) == (409, "conflict")
    assert "IntegrityError" in caplog.text

"""The client for Python: it is current, can be installed, and does what its documents say."""

from __future__ import annotations

import email.utils
import os
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest
import yaml
from generate import generate

from colloquy_client import ApiError, AsyncColloquy, Colloquy, api
from colloquy_client.webhooks import InvalidSignature, verify
from tests.support.caller import CHOICE, Caller
from tests.support.concurrency import run_coroutine
from webhooks.signatures import headers, new_secret

ROOT = Path(__file__).parent.parent
CLIENT = ROOT / "config/clients/python"
AT = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
EVENT = b'{"id": "e", "type": "member.erased"}'
PROJECT = {"id": "7", "name": "Drinks"}
Answers = list[httpx2.Response | httpx2.TransportError]
REFUSED = {"error": "unavailable", "message": "Try again."}


def test_the_types_and_operations_of_the_client_are_current() -> None:
    """Rule 11.110. `make schema` updates them."""
    document = yaml.safe_load((ROOT / "tests/openapi.yml").read_text(encoding="utf-8"))

    files = dict(generate(document))

    assert {path.name for path in files} == {"api.py", "types.py"}
    assert {path: path.read_text(encoding="utf-8") for path in files} == files


class Server:
    """Gives the answers of a list in turn, and keeps the requests. The clients' pauses are recorded."""

    def __init__(self, answers: Answers) -> None:
        self._answers = iter(answers)
        self.requests: list[httpx2.Request] = []
        self.pauses: list[float] = []

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)


PLACE: dict[str, Any] = {"url": "https://surveys.example.org/", "key": "cq_live_x", "community": "1"}


def send(server: Server, call: Any) -> Any:
    with Colloquy(**PLACE, http=httpx2.Client(transport=httpx2.MockTransport(server))) as client:
        return client.send(call)


def send_async(server: Server, call: Any) -> Any:
    async def sent() -> Any:
        http = httpx2.AsyncClient(transport=httpx2.MockTransport(server))
        async with AsyncColloquy(**PLACE, http=http) as client:
            return await client.send(call)

    return run_coroutine(sent())


@pytest.fixture(params=[send, send_async])
def attempt(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sends a call to a server with given answers; returns the server, and the answer or the error."""

    def attempt(call: Any, *answers: Any) -> tuple[Server, Any]:
        server = Server(list(answers))
        monkeypatch.setattr("colloquy_client.client.time", SimpleNamespace(sleep=server.pauses.append))
        monkeypatch.setattr("colloquy_client.client.asyncio", SimpleNamespace(sleep=server.pause))
        try:
            return server, request.param(server, call)
        except (ApiError, httpx2.TransportError) as error:
            return server, error

    return attempt


def refused(status: int = 503, **headers: str) -> httpx2.Response:
    return httpx2.Response(
        status, json=REFUSED, headers={each.replace("_", "-"): headers[each] for each in headers}
    )


def test_a_write_is_sent_again_under_one_key_until_it_succeeds(attempt: Callable[..., Any]) -> None:
    """Rules 11.111 and 11.112."""
    lost = httpx2.ReadError("The connection is gone.")

    server, project = attempt(
        api.projects_open("7"),
        lost,
        refused(),
        refused(429, Retry_After="7"),
        httpx2.Response(200, json=PROJECT),
    )

    assert project == PROJECT
    keys = {each.headers["Idempotency-Key"] for each in server.requests}
    assert len(server.requests) == 4
    assert [uuid.UUID(each).version for each in keys] == [4]
    first, second, third = server.pauses
    assert 0.25 <= first <= 0.5
    assert 0.5 <= second <= 1
    assert third == 7


def test_two_calls_have_two_keys_and_reads_have_none(attempt: Callable[..., Any]) -> None:
    """Rule 11.112."""
    keys = set()
    for _ in range(2):
        server, _answer = attempt(api.projects_close("7"), httpx2.Response(200, json=PROJECT))
        keys.add(server.requests[0].headers["Idempotency-Key"])
    server, _answer = attempt(api.projects_get("7"), httpx2.Response(200, json=PROJECT))

    assert len(keys) == 2
    assert "Idempotency-Key" not in server.requests[0].headers


@pytest.mark.parametrize(
    ("status", "wait", "requests"), [(400, "1", 1), (500, "1", 1), (503, "61", 1), (503, "60", 5)]
)
def test_a_refusal_that_would_only_be_repeated_is_raised(
    attempt: Callable[..., Any], status: int, wait: str, requests: int
) -> None:
    """Rule 11.111."""
    server, error = attempt(api.projects_get("7"), *[refused(status, Retry_After=wait) for _ in range(9)])

    assert isinstance(error, ApiError)
    assert (error.code, error.message) == ("unavailable", "Try again.")
    assert len(server.requests) == requests


def test_a_lost_connection_is_raised_after_the_last_attempt(attempt: Callable[..., Any]) -> None:
    """Rule 11.111."""
    server, error = attempt(api.projects_get("7"), *[httpx2.ConnectError("No route.")] * 9)

    assert isinstance(error, httpx2.ConnectError)
    assert len(server.requests) == 5
    assert sorted(server.pauses) == server.pauses


def test_a_response_of_something_else_is_an_error_too(attempt: Callable[..., Any]) -> None:
    for answer in (httpx2.Response(404, text="<html>"), httpx2.Response(302), httpx2.Response(400, json=[1])):
        _, error = attempt(api.projects_get("7"), answer)

        assert isinstance(error, ApiError)
        assert error.code == "unexpected_response"
        assert error.status == answer.status_code


@pytest.mark.parametrize("identifier", ["", "..", "7/open", "7?x=1", "."])
def test_an_id_never_leads_to_another_operation(identifier: str) -> None:
    with pytest.raises(ValueError, match="is not an id"):
        api.projects_delete(identifier)


@pytest.mark.django_db
def test_a_refusal_tells_its_code_its_violations_and_its_request() -> None:
    colloquy = Caller("admin").colloquy()

    with pytest.raises(ApiError) as caught:
        colloquy.send(api.projects_create({"name": "", "type": "convo"}))

    assert caught.value.status == 400
    assert caught.value.code == "invalid_request"
    assert [(each["field"], each["code"]) for each in caught.value.violations] == [("name", "blank")]
    assert caught.value.request_id
    assert "name: " in str(caught.value)


@pytest.mark.django_db
def test_a_call_with_a_key_of_its_own_is_done_once() -> None:
    """Rule 11.112."""
    colloquy = Caller("admin").colloquy()
    create = api.projects_create({"name": "Drinks", "type": "convo"})

    twice = [colloquy.send(create, idempotency_key="nightly-7")["id"] for _ in range(2)]

    assert twice == [each["id"] for each in colloquy.each(api.projects_list())] * 2


@pytest.mark.django_db
def test_lists_are_read_to_their_end_by_id_unless_the_caller_sorts() -> None:
    """Rule 11.113."""
    caller = Caller("admin")
    colloquy = caller.colloquy()
    made = [caller.make(name=name)["id"] for name in ("b", "c", "a")]

    by_id = list(colloquy.pages(api.projects_list(per_page=2)))
    by_name = colloquy.each(api.projects_list(per_page=2, sort="name"))

    assert [[each["id"] for each in page["data"]] for page in by_id] == [made[:2], made[2:]]
    assert [each["name"] for each in by_name] == ["a", "b", "c"]
    assert len(list(colloquy.each(api.audit_list(per_page=1)))) == 3
    assert len(list(colloquy.each(api.members_list(per_page=1)))) == 1
    assert [each["type"] for each in colloquy.each(api.events_list(order="asc", per_page=2))] == [
        "project.created"
    ] * 3


@pytest.mark.django_db
def test_a_stale_script_is_refused_by_its_tag() -> None:
    caller = Caller("admin")
    colloquy = caller.colloquy()
    project_id = caller.make(CHOICE)["id"]
    script = colloquy.send(api.scripts_get(project_id))

    written = colloquy.send(api.scripts_put(project_id, script, if_match=f'"{script["revision"]}"'))
    with pytest.raises(ApiError) as caught:
        colloquy.send(api.scripts_put(project_id, {"blocks": []}, if_match=f'"{written["revision"] - 1}"'))

    assert caught.value.code == "conflict"


@pytest.mark.parametrize("secrets", [1, 2])
def test_a_webhook_is_verified_by_its_secret_also_while_the_secret_is_rotated(secrets: int) -> None:
    """Rule 11.114."""
    known = [new_secret() for _ in range(secrets)]
    sent = headers(known, event_id=uuid.uuid4(), body=EVENT.decode(), at=AT)

    for secret in known:
        assert verify(EVENT, sent, secret, at=AT.timestamp() + 299)["type"] == "member.erased"
        as_wsgi = {name.title(): value for name, value in sent.items()}
        assert verify(EVENT, as_wsgi, secret, at=AT.timestamp() - 299)["id"] == "e"


@pytest.mark.parametrize(
    "change",
    [
        {"body": EVENT + b" "},
        {"secret": new_secret()},
        {"at": AT.timestamp() + 301},
        {"at": AT.timestamp() - 301},
        {"webhook-id": str(uuid.uuid4())},
        {"webhook-timestamp": "1"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1,é"},
    ],
)
def test_a_webhook_that_is_not_authentic_is_refused(change: dict[str, Any]) -> None:
    """Rule 11.114."""
    secret = new_secret()
    sent = headers([secret], event_id=uuid.uuid4(), body=EVENT.decode(), at=AT)
    request: dict[str, Any] = {"body": EVENT, "secret": secret, "at": AT.timestamp()}
    for name, value in change.items():
        (sent if name in sent else request)[name] = value

    with pytest.raises(InvalidSignature):
        verify(headers=sent, **request)


@pytest.mark.long
def test_the_package_can_be_installed_and_run_alone(tmp_path: Path) -> None:
    uv = [str(Path(sys.executable).parent / "uv"), "--offline", "--quiet"]
    subprocess.run([*uv, "build", "--wheel", CLIENT, "--out-dir", tmp_path], check=True)
    (wheel,) = tmp_path.glob("*.whl")

    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
        (metadata,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        described = email.message_from_bytes(archive.read(metadata))
    helped = subprocess.run(
        [sys.executable, "-m", "colloquy_client", "--help"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert described.get_all("Requires-Dist") == ["httpx2>=2.16,<3"]
    assert (tmp_path / "installed/colloquy_client/py.typed").exists()
    assert not (tmp_path / "installed/generate.py").exists()
    assert "login" in helped.stdout

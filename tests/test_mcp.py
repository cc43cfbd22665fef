"""The interface for assistants (rules 11.50 to 11.54)."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from django.test import Client

from communities.gate import throttling
from communities.ground.actors import Actor
from communities.models import ApiKey
from config import mcp
from tests.support.caller import CHOICE, Caller
from tests.support.surveys import scenario

pytestmark = pytest.mark.django_db
OPEN_TO_ALL = {"delivery": {"audience": {"participation": "open_web"}}}


@pytest.fixture
def caller() -> Caller:
    return Caller()


def send(caller: Caller, method: str, params: object = None, /, **headers: str) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": method} | ({} if params is None else {"params": params})
    headers = {"X-API-Key": caller.secret, **headers}
    return Client(enforce_csrf_checks=True).post("/mcp", body, "application/json", headers=headers)


def call(caller: Caller, name: str, /, **arguments: Any) -> Any:
    answer = send(caller, "tools/call", {"name": name, "arguments": arguments})
    assert answer.status_code == 200
    return answer.json()["result"]


def test_an_assistant_is_told_the_version_and_the_tools(caller: Caller) -> None:
    """Rule 11.50."""
    for asked, given in (("2025-06-18", "2025-06-18"), ("1999-01-01", "2025-11-25")):
        begun = send(caller, "initialize", {"protocolVersion": asked, "capabilities": {}}).json()["result"]
        assert (begun["protocolVersion"], begun["capabilities"]) == (given, {"tools": {}})
    found = send(caller, "server/discover").json()["result"]
    assert found["supportedVersions"] == ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
    assert send(caller, "ping").json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    tools = send(caller, "tools/list").json()["result"]["tools"]
    assert [tool["name"] for tool in tools] == [tool.name for tool in mcp.TOOLS]


def test_a_notification_has_no_answer(caller: Caller) -> None:
    """Rule 11.50."""
    body = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = Client().post("/mcp", body, "application/json", headers={"X-API-Key": caller.secret})

    assert (answer.status_code, answer.content) == (202, b"")


def test_every_tool_is_described_by_a_schema_of_its_own(caller: Caller) -> None:
    """Rule 11.51."""
    for tool in send(caller, "tools/list").json()["result"]["tools"]:
        schema = tool["inputSchema"]
        jsonschema_rs.Draft202012Validator(schema)
        assert "#/components" not in str(schema)
        assert "community_id" not in schema["properties"]
        assert "Who may call: " in tool["description"]
    by_name = {tool.name: tool for tool in mcp.TOOLS}
    assert not by_name["read_results"].is_destructive
    assert by_name["delete_project"].is_destructive


def test_an_assistant_drives_a_whole_project(caller: Caller) -> None:
    """Rule 11.51."""
    made = call(caller, "create_project", name="Tea", type="convo", **OPEN_TO_ALL)["structuredContent"]
    here = {"project_id": made["id"]}
    faulty = call(caller, "write_script", **here, blocks=[{"type": "single_punch", "prompt": "Tea?"}])
    assert faulty["isError"]
    assert faulty["structuredContent"]["violations"][0]["field"] == "blocks[0].options"
    written = call(caller, "write_script", **here, blocks=[CHOICE])
    assert not written["isError"]
    assert call(caller, "open_project", **here)["structuredContent"]["status"] == "active"
    option = written["structuredContent"]["blocks"][0]["options"][0]
    begun = caller.post(f"/projects/{made['id']}/conversations", {}).json()
    caller.post(
        f"/conversations/{begun['id']}/answers",
        {"block_id": begun["step"]["block"]["id"], "option_id": option["id"]},
    )

    results = call(caller, "read_results", **here, status="completed")["structuredContent"]
    assert results["blocks"][0]["distribution"][0]["count"] == 1
    table = call(caller, "export_responses", **here, format="csv")
    assert option["value"] in table["content"][0]["text"]
    assert "structuredContent" not in table
    call(caller, "close_project", **here)
    assert call(caller, "delete_project", **here)["content"][0]["text"] == "Done."
    assert call(caller, "get_project", **here)["isError"]


def test_a_call_has_the_rights_and_limits_of_the_key(caller: Caller) -> None:
    """Rule 11.52."""
    other = scenario.project(CHOICE)
    for name in ("get_project", "read_script", "read_results", "delete_project"):
        told = call(caller, name, project_id=str(other.pk))
        assert (told["isError"], told["structuredContent"]["error"]) == (True, "not_found")
    member = caller.beside("member")
    assert call(member, "create_project", name="x", type="poll")["structuredContent"]["error"] == "forbidden"
    ApiKey.objects.filter(user=caller.user).update(scope="read")
    assert call(caller, "create_project", name="x", type="poll")["structuredContent"]["error"] == "forbidden"

    answers = [
        send(caller, "ping"),
        send(caller, "tools/call", {"name": "list_projects"}),
        send(caller, "ping"),
    ]
    left = [int(answer["X-RateLimit-Remaining"]) for answer in answers]
    assert [left[0] - each for each in left] == [0, 1, 2]


def test_wrong_keys_and_wrong_messages_are_counted_and_refused(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, redis: Any
) -> None:
    """Rule 11.52."""
    monkeypatch.setattr(throttling, "REQUESTS_PER_MINUTE_WITHOUT_KEY", 3)
    wrong = [send(caller, "ping", None, **{"X-API-Key": f"cq_live_{number}"}) for number in range(4)]
    assert [answer.status_code for answer in wrong] == [401, 401, 401, 429]
    monkeypatch.setattr(Actor, "requests_per_minute", 4)
    client, headers = Client(), {"X-API-Key": caller.secret}

    answers = [
        client.post("/mcp", b"{", "application/json", headers=headers),
        client.post("/mcp", {"a": 1}, "application/json", headers=headers),
        send(caller, "tools/call", {"name": "no such tool"}),
        send(caller, "tools/call", {"name": "list_projects"}),
        send(caller, "tools/call", {"name": "list_projects"}),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 200, 200, 429]
    assert [int(answer["X-RateLimit-Remaining"]) for answer in answers] == [3, 2, 1, 0, 0]


def test_a_call_that_is_repeated_does_nothing_twice(caller: Caller) -> None:
    """Rule 11.52."""
    again = [call(caller, "create_project", name="x", type="poll", idempotency_key="one") for _ in range(2)]

    assert again[0]["structuredContent"]["id"] == again[1]["structuredContent"]["id"]


def test_the_key_is_sent_as_a_token_or_in_our_header(caller: Caller) -> None:
    """Rule 11.50."""
    token = {"X-API-Key": "", "Authorization": f"Bearer {caller.secret}"}
    assert send(caller, "ping", None, **token).status_code == 200
    for headers in (
        {"X-API-Key": ""},
        {"X-API-Key": "cq_live_other"},
        {"X-API-Key": "", "Authorization": "Basic x"},
    ):
        refused = send(caller, "ping", None, **headers)
        assert (refused.status_code, "WWW-Authenticate" in refused) == (401, True)


def test_pages_of_other_sites_are_refused(caller: Caller) -> None:
    """Rule 11.53."""
    others = ("https://example.com", "null", "http://[x", "//testserver", "http://testserver@example.com")
    for origin, status in (("http://testserver", 200), *((each, 403) for each in others)):
        assert send(caller, "ping", None, Origin=origin).status_code == status


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, -32700),
        (b"[]", 400, -32700),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', 400, -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "nothing"}', 200, -32601),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []}', 200, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', 200, -32602),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}', 200, -32602),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "get_project"}}',
            200,
            -32602,
        ),
    ],
)
def test_faulty_messages_are_told_by_code(caller: Caller, body: bytes, status: int, code: int | None) -> None:
    """Rule 11.50."""
    answer = Client().post("/mcp", body, "application/json", headers={"X-API-Key": caller.secret})

    assert (answer.status_code, answer.json().get("error", {}).get("code")) == (status, code)


def test_other_versions_and_methods_are_refused(caller: Caller) -> None:
    """Rule 11.50."""
    refused = send(caller, "ping", None, **{"MCP-Protocol-Version": "2030-01-01"})
    assert (refused.status_code, refused.json()["error"]["data"]["requested"]) == (400, "2030-01-01")
    answer = Client().get("/mcp")
    assert (answer.status_code, answer["Allow"], answer.json()["error"]) == (
        405,
        "POST",
        "method_not_allowed",
    )


def test_a_long_result_is_cut(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rule 11.54."""
    project = scenario.project(CHOICE, community=caller.community, author=caller.user)
    monkeypatch.setattr(mcp, "LONGEST_RESULT", 100)

    for name in ("read_script", "export_responses"):
        told = call(caller, name, project_id=str(project.pk), **({"format": "csv"} if name[0] == "e" else {}))
        assert ("Cut after 100 bytes" in told["content"][0]["text"]) == (name == "read_script")
    refused = send(
        caller, "tools/call", {"name": "export_responses", "arguments": {"project_id": "1", "format": "xlsx"}}
    )
    assert "`format` must be one of" in refused.json()["error"]["message"]


def test_ids_in_a_path_lead_nowhere_else(caller: Caller) -> None:
    """Rule 11.52."""
    for text in ("1/script", "../../settings", "1?x=1", "%2e%2e", "ä", ""):
        assert call(caller, "get_project", project_id=text)["isError"], text

"""An assistant drives a project from its creation to its results, by the official client of the protocol."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.support.concurrency import run_coroutine
from tests.support.installation import Installation, installation

pytestmark = pytest.mark.long

__all__ = ["installation"]

QUESTION = {
    "type": "single_punch",
    "prompt": "Tea or coffee?",
    "options": [{"value": "tea"}, {"value": "coffee"}],
}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_drives_a_whole_project(
    installation: tuple[Installation, dict[str, Any]], mode: str
) -> None:
    """Rules 11.50 and 11.51."""
    here, _ = installation

    version, told = run_coroutine(_drive(here, mode))

    assert version == {"auto": "2026-07-28", "legacy": "2025-11-25"}[mode]
    assert told["status"] == "active"
    assert told["prompt"] == "Tea or coffee?"
    assert told["refusal"] == "An active project cannot be deleted: close it first."
    assert told["left"] == []


async def _drive(here: Installation, mode: Any) -> tuple[str, dict[str, Any]]:
    headers = {"Authorization": f"Bearer {here.key}"}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client(f"http://127.0.0.1:{here.port}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert {"create_project", "write_script", "open_project", "read_results"} <= tools

            async def call(name: str, /, **arguments: Any) -> Any:
                result = await client.call_tool(name, arguments)
                return result.structured_content or result.content[0].text  # type: ignore[union-attr]

            project = {"project_id": (await call("create_project", name="Drinks", type="convo"))["id"]}
            await call("write_script", **project, blocks=[QUESTION])
            opened = await call("open_project", **project)
            (block,) = (await call("read_results", **project))["blocks"]
            refusal = await call("delete_project", **project)
            await call("close_project", **project)
            await call("delete_project", **project)
            return client.protocol_version, {
                "status": opened["status"],
                "prompt": block["prompt"],
                "refusal": refusal["message"],
                "left": (await call("list_projects"))["data"],
            }

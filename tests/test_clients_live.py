"""The clients and the command line against a server that runs."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from colloquy_client import AsyncColloquy, Colloquy, __main__, api
from colloquy_client.types import NewProjectRequest
from tests.support.concurrency import run_coroutine
from tests.support.installation import Installation, installed
from webhooks.signatures import headers, new_secret

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
NODE = ROOT / ".venv/js/node_modules"  # `make check-js` installs the packages.
TYPESCRIPT = "config/clients/typescript"
EVENT = '{"id": "e", "type": "member.erased", "text": "Où?"}'
DRINKS: NewProjectRequest = {
    "name": "Drinks",
    "type": "convo",
    "script": {"blocks": [{"type": "open_text", "prompt": "Tea or coffee?"}]},
    "delivery": {"audience": {"participation": "open_web"}},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installed(tmp_path_factory.mktemp("var")) as (here, _):
        with psycopg.connect(here.environment["DATABASE_URL"]) as database:  # or a test waits for its minute
            database.execute("UPDATE communities_community SET tier = 'custom'")
        yield here


@pytest.fixture
def place(server: Installation) -> dict[str, Any]:
    url = f"http://127.0.0.1:{server.port}"
    return {"url": url, "key": server.key, "community": server.environment["COMMUNITY"]}


@pytest.fixture
def run(
    place: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Any:
    """Runs a command; returns its exit code, output and messages."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def run(*arguments: str) -> tuple[int, str, str]:
        code = __main__.main(list(arguments))
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def signed_in(run: Any, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{place['key']}\n"))
    code, output, _ = run("login", place["url"])
    assert (code, "Chess club" in output) == (0, True)
    return run


def test_a_key_is_stored_for_its_user_alone(signed_in: Any, place: dict[str, Any], tmp_path: Path) -> None:
    """Rule 11.115."""
    file = tmp_path / "colloquy/key.json"

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert json.loads(file.read_text()) == place


def test_a_command_without_a_key_or_with_a_wrong_one_fails_with_a_message(
    run: Any, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Rule 11.115."""
    assert run("projects", "list") == (1, "", "No key is stored: run `colloquy login` first.\n")

    monkeypatch.setattr("sys.stdin", io.StringIO("cq_live_wrong\n"))
    code, output, message = run("login", place["url"])

    assert (code, output) == (1, "")
    assert "invalid_api_key" in message
    assert not (tmp_path / "colloquy").exists()


def test_the_command_line_opens_exports_and_closes_a_project(
    signed_in: Any, place: dict[str, Any], tmp_path: Path
) -> None:
    """Rule 11.115."""
    with Colloquy(**place) as colloquy:
        project = colloquy.send(api.projects_create(DRINKS))["id"]
        opened = signed_in("projects", "open", project)
        begun = colloquy.send(api.conversations_begin(project, {}))
        assert begun["step"]
        block_id = begun["step"]["block"]["id"]
        colloquy.send(api.conversations_answer(begun["id"], {"block_id": block_id, "value": "Tea."}))
    file = tmp_path / "drinks.csv"

    exported = signed_in("responses", "export", project, str(file))

    assert opened == (0, f"{project}\tactive\tDrinks\n", "")
    assert exported == (0, f"{file}: {file.stat().st_size:,} bytes.\n", "")
    assert "Tea." in file.read_text()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["colloquy", "drinks.csv"]
    assert f"{project}\tactive\tDrinks\n" in signed_in("projects", "list", "--status", "active")[1]
    assert signed_in("projects", "close", project) == (0, f"{project}\tinactive\tDrinks\n", "")
    code, _, message = signed_in("responses", "export", project, "drinks.doc")
    assert (code, message) == (
        1,
        "drinks.doc: the ending has to be one of csv, xlsx, json, ndjson, parquet, sav.\n",
    )
    code, _, message = signed_in("projects", "open", "404")
    assert (code, "not_found" in message) == (1, True)


def test_the_tail_shows_each_event_once(
    signed_in: Any, place: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rule 11.115."""
    polls = iter(range(15))

    def make_a_project(_: float) -> None:
        if next(polls, None) is None:
            raise KeyboardInterrupt
        with Colloquy(**place) as colloquy:
            colloquy.send(api.projects_create(DRINKS))

    # Only the pauses of the tail: those after a refusal have to be pauses.
    monkeypatch.setattr("colloquy_client.__main__.time", SimpleNamespace(sleep=make_a_project))
    before = signed_in("events", "--type", "project.created")[1].splitlines()

    code, output, _ = signed_in("events", "--type", "project.created", "--follow")

    ids = [json.loads(line)["id"] for line in output.splitlines()]
    assert code == 130
    assert len(ids) == len(set(ids)) == len(before) + 15


def test_the_samples_of_the_readme_run(place: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "config/clients/python/README.md").read_text(encoding="utf-8")
    here = f'url="{place["url"]}", key="{place["key"]}", community="{place["community"]}"'
    text = re.sub(r"""url="https.*community="\d+\"""", here, text)
    first, copy, _ = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    cursors: list[str] = []
    names: dict[str, Any] = {"stored_cursor": lambda: None, "store_cursor": cursors.append}

    exec(first, names)
    with Colloquy(**place) as colloquy:
        exec(copy, names | {"colloquy": colloquy, "save": print, "delete": print})

        assert colloquy.send(api.projects_get(names["project"]["id"]))["status"] == "active"
        assert list(colloquy.each(api.responses_all_changes(cursor=cursors[-1]))) == []


def test_the_asynchronous_client_drives_a_project(place: dict[str, Any], tmp_path: Path) -> None:
    async def drive() -> tuple[list[str], bytes, list[str]]:
        async with AsyncColloquy(**place) as colloquy:
            project = (await colloquy.send(api.projects_create(DRINKS)))["id"]
            await colloquy.send(api.projects_open(project))
            for _ in range(3):
                begun = await colloquy.send(api.conversations_begin(project, {}))
                assert begun["step"]
                block_id = begun["step"]["block"]["id"]
                call = api.conversations_answer(begun["id"], {"block_id": block_id, "value": "Tea."})
                await colloquy.send(call)
            ids = [each["id"] async for each in colloquy.each(api.responses_list(project, per_page=2))]
            async with colloquy.download(api.responses_export(project, format="ndjson")) as response:
                file = b"".join([chunk async for chunk in response.aiter_bytes()])
            changes = [each["id"] async for each in colloquy.each(api.responses_changes(project, per_page=1))]
            return ids, file, changes

    ids, file, changes = run_coroutine(drive())

    assert len(set(ids)) == 3
    assert changes == ids
    assert [json.loads(line)["id"] for line in file.splitlines()] == ids


def test_the_client_for_typescript_compiles_and_passes_its_tests(
    place: dict[str, Any], tmp_path: Path
) -> None:
    """Rules 11.110 to 11.114, and the integrations written on the types alone."""
    if not NODE.exists() and not os.environ.get("CI"):
        pytest.skip("`make check-js` installs the packages for TypeScript.")
    client = tmp_path / TYPESCRIPT
    shutil.copytree(ROOT / TYPESCRIPT, client, ignore=shutil.ignore_patterns("dist", "node_modules"))
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests/openapi.yml", tmp_path / "tests")
    (client / "node_modules").symlink_to(NODE)
    secret, at = new_secret(), datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
    sent = headers([new_secret(), secret], event_id=uuid.uuid4(), body=EVENT, at=at)
    cases = {"secret": secret, "webhook": {"body": EVENT, "headers": sent, "at": at.timestamp()}}
    environment = {**os.environ, "SERVER": json.dumps(place), "CASES": json.dumps(cases)}

    for script in ("build", "test"):
        command = ["npm", "run", "--silent", script]
        ran = subprocess.run(
            command, cwd=client, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr

    assert "# pass 10" in ran.stdout, ran.stdout


def test_a_bot_runs_on_a_client_that_a_generator_makes_of_the_document(
    place: dict[str, Any], tmp_path: Path
) -> None:
    """The document is enough for openapi-python-client, and its client for mypy without a cast."""
    with Colloquy(**place) as colloquy:
        project = colloquy.send(api.projects_create(DRINKS))["id"]
        colloquy.send(api.projects_open(project))
    shutil.copy(ROOT / "tests/integrations/generated_bot.py", tmp_path / "bot.py")
    (tmp_path / "settings.yml").write_text("post_hooks: []\n")

    document = ROOT / "tests/openapi.yml"
    options = ["--meta", "none", "--config", "settings.yml", "--output-path", "colloquy_generated"]
    generated = run_module("openapi_python_client", "generate", "--path", document, *options, at=tmp_path)
    run_module("mypy", "--strict", "--follow-imports=silent", "bot.py", at=tmp_path)
    answered = run_module("bot", place["url"], place["key"], place["community"], project, at=tmp_path)

    # The generator knows no line-delimited JSON, which is the other way to import responses.
    warnings = [line for line in generated.splitlines() if line.startswith("WARNING")]
    path = "/v1/communities/{community_id}/projects/{project_id}/responses"
    assert warnings == [f"WARNING parsing POST {path} within responses."]
    assert json.loads(answered) == ["Tea or coffee?"]


def run_module(*command: str | Path, at: Path) -> str:
    """The output and messages of a module that succeeds."""
    streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    ran = subprocess.run([sys.executable, "-m", *command], cwd=at, check=False, **streams)
    assert ran.returncode == 0, ran.stdout
    return str(ran.stdout)

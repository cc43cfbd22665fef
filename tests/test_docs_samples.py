"""The samples of `/docs` run: each guide from its first line to its last, and those of the reference."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from standardwebhooks import Webhook

from config import documents, reference
from tests.support.cases import try_each
from tests.support.installation import Installation, installed

pytestmark = pytest.mark.long

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GUIDES = ("own-pages", "keep-a-copy", "receive-webhooks", "write-a-script", "move-to-colloquy", "versions")
STRICT = 'set -euo pipefail\ncurl() { command curl --no-progress-meter --fail-with-body "$@"; }\n'
# What the demonstration has no object for, or the community no files of.
NOT_THERE = {"analysis_get", "analysis_cross_table", "dashboards_get"}
WRITES = {
    "api_keys_create",
    "conversations_begin",
    "members_create",
    "projects_clone",
    "projects_create",
    "scripts_convert",
    "webhooks_create",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installed(tmp_path_factory.mktemp("var")) as (here, _):
        with psycopg.connect(here.environment["DATABASE_URL"]) as database:  # more requests in a minute
            database.execute("UPDATE communities_community SET tier = 'custom'")
        yield here


def code_of(guide: str, language: str) -> str:
    """The code of the first guide and of this one, as one program."""
    texts = [(documents.FOLDER / f"{name}.md").read_text() for name in dict.fromkeys(("start", guide))]
    return "\n".join(code for text in texts for kind, code in FENCE.findall(text) if kind == language)


def run(site: Installation, command: list[str], folder: Path, **more: str) -> str:
    variables = {
        "PATH": os.environ["PATH"],
        "SITE": f"http://127.0.0.1:{site.port}",
        "KEY": site.key,
        "COMMUNITY": site.environment["COMMUNITY"],
        **more,
    }
    done = subprocess.run(
        command, cwd=folder, env=variables, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


@try_each("guide", ["start", *GUIDES])
def test_the_commands_of_a_guide_run(guide: str, site: Installation, tmp_path: Path) -> None:
    """Rule 11.64."""
    code = code_of(guide, "sh")
    code = re.sub(r"^export (SITE|KEY)=.*$", "", code, flags=re.MULTILINE)

    printed = run(site, ["bash", "-c", STRICT + code], tmp_path)

    assert "/s/" in printed


@try_each("guide", ["start", *GUIDES])
def test_the_python_of_a_guide_runs(guide: str, site: Installation, tmp_path: Path) -> None:
    """Rule 11.64."""
    printed = run(site, [sys.executable, "-c", code_of(guide, "python")], tmp_path)

    assert "/s/" in printed


def test_the_receiver_of_the_guide_takes_signed_messages_alone() -> None:
    text = (documents.FOLDER / "receive-webhooks.md").read_text()
    codes = [code for kind, code in FENCE.findall(text) if kind == "python" and "def verified" in code]
    names: dict[str, Any] = {}
    exec("import json\n" + codes[0], names)
    secret, body = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", b'{"id": "1"}'
    now = time.time()
    headers = {"webhook-id": "evt_1", "webhook-timestamp": str(int(now))}
    headers["webhook-signature"] = "v1,bm8= " + Webhook(secret).sign(
        "evt_1", datetime.fromtimestamp(int(now), UTC), body.decode()
    )

    assert names["verified"](secret, headers, body) == {"id": "1"}
    with pytest.raises(ValueError, match="signature"):
        names["verified"](secret, headers, body + b" ")
    with pytest.raises(ValueError, match="five minutes"):
        names["verified"](secret, headers | {"webhook-timestamp": str(int(now) - 400)}, body)


def operations() -> list[reference.Operation]:
    """The operations that need no other object than the project, in an order in which they can be called."""
    found = [
        each
        for group in reference.groups().values()
        for each in group.operations
        if set(re.findall(r"{(\w+)}", each.path)) <= {"community_id", "project_id"}
        and ((each.method == "GET" and each.id not in NOT_THERE) or each.id in WRITES)
    ]
    assert {each.id for each in found} >= WRITES
    return found


def test_samples_of_the_reference_run(site: Installation, tmp_path: Path) -> None:
    """Rule 11.64."""
    code = code_of("start", "python") + "\nprint(project['id'])"
    project = run(site, [sys.executable, "-c", code], tmp_path).split()[-1]
    samples = {each.id: {sample.language: sample.code for sample in each.samples} for each in operations()}

    commands = "\n".join(f"echo '{name}'\n{each['sh']} > out" for name, each in samples.items())
    programs = "\n".join(f"print('{name}')\nexec({each['python']!r})" for name, each in samples.items())

    run(site, ["bash", "-c", STRICT + commands], tmp_path, PROJECT=project)
    run(site, [sys.executable, "-c", programs], tmp_path, PROJECT=project)


def test_every_operation_has_a_sample_in_each_language() -> None:
    """Rule 11.62."""
    for group in reference.groups().values():
        for each in group.operations:
            languages = [] if each.method == "EVENT" else list(documents.LANGUAGES)
            assert [sample.language for sample in each.samples] == languages, each.id
            for sample in each.samples:
                if sample.language == "python":
                    compile(sample.code, each.id, "exec")
                    names = re.findall(r"^(\w+) = os", sample.code, re.MULTILINE)
                    assert len(names) == len(set(names)), each.id

"""A PgBouncer in transaction mode in front of the test's database."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from config import servers
from tests.support.concurrency import wait_until
from tests.support.database import access_rules

BINARY = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
CONFIGURATION = """
[databases]
* = host={host} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
ignore_startup_parameters = options
"""


@pytest.fixture
def pgbouncer(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Connect Django to the PgBouncer while the test runs."""
    if BINARY is None:
        pytest.skip("pgbouncer is not installed")
    host, user = str(connection.settings_dict["HOST"]), str(connection.settings_dict["USER"])
    with access_rules(f"local all {user} trust\n"):
        yield from _connected(host, user, monkeypatch)


def _connected(host: str, user: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = servers.new_folder(prefix="colloquy-pgbouncer-")
    folder.chmod(0o711)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "ini").write_text(CONFIGURATION.format(host=host, user=user, port=port))
    owner = Path(host).stat().st_uid  # may enter the folder of the socket, and is not root
    identity: dict[str, Any] = {"user": owner, "group": owner, "extra_groups": []}
    process = subprocess.Popen(
        [BINARY or "", str(folder / "ini")],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **(identity if owner != os.geteuid() else {}),
    )
    try:
        name = connection.settings_dict["NAME"]
        wait_until(lambda: _answers(f"host=127.0.0.1 port={port} dbname={name} user={user}"))
        monkeypatch.setitem(connection.settings_dict, "HOST", "127.0.0.1")
        monkeypatch.setitem(connection.settings_dict, "PORT", str(port))
        connection.close()
        yield
    finally:
        connection.close()
        process.terminate()
        process.wait()
        shutil.rmtree(folder)


def _answers(address: str) -> bool:
    try:
        psycopg.connect(address).close()
    except psycopg.OperationalError:
        return False
    return True

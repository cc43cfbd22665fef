"""The embedded servers: shared by commands, stopped after the last one, restarted after a kill."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from config import embedded, environment, servers

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent
USE = """
import sys
from pathlib import Path
from config import embedded
print(embedded.attach(sys.argv[1], var_dir=Path(sys.argv[2])), flush=True)
sys.stdin.read()
"""
Use = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def use(tmp_path: Path) -> Iterator[Use]:
    """Start a process that uses a server until its standard input ends."""
    users = []

    def start(server: str = "valkey") -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", USE, server, str(tmp_path)]
        user = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        users.append(user)
        return user

    yield start
    for user in users:
        user.kill()
        user.communicate()
    _wait_until(lambda: not embedded.has_keeper("valkey", var_dir=tmp_path))
    _wait_until(lambda: not embedded.has_keeper("postgres", var_dir=tmp_path))


def _url_for(user: "subprocess.Popen[str]") -> str:
    assert user.stdout is not None
    return user.stdout.readline().strip()


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _answers(url: str) -> bool:
    return servers.ping(Path(url.removeprefix("unix://").split("?")[0]))


def test_commands_that_start_at_the_same_time_share_one_server(use: Use) -> None:
    urls = {_url_for(user) for user in [use(), use(), use()]}

    assert len(urls) == 1
    assert _answers(urls.pop())


def test_a_server_outlives_the_command_that_started_it_and_ends_with_the_last_one(
    use: Use, tmp_path: Path
) -> None:
    first = use()
    url = _url_for(first)
    second = use()
    _url_for(second)

    first.communicate()
    still_answers = _answers(url)
    second.communicate()

    assert still_answers
    _wait_until(lambda: not embedded.has_keeper("valkey", var_dir=tmp_path))
    assert not _answers(url)
    assert not Path(url.removeprefix("unix://").split("?")[0]).parent.exists()


def test_a_server_ends_when_its_only_user_is_killed(use: Use, tmp_path: Path) -> None:
    user = use()
    url = _url_for(user)

    user.kill()

    _wait_until(lambda: not embedded.has_keeper("valkey", var_dir=tmp_path))
    assert not _answers(url)


def test_a_piped_command_that_started_a_keeper_ends_while_the_keeper_runs_on(
    use: Use, tmp_path: Path
) -> None:
    """A keeper that kept one of the command's pipes open would keep its readers waiting."""
    reader, writer = os.pipe()
    command = subprocess.Popen(
        [sys.executable, "-c", USE, "valkey", str(tmp_path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[writer],
        text=True,
    )
    os.close(writer)
    url = _url_for(command)
    assert _url_for(use()) == url

    printed, errors = command.communicate(timeout=30)
    ready, _, _ = select.select([reader], [], [], 30)

    assert (printed, errors) == ("", "")
    assert ready == [reader]
    assert os.read(reader, 1) == b""  # nobody holds the other end
    os.close(reader)
    assert _answers(url)


def test_a_keeper_writes_to_a_log_of_its_own(use: Use, tmp_path: Path) -> None:
    user = use()
    _url_for(user)
    user.communicate()
    _wait_until(lambda: not embedded.has_keeper("valkey", var_dir=tmp_path))

    lines = (tmp_path / "log" / "valkey-keeper.log").read_text().splitlines()

    assert [re.sub(r"^[-\d]+ [:,\d]+ |\d+", "", line) for line in lines] == [
        "valkey started as process .",
        "Stopped.",
    ]


def test_the_stale_state_of_a_killed_keeper_is_ignored(use: Use, tmp_path: Path) -> None:
    url = _url_for(use())
    keeper = json.loads((tmp_path / "run" / "valkey.json").read_text())["pid"]
    os.kill(keeper, signal.SIGKILL)
    _wait_until(lambda: not embedded.has_keeper("valkey", var_dir=tmp_path))

    new_url = _url_for(use())

    assert new_url != url
    assert _answers(new_url)
    _wait_until(lambda: not _answers(url))


def test_postgresql_keeps_its_data_when_its_keeper_is_killed(use: Use, tmp_path: Path) -> None:
    with psycopg.connect(_url_for(use("postgres")), autocommit=True) as connection:
        connection.execute("CREATE TABLE numbers (number int)")
        connection.execute("INSERT INTO numbers VALUES (7)")
        os.kill(json.loads((tmp_path / "run" / "postgres.json").read_text())["pid"], signal.SIGKILL)

    with psycopg.connect(_url_for(use("postgres"))) as connection:
        rows = connection.execute("SELECT number FROM numbers").fetchall()

    assert rows == [(7,)]


def test_a_folder_that_cannot_be_written_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(
        servers.CannotStart,
        match=r"^VAR_DIR is .*file, which cannot be written: set it to another folder\.$",
    ):
        embedded.attach("valkey", var_dir=tmp_path / "file")


def test_the_log_of_postgresql_contains_no_values(use: Use, tmp_path: Path) -> None:
    with psycopg.connect(_url_for(use("postgres")), autocommit=True) as connection:
        connection.execute("CREATE TABLE answers (value text UNIQUE)")
        connection.execute("INSERT INTO answers VALUES ('my secret')")

        with pytest.raises(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO answers VALUES ('my secret')")

    log = (tmp_path / "log" / "postgres.log").read_text()
    assert "duplicate key" in log
    assert "my secret" not in log


def test_a_folder_without_postgresql_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLLOQUY_POSTGRES_BIN", str(tmp_path))

    with pytest.raises(
        servers.CannotStart, match=rf"^COLLOQUY_POSTGRES_BIN is {tmp_path}, but that folder does not"
    ):
        servers.postgres_binaries()


@pytest.mark.parametrize(
    ("redis_url", "broker"),
    [
        ("redis://host:6379/3", "redis://host:6379/3"),
        ("unix:///tmp/a/valkey.sock?db=2", "redis+socket:///tmp/a/valkey.sock?virtual_host=2"),
        ("unix:///tmp/a/valkey.sock", "redis+socket:///tmp/a/valkey.sock?virtual_host=0"),
    ],
)
def test_celery_gets_the_broker_url_in_its_own_syntax(redis_url: str, broker: str) -> None:
    assert environment.celery_broker(redis_url) == broker

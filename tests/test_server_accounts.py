"""The system account of the embedded servers: no other account can reach their data or sockets."""

import os
import pwd
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from config import embedded, servers

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs servers as another user")


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder that other users may enter, with the data of a server that has run before."""
    made = servers.new_folder(prefix="colloquy-accounts-")
    made.chmod(0o711)
    with _postgres(made) as server, psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE numbers AS SELECT 7 AS number")
    assert pwd.getpwnam("nobody").pw_uid not in _owners(made / "data"), "New data belongs to nobody."
    yield made
    shutil.rmtree(made)


@contextmanager
def _postgres(folder: Path) -> Iterator[servers.Server]:
    sockets = folder / "pg"
    sockets.mkdir(exist_ok=True)
    server = servers.start_postgres(
        data=folder / "data", sockets=sockets, log=folder / "pg.log", durable=False
    )
    try:
        yield server
    finally:
        server.stop()


def _user_of(server: servers.Server) -> int:
    return Path(f"/proc/{server.process.pid}").stat().st_uid


def _owners(folder: Path) -> set[int]:
    return {path.lstat().st_uid for path in [folder, *folder.rglob("*")]}


def _give_to(folder: Path, user: int) -> None:
    for path in [folder, *folder.rglob("*")]:
        os.chown(path, user, user, follow_symlinks=False)


@as_root
def test_as_root_servers_run_as_a_user_of_their_own_and_take_over_data_of_nobody(folder: Path) -> None:
    nobody = pwd.getpwnam("nobody").pw_uid
    _give_to(folder / "data", nobody)
    elsewhere = folder / "elsewhere"
    elsewhere.touch()
    os.link(elsewhere, folder / "data" / "linked")
    (folder / "data" / "symbolic").symlink_to(elsewhere)

    with _postgres(folder) as server:
        own = _user_of(server)
        with psycopg.connect(server.url) as connection:
            rows = connection.execute("SELECT number FROM numbers").fetchall()

    assert rows == [(7,)]
    assert own not in {each.pw_uid for each in pwd.getpwall()}
    assert elsewhere.stat().st_uid == 0
    for link in ("linked", "symbolic"):
        assert (folder / "data" / link).lstat().st_uid == 0  # root's, as before
        (folder / "data" / link).unlink()
    assert _owners(folder / "data") == {own}


@as_root
def test_as_root_data_of_a_user_stays_theirs(folder: Path) -> None:
    daemon = pwd.getpwnam("daemon").pw_uid
    _give_to(folder / "data", daemon)

    with _postgres(folder) as server:
        user = _user_of(server)

    assert user == daemon
    assert _owners(folder / "data") == {daemon}
    _give_to(folder / "data", 0)


@as_root
def test_a_user_id_that_an_account_has_by_now_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    daemon = pwd.getpwnam("daemon").pw_uid
    monkeypatch.setattr(servers, "OWN_UIDS", [0, daemon, 60_998])

    assert servers._account_for(Path("/nowhere")).uid == 60_998


def test_sockets_and_the_folder_of_running_servers_are_for_their_owner_alone(
    tmp_path: Path, folder: Path
) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    (folder / "valkey").mkdir()

    embedded.attach("valkey", var_dir=tmp_path)
    embedded.detach(var_dir=tmp_path)
    valkey = servers.start_valkey(sockets=folder / "valkey", log=folder / "valkey.log")
    with _postgres(folder) as postgres:
        users = {_user_of(valkey), _user_of(postgres)}
        places = [folder / "pg", folder / "valkey"]
        sockets = [folder / "pg" / ".s.PGSQL.5432", folder / "valkey" / "valkey.sock"]
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "run", *places, *sockets]}
        owners = {path.stat().st_uid for path in [*places, *sockets]}
    valkey.stop()

    assert set(modes.values()) == {0o700}, modes
    assert owners == users
    assert len(users) == 1

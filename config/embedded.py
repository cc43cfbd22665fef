"""The PostgreSQL and the Valkey of this machine: shared by all commands, and gone with the last one.

Each server has a *keeper*, a small process of its own that starts it and stops it when the last command
that uses it has ended, however it ended. Locks on files in VAR_DIR tell all of that, and the kernel lets go
of them for a process that was killed, so nothing can be left over that misleads:

    run/<server>.users   shared by every command that uses the server; its keeper waits to be alone on it
    run/<server>.start   held by whoever looks for a keeper or starts one
    run/<server>.keeper  held by the keeper as long as it lives
    run/<server>.json    where the server listens; believed only while the keeper lives
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from config.servers import (
    SECONDS_TO_STOP,
    CannotStart,
    Server,
    major_version,
    new_folder,
    postgres_binaries,
    start_postgres,
    start_valkey,
)

SERVERS = ("postgres", "valkey")

_held: dict[tuple[str, Path], tuple[str, int]] = {}


def attach(server: str, *, var_dir: Path) -> str:
    """The URL of this machine's own server, which lives at least as long as this process.

    Refuses with `CannotStart`.
    """
    key = (server, var_dir)
    if key not in _held:
        try:
            _notes(var_dir).mkdir(parents=True, exist_ok=True)
            users = os.open(_note(var_dir, server, "users"), os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(users, fcntl.LOCK_SH)
            with _note(var_dir, server, "start").open("a") as start:
                fcntl.flock(start, fcntl.LOCK_EX)
                _held[key] = (running(server, var_dir=var_dir) or _start_keeper(server, var_dir), users)
        except OSError as refused:
            raise CannotStart(
                f"VAR_DIR is {var_dir}, where nothing can be written: name another folder."
            ) from refused
    return _held[key][0]


def detach(*, var_dir: Path) -> None:
    """Give the servers back; where nobody else uses them, return only when they have stopped."""
    for server in SERVERS:
        if (server, var_dir) in _held:
            _, users = _held.pop((server, var_dir))
            alone = _lock_at_once(users, fcntl.LOCK_EX)
            os.close(users)
            deadline = time.monotonic() + SECONDS_TO_STOP
            while alone and has_keeper(server, var_dir=var_dir) and time.monotonic() < deadline:
                time.sleep(0.05)


def held(*, var_dir: Path) -> dict[str, str]:
    """The URLs of the servers that this process has asked for, by server."""
    return {server: url for (server, folder), (url, _) in _held.items() if folder == var_dir}


def running(server: str, *, var_dir: Path) -> str | None:
    """The URL of the server a living keeper looks after."""
    if not has_keeper(server, var_dir=var_dir):
        return None
    try:
        return str(json.loads(_note(var_dir, server, "json").read_text())["url"])
    except FileNotFoundError:  # the keeper is about to go
        return None


def _notes(var_dir: Path) -> Path:
    return var_dir / "run"


def _note(var_dir: Path, server: str, kind: str) -> Path:
    return _notes(var_dir) / f"{server}.{kind}"


def has_keeper(server: str, *, var_dir: Path) -> bool:
    """Whether somebody looks after the server now."""
    try:
        with _note(var_dir, server, "keeper").open() as keeper:
            return not _lock_at_once(keeper, fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


def _lock_at_once(file: IO[str] | int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start_keeper(server: str, var_dir: Path) -> str:
    keeper = subprocess.Popen(
        [sys.executable, "-m", "config.embedded", server, str(var_dir)],
        cwd=Path(__file__).parent.parent,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the commands, not for what they use
        text=True,
    )
    assert keeper.stdout is not None
    with keeper.stdout:
        said = keeper.stdout.readline()
    keeper.returncode = 0  # it is not waited for: it outlives this process where others use its server
    if not said:
        raise CannotStart(f"The keeper of {server} ended without a word.")
    answer = json.loads(said)
    if "url" not in answer:
        raise CannotStart(answer["error"])
    return str(answer["url"])


# The keeper


def keep(server: str, var_dir: Path) -> int:
    """Start a server, tell its URL on standard output, and stop it when nobody uses it any more."""
    with (
        _note(var_dir, server, "users").open("a") as users,
        _note(var_dir, server, "keeper").open("a") as alive,
    ):
        fcntl.flock(alive, fcntl.LOCK_EX)
        state = _note(var_dir, server, "json")
        _forget_predecessor(state)
        sockets = new_folder(prefix="colloquy-")
        try:
            started = _start(server, var_dir, sockets)
        except (CannotStart, OSError) as failure:
            shutil.rmtree(sockets, ignore_errors=True)
            _say({"error": str(failure)})
            return 1
        state.write_text(json.dumps({"url": started.url, "sockets": str(sockets), "pid": os.getpid()}))
        stopping = threading.Event()

        def stop(*_: object) -> None:
            stopping.set()
            state.unlink(missing_ok=True)
            started.process.send_signal(started.farewell)

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, stop)

        def stop_when_alone() -> None:
            fcntl.flock(users, fcntl.LOCK_EX)
            stop()

        threading.Thread(target=stop_when_alone, daemon=True).start()
        _say({"url": started.url})
        started.process.wait()
        state.unlink(missing_ok=True)
        shutil.rmtree(sockets, ignore_errors=True)
        alive.close()
        return 0 if stopping.is_set() else 1


def _forget_predecessor(state: Path) -> None:
    if state.exists():
        shutil.rmtree(json.loads(state.read_text() or "{}").get("sockets", ""), ignore_errors=True)
        state.unlink()


def _start(server: str, var_dir: Path, sockets: Path) -> Server:
    logs = var_dir / "log"
    logs.mkdir(exist_ok=True)
    log = logs / f"{server}.log"
    if server == "valkey":
        return start_valkey(sockets=sockets, log=log)
    data = var_dir / f"postgres-{major_version(postgres_binaries())}"
    return start_postgres(data=data, sockets=sockets, log=log, durable=True)


def _say(answer: dict[str, str]) -> None:
    """One line to whoever started the keeper, who stops listening after it."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


# Servers for one run of the tests


def start_for_tests(*, folder: Path, postgres: bool, valkey: bool) -> dict[str, Server]:
    """Servers without care for their data, all below `folder`, by the setting that takes their URL."""
    servers = {}
    if postgres:
        sockets = folder / "pg"
        sockets.mkdir()
        log = folder / "postgres.log"
        servers["DATABASE_URL"] = start_postgres(
            data=folder / "data", sockets=sockets, log=log, durable=False
        )
    if valkey:
        sockets = folder / "valkey"
        sockets.mkdir()
        servers["REDIS_URL"] = start_valkey(sockets=sockets, log=folder / "valkey.log")
    return servers


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1], Path(sys.argv[2])))

